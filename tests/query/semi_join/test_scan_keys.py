"""A scan of the rows whose keys stand in another table: as DuckDB joins, in every engine and format, of few files."""

import contextlib
import datetime as dt
import io
import json
import pickle
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.cli import main
from tests.duck import connected
from tests.query.aggregates.conftest import fill
from tests.query.aggregates.lakes import opened_files
from tests.tables import FIVE, FORMATS, settled


@pytest.fixture(params=FIVE, scope="module")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> mi.Table:
    lake = fill(FIVE[request.param](tmp_path_factory.mktemp(request.param)))
    made = lake.open()
    made.create_index("find", mi.ColumnStats(), mi.Values("name"), builder="local")
    return made


@pytest.mark.parametrize(("keys", "on", "where", "ids", "files"), [
    ({"id": [3, 25, None, 25, 99]}, ["id"], None, [3, 25], 2),
    ({"name": ["n0011", "n0058", "x"]}, "name", "id < 50", [11], 1),
    ({"who": ["n0011", "n0012"]}, {"name": "who"}, None, [11, 12], 1),
    ({"id": [3, 54], "name": ["n0003", "n0015"]}, ["id", "name"], None, [3], 1),
    ({"id": ["7", "41"]}, ["id"], None, [7, 41], 2),
    ({"id": [7.0, 7.5]}, ["id"], None, [7], 1),
    ({"id": pa.array([], pa.int64())}, ["id"], None, [], 0),
    ({"id": [None, None]}, ["id"], None, [], 0),
    ({"day": [1]}, ["day"], None, list(range(20, 40)), 2),
])  # fmt: skip
def test_rows_with_keys_and_the_files_opened(
    table: mi.Table, keys: dict[str, Any], on: Any, where: str | None, ids: list[int], files: int
) -> None:
    keyed = pa.table(keys)
    with opened_files(table) as opened:
        found = table.scan(where, keys=keyed, on=on).to_arrow()
    assert sorted(found.column("id").to_pylist()) == ids
    assert found.schema == table.scan().schema
    assert len(set(opened)) == files
    assert table.prune(where, keys=keyed, on=on).kept_files == files
    assert str(table.explain(where, keys=keyed, on=on)).count("rows with one of") == 1


def test_every_engine_that_reads_rows_here_joins(table: mi.Table) -> None:
    keys = pa.table({"name": ["n0003", "n0025", "n0025", None]})
    scan = table.scan("id < 40", ["id"], keys=keys, on=["name"])
    assert "rows with one of 2 keys of name, asked by their values" in str(scan)
    expected = [{"id": 3}, {"id": 25}]
    for rows in (
        pa.Table.from_batches(scan.to_batches(), schema=scan.schema).to_pylist(),
        scan.to_reader().read_all().to_pylist(),
        scan.to_dataset().to_table().to_pylist(),
        scan.to_polars().collect().rows(named=True),
        scan.to_pandas().to_dict("records"),
    ):
        assert sorted(rows, key=lambda row: int(row["id"])) == expected
    assert scan.to_dataset().to_table(filter=pc.field("id") > 3).to_pylist() == [{"id": 25}]
    assert scan.to_dataset().count_rows() == 2
    assert scan.to_polars().filter(pl.col("id") > 3).collect().rows() == [(25,)]
    with connected() as con:
        assert scan.to_duckdb(con).filter("id > 3").fetchall() == [(25,)]
    limited = table.scan(keys=pa.table({"id": list(range(0, 60, 7))}), on=["id"], limit=3).to_arrow()
    assert limited.num_rows == 3
    assert set(limited.column("id").to_pylist()) <= set(range(0, 60, 7))
    first = table.scan(
        keys=pa.table({"id": list(range(0, 60, 7))}), on="id", order_by=[("id", "desc")], limit=2
    ).to_arrow()
    assert first.column("id").to_pylist() == [56, 49]
    for call in ("to_deltalake", "to_pyiceberg", "to_spark"):
        with pytest.raises(mi.ScanError, match=f"rows with keys are found .* {call}"):
            getattr(scan, call)(None)


