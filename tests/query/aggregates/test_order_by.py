"""The first rows of an order: those of all rows sorted, by DuckDB, whatever is asked, deleted or damaged; and how many
files were opened."""

import itertools
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import ColumnBounds
from metaindex.formats import Field, Leaf
from metaindex.index import ColumnFacts
from metaindex.query.aggregates.counts import KnownCounts
from metaindex.query.aggregates.order_by import Sorted
from metaindex.query.order import Direction
from tests.duck import connected
from tests.formats.delta.hand import add, column, commit, metadata, protocol
from tests.formats.iceberg.written import Drawn, histories
from tests.hostile.changes import DAMAGES
from tests.hostile.driver import put
from tests.query.aggregates.conftest import fill
from tests.query.aggregates.lakes import HandDelta, conditions, opened_files
from tests.query.aggregates.test_aggregates import hand_deltas, plain_row, quoted
from tests.query.pruning.test_damage import PARTS
from tests.tables import FIVE, settled

SIDES = [("asc",), ("desc",), ("asc", "nulls last"), ("desc", "nulls first"), ("desc", "nulls last"), ()]


def check(table: mi.Table, where: object, keys: list[tuple[str, ...]], limit: int, version: Any = None) -> pa.Table:
    every = table.scan(where, version=version, indexes=[]).to_arrow()
    found = table.scan(where, version=version, order_by=keys, limit=limit).to_arrow()
    assert found.schema == every.schema
    rows = [plain_row(row) for row in found.to_pylist()]
    assert not Counter(rows) - Counter(plain_row(row) for row in every.to_pylist()), "each is a row of the table, once"
    names = [key[0] for key in keys]
    assert [plain_row(row) for row in found.select(names).to_pylist()] == sorted_by_duckdb(every, keys, limit)
    return found


def sorted_by_duckdb(every: pa.Table, keys: list[tuple[str, ...]], limit: int) -> list[str]:
    def clause(key: tuple[str, ...]) -> str:
        side = key[1] if len(key) > 1 else "asc"
        nulls = key[2] if len(key) > 2 else ("nulls first" if side == "asc" else "nulls last")
        return f"{quoted(key[0])} {side} {nulls}"

    names, order = ", ".join(quoted(key[0]) for key in keys), ", ".join(map(clause, keys))
    with connected() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.register("live", every)
        found = con.sql(f"SELECT {names} FROM live ORDER BY {order} LIMIT {limit}").to_arrow_table()
    return [plain_row(row) for row in found.to_pylist()]


