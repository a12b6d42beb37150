"""Files that several runs and several indexes know: each may prove, and what a quick refresh only names is asked of the
table and of later runs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.types import DoubleType, LongType

import metaindex as mi
from metaindex.expressions import to_predicate
from tests.evaluate import matches
from tests.tables import Lake, catalog_in, delta_lake, iceberg_lake, parquet_lake, rows


@pytest.fixture(params=[delta_lake, iceberg_lake, parquet_lake])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    made: Lake = request.param(tmp_path)
    for first in (0, 10, 20):
        made.append(rows(first))
    return made


def kept(lake: Lake, predicate: str, version: str | None = None, **how: object) -> int:
    return lake.open().prune(predicate, version, **how).kept_files  # type: ignore[arg-type]


def test_a_quick_refresh_keeps_no_more_than_no_refresh(lake: Lake) -> None:
    lake.open().create_index("main", mi.ColumnStats(), builder="local")
    lake.append(rows(30))
    lake.append(rows(40))
    asked = {predicate: kept(lake, predicate, indexes=["main"]) for predicate in ("id = 12", "id >= 33", "id < 0")}
    lake.open().refresh_index("main", mode="quick")
    for predicate, before in asked.items():
        assert kept(lake, predicate, indexes=["main"]) <= before, predicate


def test_files_that_a_later_run_knows_are_known_at_the_version_that_only_named_them(lake: Lake) -> None:
    lake.open().create_index("main", mi.ColumnStats(), mi.Bloom("id"), builder="local")
    lake.append(rows(30))
    lake.append(rows(40))
    lake.open().refresh_index("main", mode="quick")
    named = lake.open().snapshot().version.id
    lake.append(rows(50))
    lake.open().refresh_index("main", builder="local")
    for predicate, expected in (("id = 31", 1), ("id > 42", 1), ("id < 0", 0), ("id IN (12, 41)", 2)):
        assert kept(lake, predicate, named, indexes=["main"]) == expected, predicate


@pytest.mark.parametrize(
    "more", [mi.Bloom("id"), mi.ValueList("id"), mi.Values("id"), mi.Bloom("word"), mi.Values("id", by="value")]
)
@pytest.mark.parametrize("name", ["a", "z"])
def test_another_index_makes_no_file_less_certain(name: str, more: object, tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    for first in (0, 10):
        found = rows(first)
        lake.append(found.append_column("word", pa.array(["w"] * len(found))))
    asked = ["id < 5", "id != 7", "word IS NOT NULL", "id >= 0", "id = 3", "NOT (id > 4)", "id < 5 AND word = 'w'"]
    table = lake.open()
    table.create_index("m", mi.ColumnStats(), builder="local")
    before = {one: len(table.prune(one).certain) for one in asked}
    assert before["id < 5"] == 1
    assert before["id >= 0"] == 2
    table.create_index(name, more, builder="local")
    assert {one: len(lake.open().prune(one).certain) for one in asked} == before


WORDS = st.sampled_from(
    ["id = {}", "id < {}", "id >= {}", "id != {}", "id IN ({}, 3)", "NOT id <= {}", "id IS NULL OR id > {}"]
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=6)
@given(st.data())
def test_certain_and_dropped_are_true_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Quick and other refreshes in any order, one index or two: at every version what is dropped has no match, what is
    certain nothing else."""
    lake = delta_lake(tmp_path_factory.mktemp("t"))
    held: list[set[int]] = []

    def append() -> None:
        first = data.draw(st.integers(0, 9))
        held.append(set(range(first, first + 5)))
        lake.append(rows(first))

    append()
    lake.open().create_index("m", mi.ColumnStats(), builder="local")
    lake.open().create_index(
        "a", data.draw(st.sampled_from([mi.Bloom("id"), mi.Values("id"), mi.ColumnStats()])), builder="local"
    )
    for _ in range(data.draw(st.integers(1, 4))):
        append()
        for name in data.draw(st.sampled_from([(), ("m",), ("a",), ("m", "a")])):
            lake.open().refresh_index(name, mode=data.draw(st.sampled_from(["quick", "incremental"])), builder="local")
    table = lake.open()
    for version in range(len(held)):
        for _ in range(4):
            predicate = data.draw(WORDS).format(data.draw(st.integers(-1, 15)))
            result = table.prune(predicate, version)
            every = {path: set(table_rows(lake, path)) for path in table.snapshot(version).files.paths.to_pylist()}
            match = {path: {n for n in ids if _true(predicate, n)} for path, ids in every.items()}
            left = set(result.files.paths.to_pylist())
            assert all(not match[path] for path in every.keys() - left), predicate
            assert all(match[path] == every[path] for path in result.certain.paths.to_pylist()), predicate


def table_rows(lake: Lake, path: str) -> list[int]:
    found: list[int] = pq.read_table(Path(lake.path) / path).column("id").to_pylist()
    return found


def _true(predicate: str, value: int) -> bool:
    return bool(matches(to_predicate(predicate), {"id": value}))


def test_a_version_from_before_a_promotion_is_pruned_after_optimize(tmp_path: Path) -> None:
    def data(first: int, *types: pa.DataType) -> pa.Table:
        return pa.table([pa.array(range(first, first + 5)).cast(t) for t in types], names=["i", "f"])

    catalog = catalog_in(tmp_path)
    narrow, wide = (pa.int32(), pa.float32()), (pa.int64(), pa.float64())
    table = catalog.create_table("db.t", data(0, *narrow).schema)
    for first in (0, 10, 20):
        table.append(data(first, *narrow))
    opened = mi.open_table("db.t", catalog=catalog)
    before = opened.snapshot().version.id
    opened.create_index("main", mi.ColumnStats(), builder="local")
    with table.update_schema() as update:
        update.update_column("i", LongType())
        update.update_column("f", DoubleType())
    table.append(data(30, *wide))
    opened.refresh_index("main", builder="local")
    asked = ["i = 12", "f = 12", "i >= 20", "f < 5", "i > 24"]
    expected = [opened.prune(one, before, indexes=["main"]).kept_files for one in asked]
    assert expected == [1, 1, 1, 1, 0]
    opened.optimize_index("main", "full")
    assert [opened.prune(one, before, indexes=["main"]).kept_files for one in asked] == expected
