"""An index in memory, and storages that fail: what every crash test is made of."""

import builtins
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import pyarrow as pa

import metaindex as mi
from metaindex.core import ObjectExistsError, ObjectNotFoundError, StorageError
from metaindex.index import IndexFolder
from metaindex.index.log.operation_log import OperationLog
from metaindex.query import Handle
from metaindex.storage import ObjectInfo, Storage
from metaindex.table import Table, handle_of

T = TypeVar("T")
SECOND = 1_000_000_000


class MemoryStorage:
    """Objects in a dictionary, with a clock that goes on by a millisecond a write, or when told."""

    def __init__(self, objects: dict[str, tuple[bytes, int]] | None = None, now_ns: int = 10**18) -> None:
        self.objects = dict(objects or {})
        self.now_ns = now_ns
        self._lock = threading.Lock()

    root = "/in-memory"

    def copy(self) -> "MemoryStorage":
        return MemoryStorage(self.objects, self.now_ns)

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        folder = prefix.rstrip("/") + "/" if prefix else ""
        with self._lock:
            found = sorted(p for p in self.objects if p.startswith(folder) and p > start_after)
        if not recursive:
            found = [p for p in found if "/" not in p[len(folder) :]]
        return iter([ObjectInfo(p, len(self.objects[p][0]), self.objects[p][1]) for p in found])

    def folders(self, prefix: str) -> builtins.list[str]:
        folder = prefix.rstrip("/") + "/" if prefix else ""
        return sorted(
            {
                p[len(folder) :].partition("/")[0]
                for p in self.objects
                if p.startswith(folder) and "/" in p[len(folder) :]
            }
        )

    def head(self, path: str) -> ObjectInfo:
        data, modified = self._get(path)
        return ObjectInfo(path, len(data), modified)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        data = self._get(path)[0]
        return data[start:] if length is None else data[start : start + length]

    def open_input(self, path: str) -> pa.NativeFile:
        return pa.BufferReader(self._get(path)[0])

    def put_if_absent(self, path: str, data: bytes) -> None:
        with self._lock:
            if path in self.objects:
                raise ObjectExistsError(f"{path} is there")
            self._put(path, data)

    def put(self, path: str, data: bytes) -> None:
        with self._lock:
            self._put(path, data)

    def delete(self, path: str) -> None:
        with self._lock:
            self.objects.pop(path, None)

    def uri(self, path: str) -> str:
        return f"/in-memory/{path}"

    def _put(self, path: str, data: bytes) -> None:
        self.now_ns += SECOND // 1000
        self.objects[path] = (data, self.now_ns)

    def _get(self, path: str) -> tuple[bytes, int]:
        try:
            return self.objects[path]
        except KeyError:
            raise ObjectNotFoundError(f"there is no {path}") from None


class Killed(BaseException):
    """The process is dead: it makes no further call."""


Fault = Literal["kill before", "kill after", "lose the call", "lose the answer", "gone", "read-only"]
FAULTS: tuple[Fault, ...] = ("kill before", "kill after", "lose the call", "lose the answer", "gone", "read-only")
"""At a call: die before or after it takes effect; fail once before or after it; fail from then on, all calls or those
that write."""

WRITES = ("put_if_absent", "put", "delete")


def turning_points(calls: list[tuple[str, str]]) -> list[int]:
    """The numbers of calls that differ for whoever comes between: of a row of reads, of puts or of deletes the first,
    the one in the middle and the last. `make soak` takes every call."""
    rows = [list(row) for _, row in itertools.groupby(range(len(calls)), key=lambda at: _effect(calls[at][0]))]
    return sorted({row[place] for row in rows for place in (0, len(row) // 2, -1)})


def _effect(call: str) -> str:
    return call if call in WRITES else "reads"


@dataclass
class FaultStorage:
    """Passes calls on, and does what `fault` says at call number `at`. `between`: called before each call with its
    number (another writer's turn)."""

    inner: Storage
    at: int | None = None
    fault: Fault = "kill before"
    between: Callable[[int], None] | None = None
    calls: builtins.list[tuple[str, str]] = field(default_factory=list)
    dead: bool = False
    _turn: threading.RLock = field(default_factory=threading.RLock)  # type: ignore[valid-type]

    @property
    def root(self) -> str:
        return self.inner.root

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        return self._call("list", prefix, lambda: self.inner.list(prefix, recursive=recursive, start_after=start_after))

    def folders(self, prefix: str) -> builtins.list[str]:
        return self._call("folders", prefix, lambda: self.inner.folders(prefix))

    def head(self, path: str) -> ObjectInfo:
        return self._call("head", path, lambda: self.inner.head(path))

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        return self._call("read", path, lambda: self.inner.read(path, start, length))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._call("open_input", path, lambda: self.inner.open_input(path))

    def put_if_absent(self, path: str, data: bytes) -> None:
        self._call("put_if_absent", path, lambda: self.inner.put_if_absent(path, data))

    def put(self, path: str, data: bytes) -> None:
        self._call("put", path, lambda: self.inner.put(path, data))

    def delete(self, path: str) -> None:
        self._call("delete", path, lambda: self.inner.delete(path))

    def uri(self, path: str) -> str:
        return self.inner.uri(path)

    def _call(self, name: str, path: str, do: Callable[[], T]) -> T:
        with self._turn:  # parts are put from several threads: one call after another all the same
            return self._numbered(name, path, do)

    def _numbered(self, name: str, path: str, do: Callable[[], T]) -> T:
        number = len(self.calls)
        self.calls.append((name, path))
        if self.between is not None:
            self.between(number)
        if self.dead:
            raise Killed
        if self.at is None or number < self.at:
            return do()
        if number == self.at:
            match self.fault:
                case "kill before":
                    self.dead = True
                    raise Killed
                case "kill after":
                    do()
                    self.dead = True
                    raise Killed
                case "lose the call":
                    raise StorageError(f"lost: {name} {path}")
                case "lose the answer":
                    do()
                    raise StorageError(f"answer lost: {name} {path}")
        if self.fault == "gone" or (self.fault == "read-only" and name in WRITES):
            raise StorageError(f"no space left: {name} {path}")
        return do()


class Folder(IndexFolder):
    """The index `stats` in a given storage."""

    def __init__(self, handle: Handle, storage: Storage) -> None:
        super().__init__("/in-memory", handle.table_format, handle.ref, {}, handle.config)
        self.storage = storage

    def names(self) -> list[str]:
        return ["stats"]

    def log(self, name: str) -> OperationLog:
        assert name == "stats"
        return self._logs.setdefault(name, OperationLog(self.storage))


def opened(path: str, storage: Storage) -> Table:
    """A table as a new process would open it, with its index in the storage."""
    table = mi.open_table(path)
    handle_of(table)._folder = Folder(handle_of(table), storage)
    return table