def test_keys_of_any_frame(table: mi.Table) -> None:
    rows = {"id": [1, 44]}
    for keys in (
        pd.DataFrame(rows), pl.DataFrame(rows), pl.LazyFrame(rows), pa.RecordBatch.from_pydict(rows),
        pa.table(rows).to_reader(), pa.array(rows["id"]), pa.table({"id": pa.array(rows["id"]).dictionary_encode()}),
        table.scan("id IN (1, 44)", ["id"]),
    ):  # fmt: skip
        assert sorted(table.scan(keys=keys, on="id").to_arrow().column("id").to_pylist()) == [1, 44]


@pytest.mark.parametrize(("keys", "on", "error", "says"), [
    ({"id": [1]}, None, mi.ArgumentError, "on= names them"),
    ({"id": [1]}, [], mi.ArgumentError, "on= names them"),
    ({"id": [1]}, [1], mi.ArgumentError, "on= names them"),
    ({"id": [1]}, ["id", "id"], mi.ArgumentError, "name it once"),
    ({"id": [1]}, ["nome"], mi.UnknownColumnError, "there is no 'nome'"),
    ({"nome": [1]}, ["nome"], mi.UnknownColumnError, "there is no 'nome'"),
    ({"id": ["x"]}, ["id"], mi.LiteralTypeError, "'id' is int64, and a key is 'x'; write a whole number"),
    ({"name": [1]}, ["name"], mi.LiteralTypeError, "'name' is string, and a key is 1"),
    ({"id": [2.0**60]}, ["id"], mi.LiteralTypeError, "in another type; cast the keys to int64"),
    ({"id": [[1]]}, ["id"], mi.LiteralTypeError, "a key must be a value"),
    ([1, 2], ["id"], mi.ArgumentError, "keys are an Arrow table"),
    (None, ["id"], mi.ArgumentError, "no keys= were given"),
])  # fmt: skip
def test_bad_keys_are_refused_by_name(table: mi.Table, keys: Any, on: Any, error: type[Exception], says: str) -> None:
    if table.format == "files" and "string" in says:
        pytest.skip("CSV's own type of the column")
    given = pa.table(keys) if isinstance(keys, dict) else keys
    with pytest.raises(error, match=says):
        table.scan(keys=given, on=on).to_arrow()


_TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "i": (pa.int32(), st.integers(-3, 3)),
    "l": (pa.int64(), st.sampled_from([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1])),
    "f": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("inf"), float("nan")])),
    "s": (pa.string(), st.sampled_from(["", "a", "A", "ä", "a'b", "\\", "😀", "a" * 70])),
    "b": (pa.binary(), st.sampled_from([b"", b"\x00", b"\xff", b"a"])),
    "d": (pa.decimal128(12, 2), st.sampled_from([Decimal("0.00"), Decimal("-1.10"), Decimal("9999999999.99")])),
    "t": (pa.timestamp("us", "UTC"), st.sampled_from([
        dt.datetime(1969, 12, 31, 23, 59, 59, 999999, dt.UTC), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)
    ])),
    "y": (pa.date32(), st.sampled_from([dt.date(1969, 12, 31), dt.date(2024, 2, 29)])),
    "o": (pa.bool_(), st.booleans()),
}  # fmt: skip
_SCHEMA = pa.schema([(name, t) for name, (t, _) in _TYPES.items()])
_ROW = st.fixed_dictionaries({name: st.none() | values for name, (_, values) in _TYPES.items()})


