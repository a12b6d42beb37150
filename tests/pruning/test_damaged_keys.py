"""Rows of keys that are damaged or gone: the index is left out, with a warning; other indexes and the table answer, and no row is lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.kinds.specs import Kind
from tests.tables import settle

KINDS: dict[str, Kind] = {
    "values": mi.Values("id"),
    "value_keys": mi.Values("id", by="value"),
    "value_lists": mi.ValueList("id", limit=100),
    "bloom_filters": mi.Bloom("id"),
}


def flipped(data: bytes) -> bytes:
    at = random.Random(len(data)).randrange(len(data) // 4, len(data) // 2)
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "gone": lambda data: None,
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "flipped": flipped,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_row_is_lost(kind: str, damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "lake"
    root.mkdir()
    for i in range(12):
        pq.write_table(pa.table({"id": range(i * 40, i * 40 + 40), "day": [i] * 40}), root / f"{i:02d}.parquet")
    settle(root)
    table = mi.open_table(str(root))
    table.create_index("find", KINDS[kind], builder="local")
    table.create_index("days", mi.ColumnStats("day"), builder="local")
    parts = list((tmp_path / "_metaindex" / "lake" / "find").glob(f"{kind}*/*/*"))
    assert parts
    for part in parts:
        left = DAMAGES[damage](part.read_bytes())
        if left is None:
            part.unlink()
        else:
            part.write_bytes(left)

    table = mi.open_table(str(root))
    for wanted in range(0, 480, 97):
        assert table.scan(f"id = {wanted}").to_arrow().num_rows == 1
        assert table.scan(f"id IN ({wanted}, 9999) AND day = {wanted // 40}").to_arrow().num_rows == 1
    result = table.prune("id = 100 AND day = 2")
    assert [Path(path).name for path in result.paths] == ["02.parquet"]
    find = next(one for one in result.indexes if one.name == "find")
    if not find.used:  # a flipped bit may lie where this look-up does not read
        assert "not used" in caplog.text
    else:
        assert damage == "flipped"
