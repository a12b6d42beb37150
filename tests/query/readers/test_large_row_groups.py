"""Row groups that are too large to be read whole for some of their rows: the columns that tell are read first."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.formats import Schema
from metaindex.query.readers.arrow import matching_rows
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
