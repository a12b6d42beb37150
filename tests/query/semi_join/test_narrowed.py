"""A condition that follows from the keys: true of every row that has one, in each engine that runs a MERGE."""

import datetime as dt
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.expressions import to_sql
from metaindex.query.semi_join.narrowed import Narrowed
from tests.duck import connected
from tests.query.aggregates.conftest import fill
from tests.query.readers.lake import rewritten
from tests.query.semi_join.test_scan_keys import _ROW, _SCHEMA, _TYPES
from tests.tables import FIVE


def test_keys_become_a_list_or_ranges() -> None:
    source = pa.table({"id": [7, 3, 7, None], "name": ["it's", "\\", "x`y", None]})
    assert mi.narrowed(source, ["id"]).sql == "(`target`.`id` IN (3, 7))"
    said = str(mi.narrowed(source, "name", target="t"))
    # As bytes, what a session's parser may read as something else.
    assert said == "(`t`.`name` IN (CAST(X'5c' AS STRING), CAST(X'69742773' AS STRING), 'x`y'))"
    assert mi.narrowed(source, "name", target=None).deltalake == "(\"name\" IN ('\\', 'it''s', 'x`y'))"
    assert mi.narrowed(source, "id", null_safe=True).sql == "((`target`.`id` IN (3, 7)) OR (`target`.`id` IS NULL))"
    assert mi.narrowed(source.slice(3), "id").sql == "FALSE"
    far = pa.table({"id": [*range(100), *range(10**6, 10**6 + 100)]})
    assert mi.narrowed(far, "id", target=None, most_values=50, most_ranges=2).sql == (
        "(((`id` >= 0) AND (`id` <= 99)) OR ((`id` >= 1000000) AND (`id` <= 1000099)))"
    )
    floats = pa.table({"f": [0.0, float("nan")]})
    assert mi.narrowed(floats, "f", target=None).deltalake == (
        "((\"f\" IN (CAST('0.0' AS DOUBLE), CAST('-0.0' AS DOUBLE), CAST('0.0' AS DOUBLE))) OR isnan(\"f\"))"
    )
    assert "(`target`.`f` >= -0.0D)" in mi.narrowed(pa.table({"f": [0.0, 1.0]}), "f", most_values=1).sql


def test_a_name_that_a_session_may_read_as_another_is_refused() -> None:
    said = mi.narrowed(pa.table({"${env:HOME}": [1]}), "${env:HOME}", target=None)
    with pytest.raises(mi.ArgumentError, match=r"in the place of \$\{\.\.\.\}"):
        _ = said.sql
    assert str(said) == "(`${env:HOME}` IN (1))"
    assert said.deltalake == '("${env:HOME}" IN (1))'


def test_no_time_of_day_is_beyond_the_last(tmp_path: Path) -> None:
    last = 86_399_999_999_999
    keys = pa.table({"at": pa.array([5_000, last], pa.int64()).cast(pa.time64("ns"))})
    assert mi.narrowed(keys, "at", target=None, most_values=1, most_ranges=1).sql == "(`at` >= TIME '00:00:00.000005')"
    pq.write_table(keys, tmp_path / "a.parquet")
    table = mi.open_table(str(tmp_path))
    table.create_index("bounds", mi.ColumnStats(), builder="local")
    assert table.scan(keys=keys.slice(1), on=["at"]).to_arrow().num_rows == 1
    assert table.touched(keys.slice(1), on=["at"]).files == 1


