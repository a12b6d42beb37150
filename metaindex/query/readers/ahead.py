"""Files of an object store are read ahead of their turn: while one is handed out the next ones wait for the network at
the same time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from metaindex.core import Words

T = TypeVar("T")

_FILES = 16  # under way at the same time
_BYTES = 256 << 20  # as stored, of all of them
_LARGE = 64 << 20  # a file from here on streams by itself when its turn comes


def in_order(items: Sequence[int], sizes: Sequence[int], read: Callable[[int], Iterator[T]]) -> Iterator[T]:
    """Yield what `read` gives for each item, in their order, reading ahead; an error is raised at its item's turn."""
    if len(items) < 2:
        for item in items:
            yield from read(item)
        return
    pool = ThreadPoolExecutor(_FILES, thread_name_prefix="metaindex-read")
    under_way: deque[tuple[int, int, Future[list[T]] | None]] = deque()
    held, read_all = 0, Words.kept(_all)
    following = iter(zip(items, sizes, strict=True))
    upcoming = next(following, None)
    try:
        while upcoming is not None or under_way:
            while upcoming is not None and len(under_way) < _FILES and (not under_way or held + upcoming[1] <= _BYTES):
                item, size = upcoming
                under_way.append((item, size, None if size >= _LARGE else pool.submit(read_all, read, item)))
                held += size
                upcoming = next(following, None)
            item, size, future = under_way.popleft()
            yield from read(item) if future is None else future.result()
            held -= size
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _all(read: Callable[[int], Iterator[T]], item: int) -> list[T]:
    return list(read(item))
