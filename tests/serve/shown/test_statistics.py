"""Counts and bounds of tasks are those of the rows, and are sent only where they are certain."""

import datetime as dt
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from metaindex.query import Handle
from metaindex.serve.shown import shown
from tests.serve.lake import PYICEBERG_0_12 as PYICEBERG
from tests.tables import settled

MOMENT = dt.datetime(2026, 1, 1)
MICROS = 1_767_225_600_000_000


def stated(folder: Path, content: pa.Table, *names: str) -> dict[str, dict[str, Any]]:
    """Of the last file, by the name of what is stated and the name of the column."""
    first = {
        name: pa.array([None], type_) for name, type_ in zip(content.schema.names, content.schema.types, strict=True)
    }
    table = shown(Handle.open(settled(folder, {"a.parquet": pa.table(first), "b.parquet": content})))
    metadata: Any = table.load(PYICEBERG).metadata
    names_by_id = {field["id"]: field["name"] for field in metadata["schemas"][0]["fields"]}
    task: Any = table.snapshot(None, own_schema=True).tasks(np.arange(2), PYICEBERG, names).tasks[1]
    maps = {name: said for name, said in task["data-file"].items() if isinstance(said, dict)}
    return {
        name: {names_by_id[key]: value for key, value in zip(said["keys"], said["values"], strict=True)}
        for name, said in maps.items()
    }


def test_counts_and_bounds_of_numbers_days_and_times(tmp_path: Path) -> None:
    content = pa.table(
        {
            "long": pa.array([7, None, -3], pa.int64()),
            "int": pa.array([1, 2, 3], pa.int32()),
            "day": pa.array([None, dt.date(1970, 1, 3), dt.date(1970, 1, 2)]),
            "at": pa.array([MOMENT] * 3, pa.timestamp("us", "UTC")),
            "nothing": pa.array([None] * 3, pa.int64()),
            "unasked": pa.array([1, 2, 3], pa.int64()),
        }
    )
    found = stated(tmp_path, content, "long", "int", "day", "at", "nothing")
    assert found["value-counts"] == dict.fromkeys(["long", "int", "day", "at", "nothing"], 3)
    assert found["null-value-counts"] == {"long": 1, "int": 0, "day": 1, "at": 0, "nothing": 3}
    lower = {"long": struct.pack("<q", -3), "int": struct.pack("<i", 1), "day": struct.pack("<i", 1)}
    upper = {"long": struct.pack("<q", 7), "int": struct.pack("<i", 3), "day": struct.pack("<i", 2)}
    at = {"at": struct.pack("<q", MICROS)}
    assert found["lower-bounds"] == {name: value.hex() for name, value in {**lower, **at}.items()}
    assert found["upper-bounds"] == {name: value.hex() for name, value in {**upper, **at}.items()}


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1.5, float("nan")]),
        pa.array(["a", "b"]),
        pa.array([b"a", b"b"]),
        pa.array([MOMENT] * 2, pa.timestamp("ms")),
        pa.array([[1], [2]]),
        pa.array([{"x": 1}, {"x": 2}]),
    ],
)
def test_nothing_is_stated_of_other_types(tmp_path: Path, values: pa.Array) -> None:
    assert stated(tmp_path, pa.table({"v": values}), "v", "missing") == {}
