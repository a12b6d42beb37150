"""Counts, extremes and sums from metadata: equal to those of all rows, by DuckDB, whatever is asked, deleted, grouped
or damaged; and how many files were opened."""

import itertools
import math
import shutil
import tempfile
from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import Predicate
from metaindex.index import Kept, Kind
from metaindex.query.aggregates.measures import summed_type
from metaindex.query.aggregates.of_table import Aggregated
from tests.answers import one_answer
from tests.duck import connected
from tests.formats.iceberg.written import Drawn, histories
from tests.hostile.changes import DAMAGES
from tests.hostile.driver import put
from tests.query.aggregates import conftest
from tests.query.aggregates.conftest import fill
from tests.query.aggregates.lakes import HandDelta, conditions, opened_files
from tests.query.pruning.test_damage import PARTS
from tests.strategies import values
from tests.tables import FIVE

WIDE = Context(prec=90)
TYPES = (
    pa.bool_(),
    pa.int8(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(9, 2),
    pa.decimal128(38, 10),
    pa.date32(),
    pa.timestamp("us", tz="UTC"),
    pa.string(),
    pa.binary(),
)


def by_duckdb(rows: pa.Table, answer: pa.Table, keys: list[str]) -> list[tuple[Any, ...]]:
    """What DuckDB makes of the same questions; sums of decimals beyond its width are left to Python."""
    asked = [name for name in answer.column_names if name not in keys]
    select = ", ".join([*map(quoted, keys), *(f"{call(name)} AS {quoted(name)}" for name in asked)])
    by = f" GROUP BY {', '.join(map(quoted, keys))}" if keys else ""
    with connected() as con:
        con.execute("SET TimeZone = 'UTC'")
        con.register("live", rows)
        found = con.sql(f"SELECT {select} FROM live{by}").to_arrow_table()
    return [tuple(row.values()) for row in found.to_pylist()]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def call(name: str) -> str:
    how, column = name[:-1].split("(", 1)
    if how in ("count_distinct", "approx_distinct"):  # of few values sketches are exact, too
        return f"count(DISTINCT {quoted(column)})"
    return name if column == "*" else f"{how}({quoted(column)})"


def plain(rows: list[Any]) -> list[str]:
    """In an order, with one NaN and one zero."""
    return sorted(str([_plain(value) for value in row]) for row in rows)


def plain_row(row: dict[str, Any]) -> str:
    return str([_plain(value) for value in row.values()])


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


def same(table: mi.Table, found: pa.Table, where: object, keys: list[str], version: Any = None) -> None:
    rows = table.scan(where, version=version, indexes=[]).to_arrow()
    got = [tuple(row.values()) for row in found.to_pylist()]
    assert plain(got) == plain(by_duckdb(rows, found, keys))


def answer(asked: Callable[[], Aggregated]) -> Aggregated | None:
    """None where a sum overflows."""
    try:
        return asked()
    except mi.ScanError as error:
        if "a sum fits its type" in str(error):
            return None
        raise


def overflows(table: mi.Table, summed: list[str], where: object, keys: list[str], version: Any) -> bool:
    """Is some sum of some group beyond its type, added exactly?"""
    rows = table.scan(where, version=version, indexes=[]).to_arrow()
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows.to_pylist():
        groups.setdefault(str([_plain(row[key]) for key in keys]), []).append(row)

    def fits(name: str, total: Decimal) -> bool:
        type_ = summed_type(rows.schema.field(name).type)
        if pa.types.is_int64(type_):
            return -(2**63) <= total < 2**63
        return abs(total.scaleb(type_.scale, WIDE)) < 10**type_.precision

    with localcontext(WIDE):
        totals = [(name, sum(Decimal(r[name]) for r in g if r[name] is not None)) for g in groups.values()
            for name in summed]  # fmt: skip
        return not all(fits(name, Decimal(total)) for name, total in totals)


@st.composite
def hand_deltas(draw: st.DrawFn) -> tuple[pa.Schema, list[pa.Table], list[set[int]], list[Any]]:
    types = [pa.int64(), *draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))]
    schema = pa.schema([pa.field(f"c{i}", t) for i, t in enumerate(types)])
    tables, deleted, stats = [], [], []
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(0, 5))
        alike = draw(st.booleans())
        columns = []
        for t in types:
            nullable = values(t) if draw(st.booleans()) else values(t) | st.none()
            every = draw(st.lists(nullable, min_size=count, max_size=count))
            columns.append(pa.array(every[:1] * count if alike else every, t))
        tables.append(pa.Table.from_arrays(columns, schema=schema))
        deleted.append(draw(st.sets(st.integers(0, count - 1), max_size=count)) if count else set())
        stats.append(draw(st.sampled_from([None, true_stats(tables[-1]), {"numRecords": count}, "{broken"])))
    return schema, tables, deleted, stats


