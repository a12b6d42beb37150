"""Storage: the few calls that everything else is built on. Paths are POSIX-like keys below a root, or absolute where
a log names files outside it.

`put_if_absent` is the only lock in the project: it creates the object whole, or raises ObjectExistsError. On local
disks that is a temporary file, fsync, link, fsync of the folder; rename would replace and is no lock.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import pyarrow as pa

from metaindex.core import ObjectNotFoundError, dataclass


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One object of a listing. `etag` is the store's version sign: on local disks inode and change time."""

    path: str
    size_bytes: int
    modified_ns: int
    etag: str | None = None


@runtime_checkable
class Storage(Protocol):
    """A store of immutable objects. Every method raises StorageError (or a subclass) and nothing else."""

    @property
    def root(self) -> str:
        """URI or absolute local path of the root; `path` arguments are relative to it (no leading slash) or absolute
        (same store)."""

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        """Objects below the folder `prefix`, in path order; nothing (no error) where the folder does not exist.
        `start_after`: only later paths."""

    def folders(self, prefix: str) -> builtins.list[str]:
        """Names (not paths) of the folders directly below the folder `prefix`, sorted; none where it does not exist."""

    def head(self, path: str) -> ObjectInfo: ...

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes: ...

    def open_input(self, path: str) -> pa.NativeFile:
        """A seekable input for pyarrow readers."""

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Creates the object whole and durable, or raises ObjectExistsError; never replaces. Where an answer was lost
        and the put made again, the object that is there already can be our own: who must know compares what lies there.
        Any other error leaves open whether the object is, or will be, there."""

    def put(self, path: str, data: bytes) -> None:
        """Creates or replaces the object, whole and durable. Only for objects under names nobody else writes."""

    def delete(self, path: str) -> None:
        """Removes the object; no error where it is gone already."""

    def uri(self, path: str) -> str:
        """What an engine is given to open the object: an absolute local path or a store URI."""


@runtime_checkable
class KeepsLeftovers(Protocol):
    """Of a storage on which a put that is killed leaves something that no listing shows."""

    def leftovers(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """What such puts left below a folder, under paths that `delete` takes. A put that is under way has one, too."""


@runtime_checkable
class TellsApart(Protocol):
    """Of a storage in which there may lie what is no object, such as a link."""

    def apart(self, prefix: str) -> tuple[builtins.list[ObjectInfo], dict[str, str]]:
        """The objects directly in the folder `prefix`, in path order, and of what is none, by its path, why."""


@dataclass(frozen=True, slots=True)
class Glance:
    """Some of what lies directly in a folder, by name, in no order: `folders`, and `files` that are no links."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@runtime_checkable
class Glances(Protocol):
    """Of a storage that shows a folder bit by bit: whoever looks for something stops when it is there."""

    def glances(self, prefix: str) -> Iterator[Glance]:
        """What lies directly in the folder `prefix`, some names at a time, each once or more; links are passed over.
        Nothing where it does not exist."""


@runtime_checkable
class KeepsVersions(Protocol):
    """Of a storage that may keep what was removed, where nothing here reaches it."""

    def keeps_versions(self, path: str) -> bool:
        """Does the store say so? Asked of an object that is there; one request."""


def exists(storage: Storage, path: str) -> bool:
    """Is there such an object? StorageError where that cannot be said."""
    try:
        storage.head(path)
    except ObjectNotFoundError:
        return False
    return True
