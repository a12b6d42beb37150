"""Deletion vectors in Puffin files: many in one file, and those that are not what the manifest says."""

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

from metaindex.core import CorruptTableError, FormatError
from metaindex.formats.model import Snapshot
from tests.formats.framed import encode_framed
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry

POSITIONS = [[0], [0, 1, 100, 1000], [0, 1 << 33, (1 << 33) + 5, 1 << 34], list(range(10_000)), []]


def puffin(path: Path, sets: list[list[int]]) -> list[tuple[int, int]]:
    """One file of all vectors; where each lies. What the footer says is not needed to find them."""
    out, places = bytearray(b"PFA1"), []
    for positions in sets:
        blob = encode_framed(BitMap64(positions))
        places.append((len(out), len(blob)))
        out += blob
    footer = b'{"blobs":[]}'
    path.write_bytes(bytes(out) + b"PFA1" + footer + struct.pack("<i", len(footer)) + bytes(4) + b"PFA1")
    return places


@pytest.fixture
def table(tmp_path: Path) -> HandTable:
    made = HandTable(tmp_path / "t", format_version=3)
    made.root.mkdir()
    return made


def snapshot_of(table: HandTable, **more: Any) -> Snapshot:
    places = puffin(table.root / "all.puffin", POSITIONS)
    data = [entry(table.path(f"data/f{n}.parquet"), sequence=1) for n in range(len(POSITIONS))]
    vectors = [
        entry(
            table.path("all.puffin"),
            **{
                "content": 1,
                "file_format": "PUFFIN",
                "referenced_data_file": table.path(f"data/f{n}.parquet"),
                "content_offset": at,
                "content_size_in_bytes": size,
                "record_count": len(POSITIONS[n]),
                **(more if n == 1 else {}),
            },
        )
        for n, (at, size) in enumerate(places)
    ]
    table.commit([HandManifest(data), HandManifest(vectors, content=1, sequence=2)])
    return table.snapshot()


def test_one_file_may_hold_the_vectors_of_many(table: HandTable) -> None:
    snapshot = snapshot_of(table)
    assert [list(snapshot.details.deletes(n).positions) for n in range(len(POSITIONS))] == POSITIONS
    assert snapshot.files.table.column("deleted_count").to_pylist() == [len(one) for one in POSITIONS]
    assert len(set(snapshot.files.table.column("deletes").to_pylist())) == len(POSITIONS)


@pytest.mark.parametrize(
    "more",
    [
        {"content_offset": 10**9},
        {"content_offset": -1},
        {"content_offset": 0},
        {"content_offset": None},
        {"content_size_in_bytes": 3},
        {"content_size_in_bytes": 10**9},
        {"content_size_in_bytes": -1},
        {"content_size_in_bytes": None},
        {"record_count": 5},
    ],
)
def test_a_vector_that_is_not_where_the_manifest_says_is_named(table: HandTable, more: dict[str, Any]) -> None:
    snapshot = snapshot_of(table, **more)
    with pytest.raises(CorruptTableError, match=r"/t snapshot 1: delete file .*/all\.puffin"):
        snapshot.details.deletes(1)
    assert list(snapshot.details.deletes(0).positions) == POSITIONS[0]


@settings(max_examples=settings.default.max_examples * 40 // 100, deadline=None)
@given(st.data())
def test_a_flipped_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    table = HandTable(tmp_path_factory.mktemp("v") / "t", format_version=3)
    table.root.mkdir()
    snapshot = snapshot_of(table)
    file = table.root / "all.puffin"
    damaged = bytearray(file.read_bytes())
    start = 4 + len(encode_framed(BitMap64(POSITIONS[0])))
    at = data.draw(st.integers(start, start + len(encode_framed(BitMap64(POSITIONS[1]))) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    file.write_bytes(bytes(damaged))
    with pytest.raises(FormatError, match=r"/t snapshot 1: delete file .*/all\.puffin"):
        snapshot.details.deletes(1)


def test_a_cut_puffin_file_is_named(table: HandTable) -> None:
    snapshot = snapshot_of(table)
    file = table.root / "all.puffin"
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(CorruptTableError, match=r"/t snapshot 1: delete file .*/all\.puffin"):
        snapshot.details.deletes(3)
    file.unlink()
    with pytest.raises(CorruptTableError, match=r"all\.puffin does not"):
        snapshot.details.deletes(3)
