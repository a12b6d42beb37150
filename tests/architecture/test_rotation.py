"""Every test is looked for. Heavy ones take turns: every family has a case in every run, every case has its turn,
whatever a person names runs, and no test of a mutant is ever left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compiling import COMPILED, INTERPRETED, settings_of
from tests.mutants.written import MUTANTS
from tests.rotation import ALL, commit_of, has_turn, is_a_mutants, share_of

ROOT = Path(__file__).parents[2]
SUITE = """
import pytest

@pytest.mark.rotating
@pytest.mark.parametrize("case", range(6))
def test_one(case):
    pass

@pytest.mark.rotating(of=3, always="0-a")
@pytest.mark.parametrize("other", "ab")
@pytest.mark.parametrize("case", range(3))
def test_some(case, other):
    pass

@pytest.mark.rotating(family="facts")
def test_fact():
    pass

@pytest.mark.rotating(family="facts")
def test_other_fact():
    pass

@pytest.mark.rotating(kept=True)
def test_kept():
    pass

def test_always():
    pass
"""
EVERY = 6 + 6 + 2 + 1 + 1


def test_no_room_is_passed_over(pytestconfig: pytest.Config) -> None:
    """pytest's own list of folders to pass over has `build`, and a room of the tests had that name."""
    rooms = {place.relative_to(ROOT) for place in (ROOT / "tests").rglob("test_*.py")}
    patterns = pytestconfig.getini("norecursedirs")
    over = [room for room in rooms for part in room.parts[:-1] if any(fnmatch(part, one) for one in patterns)]
    assert rooms
    assert over == []


@given(st.sets(st.text(max_size=5), min_size=1, max_size=30), st.text(max_size=5), st.integers(1, 40))
def test_a_share_is_a_part_and_never_empty(family: set[str], seed: str, of: int) -> None:
    share = share_of(family, seed, of)
    assert share <= family
    assert len(share) == -(-len(family) // of)
    assert share == share_of(sorted(family), seed, of), "the order in which they were collected is nothing to it"
    assert len(share_of(family, seed)) == 1


def test_every_case_has_its_turn() -> None:
    family = [f"tests/test_one.py::test[{case}]" for case in range(8)]
    turns = [share_of(family, f"{commit:07x}") for commit in range(200)]
    assert set.union(*turns) == set(family)
    assert min(sum(name in turn for turn in turns) for name in family) > 5, "and not seldom"


def test_what_stands_for_itself_has_its_turn_by_itself() -> None:
    tests = [f"tests/test_one.py::test_{number}" for number in range(50)]
    for commits in (1, 3, 8):
        turns = [[has_turn(test, f"{commit:07x}", commits) for commit in range(300)] for test in tests]
        assert all(any(turn) for turn in turns)
        assert 0.8 / commits < sum(map(sum, turns)) / (50 * 300) < 1.2 / commits
        assert len({tuple(turn) for turn in turns}) == (1 if commits == 1 else 50), "not all in the same commits"


@pytest.mark.slow
def test_what_stands_for_itself_runs_in_some_commits(tmp_path: Path) -> None:
    alone = "import pytest\n\n@pytest.mark.rotating(commits={0})\ndef test_of_{0}():\n    pass\n"
    (tmp_path / "test_alone.py").write_text(alone.format(1) + alone.format(10**12))
    assert {test for test in _run(tmp_path)[0] if "alone" in test} == {"test_alone.py::test_of_1"}
    every, told = _run(tmp_path, METAINDEX_ROTATION=ALL)
    assert len({test for test in every if "alone" in test}) == 2, told


@pytest.mark.slow
def test_a_share_is_taken_in_some_commits(tmp_path: Path) -> None:
    some = """import pytest

@pytest.mark.rotating(every={0})
@pytest.mark.parametrize("case", range(4))
def test_in_{0}(case):
    pass
"""
    (tmp_path / "test_some_commits.py").write_text(some.format(1) + some.format(10**12))
    assert [test[:-3] for test in _run(tmp_path)[0] if "::test_in_" in test] == ["test_some_commits.py::test_in_1"]
    every, told = _run(tmp_path, METAINDEX_ROTATION=ALL)
    assert len({test for test in every if "::test_in_" in test}) == 8, told


def _run(folder: Path, *arguments: str, **environ: str) -> tuple[set[str], str]:
    """Which tests were run, and what the run told."""
    (folder / "test_suite.py").write_text(SUITE)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("METAINDEX_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-vv", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-W", "ignore", "-p", "tests.rotation", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"test_\w+\.py::test_[\w\[\]-]+", done.stdout)), done.stdout + done.stderr


def _family(run: set[str], name: str) -> list[str]:
    return [test for test in run if f"::{name}" in test]


@pytest.mark.slow
def test_a_run_of_all_takes_a_share_of_every_family(tmp_path: Path) -> None:
    run, told = _run(tmp_path)
    assert (len(_family(run, "test_one")), len(_family(run, "test_some"))) == (1, 1 + 2), told
    assert "test_suite.py::test_some[0-a]" in run
    assert (len(_family(run, "test_fact") + _family(run, "test_other")), len(_family(run, "test_always"))) == (1, 1)
    assert not _family(run, "test_kept")
    assert f"the share of {commit_of(ROOT)}; METAINDEX_ROTATION=all runs every case" in told
    assert "rotation: 4 of 14 tests that rotate were run" in told


@pytest.mark.slow
def test_workers_take_the_same_share_and_say_so(tmp_path: Path) -> None:
    alone, _ = _run(tmp_path, METAINDEX_ROTATION="1234567")
    run, told = _run(tmp_path, "-p", "xdist", "-n", "2", METAINDEX_ROTATION="1234567")
    assert run == alone
    assert "rotation: 4 of 14 tests that rotate were run, the share of 1234567" in told


@pytest.mark.slow
def test_another_commit_has_another_share(tmp_path: Path) -> None:
    runs = [_run(tmp_path, METAINDEX_ROTATION=seed)[0] for seed in ("1234567", "89abcde", "f012345")]
    assert all(len(run) == 6 for run in runs)
    assert len(set(map(frozenset, runs))) > 1


def test_the_share_is_that_of_the_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == "no commit"
    seen = set()
    for number in range(2):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "--no-verify", "-m", str(number)]):
            subprocess.run(["git", *words], cwd=tmp_path, check=True)
        seen.add(commit_of(tmp_path))
    assert len(seen) == 2
    assert all(re.fullmatch("[0-9a-f]{7,}", one) for one in seen)


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        ((), {"METAINDEX_ROTATION": "all"}),
        ((), {"METAINDEX_SOAK": "1"}),
        ((), {"METAINDEX_SOAK": "1", "METAINDEX_ROTATION": "1234567"}),
        (("test_suite.py",), {}),
    ],
    ids=str,
)
@pytest.mark.slow
def test_who_asks_for_all_gets_all(tmp_path: Path, arguments: tuple[str, ...], environ: dict[str, str]) -> None:
    run, told = _run(tmp_path, *arguments, **environ)
    assert len(run) == EVERY, told
    assert "rotation: every case of the tests that rotate" in told