@pytest.mark.parametrize(("given_arguments", "error", "says"), [
    ({"most_values": 0}, mi.ArgumentError, "most_values is a number from 1 on"),
    ({"most_ranges": True}, mi.ArgumentError, "most_ranges is a number from 1 on"),
    ({"target": ""}, mi.ArgumentError, "target is the name"),
    ({"table": 3}, mi.ArgumentError, "table= is a table, or its path"),
    ({"on": ["x"]}, mi.UnknownColumnError, "there is no 'x'"),
])  # fmt: skip
def test_what_is_wrong_is_said(given_arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        mi.narrowed(pa.table({"id": [1]}), **{"on": ["id"], **given_arguments})


def test_keys_of_another_family_of_types_are_refused(tmp_path: Path) -> None:
    """Spark and DataFusion each compare a number with a text in their own way: no list of literals says the same."""
    write_deltalake(str(tmp_path), pa.table({"id": [1, 2], "name": ["05", "6"]}))
    with pytest.raises(mi.LiteralTypeError, match="'id' is int64, and the keys are string; cast them to int64"):
        mi.narrowed(pa.table({"id": ["05"]}), "id", table=str(tmp_path))
    with pytest.raises(mi.LiteralTypeError, match="'name' is string, and the keys are int64"):
        mi.narrowed(pa.table({"name": [5]}), "name", table=str(tmp_path))
    with pytest.raises(mi.UnknownColumnError):
        mi.narrowed(pa.table({"nome": [5]}), "nome", table=str(tmp_path))
    assert mi.narrowed(pa.table({"id": pa.array([1], pa.int8())}), "id", table=mi.open_table(str(tmp_path))).sql


@given(
    rows=st.lists(_ROW, min_size=1, max_size=20),
    keys=st.lists(_ROW, max_size=12),
    on=st.sets(st.sampled_from(sorted(_TYPES)), min_size=1, max_size=3),
    most=st.sampled_from([1, 2, 1000]),
    null_safe=st.booleans(),
)
@settings(max_examples=4, deadline=None)
@pytest.mark.slow
def test_every_row_with_a_key_satisfies_it(
    rows: list[dict[str, Any]], keys: list[dict[str, Any]], on: set[str], most: int, null_safe: bool
) -> None:
    names = sorted(on)
    said = mi.narrowed(
        pa.Table.from_pylist(keys, _SCHEMA), names, target="r", most_values=most, most_ranges=most, null_safe=null_safe
    )
    op = "IS NOT DISTINCT FROM" if null_safe else "="
    equal = " AND ".join(f"r.{name} {op} k.{name}" for name in names)
    with connected() as con:
        con.register("rows", pa.Table.from_pylist(rows, _SCHEMA))
        con.register("given_keys", pa.Table.from_pylist(keys, _SCHEMA))
        asked = f"SELECT count(*) FROM rows r WHERE EXISTS (SELECT 1 FROM given_keys k WHERE {equal})"
        (every,) = con.execute(asked).fetchone() or (0,)
        (narrower,) = con.execute(f"{asked} AND {to_sql(said.predicate, 'duckdb')}").fetchone() or (0,)
    assert every == narrower


def _merge(table: DeltaTable, source: pa.Table, more: str) -> dict[str, Any]:
    merged = table.merge(source, f"target.id = source.id{more}", source_alias="source", target_alias="target")
    found: dict[str, Any] = merged.when_matched_update_all().when_not_matched_insert_all().execute()
    return found


@given(rows=st.lists(_ROW, min_size=1, max_size=12), keys=st.lists(_ROW, min_size=1, max_size=6), name=st.sampled_from(
    sorted(set(_TYPES) - {"f"})  # deltalake's own join of floats tells zeros apart
), most=st.sampled_from([1, 1000]))  # fmt: skip
@settings(max_examples=15, deadline=None)
@pytest.mark.slow
def test_deltalake_merges_alike(rows: list[Any], keys: list[Any], name: str, most: int) -> None:
    def table_of(those: list[Any]) -> pa.Table:
        kept = pa.Table.from_pylist(those, _SCHEMA).select([name]).rename_columns(["id"])
        return kept.append_column("n", pa.array(range(len(those)), pa.int64()))

    source = table_of(list({str(row[name]): row for row in keys}.values()))
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for more in ("", f" AND {mi.narrowed(source, 'id', most_values=most).deltalake}"):
            place = f"{folder}/{len(more)}"
            write_deltalake(place, table_of(rows))
            _merge(DeltaTable(place), source, more)
            found = DeltaTable(place).to_pyarrow_table().to_pylist()
            outcomes.append(sorted(map(str, found)))
    assert outcomes[0] == outcomes[1]


# Without NaN: `id = 0.5` of deltalake's own removes NaN, too, from a file whose only number is 0.5.
_F32 = [0.0, -0.0, 0.1, -(2.0**-149), 3.4028234663852886e38, float("inf"), float("-inf")]
_OF_DELTA: dict[str, tuple[pa.DataType, pa.DataType, list[Any]]] = {
    "bool": (pa.bool_(), pa.bool_(), [True, False]),
    "int8": (pa.int8(), pa.int64(), [-128, -1, 0, 127]),
    "int16": (pa.int16(), pa.uint16(), [0, 1, 2**15 - 1]),
    "int32": (pa.int32(), pa.int64(), [-(2**31), 7, 2**31 - 1]),
    "int64": (pa.int64(), pa.int64(), [-(2**63), -(2**53) - 1, 5, 2**63 - 1]),
    "float32": (pa.float32(), pa.float64(), [float(pa.scalar(value, pa.float32()).as_py()) for value in _F32]),
    "float64": (pa.float64(), pa.float64(), [*_F32, 0.1, 1e300, 5e-324]),
    "small": (pa.decimal128(3, 2), pa.decimal128(3, 2), [Decimal("9.99"), Decimal("-0.01"), Decimal("0.00")]),
    "money": (pa.decimal128(10, 2), pa.decimal128(3, 2), [Decimal("1.10"), Decimal("-9.99"), Decimal("0.00")]),
    "wide": (pa.decimal128(38, 10), pa.decimal128(38, 10), [Decimal(f"{'9' * 28}.{'9' * 10}"), Decimal("1e-10")]),
    "text": (pa.string(), pa.dictionary(pa.int32(), pa.string()), ["", "it's", '"', "\\", "a\nb", "😀", "$1"]),
    "binary": (pa.binary(), pa.large_binary(), [b"", b"\x00", b"'\xff", b"a"]),
    "date": (pa.date32(), pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
    "moment": (pa.timestamp("us", "UTC"), pa.timestamp("us", "America/New_York"), [
        dt.datetime(1, 1, 2, tzinfo=dt.UTC), dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC),
    ]),
    "clock": (pa.timestamp("us"), pa.timestamp("us"), [dt.datetime(1, 1, 1), dt.datetime(2024, 2, 29, 1, 2, 3, 4)]),
}  # fmt: skip
"""Types of columns, others of keys that are compared with them, and values that both have."""


@pytest.mark.parametrize("name", _OF_DELTA)
@given(data=st.data())
@settings(max_examples=4, deadline=None)
def test_deltalake_deletes_updates_and_merges_by_it(name: str, data: st.DataObject) -> None:
    """A literal has the very type of its column: deltalake refuses to compare others."""
    of_column, of_keys, values = _OF_DELTA[name]
    rows = data.draw(st.lists(st.none() | st.sampled_from(values), min_size=1, max_size=12))
    keys = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique_by=repr))
    typed = data.draw(st.booleans())  # by the table; else the keys have the column's own
    most = data.draw(st.sampled_from([1, 1000]))
    given_keys = pa.array(keys, of_keys if typed else of_column)
    source = pa.table({"id": given_keys.cast(of_column), "n": [-1] * len(keys)})
    wanted = {_same(key) for key in keys}
    hit = [number for number, row in enumerate(rows) if row is not None and _same(row) in wanted]

    def counted(run: Callable[[DeltaTable, str, str], None]) -> list[int]:
        with tempfile.TemporaryDirectory() as folder:
            whole = pa.table({"id": pa.array(rows, of_column), "n": range(len(rows))})
            for start in range(0, len(rows), 4):
                write_deltalake(folder, whole.slice(start, 4), mode="append")
            how: dict[str, Any] = {"table": folder} if typed else {}
            alone = mi.narrowed(pa.table({"id": given_keys}), "id", target=None, most_values=most, **how)
            aliased = mi.narrowed(pa.table({"id": given_keys}), "id", most_values=most, **how)
            run(DeltaTable(folder), alone.deltalake, aliased.deltalake)
            return sorted(DeltaTable(folder).to_pyarrow_table().column("n").to_pylist())

    def deleted(table: DeltaTable, alone: str, aliased: str) -> None:
        table.delete(alone)

    def updated(table: DeltaTable, alone: str, aliased: str) -> None:
        table.update(predicate=alone, updates={"n": "-1"})

    def merged(table: DeltaTable, alone: str, aliased: str) -> None:
        text = f"target.id = source.id AND {aliased}"
        merge = table.merge(source, text, source_alias="source", target_alias="target")
        merge.when_matched_update(updates={"n": "-1"}).execute()

    left = [number for number in range(len(rows)) if number not in hit]
    if most == 1 and len(wanted) > 1:  # a range has other rows, too
        assert set(counted(deleted)) <= set(left)
    else:
        assert counted(deleted) == left
        assert counted(updated) == sorted([*left, *([-1] * len(hit))])
    if name not in ("float32", "float64"):  # deltalake's own join tells zeros apart
        assert counted(merged) == sorted([*left, *([-1] * len(hit))])