@pytest.mark.exhaustive
@given(
    rows=st.lists(_ROW, min_size=1, max_size=30),
    keys=st.lists(_ROW, max_size=12),
    on=st.sets(st.sampled_from(sorted(_TYPES)), min_size=1, max_size=3),
    kinds=st.sampled_from(["none", "stats", "values"]),
    dictionary=st.booleans(),
)
@example(rows=[dict.fromkeys(_TYPES)], keys=[], on={"d", "b"}, kinds="none", dictionary=True)
@settings(max_examples=settings.default.max_examples // 3, deadline=None)
def test_as_duckdb_joins(
    rows: list[dict[str, Any]], keys: list[dict[str, Any]], on: set[str], kinds: str, dictionary: bool
) -> None:
    names = sorted(on)
    with tempfile.TemporaryDirectory() as folder:
        content = pa.Table.from_pylist([{**row, "n": n} for n, row in enumerate(rows)], _SCHEMA.append(
            pa.field("n", pa.int64())
        ))  # fmt: skip
        for start in range(0, len(rows), 5):
            pq.write_table(content.slice(start, 5), f"{folder}/{start:03d}.parquet", row_group_size=2)
        table = mi.open_table(folder)
        if kinds == "stats":
            table.create_index("find", mi.ColumnStats(), builder="local")
        elif kinds == "values":
            table.create_index("find", *{mi.Values(*names), mi.Values(tuple(names))}, builder="local")
        given_keys = pa.Table.from_pylist(keys, _SCHEMA).select(names)
        if dictionary:
            coded = [c if pa.types.is_boolean(c.type) else c.dictionary_encode() for c in given_keys.columns]
            given_keys = pa.table(coded, names=names)
        found = table.scan(columns=["n"], keys=given_keys, on=names).to_arrow().column("n").to_pylist()
        plain = pa.Table.from_pylist(keys, _SCHEMA)
        with connected() as con:
            con.register("rows", content)
            con.register("given_keys", plain)
            equal = " AND ".join(f"r.{name} = k.{name}" for name in names)
            asked = f"SELECT n FROM rows r WHERE EXISTS (SELECT 1 FROM given_keys k WHERE {equal})"
            expected = [n for (n,) in con.execute(asked).fetchall()]
    assert sorted(found) == sorted(expected)


def test_very_many_keys_are_asked_by_ranges(tmp_path: Path) -> None:
    for number in range(10):
        ids = np.arange(number * 1000, number * 1000 + 1000)
        pq.write_table(pa.table({"id": ids, "name": ids.astype(str)}), tmp_path / f"{number}.parquet")
    table = mi.open_table(str(tmp_path))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    keys = np.concatenate([np.arange(2000, 4000, 2), 7000 + np.arange(100), np.arange(10**7, 10**7 + 10**6)])
    given_keys = pa.table({"id": keys})
    result = table.prune(keys=given_keys, on="id")
    assert result.kept_files == 3
    assert len(result.certain) == 0  # every other row of two files has no key
    assert "1,001,100 keys of id, asked by " in str(result)
    with opened_files(table) as opened:
        found = table.scan(keys=given_keys, on="id").to_arrow().column("id").to_pylist()
    assert sorted(found) == [*range(2000, 4000, 2), *range(7000, 7100)]
    assert len(set(opened)) == 3
    texts = pa.table({"name": pa.array(keys).cast(pa.string()).slice(0, 20_000)})
    found = table.scan(keys=texts, on="name").to_arrow().column("id").to_pylist()
    assert sorted(found) == [*range(2000, 4000, 2), *range(7000, 7100)]


@pytest.mark.parametrize("format_", FORMATS)
def test_keys_of_old_versions_and_of_rows_after_the_index(format_: str, tmp_path: Path) -> None:
    lake = fill(FORMATS[format_](tmp_path))
    table = lake.open()
    table.create_index("find", mi.ColumnStats(), mi.Values("name"), builder="local")
    before = table.snapshot().version
    lake.append(pa.table({"id": pa.array([100], pa.int64()), "name": ["n0003"], "day": pa.array([9], pa.int32())}))
    keys = pa.table({"name": ["n0003"]})
    assert sorted(table.scan(keys=keys, on="name").to_arrow().column("id").to_pylist()) == [3, 100]
    if format_ in ("delta", "iceberg"):
        assert table.scan(version=before, keys=keys, on="name").to_arrow().column("id").to_pylist() == [3]


def test_a_scan_with_keys_can_be_sent(table: mi.Table) -> None:
    scan = table.scan(keys=pa.table({"name": ["n0003", "n0025"]}), on="name")
    assert sorted(pickle.loads(pickle.dumps(scan)).to_arrow().column("id").to_pylist()) == [3, 25]


TEXTS = pa.array(["n0003", None, "n0041", "x"])
SAME_TEXTS = {
    "views": TEXTS.cast(pa.string_view()),
    "a dictionary": TEXTS.dictionary_encode(),
    "a dictionary of views": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1, 2], pa.int8()), pa.array(["n0003", "n0041", "x"]).cast(pa.string_view())
    ),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int32()), TEXTS),
    "JSON of Arrow": pa.ExtensionArray.from_storage(pa.json_(), TEXTS),
}