@pytest.mark.slow
def test_who_names_a_test_gets_it(tmp_path: Path) -> None:
    named = {f"test_suite.py::test_one[{case}]" for case in range(5)}
    assert _run(tmp_path, *named)[0] == named
    assert len(_run(tmp_path, "-k", "test_one")[0]) == 6


@pytest.mark.slow
def test_of_what_a_choice_leaves_one_runs(tmp_path: Path) -> None:
    """A family whose case of this commit is left out by a mark has another one."""
    deselected = [f"--deselect=test_suite.py::test_one[{case}]" for case in range(5)]
    run, _ = _run(tmp_path, *deselected)
    assert _family(run, "test_one") == ["test_suite.py::test_one[5]"]


@pytest.mark.slow
def test_a_test_of_a_mutant_is_not_marked(tmp_path: Path) -> None:
    assert all(is_a_mutants(test) for mutant in MUTANTS for test in mutant.tests)
    named = next(test for mutant in MUTANTS for test in mutant.tests if test.endswith(".py"))
    assert is_a_mutants(f"{named}::test_any[case]")
    assert not is_a_mutants(named.replace(".py", "_other.py"))
    place = tmp_path / named
    place.parent.mkdir(parents=True)
    for mark, refused in (("rotating", True), ("slow", False)):
        place.write_text(f"import pytest\n\n@pytest.mark.{mark}\ndef test_any():\n    pass\n")
        assert ("take the mark away" in _run(tmp_path)[1]) is refused
    place.write_text("import pytest\n\n@pytest.mark.spark\n@pytest.mark.rotating\ndef test_any():\n    pass\n")
    run, _ = _run(tmp_path)
    assert f"{place.name}::test_any" in {test.rpartition("/")[2] for test in run}, "mutants are run without Spark"


@pytest.mark.slow
def test_marks_say_what_they_mean(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text("import pytest\n\n@pytest.mark.rotating(3)\ndef test_any():\n    pass\n")
    assert "takes of=, family=, always=, every=, commits= and kept= alone" in _run(tmp_path)[1]


def test_every_module_is_compiled_at_times() -> None:
    for test in [f"tests/readers/test_{number}.py::test_it[{number}]" for number in range(20)]:
        seen = [settings_of(test, f"{commit:07x}", marked=True) for commit in range(60)]
        assert COMPILED in seen
        assert INTERPRETED in seen
        assert settings_of(test, ALL, marked=True) == COMPILED, "as Spark is by default"
        assert all(settings_of(test, f"{commit:07x}", marked=False) == COMPILED for commit in range(60))


def test_a_module_is_compiled_as_a_whole() -> None:
    for seed in ("1234567", "89abcde", "f012345"):
        one, other = (settings_of(f"tests/readers/test_a.py::test_{name}", seed, marked=True) for name in "ab")
        assert one == other