def _same(value: Any) -> Any:
    return "nan" if value != value else value


def test_deltalake_skips_files(tmp_path: Path) -> None:
    for number in range(8):
        ids = list(range(number * 100, number * 100 + 100))
        write_deltalake(str(tmp_path), pa.table({"id": ids, "n": ids}), mode="append")
    source = pa.table({"id": [5, 250, 10_000], "n": [-1, -1, -1]})
    said = mi.narrowed(source, "id", table=str(tmp_path))
    counted = _merge(DeltaTable(str(tmp_path)), source, f" AND {said.deltalake}")
    assert counted["num_target_files_skipped_during_scan"] == 6
    assert (counted["num_target_rows_updated"], counted["num_target_rows_inserted"]) == (2, 1)


@pytest.mark.parametrize("written", [
    {"id": [5], "n": [7]},  # a key of the merge, inserted in between
    {"id": [777], "n": [7]},
])  # fmt: skip
def test_a_commit_in_between_ends_alike(written: dict[str, list[int]], tmp_path: Path) -> None:
    """The condition names no file: a row that another writer adds is found, or is a conflict, as without it."""
    source = pa.table({"id": [5, 250], "n": [-1, -1]})
    outcomes = []
    for more in ("", f" AND {mi.narrowed(source, 'id').deltalake}"):
        place = str(tmp_path / str(len(more)))
        for start in (0, 200):
            write_deltalake(place, pa.table({"id": [start + 9, start + 50], "n": [0, 0]}), mode="append")
        opened = DeltaTable(place)
        write_deltalake(place, pa.table(written), mode="append")
        try:
            _merge(opened, source, more)
            ended = "merged"
        except DeltaError as error:
            ended = type(error).__name__
        rows = DeltaTable(place).to_pyarrow_table().to_pylist()
        outcomes.append((ended, sorted((row["id"], row["n"]) for row in rows)))
    plain, narrower = outcomes
    if plain != narrower:  # it conflicts with less: what is added then has no key, and the merge is as if it came first
        assert plain[0] == "CommitFailedError"
        assert written["id"] == [777]
        merged = {(9, 0), (50, 0), (209, 0), (250, -1), (777, 7), (5, -1)}
        assert narrower == ("merged", sorted(merged))