@settings(max_examples=settings.default.max_examples * 60 // 100, deadline=None)
@given(st.data(), hand_deltas(), st.booleans())
def test_the_first_rows_are_those_of_all_rows_sorted(data: st.DataObject, made: Any, index: bool) -> None:
    schema, tables, deleted, stats = made
    with tempfile.TemporaryDirectory() as folder:
        lake = HandDelta.of(Path(folder) / "t", schema, tables, stats)
        table = mi.open_table(str(lake.root))
        if index:
            table.create_index("stats", mi.ColumnStats(), builder="local")
        for number, rows in enumerate(deleted):
            lake.delete(number, rows)
        columns = data.draw(st.lists(st.sampled_from(schema.names), unique=True, min_size=1, max_size=3))
        keys = [(name, *data.draw(st.sampled_from(SIDES))) for name in columns]
        where = data.draw(st.none() | conditions(schema, 2))
        limit = data.draw(st.integers(0, 12))
        for version in (len(tables), None):
            check(table, where, keys, limit, version)


@settings(max_examples=settings.default.max_examples * 20 // 100, deadline=None)
@given(
    histories(), st.booleans(), st.integers(0, 7), st.sampled_from(SIDES), st.sampled_from([None, "id >= 2", "id < 4"])
)
def test_deletes_of_iceberg_are_left_out(drawn: Drawn, index: bool, at: int, side: Any, where: str | None) -> None:
    with drawn.written() as history:
        table = mi.open_table(str(history.root))
        if index:
            table.create_index("stats", mi.ColumnStats(), builder="local")
        for version in history.expected:
            names = [f.name for f in table.snapshot(version).schema if not pa.types.is_nested(f.type)]
            keys = [(names[at % len(names)], *side), ("id", "desc")]
            check(table, where, keys[: 1 + at % 2] if keys[0][0] != "id" else keys[:1], 3, version)


@pytest.mark.exhaustive(but="iceberg")
@pytest.mark.parametrize(("keys", "where", "limit", "files"), [
    ([("id", "desc")], None, 10, 1), ([("id", "desc")], None, 11, 2), (["id"], None, 1, 1), (["id"], None, 60, 6),
    ([("id", "desc")], "id < 35", 10, 2), ([("id", "desc")], "id = 3", 5, 1), (["id"], None, 0, 0),
    ([("day", "desc"), ("id", "asc")], None, 5, 2), ([("day", "desc")], None, 5, 1), (["id"], "id < 0", 5, 0),
    ([("id", "desc", "nulls first")], None, 10, 1),
])  # fmt: skip
def test_only_files_that_may_hold_better_rows_are_opened(
    table: mi.Table, keys: list[Any], where: str | None, limit: int, files: int
) -> None:
    with opened_files(table) as opened:
        table.scan(where, order_by=keys, limit=limit).to_arrow()
    assert len(set(opened)) == len(opened) == files
    check(table, where, [(key,) if isinstance(key, str) else key for key in keys], limit)


def test_every_engine_gives_them_in_their_order(table: mi.Table) -> None:
    scan = table.scan("id >= 5", columns=["name"], order_by=[("day", "desc"), "id"], limit=14)
    rows = scan.to_arrow().to_pylist()
    assert [row["name"] for row in rows] == [f"n{i:04d}" for i in range(40, 54)]
    assert pa.Table.from_batches(scan.to_batches(), schema=scan.schema).to_pylist() == rows
    assert pa.table(scan).to_pylist() == rows
    assert scan.to_dataset().to_table().to_pylist() == rows
    assert scan.to_polars().collect().rows(named=True) == rows
    with connected() as con:
        assert scan.to_duckdb(con).to_arrow_table().to_pylist() == rows


def many_files(root: Path, order: Any, files: int) -> mi.Table:
    """Ten rows a file, with what a writer says of them."""
    root.mkdir()
    adds = []
    for number in range(files):
        ids = [int(i) for i in order[number * 10 : number * 10 + 10]]
        pq.write_table(pa.table({"id": ids}), root / f"f{number}.parquet")
        said = {"numRecords": 10, "minValues": {"id": min(ids)}, "maxValues": {"id": max(ids)}, "nullCount": {"id": 0}}
        adds.append(add(f"f{number}.parquet", said, size=(root / f"f{number}.parquet").stat().st_size))
    commit(root, 0, protocol(), metadata(column("id")), *adds)
    return mi.open_table(str(root))


@pytest.mark.parametrize(("scattered", "files"), [(False, 1), (True, 10)])
def test_ten_of_five_thousand_rows_open_few_of_500_files(tmp_path: Path, scattered: bool, files: int) -> None:
    order = np.random.default_rng(7).permutation(5_000) if scattered else np.arange(5_000)
    table = many_files(tmp_path / "t", order, 500)
    scan = table.scan(order_by=[("id", "desc")], limit=10)
    assert len(scan.file_rows) <= files, "left out before anything is read"
    with opened_files(table) as opened:
        found = table.scan(order_by=[("id", "desc")], limit=10).to_arrow()
    assert found.column("id").to_pylist() == list(range(4_999, 4_989, -1))
    assert len(opened) <= files


def test_without_statistics_all_files_are_read_and_the_rows_are_right(tmp_path: Path) -> None:
    table = fill(FIVE["csv"](tmp_path)).open()
    with opened_files(table) as opened:
        check(table, None, [("id", "desc")], 3)
    assert len(opened) == 12, "here, and for the check"


@pytest.mark.parametrize(("lake", "part"), list(zip(itertools.cycle(FIVE), PARTS, strict=False)))
@pytest.mark.slow
def test_a_damaged_index_changes_no_answer(tmp_path: Path, lake: str, part: str) -> None:
    made = fill(FIVE[lake](tmp_path))
    for name, damage in DAMAGES.items():
        table = made.open()
        table.create_index(name, mi.ColumnStats(), builder="local")
        folder = Path(table.indexes()[name].location)
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and part in str(p.relative_to(folder))):
            put(path, damage(path.read_bytes()))
        check(made.open(), "id >= 13", [("id", "desc")], 11)


@pytest.mark.parametrize(("key", "first"), [(("a", "asc"), [None, 1]), (("a", "desc", "nulls first"), [None, 200])])
def test_a_file_whose_null_comes_first_is_read_whatever_its_values_are(
    tmp_path: Path, key: tuple[str, ...], first: list[int | None]
) -> None:
    settled(
        tmp_path,
        {
            f"f{number}.parquet": pa.table({"a": pa.array(values, pa.int64())})
            for number, values in enumerate([[1, 2, 3], [50, None, 50], [200, 199, 198]])
        },
    )
    table = mi.open_table(str(tmp_path))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    assert check(table, None, [key], 2).column("a").to_pylist() == first


@pytest.mark.parametrize("side", ["asc", "desc"])
def test_a_bound_that_no_row_has_is_no_threshold(side: str) -> None:
    """The first file's texts were cut, as a bound is widened: the second one's row stands before its row."""
    texts, direction = {"asc": ["c", "ca"], "desc": ["cd", "cccz"]}[side], Direction(side == "desc", side == "asc")
    other = pa.array(["c" * 3] * 2, pa.binary())
    bounds = {"lower": other, "upper": other, "upper" if side == "desc" else "lower": pa.array(texts, pa.binary())}
    exact, count = pa.array([False, True]), pa.array([0, 0])
    facts = ColumnFacts.unknown(Leaf((Field("s", pa.string()),)), 2)
    said = ColumnBounds(pa.string(), bounds["lower"], bounds["upper"], count, None, pa.array([1, 1]), exact, exact)
    facts.take("log", np.arange(2), said)
    column, sure = Sorted(facts, direction), np.ones(2, np.bool_)
    threshold = column.threshold(1, KnownCounts(np.ones(2, np.int64), sure), KnownCounts(0 * sure, sure), sure)
    assert threshold is not None
    assert not column.best().behind(threshold.place).any()


@pytest.mark.parametrize(("how", "error", "says"), [
    ({"order_by": ["id"]}, mi.ArgumentError, "order_by .* limit"),
    ({"order_by": [], "limit": 3}, mi.ArgumentError, "rows are sorted by columns"),
    ({"order_by": ["id", "ID"], "limit": 3}, mi.ArgumentError, "each once"),
    ({"order_by": [("id", "down")], "limit": 3}, mi.ArgumentError, "a direction is asc or desc"),
    ({"order_by": [("id", "asc", "nulls")], "limit": 3}, mi.ArgumentError, "nulls first or nulls last"),
    ({"order_by": [3], "limit": 3}, mi.ArgumentError, "rows are sorted by columns"),
    ({"order_by": ["id"], "limit": -3}, mi.ArgumentError, "a limit is a number of rows"),
    ({"order_by": ["nope"], "limit": 3}, mi.UnknownColumnError, "there is no 'nope'"),
    ({"order_by": ["l"], "limit": 3}, mi.ScanError, "column 'l' is list"),
    ({"order_by": ["s"], "limit": 3}, mi.ScanError, "column 's' is struct"),
    ({"order_by": ["s.x"], "limit": 3}, mi.ScanError, "'s.x' is inside one"),
])  # fmt: skip
def test_what_cannot_be_sorted_is_refused_by_name(
    tmp_path: Path, how: dict[str, Any], error: type[Exception], says: str
) -> None:
    lake = FIVE["parquet"](tmp_path)
    lake.append(pa.table({"id": [1], "l": [[1]], "s": [{"x": 1}]}))
    with pytest.raises(error, match=says):
        lake.open().scan(**how)


def test_a_scan_says_its_order(table: mi.Table) -> None:
    assert "the first 3 rows by id desc nulls last, day asc nulls first" in str(
        table.scan(order_by=[("id", "desc"), "day"], limit=3)
    )
