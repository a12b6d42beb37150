"""Every test that there is, in parts of at most about an hour: `make test-all`, or `python -m tests.parts [PART ...]`.

A part that ended well is not repeated for the commit: what it counted is kept in `.cache/parts/<commit>/`, so that a
run that was stopped is taken up again where it was. Where something is not committed, every part runs.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from metaindex.core import Column, TextTable
from tests import compiling
from tests.each_spark import SPARKS
from tests.processes import say

ROOT: Final = Path(__file__).parents[1]
CACHE: Final = ROOT / ".cache" / "parts"
_PYTEST: Final = (sys.executable, "-m", "pytest", "-ra", "-n", "2", "--dist", "worksteal", "--durations=20")


@dataclass(frozen=True)
class Part:
    """Commands that are run one after the other, the last one of tests."""

    name: str
    says: str
    commands: tuple[tuple[str, ...], ...]


def _spark(name: str, says: str, *tests: str) -> Part:
    return Part(name, says, ((*_PYTEST, "-m", "spark and not s3", *tests),))


def _files(*patterns: str) -> tuple[str, ...]:
    """As they stand now: whoever adds a file has it in a part."""
    return tuple(sorted(str(one.relative_to(ROOT)) for pattern in patterns for one in ROOT.glob(pattern)))


_RULE: Final = (
    "tests/spark/optimizer/test_[a-c]*.py",
    "tests/spark/optimizer/test_[d-j]*.py",
    "tests/spark/optimizer/test_[k-z]*.py",
)
_OWN_JVM: Final = (
    *_files("tests/spark/test_*.py"),
    "tests/telemetry",
    "tests/query/query_log",
    "tests/ops/hooks",
    "tests/statements/grammar",
)
_OTHERS: Final = tuple(
    file
    for file in _files("tests/**/test_*.py")
    if not any(file == place or file.startswith(f"{place}/") for place in (*_OWN_JVM, "tests/spark/optimizer"))
)
PARTS: Final = (
    Part("plain", "all that needs neither Spark nor S3, a browser where one may be installed",
         (("make", "browser"), (*_PYTEST, "-m", "not spark and not s3", "tests"))),
    Part("lowest", "quick tests on the lowest versions that are declared", (("make", "test-lowest"),)),
    Part("s3", "a real S3 server", (("make", "s3-server"), (*_PYTEST, "-m", "s3", "tests"))),
    _spark("rule-1", "the rule, a to c", *_files(_RULE[0])),
    _spark("rule-2", "the rule, d to j", *_files(_RULE[1])),
    _spark("rule-3", "the rule, k to z", *_files(_RULE[2])),
    _spark("sessions", "hooks, clusters, servers, query logs", *_OWN_JVM),
    _spark("tables", "builds, scans, formats and facts", *_OTHERS),
    *(Part(f"spark-{name}", f"the promises on Spark {name}", ((sys.executable, "-m", "tests.other_sparks", name),))
      for name in SPARKS),
)  # fmt: skip


@dataclass(frozen=True)
class Done:
    """What became of a part."""

    part: str
    tests: int
    skipped: int
    wrong: int
    minutes: float


def commit_of(folder: Path) -> str | None:
    """None where there is no commit, or more than it says."""
    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    commit = told.stdout.strip()
    return None if told.returncode or commit.endswith("-dirty") else commit


def counted(junit: Path) -> tuple[int, int, int]:
    """Tests, skipped ones and wrong ones of a run of pytest; none where it did not come to that."""
    if not junit.exists():
        return 0, 0, 0
    suites = [suite.attrib for suite in ElementTree.parse(junit).getroot().iter("testsuite")]
    tests, skipped, failures, errors = (
        sum(int(suite[name]) for suite in suites) for name in ("tests", "skipped", "failures", "errors")
    )
    return tests, skipped, failures + errors


def run(part: Part, folder: Path) -> Done:
    """Kept in the folder if it ended well."""
    folder.mkdir(parents=True, exist_ok=True)
    junit = folder / f"{part.name}.xml"
    junit.unlink(missing_ok=True)
    environ = {**os.environ, compiling.VARIABLE: "1", "PYTEST_ADDOPTS": f"--junitxml={junit}"}
    environ.pop("METAINDEX_FAST", None)
    environ["METAINDEX_WHOLE"] = "1"
    started = time.monotonic()
    codes = [subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode for command in part.commands]
    tests, skipped, wrong = counted(junit)
    done = Done(part.name, tests, skipped, wrong or int(any(codes)), round((time.monotonic() - started) / 60, 1))
    if not done.wrong:
        (folder / f"{part.name}.json").write_text(json.dumps(asdict(done)) + "\n")
    return done


def kept(part: Part, folder: Path) -> Done | None:
    place = folder / f"{part.name}.json"
    return Done(**json.loads(place.read_text())) if place.exists() else None


def table(every: Sequence[Done]) -> TextTable:
    """A row a part, and their sum."""
    columns = (
        Column("part"),
        *(Column(name, right=True) for name in ("tests", "skipped", "wrong", "minutes")),
        Column("what"),
    )
    says = {part.name: part.says for part in PARTS}
    total = Done(
        "all",
        sum(done.tests for done in every),
        sum(done.skipped for done in every),
        sum(done.wrong for done in every),
        sum(done.minutes for done in every),
    )
    return TextTable(
        columns,
        tuple(
            (
                done.part,
                f"{done.tests:,}",
                f"{done.skipped:,}",
                f"{done.wrong:,}",
                f"{done.minutes:.1f}",
                says.get(done.part, ""),
            )
            for done in (*every, total)
        ),
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        "python -m tests.parts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(part.name for part in PARTS)}")
    names = parser.parse_args(arguments).parts
    if unknown := set(names) - {part.name for part in PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(part.name for part in PARTS)}")
    commit = commit_of(ROOT)
    folder = CACHE / (commit or "uncommitted")
    every = []
    for part in PARTS:
        if names and part.name not in names:
            continue
        before = kept(part, folder) if commit else None
        say(f"test-all: {part.name}: {part.says}" + (", done before" if before else ""))
        every.append(before or run(part, folder))
    say(f"\n{table(every)}\n")
    wrong = [done.part for done in every if done.wrong]
    say(f"test-all: something went wrong: {', '.join(wrong)}" if wrong else "test-all: nothing went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
