"""Row groups that are too large to be read whole for some of their rows: the columns that tell are read first."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from metaindex.formats import Schema
from metaindex.query.readers.arrow import coded, matching_rows
from metaindex.query.readers.first_rows import FirstRows
from metaindex.query.readers.scan import Scan
from tests.query.readers.lake import Lake, fields_of

_ROWS = 90_000
_TABLE = pa.table(
    {
        "id": np.random.default_rng(0).permutation(_ROWS),
        "kind": pa.array(["a", "b", None, "d"]).take(pa.array(np.arange(_ROWS) % 4)),
        "text": [f"https://example.org/{at * 7919 % _ROWS}" for at in range(_ROWS)],
        "number": np.where(np.arange(_ROWS) % 5 == 0, np.nan, np.arange(_ROWS) * -0.5),
        "list": [[at] * (at % 3) for at in range(_ROWS)],
        "inside": [{"n": at % 100} for at in range(_ROWS)],
        "word": pa.array(np.array(["x", "y"])[np.arange(_ROWS) % 2]).dictionary_encode(),
    }
)
_WRITTEN: dict[str, dict[str, Any]] = {
    "one row group": {"row_group_size": _ROWS},
    "three, without dictionaries": {"row_group_size": _ROWS // 3, "use_dictionary": False},
    "one page a column": {"row_group_size": _ROWS, "data_page_size": 1 << 30, "max_rows_per_page": 1 << 30},
    "small row groups": {"row_group_size": 5_000},
}
_ASKED = {
    "id = 4711": lambda row: row["id"] == 4711,
    "id = -1": lambda row: False,
    "id in (5, 6, 70000)": lambda row: row["id"] in (5, 6, 70000),
    "id >= 80000": lambda row: row["id"] >= 80_000,
    "id < 60 and kind = 'a'": lambda row: row["id"] < 60 and row["kind"] == "a",
    "kind is null and id < 9000": lambda row: row["kind"] is None and row["id"] < 9000,
    "inside.n = 7 and id < 20000": lambda row: row["inside"]["n"] == 7 and row["id"] < 20000,
    "number = 'NaN' and id < 50": lambda row: np.isnan(row["number"]) and row["id"] < 50,
    "text = 'https://example.org/3'": lambda row: row["text"] == "https://example.org/3",
}
_DELETED = list(range(0, _ROWS, 3))


@pytest.fixture(scope="module", params=_WRITTEN)
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(tmp_path_factory.mktemp("large"), Schema(fields_of(_TABLE.schema)))
    lake.add("plain.parquet", _TABLE, **_WRITTEN[request.param])
    lake.add("deleted.parquet", _TABLE, **_WRITTEN[request.param])
    lake.delete_equal(1, pa.table({"id": [4711, 5]}), _DELETED)
    return lake


@lru_cache
def _rows() -> list[Mapping[str, Any]]:
    return _TABLE.to_pylist()


@lru_cache
def _wanted(condition: str) -> list[list[Mapping[str, Any]]]:
    rows = _rows()
    hit = [at for at, row in enumerate(rows) if _ASKED[condition](row)]
    left = [at for at in hit if at % 3 and rows[at]["id"] not in (4711, 5)]
    return [[rows[at] for at in hit], [rows[at] for at in left]]


@pytest.mark.parametrize("condition", _ASKED)
def test_the_rows_that_match(lake: Lake, condition: str) -> None:
    """In their order in each file, with the table's types, deleted ones left out."""
    wanted = _wanted(condition)
    read = lake.scan(condition).to_arrow()
    assert read.schema.types == [f.type for f in lake.schema]
    assert repr(read.to_pylist()) == repr(list(itertools.chain(*wanted)))
    some = lake.scan(condition, columns=["list", "kind"]).to_arrow()
    assert some.to_pylist() == [{"list": r["list"], "kind": r["kind"]} for r in itertools.chain(*wanted)]
    counted = [0, 0]
    for row, _, count in matching_rows(lake.scan(condition, columns=["text"])):
        counted[row] += count
    assert counted == [len(rows) for rows in wanted]


def test_deletes_alone(lake: Lake) -> None:
    read = replace(lake.scan(), rows=np.array([1])).to_arrow()
    assert read.column("id").to_pylist() == [
        value for at, value in enumerate(_TABLE["id"].to_pylist()) if at % 3 and value not in (4711, 5)
    ]


def test_rows_that_are_far_apart_cost_no_other_page(tmp_path: Path) -> None:
    """A damaged page without such a row is not looked at."""
    target = tmp_path / "f.parquet"
    pq.write_table(
        _TABLE.select(["id", "text"]), target, use_dictionary=False, compression="snappy", row_group_size=_ROWS
    )
    at = _TABLE["id"].to_pylist().index(4711)
    chunk = pq.read_metadata(target).row_group(0).column(1)
    first_page_of_texts = chunk.data_page_offset + 500
    data = bytearray(target.read_bytes())
    data[first_page_of_texts : first_page_of_texts + 64] = b"\xff" * 64
    lake = Lake(tmp_path, Schema(fields_of(_TABLE.schema)[:1] + fields_of(_TABLE.schema)[2:3]))
    lake.add("f.parquet", bytes(data))
    assert at > 20_000, "in another page than the first"
    assert lake.scan("id = 4711").to_arrow()["text"].to_pylist() == [_TABLE["text"][at].as_py()]


_Engine = Callable[[Scan, str], list[tuple[Any, ...]]]


def _by_duckdb(scan: Scan, condition: str) -> list[tuple[Any, ...]]:
    con = duckdb.connect()
    rows = scan.to_duckdb(con)
    assert rows.types[1] == "VARCHAR"
    return con.sql(f"select id, kind, text, word from rows where {condition}").fetchall()