_AT = dt.datetime(2023, 12, 31, 23, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(("type_", "key", "expression", "says"), [
    (pa.timestamp("us"), dt.datetime(2024, 2, 29, 5), "CAST(k AS DATE)", "(`g` IN (DATE '2024-02-29'))"),
    (pa.timestamp("us"), dt.datetime(1969, 12, 31, 23, 59), "cast( `k` as date )", "(`g` IN (DATE '1969-12-31'))"),
    (pa.timestamp("us", "UTC"), _AT, "DATE(k)", "DATE '2023-12-30', DATE '2023-12-31', DATE '2024-01-01'"),
    (pa.timestamp("us", "UTC"), _AT, "YEAR(k)", "(`g` IN (2023, 2024))"),
    (pa.date32(), dt.date(2024, 2, 29), "year(K)", "(`g` IN (2024))"),
    (pa.string(), "äbc", "SUBSTRING(k, 1, 2)", "(`g` IN ('äb'))"),
    (pa.string(), "äbc", "upper(k)", None),
    (pa.string(), "äbc", "SUBSTRING(other, 1, 2)", None),
    (pa.int64(), 3, "CAST(k AS DATE)", None),
])  # fmt: skip
def test_generated_columns_follow(type_: pa.DataType, key: Any, expression: str, says: str | None) -> None:
    source = pa.table({"k": pa.array([key, None], type_)})
    said = Narrowed.of(source, "k", generated={"g": expression}, target=None).sql
    assert (says in said) if says is not None else ("`g`" not in said)
    assert "`g`" not in Narrowed.of(source, "k", generated={"g": expression}, target=None, null_safe=True).sql


@pytest.fixture(params=FIVE, scope="module")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    made = fill(FIVE[request.param](tmp_path_factory.mktemp(request.param))).open()
    made.create_index("stats", mi.ColumnStats(), builder="local")
    return made


def test_touched_files(table: mi.Table) -> None:
    source = pa.table({"id": [3, 4, 25, 1000], "what": [1, 2, 3, 4]})
    found = table.touched(source, on=["id"])
    assert (found.files, found.rows, found.total_files) == (2, 3, 6)
    assert sorted(found.table.column("matches").to_pylist()) == [1, 2]
    assert found.size_bytes == sum(found.table.column("size_bytes").to_pylist())
    assert "2 of 6 files" in str(found)
    assert set(found.paths) == set(table.prune("id IN (3, 25)").paths)
    twice = pa.table({"id": [3], "day": pa.array([2], pa.int32())})
    assert table.touched(twice, on=["id", "day"]).files == 0
    candidates = table.touched(source, on="id", exact=False)
    assert (candidates.files, candidates.rows) == (2, None)


def test_a_generated_column_of_a_delta_log_is_said(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    rows = pa.table({"ts": pa.array([dt.datetime(2024, 1, d, 12) for d in (1, 2)], pa.timestamp("us")), "day": days})
    write_deltalake(place, rows, partition_by=["day"])
    log = Path(place) / "_delta_log" / f"{0:020}.json"

    def generated(schema: dict[str, Any]) -> None:
        schema["fields"][1]["metadata"] = {"delta.generationExpression": "CAST(ts AS DATE)"}

    rewritten(log, "metaData", generated, "schemaString")
    source = rows.select(["ts"]).slice(1)
    assert "`target`.`day` IN (DATE '2024-01-02')" in mi.narrowed(source, "ts", table=place).sql
