"""Which tests run when: a test has its lane by its marks, the same in every run.

    make test-fast    needs no JVM and no server, takes a moment: all but the marks below
    make test         those, `slow` ones, and the tests of Spark that `tests/promises.txt` names, in two JVMs
    make test-all     `exhaustive` ones too, in parts (`tests/parts.py`)

`exhaustive` is whatever needs an S3 server, whatever needs Spark and is not named in that file, and by its mark:

    @pytest.mark.exhaustive                  a matrix, every case of it
    @pytest.mark.exhaustive(but="delta")     all cases but the one of this name, or those whose first or last parameter
                                             has it; `but=("delta", "json")`: of one of these names

and `slow` likewise. A test that a mutant names has at least one case that is not `exhaustive`.

Whoever calls pytest itself gets every case of what they name.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Final

import pytest

from tests.each_spark import lacks
from tests.mutants.written import MUTANTS

ROOT: Final = Path(__file__).parents[1]


def promises(text: str) -> tuple[str, ...]:
    """The tests that a list names, one a line; lines of `#` are for its readers."""
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))


PROMISES: Final = promises((ROOT / "tests" / "promises.txt").read_text("utf-8"))
_PROMISED: Final = frozenset(PROMISES)
_SECOND_JVM: Final = "tests/spark/optimizer/test_joins"
_OF_MUTANTS: Final = frozenset(test for mutant in MUTANTS for test in mutant.tests)


def is_named(nodeid: str, names: Collection[str]) -> bool:
    """Is this test, its function, its file or a folder of it among these names?"""
    function = nodeid.partition("[")[0]
    file = function.partition("::")[0]
    if nodeid in names or function in names or file in names:
        return True
    folder = file.rpartition("/")[0]
    return bool(folder) and is_named(folder, names)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` chooses. Whoever takes the session needs a JVM, also without having said so: `-m "not spark"` must
    never start one."""
    without_delta = lacks("delta")
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        for fixture, mark in (("spark", pytest.mark.spark), ("s3_server", pytest.mark.s3)):
            if fixture in fixtures:
                item.add_marker(mark)
        if is_named(item.nodeid, _PROMISED) or (without_delta and is_named(_of_delta(item.nodeid), _PROMISED)):
            item.add_marker(pytest.mark.promise)
        for mark_of in filter(None, map(item.get_closest_marker, ("exhaustive", "slow"))):
            _check(item, mark_of)
            if "but" in mark_of.kwargs and _is_case(item.nodeid, mark_of.kwargs["but"]):
                item.own_markers.remove(mark_of)
        if item.get_closest_marker("s3") or (
            item.get_closest_marker("spark") and not item.get_closest_marker("promise")
        ):
            item.add_marker(pytest.mark.exhaustive)


def _of_delta(nodeid: str) -> str:
    """The case of Delta that this one of plain files stands for, where nothing of Delta has been published."""
    function, _, case = nodeid.partition("[")
    return f"{function}[{case.replace('parquet', 'delta')}"


def _is_case(nodeid: str, but: str | tuple[str, ...]) -> bool:
    """Is it the case of one of these names, or one whose first or last parameter has it?"""
    case = f"-{nodeid.partition('[')[2].removesuffix(']')}-"
    return any(
        case.startswith(f"-{name}-") or case.endswith(f"-{name}-") for name in ((but,) if isinstance(but, str) else but)
    )


def _check(item: pytest.Item, mark: pytest.Mark) -> None:
    if mark.args or mark.kwargs.keys() - {"but"}:
        raise pytest.UsageError(f"`{mark.name}` takes but= alone; {item.nodeid} has {mark}")
    # Mutants are run without Spark and servers.
    without = item.get_closest_marker("spark") or item.get_closest_marker("s3")
    whole = "but" not in mark.kwargs and mark not in getattr(getattr(item, "callspec", None), "marks", ())
    named = item.nodeid in _OF_MUTANTS or (whole and is_named(item.nodeid, _OF_MUTANTS))
    if mark.name == "exhaustive" and not without and named:
        raise pytest.UsageError(
            f"a test that a mutant names runs at each commit; {item.nodeid} is marked `exhaustive`; "
            "take the mark away, or mark cases of it"
        )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """With `--dist loadfile` the promises of Spark are two workers', each of which starts one JVM for them."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    scheduler = LoadFileScheduling(config, log)
    by_file = scheduler._split_scope
    scheduler._split_scope = lambda nodeid: (
        f"promises {nodeid < _SECOND_JVM}" if is_named(nodeid, _PROMISED) else by_file(nodeid)
    )
    return scheduler