def _by_polars(scan: Scan, condition: str) -> list[tuple[Any, ...]]:
    frame = scan.to_polars()
    assert frame.collect_schema()["kind"] == pl.String
    return frame.sql(f"select id, kind, text, word from self where {condition}").collect().rows()


def _by_pyarrow(scan: Scan, condition: str) -> list[tuple[Any, ...]]:
    conditions = {
        "true": None,
        "kind = 'a'": pc.field("kind") == "a",
        "kind is null": pc.field("kind").is_null(),
        "id = 4711": pc.field("id") == 4711,
        "id = 4711 and kind <> 'q'": (pc.field("id") == 4711) & (pc.field("kind") != "q"),
        "word = 'x' and id < 1000": (pc.field("word") == "x") & (pc.field("id") < 1000),
        "id < 9 or kind in ('b', 'q')": (pc.field("id") < 9) | pc.field("kind").isin(["b", "q"]),
    }
    read = scan.to_dataset().to_table(columns=["id", "kind", "text", "word"], filter=conditions[condition])
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True))


_CONDITIONS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "true": lambda row: True,
    "kind = 'a'": lambda row: row["kind"] == "a",
    "kind is null": lambda row: row["kind"] is None,
    "id = 4711": lambda row: row["id"] == 4711,
    "id = 4711 and kind <> 'q'": lambda row: row["id"] == 4711 and row["kind"] is not None,
    "word = 'x' and id < 1000": lambda row: row["word"] == "x" and row["id"] < 1000,
    "id < 9 or kind in ('b', 'q')": lambda row: row["id"] < 9 or row["kind"] == "b",
}


@pytest.mark.parametrize("engine", [_by_duckdb, _by_polars, _by_pyarrow])
@pytest.mark.parametrize("condition", _CONDITIONS)
def test_engines_filter_before_other_columns_are_read(tmp_path: Path, engine: _Engine, condition: str) -> None:
    """Texts come as places in dictionaries, from files that hold them so and from those that do not, and mean the
    same; `word` is a dictionary of Arrow's, in the one file of texts."""
    flat = _TABLE.select(["id", "kind", "text", "word"])
    flat = flat.set_column(3, "word", flat["word"].cast(pa.string()))
    lake = Lake(tmp_path, Schema(fields_of(flat.schema)))
    lake.add("coded.parquet", flat, row_group_size=_ROWS)
    lake.add("plain.parquet", flat, row_group_size=_ROWS, use_dictionary=False)
    lake.add("arrow.parquet", flat.set_column(1, "kind", flat["kind"].dictionary_encode()), row_group_size=_ROWS // 2)
    lake.add("small.parquet", flat.slice(0, 100))
    lake.delete(2, _DELETED)
    assert coded(lake.scan()).coded == {"kind", "word"}
    hit = [tuple(row[name] for name in flat.schema.names) for row in _rows() if _CONDITIONS[condition](row)]
    left = [hit_ for hit_ in hit if _PLACES[hit_[0]] % 3]
    first = [hit_ for hit_ in hit if _PLACES[hit_[0]] < 100]
    got = engine(lake.scan(), condition)
    assert sorted(got, key=_in_order) == sorted([*hit, *hit, *left, *first], key=_in_order)


_PLACES = {value: at for at, value in enumerate(_TABLE["id"].to_pylist())}


def _in_order(row: tuple[Any, ...]) -> int:
    return int(row[0])


@pytest.mark.parametrize("view", [pa.string_view(), pa.list_(pa.field("element", pa.string_view()))], ids=str)
def test_views_of_texts(tmp_path: Path, view: pa.DataType) -> None:
    """Arrow takes no rows of them."""
    text = view if view == pa.string_view() else view.value_type
    views = _TABLE["text"].combine_chunks().cast(text)
    if text != view:
        views = pa.ListArray.from_arrays(pa.array(np.arange(_ROWS + 1, dtype=np.int32)), views)
    plain = pa.string() if text == view else pa.list_(pa.field("element", pa.string()))
    flat = _TABLE.select(["id"]).append_column("text", views)
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"id": pa.int64(), "text": plain}))))
    lake.add("f.parquet", flat, row_group_size=_ROWS)
    hit = [at for at in range(_ROWS) if _rows()[at]["id"] < 9]
    wanted = [_rows()[at]["text"] if text == view else [_rows()[at]["text"]] for at in hit]
    assert lake.scan("id < 9").to_arrow()["text"].to_pylist() == wanted


@pytest.mark.parametrize("name", ["self", "*", "^k.*$", ""])
def test_columns_of_any_name_reach_polars(tmp_path: Path, name: str) -> None:
    flat = pa.table({"id": _TABLE["id"], name: _TABLE["kind"], "text": _TABLE["text"]})
    lake = Lake(tmp_path, Schema(fields_of(flat.schema)))
    lake.add("f.parquet", flat, row_group_size=_ROWS)
    assert coded(lake.scan()).coded == {name}
    frame = lake.scan().to_polars().collect()
    assert frame.columns == flat.schema.names
    assert frame.get_column(name).to_list() == flat[name].to_pylist()


def test_a_limit_comes_before_a_condition(tmp_path: Path) -> None:
    flat = _TABLE.select(["id", "kind", "text"])
    lake = Lake(tmp_path, Schema(fields_of(flat.schema)))
    lake.add("f.parquet", flat, row_group_size=_ROWS)
    first = replace(lake.scan(), first=FirstRows(10))
    hit = [row["id"] for row in _rows()[:10] if row["kind"] == "a"]
    assert first.to_dataset().to_table(filter=pc.field("kind") == "a")["id"].to_pylist() == hit
    assert first.to_polars().filter(pl.col("kind") == "a").collect()["id"].to_list() == hit
