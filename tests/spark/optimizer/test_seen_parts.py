"""Looking at the parts of a covering index before a query is planned with it: every damage that a listing or a footer
shows is seen, and what was seen costs nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import DamagedIndexError
from metaindex.index import StoredPart
from metaindex.index.kinds.covering.parts import MARK
from metaindex.spark.optimizer import seen_parts
from metaindex.storage import Storage
from tests.hostile.changes import turned
from tests.index.kinds.covering.arrow_builder import ArrowBuilder
from tests.index.kinds.covering.served import Held, index_folder
from tests.storage.counting import CountingStorage, in_memory

Damage = Callable[[Storage, list[str]], None]


def _missing(storage: Storage, paths: list[str]) -> None:
    storage.delete(paths[1])


def _cut(storage: Storage, paths: list[str]) -> None:
    storage.put(paths[1], storage.read(paths[1])[:-1])


def _empty(storage: Storage, paths: list[str]) -> None:
    storage.put(paths[1], b"")


def _exchanged(storage: Storage, paths: list[str]) -> None:
    one, other = storage.read(paths[1]), storage.read(paths[2])
    storage.put(paths[1], other)
    storage.put(paths[2], one)


def _other_footer(storage: Storage, paths: list[str]) -> None:
    storage.put(paths[1], turned(storage.read(paths[1]), -30))


def _other_page_index(storage: Storage, paths: list[str]) -> None:
    """One byte each in the middle and at the end of what lies between the last page and the footer: by it Spark leaves
    pages out."""
    data = storage.read(paths[1])
    start, end = _page_index(data)
    assert end - start > 10
    storage.put(paths[1], turned(data, (start + end) // 2))


def _page_index(data: bytes) -> tuple[int, int]:
    metadata = pq.read_metadata(pa.BufferReader(data))
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    assert all(chunk.has_offset_index for chunk in chunks)
    starts = [
        min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
        + chunk.total_compressed_size
        for chunk in chunks
    ]
    return max(starts), len(data) - 8 - int.from_bytes(data[-8:-4], "little")


@pytest.fixture(params=["local", "store"])
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Held:
    """Eight buckets of which all are as long: their values are floats, of which no footer tells a bound."""
    root = tmp_path / "lake"
    root.mkdir()
    pq.write_table(pa.table({"k": np.arange(4_000) / 2}), root / "one.parquet")
    table = mi.open_table(str(root))
    table.create_index("c", mi.Covering("k", buckets=8), builder=ArrowBuilder())
    found = Held.of(table, "c")
    storage: Storage = found.index.storage
    if request.param == "store":
        folder = index_folder(table, "c")
        storage = in_memory(f"s3://lake{tmp_path}")
        for path in folder.rglob("*"):
            if path.is_file():
                storage.put(str(path.relative_to(folder)), path.read_bytes())
    return replace(found, index=replace(found.index, storage=CountingStorage(storage), _readers={}))


def _check(held: Held) -> list[StoredPart]:
    (served,) = held.index.served_keys()
    parts = served.parts()
    seen_parts.check(served, parts, parts)
    return parts


def test_each_part_says_which_it_is(held: Held) -> None:
    storage = held.index.storage
    for part in _check(held):
        assert pq.read_metadata(pa.BufferReader(storage.read(part.path))).metadata[MARK] == part.path.encode()


def test_what_was_seen_costs_nothing(held: Held) -> None:
    storage = held.index.storage
    assert isinstance(storage, CountingStorage)
    parts = _check(held)
    assert storage.calls["list"] == 1
    storage.reset()
    _check(held)
    assert not storage.calls
    seen_parts.forget({held.runs[0].run})
    _check(held)
    assert storage.calls == {"list": 1, "read": len(parts)}


@pytest.mark.parametrize("damage", [_missing, _cut, _empty, _exchanged, _other_footer, _other_page_index])
@pytest.mark.exhaustive(but="local-_missing")
def test_what_a_listing_or_a_footer_shows_is_refused(held: Held, damage: Damage) -> None:
    paths = [part.path for part in _check(held)]
    before = {path: held.index.storage.read(path) for path in paths}
    damage(held.index.storage, paths)
    seen_parts.forget()
    for _ in range(2):
        with pytest.raises(
            DamagedIndexError, match=r"as its manifest says; .*; repair the index with repair_index\(\)"
        ):
            _check(held)
    for path, data in before.items():
        held.index.storage.put(path, data)
    _check(held)


def test_a_listing_after_a_while_sees_what_has_changed(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen_parts, "SEEN_SECONDS", 0.0)
    paths = [part.path for part in _check(held)]
    storage = held.index.storage
    assert isinstance(storage, CountingStorage)
    storage.reset()
    _check(held)
    assert storage.calls == {"list": 1}, "no footer is read again of a part that is as it was"
    _exchanged(storage, paths)
    with pytest.raises(DamagedIndexError, match=r"footer does not match|bytes are expected"):
        _check(held)