@pytest.mark.parametrize("name", SAME_TEXTS)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside an integer"])
def test_keys_in_whatever_an_engine_hands_over(table: mi.Table, name: str, beside: bool) -> None:
    """Polars and DuckDB hand texts over as views, for which Arrow lacks most of its functions."""
    keyed = pa.table({"name": SAME_TEXTS[name], **({"id": [3, 7, None, 9]} if beside else {})})
    found = table.scan(keys=keyed, on=keyed.column_names).to_arrow()
    assert sorted(found.column("id").to_pylist()) == ([3] if beside else [3, 41])
    assert table.prune(keys=keyed, on=keyed.column_names).kept_files <= 2
    assert table.touched(keyed, on=keyed.column_names).files <= 2
    assert "n0041" in mi.narrowed(keyed, on=["name"]).sql


def test_frames_of_polars_with_gaps_and_categories(table: mi.Table) -> None:
    texts = ["n0003", None, "n0041"]
    for frame in (
        pl.DataFrame({"name": texts}),
        pl.DataFrame({"name": texts}, schema={"name": pl.Categorical}),
        pl.DataFrame({"name": texts}, schema={"name": pl.Enum(["n0003", "n0041"])}),
    ):
        found = table.scan(keys=frame, on="name").to_arrow().column("name")
        assert set(found.to_pylist()) <= {"n0003", "n0041"}
        assert "n0003" in found.to_pylist()


@pytest.mark.parametrize("keys", [
    pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16], pa.binary(16))),
    pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
    pa.array([[1]]),
])  # fmt: skip
def test_keys_that_are_no_texts_are_refused_by_name(table: mi.Table, keys: pa.Array) -> None:
    with pytest.raises(mi.MetaIndexError, match="name"):
        table.scan(keys=pa.table({"name": keys}), on="name").to_arrow()


def test_a_frame_of_mixed_values_is_refused(table: mi.Table) -> None:
    with pytest.raises(mi.ArgumentError, match="each of one type"):
        table.scan(keys=pd.DataFrame({"id": [1, "x", 2.5]}), on="id")
    with pytest.raises(mi.MetaIndexError):
        table.scan(keys=pd.DataFrame([[1, 2]], columns=["id", "id"]), on="id")


@pytest.mark.parametrize(
    ("t", "last", "shown"),
    [
        (pa.timestamp("us"), 253402300800000000, "10000-01-01 00:00:00.000000"),
        (pa.timestamp("us", "UTC"), 253402300800000000, "10000-01-01 00:00:00.000000Z"),
        (pa.timestamp("us"), -62167219200000001, "-0001-12-31 23:59:59.999999"),
        (pa.date32(), 2932897, "10000-01-01"),
    ],
)
def test_days_that_python_has_not(tmp_path: Path, t: pa.DataType, last: int, shown: str) -> None:
    """Tables hold them, as the end of time."""
    days = pa.array([0, last], pa.int32() if t == pa.date32() else pa.int64()).cast(t)
    settled(
        tmp_path, {f"{number}.parquet": pa.table({"day": days.slice(number, 1), "k": [number]}) for number in range(2)}
    )
    table = mi.open_table(tmp_path)
    table.create_index("i", mi.ColumnStats(), mi.Values("day", by="value"), builder="local")
    late = pa.table({"day": days.slice(1, 1)})
    assert table.scan(keys=late, on="day").to_arrow().column("k").to_pylist() == [1]
    assert table.scan(keys=pa.table({"day": days}), on="day").to_arrow().num_rows == 2
    assert table.prune(keys=late, on="day").kept_files >= 1
    assert table.touched(late, on="day").files >= 1
    assert mi.narrowed(late, on="day").sql
    biggest = table.aggregate(min=["day"], max=["day"])
    assert shown in str(biggest)
    assert shown in str(biggest.to_json()["rows"])
    other = late.cast(pa.schema([("day", pa.date32() if pa.types.is_timestamp(t) else pa.timestamp("us"))]))
    with pytest.raises(mi.LiteralTypeError, match="cast them to"):
        table.scan(keys=other, on="day").to_arrow()
    out, saved = io.StringIO(), tmp_path.parent / f"{tmp_path.name}.jsonl"
    with contextlib.redirect_stdout(out):
        assert main(["scan", str(tmp_path), "k = 1", "--json"]) == 0
        assert main(["scan", str(tmp_path), "k = 1"]) == 0
        assert main(["scan", str(tmp_path), "k = 1", "--output", str(saved)]) == 0
    assert out.getvalue().count(shown) == 2
    assert json.loads(saved.read_text())["day"] == shown