def true_stats(content: pa.Table) -> dict[str, Any]:
    """Of the first column, which is of integers, as a writer of Delta states them."""
    column = content.column(0)
    whole = [v for v in column.to_pylist() if v is not None]
    bounds = {"minValues": {"c0": min(whole)}, "maxValues": {"c0": max(whole)}} if whole else {}
    return {"numRecords": len(content), "nullCount": {"c0": column.null_count}, **bounds}


def kinds(schema: pa.Schema) -> list[Kind]:
    """What answers for whole files: statistics, sums, sketches and values."""
    summed = [f.name for f in schema if Kept.may_be_summed(f.type)]
    sketched = [f.name for f in schema if Kept.may_be_told_apart(f.type)]
    whole = [mi.ValueList(*sketched[::2], limit=4), *(mi.Values(name, by="value") for name in sketched[1::2])]
    return [mi.ColumnStats(), *([mi.Sums(*summed)] if summed else []), mi.Sketches(*sketched), *whole]


@st.composite
def questions(draw: st.DrawFn, schema: pa.Schema) -> tuple[dict[str, list[str]], list[str], Predicate | None]:
    names = st.lists(st.sampled_from(schema.names), unique=True, max_size=3)
    summed = [f.name for f in schema if Kept.may_be_summed(f.type)]
    asked = {
        "count": [*(["*"] if draw(st.booleans()) else []), *draw(names)],
        "min": draw(names),
        "max": draw(names),
        "sum": draw(st.lists(st.sampled_from(summed), unique=True, max_size=1)),
        "count_distinct": draw(names),
        "approx_distinct": draw(names),
    }
    asked["count"] = asked["count"] if any(asked.values()) else ["*"]
    where = draw(st.none() | conditions(schema, 3))
    return asked, draw(st.lists(st.sampled_from(schema.names), unique=True, max_size=2)), where


