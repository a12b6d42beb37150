"""The first promise, end to end: no dropped file holds a matching row, every row of a certain file matches, a scan
gives the matching rows and no other."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import ScanError
from metaindex.expressions import Predicate
from tests import strategies
from tests.answers import one_answer
from tests.evaluate import matches
from tests.examples import few
from tests.expressions.engines.tables import arrow_schema
from tests.tables import settle, settled

Expected = list[tuple[str, int, strategies.Row]]
"""Of each row its file, its number and its values."""


@contextmanager
def drawn_lake(
    data: st.DataObject, schema: strategies.Schema, most: int, layouts: list[str]
) -> Iterator[tuple[mi.Table, Expected]]:
    """A table of drawn rows, which are numbered in the column `row`."""
    files = data.draw(st.lists(st.lists(strategies.rows(schema), max_size=most), min_size=1, max_size=5))
    layout, groups = data.draw(st.sampled_from(layouts)), data.draw(st.sampled_from([1, 2, 1000]))
    written = pa.schema([pa.field("row", pa.int64()), *arrow_schema(schema)])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "lake"
        expected: Expected = []
        for place, rows in enumerate(files):
            path = root / layout.format(place % 3 if "p=" in layout else place)
            path = path.with_name(f"{place}-{path.name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            numbered = [{"row": len(expected) + i, **row} for i, row in enumerate(rows)]
            pq.write_table(pa.Table.from_pylist(numbered, written), path, row_group_size=groups)
            expected += [(str(path), row["row"], row) for row in numbered]
        settle(root)
        yield mi.open_table(str(root)), expected


def check(table: mi.Table, predicate: Predicate, expected: Expected) -> int | None:
    """What is kept, certain and scanned; how many rows match, or None where no scan takes the predicate."""
    result = table.prune(predicate)
    kept, certain = set(result.paths), {f"{table.path}/{p}" for p in result.certain.paths.to_pylist()}
    wanted = [(path, row) for path, row, values in expected if matches(predicate, values) is True]
    assert {path for path, _ in wanted} <= kept
    assert [row for path, row, _ in expected if path in certain] == [row for path, row in wanted if path in certain]
    assert kept.isdisjoint(f"{table.path}/{p}" for p in result.dropped.paths.to_pylist())
    assert len(result.dropped) + result.kept_files == result.total_files
    try:
        scanned = one_answer(table, predicate)
    except ScanError:  # a literal that the column cannot be compared with is refused, not guessed at
        return None
    assert sorted(scanned.column("row").to_pylist()) == sorted(row for _, row in wanted)
    return len(wanted)


@settings(max_examples=few(8, 25))
@given(st.data())
def test_dropped_files_hold_no_matching_row(data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    with drawn_lake(data, schema, 4, ["{}.parquet", "p={}/f.parquet"]) as (table, expected):
        table.create_index("stats", mi.ColumnStats(), builder="local")
        files = sum(1 for _ in Path(table.path).rglob("*.parquet"))
        for predicate in data.draw(st.lists(strategies.predicates(schema), min_size=4, max_size=8)):
            check(table, predicate, expected)
            assert table.prune(predicate).total_files == files


def test_each_index_says_what_it_drops_alone(tmp_path: Path) -> None:
    root = settled(
        tmp_path / "lake",
        {f"{i}.parquet": pa.table({"a": range(i * 10, i * 10 + 10), "b": range(100 - i, 110 - i)}) for i in range(10)},
    )
    table = mi.open_table(str(root))
    table.create_index("one", mi.ColumnStats("a"), builder="local")
    table.create_index("two", mi.ColumnStats("b"), builder="local")
    sizes = {entry.path: entry.size_bytes for entry in table.snapshot().files.entries()}
    result = table.prune("a >= 50 AND b >= 107")
    one, two = (next(r for r in result.indexes if r.name == name) for name in ("one", "two"))
    assert [Path(p).name for p in result.paths] == []
    assert (one.dropped_files, two.dropped_files) == (5, 7)
    assert one.dropped_bytes == sum(sizes[f"{i}.parquet"] for i in range(5))
    assert two.dropped_bytes == sum(sizes[f"{i}.parquet"] for i in range(3, 10))
    assert one.seconds > 0
    assert result.dropped.size_bytes == result.total_bytes
    single = table.prune("a >= 50", indexes=["one"])
    assert single.indexes[0].dropped_bytes == one.dropped_bytes == single.dropped.size_bytes


def test_a_file_of_nothing_but_nan_is_told_from_one_of_unknown_bounds(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    nan = float("nan")
    settled(
        root,
        {
            f"{name}.parquet": pa.table({"x": pa.array(values, pa.float64())})
            for name, values in {
                "low": [1.0, nan],
                "high": [9.0],
                "nan": [nan, nan],
                "some": [nan, None],
                "null": [None],
            }.items()
        },
    )
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), builder="local")

    def kept(predicate: str) -> set[str]:
        return {Path(path).stem for path in table.prune(predicate).paths}

    assert kept("x < 5") == {"low"}
    assert kept("x = 9") == {"high"}
    assert kept("x > 5") == {"low", "high", "nan", "some"}  # NaN is greater than any number, as in Spark
    assert kept("x IN (2, 9)") == {"high"}
    assert kept("x <> 9") == {"low", "nan", "some"}
    assert kept("x IS NULL") == {"some", "null"}
