"""A storage that counts: what a look-up costs in calls, reads and bytes."""

import builtins
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from metaindex.storage import ObjectInfo, Storage
from metaindex.storage.object_store import ObjectStorage, range_file


class CountingStorage:
    """Passes everything on to `inner`. `calls` counts by method name; `reads` and `bytes_read` are range reads,
    those of open inputs too."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.calls: Counter[str] = Counter()
        self.bytes_read = 0
        self._lock = threading.Lock()

    @property
    def reads(self) -> int:
        return self.calls["read"]

    @property
    def root(self) -> str:
        return self.inner.root

    def reset(self) -> None:
        with self._lock:
            self.calls.clear()
            self.bytes_read = 0

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        self._count("list")
        return self.inner.list(prefix, recursive=recursive, start_after=start_after)

    def folders(self, prefix: str) -> builtins.list[str]:
        self._count("folders")
        return self.inner.folders(prefix)

    def head(self, path: str) -> ObjectInfo:
        self._count("head")
        return self.inner.head(path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        data = self.inner.read(path, start, length)
        self._count("read", len(data))
        return data

    def open_input(self, path: str) -> pa.NativeFile:
        """Each read of the file is one `read`; one `head` gives the size (and says that the object is there)."""
        return range_file(lambda start, length: self.read(path, start, length), self.head(path).size_bytes)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._count("put_if_absent")
        self.inner.put_if_absent(path, data)

    def put(self, path: str, data: bytes) -> None:
        self._count("put")
        self.inner.put(path, data)

    def delete(self, path: str) -> None:
        self._count("delete")
        self.inner.delete(path)

    def uri(self, path: str) -> str:
        return self.inner.uri(path)

    def _count(self, call: str, size: int = 0) -> None:
        with self._lock:
            self.calls[call] += 1
            self.bytes_read += size


def in_memory(root: str, prefix: str = "") -> Storage:
    """An object store of its own."""
    from obstore.store import MemoryStore

    return ObjectStorage(MemoryStore(), root, prefix)


@dataclass(frozen=True)
class Replacing(ObjectStorage):
    """Replaces the object `at` when that was read, before the next listing."""

    at: str = ""
    by: bytes = b""
    done: threading.Event = field(default_factory=threading.Event)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        data = super().read(path, start, length)
        if path.endswith(self.at) and not self.done.is_set():
            self.put(self.at, self.by)
            self.done.set()
        return data

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        self.done.wait(10)
        return super().list(prefix, recursive=recursive, start_after=start_after)