@settings(max_examples=settings.default.max_examples * 40 // 100, deadline=None)
@given(st.data(), hand_deltas(), st.booleans())
def test_every_answer_is_that_of_all_rows(data: st.DataObject, made: Any, index: bool) -> None:
    schema, tables, deleted, stats = made
    with tempfile.TemporaryDirectory() as folder:
        lake = HandDelta.of(Path(folder) / "t", schema, tables, stats)
        table = mi.open_table(str(lake.root))
        if index:
            table.create_index("stats", *kinds(schema), builder="local")
        for number, rows in enumerate(deleted):
            lake.delete(number, rows)
        asked, keys, where = data.draw(questions(schema))
        for version in {len(tables), len(lake.rows) - 1, None}:
            found = answer(lambda at=version: table.aggregate(**asked, where=where, group_by=keys, version=at))
            if found is None:
                assert overflows(table, asked["sum"], where, keys, version)
                continue
            same(table, found.table, where, keys, version)
            assert found.total_files == len(tables)
            live = one_answer(table, where, version).num_rows
            if where is None and version is None:
                assert live == len(lake.rows[-1])


@settings(max_examples=settings.default.max_examples * 20 // 100, deadline=None)
@given(
    histories(), st.booleans(), st.sampled_from([None, "id >= 2", "id < 4", "id > 1 AND id <= 4"]), st.integers(0, 2)
)
def test_deletes_of_iceberg_are_counted(drawn: Drawn, index: bool, where: str | None, grouped: int) -> None:
    """By position, by value and by vector, under evolving partitions, at every version."""
    with drawn.written() as history:
        table = mi.open_table(str(history.root))
        if index:
            fields = table.snapshot().schema  # of identity partitions there are no sketches
            inside = pa.schema([fields.arrow().field(f.name) for f in fields if not f.partition])
            table.create_index("stats", *kinds(inside), builder="local")
        for version in history.expected:
            names = [f.name for f in table.snapshot(version).schema if not pa.types.is_nested(f.type)]
            keys = names[3 - grouped : 4 - grouped] if grouped else []
            summed = [
                name for name in names if Kept.may_be_summed(table.snapshot(version).schema.arrow().field(name).type)
            ]
            asked = {"count": ["*", *names], "min": names, "max": names, "group_by": keys}
            asked |= {"sum": summed, "count_distinct": names, "approx_distinct": names}
            found = table.aggregate(**asked, where=where, version=version)  # type: ignore[arg-type]
            same(table, found.table, where, keys, version)
            one_answer(table, where, version)


QUESTIONS: list[tuple[dict[str, Any], str | None, int]] = [
    ({"count": True}, None, 0),
    ({"count": True}, "id >= 15 AND id < 45", 2),
    ({"count": True, "min": ["id"], "max": ["id"]}, "id >= 15", 1),
    ({"count": ["id"], "group_by": ["day"]}, None, 0),
    ({"min": ["id", "day"], "max": ["day"], "group_by": ["day"]}, "id < 33", 1),
    ({"count": True}, "id < 0", 0),
    ({"count": True, "max": ["id"]}, "id IS NOT NULL", 0),
    ({"sum": ["id", "day"]}, "id >= 40", 0),
    ({"sum": ["id", "day"], "group_by": ["day"]}, "id >= 15", 1),
    ({"approx_distinct": ["name", "day"]}, "id >= 15", 1),
    ({"count_distinct": ["name", "day"]}, "id >= 15", 1),
    ({"count_distinct": ["name", "id"], "group_by": ["day"]}, None, 0),
    ({"sum": ["day"], "approx_distinct": ["name"], "group_by": ["day"]}, None, 0),
]


@pytest.mark.exhaustive(but="delta")
@pytest.mark.parametrize(("asked", "where", "files"), QUESTIONS)
def test_only_files_that_have_to_be_are_opened(
    table: mi.Table, asked: dict[str, Any], where: str | None, files: int
) -> None:
    with opened_files(table) as opened:
        found = table.aggregate(**asked, where=where)
    assert len(set(opened)) == len(opened) == found.opened == files
    same(table, found.table, where, asked.get("group_by", []))


@pytest.mark.parametrize(("lake", "part"), list(zip(itertools.cycle(FIVE), PARTS, strict=False)))
@pytest.mark.slow
def test_a_damaged_index_changes_no_answer(tmp_path: Path, lake: str, part: str) -> None:
    made = fill(FIVE[lake](tmp_path))
    asked_of = [*QUESTIONS[1:5:2], *QUESTIONS[-5:]]
    expected: list[list[str]] = []
    for asked, where, _ in asked_of:
        found, rows = (made.open().aggregate(**asked, where=where, indexes=[]), made.open().scan(where, indexes=[]))
        expected.append(plain(by_duckdb(rows.to_arrow(), found.table, asked.get("group_by", []))))
    for name, damage in DAMAGES.items():
        table = made.open()
        table.create_index(name, *conftest.kinds(), builder="local")
        folder = Path(table.indexes()[name].location)
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and part in str(p.relative_to(folder))):
            put(path, damage(path.read_bytes()))
        again = made.open()
        for (asked, where, _), right in zip(asked_of, expected, strict=True):
            found = again.aggregate(**asked, where=where)
            assert plain([tuple(row.values()) for row in found.table.to_pylist()]) == right
        shutil.rmtree(folder)


def test_types_are_those_of_spark(table: mi.Table) -> None:
    found = table.aggregate(count=["*", "id"], min=["day"], max=["id"], sum=["id", "day"], group_by=["day"])
    assert found.table.schema == pa.schema([
        ("day", pa.int32()), ("count(*)", pa.int64()), ("count(id)", pa.int64()), ("min(day)", pa.int32()),
        ("max(id)", pa.int64()), ("sum(id)", pa.int64()), ("sum(day)", pa.int64()),
    ])  # fmt: skip
    assert summed_type(pa.decimal128(9, 2)) == pa.decimal128(19, 2)
    assert summed_type(pa.decimal128(35, 2)) == pa.decimal128(38, 2)


@pytest.mark.parametrize("type_", [pa.int64(), pa.decimal128(38, 0)])
def test_a_sum_that_overflows_is_an_error(tmp_path: Path, type_: pa.DataType) -> None:
    lake = FIVE["parquet"](tmp_path)
    most = 2**63 - 1 if type_ == pa.int64() else 10**38 - 1
    for value in (most, 1, -1):
        lake.append(pa.table({"a": pa.array([Decimal(value) if type_ != pa.int64() else value], type_)}))
    assert lake.open().aggregate(sum=["a"]).table.to_pylist() == [{"sum(a)": most}], "in whichever order it is added"
    lake.append(pa.table({"a": pa.array([Decimal(1) if type_ != pa.int64() else 1], type_)}))
    with pytest.raises(mi.ScanError, match=r"a sum fits its type, .*; sum\(a\) does not; "):
        lake.open().aggregate(sum=["a"])


def test_a_deleted_row_is_no_extreme_and_nan_is_the_greatest(tmp_path: Path) -> None:
    lake = HandDelta(tmp_path / "t", pa.schema([("c0", pa.int64()), ("f", pa.float64()), ("one", pa.int64())]))
    lake.append(pa.table({"c0": [1, 2, 3], "f": [1.0, math.nan, 2.0], "one": [7, 7, 7]}), {"numRecords": 3})
    table = mi.open_table(str(lake.root))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    found = table.aggregate(count=True, min=["c0", "f"], max=["c0"])
    assert (list(found.table.to_pylist()[0].values()), found.opened) == ([3, 1, 1.0, 3], 0)
    assert math.isnan(table.aggregate(max=["f"]).table.column(0)[0].as_py())
    lake.delete(0, {2})
    assert table.aggregate(max=["c0"]).table.to_pylist() == [{"max(c0)": 2}]
    found = table.aggregate(count=["*", "c0"], max=["one"], group_by=["one"])
    assert (list(found.table.to_pylist()[0].values()), found.opened) == ([7, 2, 2, 7], 0), "as the value is one"


@pytest.mark.parametrize(("asked", "error", "says"), [
    ({}, mi.ArgumentError, "nothing is asked"),
    ({"min": ["id"], "group_by": ["id", "id"]}, mi.ArgumentError, "each thing is asked once"),
    ({"min": ["l"]}, mi.ScanError, "column 'l' is list"),
    ({"count": True, "group_by": ["s"]}, mi.ScanError, "column 's' is struct"),
    ({"sum": ["f"]}, mi.ScanError, "sums are of integers and decimals.*column 'f' is double"),
    ({"sum": ["s"]}, mi.ScanError, "sums are of integers and decimals"),
    ({"max": ["nope"]}, mi.UnknownColumnError, "there is no 'nope'"),
    ({"max": ["s.x"]}, mi.ScanError, "'s.x' is inside one"),
    ({"max": [3]}, mi.ArgumentError, "max are names"),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused_by_name(
    tmp_path: Path, asked: dict[str, Any], error: type[Exception], says: str
) -> None:
    lake = FIVE["parquet"](tmp_path)
    lake.append(pa.table({"id": [1], "f": [1.0], "l": [[1]], "s": [{"x": 1}]}))
    with pytest.raises(error, match=says):
        lake.open().aggregate(**asked)


def test_values_of_columns_without_an_order_are_counted(tmp_path: Path) -> None:
    lake = FIVE["parquet"](tmp_path)
    lake.append(pa.table({"l": [[1], None, []], "s": [{"x": 1}, None, None]}))
    found = lake.open().aggregate(count=["L", "s", "*"]).table
    assert found.to_pylist() == [{"count(l)": 2, "count(s)": 1, "count(*)": 3}]


def test_an_answer_shows_itself(table: mi.Table) -> None:
    found = table.aggregate(count=True, max=["id"], where="id >= 15", group_by=["day"])
    said = "of 6 files 1 opened, 4 answered from metadata, 1 left out"
    assert said in str(found)
    assert said in found._repr_html_()
    assert found.to_json()["rows"] == found.table.to_pylist()
    assert [found.to_json()[name] for name in ("opened", "answered", "left_out")] == [1, 4, 1]


def test_a_file_that_is_gone_is_told_where_it_is_needed(tmp_path: Path) -> None:
    lake = HandDelta(tmp_path / "t", pa.schema([("c0", pa.int64())]))
    for first in (0, 10):
        content = pa.table({"c0": list(range(first, first + 10))})
        lake.append(content, true_stats(content))
    table = mi.open_table(str(lake.root))
    (lake.root / lake.names[0]).unlink()
    assert table.count() == 20, "the version's rows, as its log has them"
    for condition in ("c0 >= 0", "c0 >= 5"):
        with pytest.raises(mi.ObjectNotFoundError, match=r"f0\.parquet"):
            table.count(condition)


def test_a_column_that_a_file_does_not_have_is_not_summed_by_row_groups(tmp_path: Path) -> None:
    """One row speaks for a row group there; what a kind adds up would be of groups and not of rows."""
    folder = tmp_path / "t"
    (folder / "p=3").mkdir(parents=True)
    pq.write_table(pa.table({"a": range(1000)}), folder / "p=3" / "old.parquet", row_group_size=100)
    pq.write_table(pa.table({"a": range(10), "b": range(10)}), folder / "p=3" / "new.parquet")
    table = mi.open_table(str(folder), schema="a BIGINT, b BIGINT, p INT")
    for partitioned in (mi.Sums("p"), mi.Sketches("p")):
        with pytest.raises(mi.UnsupportedFeatureError, match="stand in the files"):
            table.create_index("no", partitioned)
    table.create_index("sums", mi.Sums("b"), mi.Sketches("b"), builder="local")
    assert table.verify_index("sums", files=None).sound
    found = table.aggregate(count=["*", "b"], sum=["b"], approx_distinct=["b"])
    assert found.table.to_pylist() == [{"count(*)": 1010, "count(b)": 10, "sum(b)": 45, "approx_distinct(b)": 10}]


@pytest.mark.parametrize("names", [["p", "a"], ["a", "p"]])
@pytest.mark.parametrize("lake", ["delta", "folder"])
def test_values_of_a_partition_column_are_its_partitions_wherever_it_stands(
    tmp_path: Path, lake: str, names: list[str]
) -> None:
    """No file has the column: a footer that is read to count rows says nothing of it."""
    rows = pa.table({"p": pa.array([3, None, 1, 2, 2], pa.int32()), "a": pa.array(range(5), pa.int64())}).select(names)
    if lake == "delta":
        write_deltalake(str(tmp_path / "t"), rows, partition_by=["p"])
        table = mi.open_table(str(tmp_path / "t"))
    else:
        pq.write_to_dataset(rows, tmp_path / "t", partition_cols=["p"])
        schema = ", ".join({"p": "p INT", "a": "a BIGINT"}[name] for name in names)
        table = mi.open_table(str(tmp_path / "t"), schema=schema)
    for indexed in (False, True):
        if indexed:
            table.create_index("stats", mi.ColumnStats(), builder="local")
        for where in (None, "p = 2", "p > 1", "p IS NULL", "a > 2"):
            asked: dict[str, Any] = {"count": ["*", "p"], "min": ["p"], "max": ["p"], "where": where}
            same(table, table.aggregate(**asked).table, where, [])
            same(table, table.aggregate(count=["p"], where=where, group_by=["p"]).table, where, ["p"])
        for side, first in (("desc", [3, 2]), ("asc", [None, 1])):
            assert table.scan(order_by=[("p", side)], limit=2).to_arrow()["p"].to_pylist() == first


def test_an_index_of_no_files_hinders_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"a": pa.array([], pa.int64())}))
    table = mi.open_table(str(tmp_path / "t"))
    table.create_index("sums", mi.ColumnStats(), mi.Sums("a"), builder="local")
    write_deltalake(str(tmp_path / "t"), pa.table({"a": [1, 2]}), mode="append")
    assert table.refresh_index("sums").changed
    found = table.aggregate(sum=["a"])
    assert (found.opened, found.table.column(0).to_pylist()) == (0, [3])
    assert not caplog.records


def test_texts_that_the_table_keeps_as_numbers_of_a_dictionary(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    for number in range(3):
        texts = pa.array(["a", "", None, f"n{number}"]).dictionary_encode()
        pq.write_table(pa.table({"x": texts}), tmp_path / "t" / f"{number}.parquet")
    table = mi.open_table(str(tmp_path / "t"))
    table.create_index("apart", mi.ColumnStats(), mi.Sketches("x"), builder="local")
    assert table.verify_index("apart", files=None).sound
    found = table.aggregate(approx_distinct=["x"])
    assert (found.table.column(0).to_pylist(), found.opened) == ([5], 0)
