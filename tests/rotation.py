"""Heavy tests by turns: of the cases of a test marked `rotating` every run of a whole folder takes a share, chosen by
the commit and the names of the tests; another commit has another share, and `make soak` has them all.

    @pytest.mark.rotating                    one case of the test's parameters
    @pytest.mark.rotating(of=3)              a third of them, rounded up
    @pytest.mark.rotating(always="bigint")   the case of this name always, and a share of the others
    @pytest.mark.rotating(family="facts")    one of all tests of that family, in whatever files
    @pytest.mark.rotating(every=2)           the share, in one commit of two on average, and none in the others
    @pytest.mark.rotating(commits=4)         each case by itself, in one commit of four on average
    @pytest.mark.rotating(kept=True)         none: what it asks for is kept in a file (`tests/facts.py`)

`METAINDEX_ROTATION=all` runs every case, `METAINDEX_ROTATION=<any other text>` the share of that text (of a commit, by
the seven digits that a run has told). Whoever names a file, a test or words (`-k`) gets every case of it. A test that a
mutant names always runs (`tests/mutants/`): to mark it is an error.
"""

from __future__ import annotations

import os
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.written import MUTANTS

VARIABLE = "METAINDEX_ROTATION"
ALL = "all"
WITHOUT_MUTANTS = ("spark", "s3")  # mutants are run without them
_ROOT = Path(__file__).parents[1]
_TALLY = pytest.StashKey[dict[str, int]]()


def share_of(family: Collection[str], seed: str, of: int | None = None) -> set[str]:
    """Of the names a share for this seed: one in `of`, one of all by default, and never none."""
    ranked = sorted(family, key=lambda name: sha256(f"{seed} {name}".encode()).digest())
    return set(ranked[: ceil(len(ranked) / of) if of else 1])


def has_turn(name: str, seed: str, commits: int) -> bool:
    """Is it this seed's turn, one of so many, to run what stands for itself?"""
    return int.from_bytes(sha256(f"{seed} {name}".encode()).digest()[:8], "big") % commits == 0


def family_of(item: pytest.Item, mark: pytest.Mark) -> str:
    return str(mark.kwargs.get("family") or item.nodeid.partition("[")[0])


def rotated_out(items: Iterable[pytest.Item], seed: str) -> tuple[set[str], int]:
    """The names of tests that another commit runs, and how many rotate at all."""
    families: Mapping[str, dict[str, int | None]] = defaultdict(dict)
    kept_answers, alone, resting = [], {}, set()
    for item in items:
        if mark := item.get_closest_marker("rotating"):
            _check(item, mark)
            if mark.kwargs.get("kept"):
                kept_answers.append(item.nodeid)
            elif "commits" in mark.kwargs:
                alone[item.nodeid] = has_turn(item.nodeid, seed, mark.kwargs["commits"])
            elif "always" not in mark.kwargs or not item.nodeid.endswith(f"[{mark.kwargs['always']}]"):
                family = family_of(item, mark)
                families[family][item.nodeid] = mark.kwargs.get("of")
                if not has_turn(family, seed, mark.kwargs.get("every", 1)):
                    resting.add(family)
    every = [*kept_answers, *alone, *(name for cases in families.values() for name in cases)]
    if seed == ALL:
        return set(), len(every)
    kept = {
        name
        for family, cases in families.items()
        if family not in resting
        for name in share_of(cases, seed, next(iter(cases.values())))
    }
    kept |= {name for name, turn in alone.items() if turn}
    return set(every) - kept, len(every)


def _check(item: pytest.Item, mark: pytest.Mark) -> None:
    if mark.args or mark.kwargs.keys() - {"of", "family", "always", "every", "commits", "kept"}:
        raise pytest.UsageError(
            f"`rotating` takes of=, family=, always=, every=, commits= and kept= alone; {item.nodeid} has {mark}"
        )
    if is_a_mutants(item.nodeid) and not any(item.get_closest_marker(name) for name in WITHOUT_MUTANTS):
        raise pytest.UsageError(
            f"a test that a mutant names always runs; {item.nodeid} is marked `rotating`; take the mark away"
        )


def is_a_mutants(
    nodeid: str, named: Collection[str] = frozenset(test for one in MUTANTS for test in one.tests)
) -> bool:
    """Is it one of the tests, files and folders that mutants name?"""
    return any(nodeid == one or nodeid.startswith((f"{one}::", f"{one}/", f"{one}[")) for one in named)


def wanted(config: pytest.Config, environ: Mapping[str, str] = os.environ) -> str:
    """The seed of the share, or `ALL`."""
    if environ.get("METAINDEX_SOAK"):
        return ALL
    return environ.get(VARIABLE) or (commit_of(_ROOT) if _is_whole(config) else ALL)


def _is_whole(config: pytest.Config) -> bool:
    """Folders are asked for, and no test by its name."""
    return not config.option.keyword and all((config.invocation_params.dir / one).is_dir() for one in config.args)


def commit_of(folder: Path) -> str:
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "no commit"


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TALLY] = {"left out": 0, "of": 0}
    # Said once, by the process that a person started: its workers have no arguments of their own.
    os.environ[VARIABLE] = wanted(config)


def pytest_report_header() -> str:
    if os.environ[VARIABLE] == ALL:
        return "rotation: every case of the tests that rotate"
    return f"rotation: of the tests that rotate the share of {os.environ[VARIABLE]}; {VARIABLE}=all runs every case"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Last: of what `-m` and `-k` leave of a family one runs in any case."""
    out, every = rotated_out(items, os.environ[VARIABLE])
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
        items[:] = [item for item in items if item.nodeid not in out]
    config.stash[_TALLY] = {"left out": len(out), "of": every}


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)  # a worker of xdist tells who started it
    if output is not None:
        output["rotation"] = session.config.stash[_TALLY]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_TALLY] = getattr(node, "workeroutput", {}).get("rotation", node.config.stash[_TALLY])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    tally = config.stash[_TALLY]
    if tally["left out"]:
        terminalreporter.write_line(
            f"rotation: {tally['of'] - tally['left out']} of {tally['of']} tests that rotate were run, the share of"
            f" {os.environ[VARIABLE]}; {VARIABLE}=all runs every case"
        )
