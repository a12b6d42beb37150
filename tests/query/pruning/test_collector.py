"""The collector of garbage rests while a large predicate is planned, and only then."""

import gc
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.expressions import Or, col
from metaindex.query.pruning import collector
from metaindex.query.pruning.collector import gc_paused

MANY = Or(tuple((col("k") == n) & (col("k") < n + 1) for n in range(500)))
TEXT = " OR ".join(f"(k = {n} AND k < {n + 1})" for n in range(500))


class Asked:
    def works(self, predicate: object, fails: bool = False) -> bool:
        with gc_paused(predicate):
            if fails:
                raise ValueError(predicate)
            return gc.isenabled()


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize("large", [MANY, TEXT])
def test_it_rests_for_large_predicates_and_works_again(large: object) -> None:
    assert not Asked().works(large)
    assert gc.isenabled()
    with pytest.raises(ValueError, match="k"):
        Asked().works(large, fails=True)
    assert gc.isenabled()
    gc.disable()
    assert not Asked().works(large)
    assert not gc.isenabled(), "who switched it off wants it so"


class Meeting:
    """Plans that wait for each other before they end, in the order of their numbers; some fail."""

    def __init__(self, count: int) -> None:
        self.all_here = threading.Barrier(count)
        self.ended = [threading.Event() for _ in range(count)]

    def plan(self, predicate: object, number: int) -> bool:
        with gc_paused(predicate):
            self.all_here.wait(60)
            if number:
                assert self.ended[number - 1].wait(60)
            if number % 3 == 1:
                raise ValueError(number)
            return gc.isenabled()

    def run(self, number: int) -> bool:
        try:
            return self.plan(MANY, number)
        except ValueError:
            return False
        finally:
            self.ended[number].set()


@pytest.mark.parametrize("wanted", [True, False])
def test_side_by_side_the_last_plan_lets_it_work_again(wanted: bool) -> None:
    if not wanted:
        gc.disable()
    meeting = Meeting(8)
    with ThreadPoolExecutor(8) as pool:
        assert not any(pool.map(meeting.run, range(8))), "it rests until the last of them ends"
    assert gc.isenabled() is wanted


def test_it_does_not_rest_for_ever_while_plans_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[bool] = []

    class Nested:
        def plan(self, predicate: object, deep: int) -> None:
            with gc_paused(predicate):
                inside.append(gc.isenabled())
                if deep:
                    self.plan(predicate, deep - 1)

    Nested().plan(MANY, 3)
    monkeypatch.setattr(collector, "_SECONDS", -1.0)
    assert collector._REST.begin()
    assert not collector._REST.begin(), "who comes later does not make the rest longer"
    collector._REST.end()
    assert inside == [False] * 4
    assert gc.isenabled()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_is_forked_during_a_plan_collects() -> None:
    class Forks:
        def plan(self, predicate: object) -> int:
            with gc_paused(predicate):
                child = os.fork()
                if not child:
                    os._exit(0 if gc.isenabled() else 1)
                return os.waitpid(child, 0)[1]

    assert Forks().plan(MANY) == 0
    assert gc.isenabled()


@pytest.mark.parametrize("small", [col("k") == 1, "k = 1", (col("k") == 1) | (col("k") > 7), None, 3])
def test_it_works_on_for_others(small: object) -> None:
    assert Asked().works(small)


@pytest.mark.parametrize("large", [MANY, TEXT, TEXT + " OR no_such = 1"])
def test_after_a_plan_it_works(tmp_path: Path, large: object) -> None:
    pq.write_table(pa.table({"k": pa.array(range(10), pa.int64())}), tmp_path / "f.parquet")
    table = mi.open_table(str(tmp_path))
    if "no_such" in str(large):
        with pytest.raises(mi.MetaIndexError, match="no_such"):
            table.prune(large)
    else:
        assert table.prune(large).kept_files == 1
    assert gc.isenabled()
