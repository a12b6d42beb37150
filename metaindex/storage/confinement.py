"""A table that may read below its own root, or below prefixes that are named, and nowhere else: `Config(confine=True)`.

Who writes a table decides which files it has: a Delta log may name any file of the store, a plain folder may hold
links. Whoever builds indexes for others, with wider rights than theirs, says that such files are refused. A file
outside is never passed over: rows would be lost. It is an error, for the build and for the query.

What this project reads is checked by the file that was opened, on a local disk (links are looked through). What an
engine reads is checked by its name, with all links resolved, when the name is handed over.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from metaindex.core import Cure, OutsideTableError

from .local import HANDLES, LocalStorage, disk_errors, opened
from .local_paths import local_path
from .protocol import ObjectInfo, Storage


@dataclass(frozen=True, slots=True)
class Confines:
    """Bounds on where a table's files may be. `within`: canonical roots, which are real paths of a local disk, or URIs
    of the store. `root`: the table's, as the user named it."""

    root: str
    within: tuple[str, ...]

    @classmethod
    def of(cls, storage: Storage, prefixes: Iterable[str] = ()) -> Confines:
        """Return bounds that allow the storage's root and `prefixes`: paths, or URIs of the same store."""
        named = [storage.root, *(storage.uri(local_path(prefix) or prefix) for prefix in prefixes)]
        local = isinstance(storage, LocalStorage)
        return cls(storage.root, tuple((os.path.realpath(place) if local else place.rstrip("/")) for place in named))

    def check(self, paths: Iterable[str]) -> None:
        """Check files as a snapshot names them: relative to the root, or absolute. Raises OutsideTableError for the
        first that is outside."""
        local = "://" not in self.root
        folders: dict[str, str] = {}
        for path in paths:
            where = path if path.startswith("/") or "://" in path else f"{self.root.rstrip('/')}/{path}"
            if not local:
                self.hold(where, path)
                continue
            folder, _, name = (local_path(where) or where).rpartition("/")
            if folder not in folders:
                folders[folder] = os.path.realpath(folder or "/")
            real = f"{folders[folder].rstrip('/')}/{name}"
            self.hold(os.path.realpath(real) if os.path.islink(real) else real, path)

    def hold(self, real: str, said: str) -> None:
        """OutsideTableError unless a canonical path is inside."""
        parts = real.split("/")
        if ".." in parts or not any(real == place or real.startswith(f"{place.rstrip('/')}/") for place in self.within):
            raise OutsideTableError(
                f"a confined table has its files below its root; {said!r} of the table at {self.root!r} "
                f"{'leads to ' + repr(real) + ', which ' if real != said else ''}lies outside; "
                f"if it belongs to the table, name the folder in {Cure('setting', 'Config(confine_to=(...,))')}"
            )


@dataclass(frozen=True, slots=True)
class ConfinedDisk(LocalStorage):
    """A local disk within bounds."""

    confines: Confines = field(default_factory=lambda: Confines("/", ()))

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        self.confines.check([LocalStorage.uri(self, prefix)])
        for info in LocalStorage.list(self, prefix, recursive=recursive, start_after=start_after):
            self.confines.check([LocalStorage.uri(self, info.path)])
            yield info

    def folders(self, prefix: str) -> builtins.list[str]:
        self.confines.check([LocalStorage.uri(self, prefix)])
        return LocalStorage.folders(self, prefix)

    def head(self, path: str) -> ObjectInfo:
        self.confines.check([LocalStorage.uri(self, path)])
        return LocalStorage.head(self, path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        with self.open_input(path) as file:
            file.seek(min(start, file.size()))
            return bytes(file.read(length))

    def open_input(self, path: str) -> pa.NativeFile:
        """Check the location of the opened file itself, since its name may lead elsewhere by now."""
        where = LocalStorage.uri(self, path)
        with disk_errors(where, "open"):
            return opened(where, lambda handle: self._hold(handle, where))

    def _hold(self, handle: int, where: str) -> None:
        if os.path.isdir(HANDLES):
            self.confines.hold(os.readlink(f"{HANDLES}/{handle}"), where)
        else:
            self.confines.check([where])

    def uri(self, path: str) -> str:
        where = LocalStorage.uri(self, path)
        self.confines.check([where])
        return where


@dataclass(frozen=True, slots=True)
class ConfinedStore:
    """An object store within bounds."""

    inner: Storage
    confines: Confines

    @property
    def root(self) -> str:
        return self.inner.root

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        self.uri(prefix)
        return self.inner.list(prefix, recursive=recursive, start_after=start_after)

    def folders(self, prefix: str) -> builtins.list[str]:
        self.uri(prefix)
        return self.inner.folders(prefix)

    def head(self, path: str) -> ObjectInfo:
        self.uri(path)
        return self.inner.head(path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> bytes:
        self.uri(path)
        return self.inner.read(path, start, length)

    def open_input(self, path: str) -> pa.NativeFile:
        self.uri(path)
        return self.inner.open_input(path)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.uri(path)
        self.inner.put_if_absent(path, data)

    def put(self, path: str, data: bytes) -> None:
        self.uri(path)
        self.inner.put(path, data)

    def delete(self, path: str) -> None:
        self.uri(path)
        self.inner.delete(path)

    def uri(self, path: str) -> str:
        where = self.inner.uri(path)
        self.confines.hold(where.rstrip("/"), path)
        return where


def confined(storage: Storage, confines: Confines) -> Storage:
    """Return the storage with its reads confined to the bounds."""
    if isinstance(storage, LocalStorage):
        return ConfinedDisk(storage.root, confines)
    return ConfinedStore(storage, confines)
