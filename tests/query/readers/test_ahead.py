"""Reading ahead: the order stays, errors come in turn, what is held is bounded, and who stops early leaves nothing
running."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats import Schema
from metaindex.query.readers import ahead
from metaindex.storage import Storage
from tests.query.readers.lake import Lake, fields_of


@given(st.lists(st.integers(0, 300 << 20), max_size=40))
def test_everything_comes_in_order_whatever_the_sizes(sizes: list[int]) -> None:
    def read(item: int) -> Iterator[tuple[int, int]]:
        return ((item, i) for i in range(item % 3))

    items = list(range(100, 100 + len(sizes)))
    assert list(ahead.in_order(items, sizes, read)) == [(item, i) for item in items for i in range(item % 3)]


def test_files_wait_for_the_network_together_but_not_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_BYTES", 50)
    lock, now, most = threading.Lock(), 0, 0
    together = threading.Barrier(5)  # nobody is done before five are under way

    def read(item: int) -> Iterator[int]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait(30)
        with lock:
            now -= 1
        yield item

    assert list(ahead.in_order(range(20), [10] * 20, read)) == list(range(20))
    assert most == 5


def test_an_error_comes_when_its_turn_does_and_nothing_goes_on_running() -> None:
    def read(item: int) -> Iterator[int]:
        if item == 3:
            raise ValueError("gone")
        yield item

    rows = ahead.in_order(range(100), [1] * 100, read)
    assert [next(rows) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="gone"):
        next(rows)
    stopped = ahead.in_order(range(100), [1] * 100, read)
    next(stopped)
    stopped.close()  # type: ignore[attr-defined]
    assert not [t for t in threading.enumerate() if t.name.startswith("metaindex-read")]


class Far:
    """A folder that calls itself a store, and remembers who opened its files."""

    root = "far://store"

    def __init__(self, near: Storage) -> None:
        self.near = near
        self.threads: set[str] = set()

    def open_input(self, path: str) -> pa.NativeFile:
        self.threads.add(threading.current_thread().name)
        return self.near.open_input(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.near, name)


def test_a_scan_of_a_store_reads_its_files_ahead(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"a": pa.int64()}))))
    for i in range(30):
        lake.add(f"f{i}.parquet", pa.table({"a": [i, i + 100]}))
    for i in range(0, 30, 3):
        lake.delete(i, [1])
    near = lake.scan("a <> 7")
    far = Far(near.storage)
    assert replace(near, storage=far).to_arrow().equals(near.to_arrow())
    assert far.threads
    assert all(name.startswith("metaindex-read") for name in far.threads)
