"""Puts that are under way side by side: a put waits for its disk or its store, and the parts of a run need no order
among themselves.

with side_by_side(sink) as many:
    ...                          # parts, written into `many`
storage.put(manifest)            # names them: every one is durable by now
"""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from metaindex.storage import ObjectInfo, Storage

from .writer import RunSink

THREADS = 4
_WAITING = 2 * THREADS
_LARGE = 4 << 20
"""Bytes from which on an object is put at once, as what waits is held in memory: making it took longer than the put."""


@contextmanager
def side_by_side(sink: RunSink) -> Iterator[RunSink]:
    """Yield a sink whose puts return before they are done. All are when the block ends; it raises what the first that
    failed raised. An error in the block waits for them too, so that a clean-up then finds all objects."""
    puts = _Puts(sink.storage, threading.BoundedSemaphore(_WAITING), [])
    try:
        yield replace(sink, storage=puts)
    finally:
        wait(puts.under_way)
    puts.check()


@dataclass(frozen=True, slots=True)
class _Puts:
    """The storage `inner`, but for its puts. A copy in another process is `inner`."""

    inner: Storage
    slots: threading.BoundedSemaphore
    under_way: builtins.list[Future[None]]

    @property
    def root(self) -> str:
        return self.inner.root

    def put(self, path: str, data: bytes) -> None:
        self.check()
        if len(data) >= _LARGE or getattr(_here, "puts", False):
            self.inner.put(path, data)
            return
        self.slots.acquire()
        try:
            put = _pool().submit(self.inner.put, path, data)
        except RuntimeError:  # no thread can be started: too many, or the process is ending
            self.slots.release()
            self.inner.put(path, data)
            return
        put.add_done_callback(lambda _: self.slots.release())
        self.under_way.append(put)

    def check(self) -> None:
        """Raises what a put raised that is over."""
        for put in self.under_way:
            if put.done():
                put.result()

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        return self.inner.list(prefix, recursive=recursive, start_after=start_after)

    def folders(self, prefix: str) -> builtins.list[str]:
        return self.inner.folders(prefix)

    def head(self, path: str) -> ObjectInfo:
        return self.inner.head(path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        return self.inner.read(path, start, length)

    def open_input(self, path: str) -> pa.NativeFile:
        return self.inner.open_input(path)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.inner.put_if_absent(path, data)

    def delete(self, path: str) -> None:
        self.inner.delete(path)

    def uri(self, path: str) -> str:
        return self.inner.uri(path)

    def __reduce__(self) -> tuple[object, tuple[Storage]]:
        return _itself, (self.inner,)


_shared: builtins.list[ThreadPoolExecutor] = []
_here = threading.local()
"""`puts` is set in the pool's own threads: what a storage does inside of a put is done there, as waiting for threads
that wait for it would never end."""


def _pool() -> ThreadPoolExecutor:
    """Return this process's thread pool: starting threads for every small run would be slow."""
    if not _shared:
        _shared.append(ThreadPoolExecutor(THREADS, "metaindex puts", lambda: setattr(_here, "puts", True)))
    return _shared[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.clear)  # a child has none of its parent's threads


def _itself(storage: Storage) -> Storage:
    return storage
