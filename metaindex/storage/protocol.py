"""Storage: the few calls that everything else is built on. Paths are POSIX-like keys below a root, or absolute where
a log names files outside it.

`put_if_absent` is the only lock in the project: it creates the object whole, or raises ObjectExistsError. On local
disks that is a temporary file, fsync, link, fsync of the folder; rename would replace and is no lock.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import pyarrow as pa

from metaindex.core import dataclass


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """An object of a listing. `etag` is the store's version sign: on local disks inode and change time."""

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
        """Create the object whole and durable, or raise ObjectExistsError; never replace. If an answer was lost and the
        put repeated, the existing object can be our own: callers who must know compare its content. Any other error
        leaves open whether the object exists, or will."""

    def put(self, path: str, data: bytes) -> None:
        """Create or replace the object, whole and durable. Only for names that nobody else writes."""

    def delete(self, path: str) -> None:
        """Removes the object; no error where it is gone already."""

    def uri(self, path: str) -> str:
        """Return the absolute local path or store URI by which an engine opens the object."""


@runtime_checkable
class KeepsLeftovers(Protocol):
    """Storage on which a killed put leaves a file that no listing shows."""

    def leftovers(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Yield what killed puts left below a folder, as paths for `delete`; puts under way have such files, too."""


@runtime_checkable
class SupportsIdentity(Protocol):
    """Storage that may hold entries that are no objects, such as links."""

    def apart(self, prefix: str) -> tuple[builtins.list[ObjectInfo], dict[str, str]]:
        """The objects directly in the folder `prefix`, in path order, and of what is none, by its path, why."""


@dataclass(frozen=True, slots=True)
class Glance:
    """Names directly in a folder, or a part of them, in no order: `folders`, and `files` that are no links."""

    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@runtime_checkable
class Glances(Protocol):
    """Storage that lists a folder in parts, so that a search stops once it has found something."""

    def glances(self, prefix: str) -> Iterator[Glance]:
        """Yield the names directly in the folder `prefix`, some at a time, each once or more, without links. Yields
        nothing if it does not exist."""


@runtime_checkable
class SupportsVersions(Protocol):
    """Storage that may keep deleted objects as older versions, which this library does not reach."""

    def keeps_versions(self, path: str) -> bool:
        """Return whether the store keeps versions, by one request about an existing object."""


def back_off(attempt: int, first_seconds: float, most_seconds: float = 60.0) -> None:
    """Sleep before the next try, at random below a limit that doubles from `first_seconds` on, so that writers who
    collided do not meet again ("full jitter", as object stores ask of their clients)."""
    import random  # where all goes well, nobody waits

    time.sleep(random.uniform(0, min(first_seconds * 2**attempt, most_seconds)))  # noqa: S311 - no secret
