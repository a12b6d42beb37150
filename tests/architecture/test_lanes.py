"""Every test has a lane, the same in every run: no folder is passed over, each promise is a test, no test of a mutant
is left to `make test-all`, and what that has done well is not done again."""

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.compiling import COMPILED, INTERPRETED, settings_of
from tests.lanes import PROMISES, ROOT, is_named, promises
from tests.mutants.written import MUTANTS
from tests.parts import PARTS
from tests.soak import PIECES

SUITE = """
import pytest

@pytest.mark.exhaustive
@pytest.mark.parametrize("case", range(3))
def test_matrix(case):
    pass

@pytest.mark.exhaustive(but="b-1")
@pytest.mark.parametrize("case", range(2))
@pytest.mark.parametrize("other", "ab")
def test_one_of_some(case, other):
    pass

@pytest.mark.slow(but="b")
@pytest.mark.parametrize("case", range(2))
@pytest.mark.parametrize("other", "ab")
def test_some_quick(case, other):
    pass

@pytest.fixture
def spark():
    return None

@pytest.fixture
def s3_server():
    return None

def test_of_spark(spark):
    pass

def test_of_a_server(s3_server):
    pass

def test_quick():
    pass
"""
FILES = [place.relative_to(ROOT) for place in (ROOT / "tests").rglob("test_*.py")]


def test_no_room_is_passed_over(pytestconfig: pytest.Config) -> None:
    """pytest's own list of folders to pass over has `build`, and a room of the tests had that name."""
    patterns = pytestconfig.getini("norecursedirs")
    over = [room for room in FILES for part in room.parts[:-1] if any(fnmatch(part, one) for one in patterns)]
    assert FILES
    assert over == []


def _run(folder: Path, *arguments: str) -> tuple[set[str], str]:
    """Which tests were run, and what the run told."""
    (folder / "test_suite.py").write_text(SUITE)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("METAINDEX_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-vv", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-W", "ignore", "-p", "tests.lanes", *arguments],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"test_\w+\.py::(test_[\w\[\]-]+)", done.stdout)), done.stdout + done.stderr


@pytest.mark.slow
def test_a_commit_has_one_case_of_a_matrix_or_none_and_the_same_each_time(tmp_path: Path) -> None:
    commit, told = _run(tmp_path, "-m", "not exhaustive")
    some = {f"test_some_quick[{case}]" for case in ("a-0", "a-1", "b-0", "b-1")}
    assert commit == {"test_one_of_some[b-1]", "test_quick"} | some, told
    assert _run(tmp_path, "-m", "not exhaustive and not slow")[0] == commit - {
        f"test_some_quick[a-{n}]" for n in (0, 1)
    }
    assert _run(tmp_path, "-m", "not exhaustive")[0] == commit
    assert len(_run(tmp_path)[0]) == 3 + 4 + 4 + 2 + 1
    assert _run(tmp_path, "-m", "not spark")[0] == _run(tmp_path)[0] - {"test_of_spark"}, "which would start a JVM"


@pytest.mark.slow
def test_marks_say_what_they_mean_and_are_not_for_tests_of_mutants(tmp_path: Path) -> None:
    place = tmp_path / "test_wrong.py"
    place.write_text("import pytest\n\n@pytest.mark.exhaustive(3)\ndef test_any():\n    pass\n")
    assert "`exhaustive` takes but= alone" in _run(tmp_path)[1]
    place.unlink()
    named = next(test for mutant in MUTANTS for test in mutant.tests if test.endswith(".py"))
    (tmp_path / named).parent.mkdir(parents=True)
    for mark, refused in (("exhaustive", True), ("slow", False)):
        (tmp_path / named).write_text(f"import pytest\n\n@pytest.mark.{mark}\ndef test_any():\n    pass\n")
        assert ("take the mark away" in _run(tmp_path)[1]) is refused
    for marks in (
        '@pytest.mark.exhaustive(but=("a", "b"))\n@pytest.mark.parametrize("case", "abc")',
        '@pytest.mark.parametrize("case", ["a", "b", pytest.param("c", marks=pytest.mark.exhaustive)])',
    ):
        (tmp_path / named).write_text(f"import pytest\n\n{marks}\ndef test_any(case):\n    pass\n")
        ran, told = _run(tmp_path, "-m", "not exhaustive")
        assert {test for test in ran if "any" in test} == {"test_any[a]", "test_any[b]"}, told


def test_a_name_is_of_a_test_its_function_its_file_or_its_folder() -> None:
    test = "tests/spark/optimizer/test_any.py::test_it[a::b/c]"
    for name in (
        test,
        "tests/spark/optimizer/test_any.py::test_it",
        "tests/spark/optimizer/test_any.py",
        "tests/spark/optimizer",
        "tests",
    ):
        assert is_named(test, {name})
    for name in (
        "tests/spark/optimizer/test_any.py::test_i",
        "tests/spark/optimizer/test_any.py::test_it[b]",
        "tests/ru",
        "rule",
    ):
        assert not is_named(test, {name})
    assert promises("# says\n\ntests/a.py::test_it[a b]\n") == ("tests/a.py::test_it[a b]",)


@pytest.mark.slow
def test_each_promise_is_a_test() -> None:
    assert len(PROMISES) == len(set(PROMISES))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", "spark"]
    told = subprocess.run([*command, *PROMISES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout[-3000:] + told.stderr[-3000:]
    assert "deselected" not in told.stdout, "those of Spark alone"


def test_every_file_with_tests_of_spark_is_in_one_part() -> None:
    places = [
        word
        for part in PARTS
        for command in part.commands
        if "spark and not s3" in command
        for word in command[command.index("spark and not s3") + 1 :]
    ]
    for file in FILES:
        around = {str(file), *map(str, file.parents)}
        inside = [place for place in places if place in around]
        assert len(inside) == 1, (file, inside)


def test_every_file_that_is_named_elsewhere_is_there() -> None:
    """By a promise, a piece of the soak, and the tests of the lowest versions."""
    (lowest,) = re.findall(r"^LOWEST_TESTS \?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = {*lowest.split(), *(test for piece in PIECES for test in piece.tests), *PROMISES}
    assert [name for name in named if not (ROOT / name.partition("::")[0]).exists()] == []


def test_marked_tests_are_compiled_where_everything_runs() -> None:
    assert settings_of(marked=True, environ={}) == INTERPRETED
    assert settings_of(marked=True, environ={"METAINDEX_COMPILED": "1"}) == COMPILED, "as Spark is by default"
    assert settings_of(marked=False, environ={}) == COMPILED
