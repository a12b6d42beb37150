"""The collector of garbage rests while a large predicate is planned, and only then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from expressions import Or, col
from metaindex.collector import held_back

MANY = Or(tuple((col("k") == n) & (col("k") < n + 1) for n in range(500)))
TEXT = " OR ".join(f"(k = {n} AND k < {n + 1})" for n in range(500))


class Asked:
    @held_back
    def works(self, predicate: object, fails: bool = False) -> bool:
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
