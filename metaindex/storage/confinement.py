"""A table that may read below its own root, or below prefixes that are named, and nowhere else: `Config(confine=True)`.

Who writes a table decides which files it has: a Delta log may name any file of the store, a plain folder may hold
links. Whoever builds indexes for others, with wider rights than theirs, says that such files are refused. A file
outside is never passed over: rows would be lost. It is an error, for the build and for the query.

What this project reads is checked by the file that was opened, on a local disk (links are looked through). What an
engine reads is checked by its name, with all links resolved, when the name is handed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from metaindex.core import Cure, OutsideTableError

from .local_paths import HANDLES, local_path
from .protocol import Storage


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
        local = "://" not in storage.root
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

    def hold_opened(self, handle: int, said: str) -> None:
        """Check the place of an opened file itself, since its name may lead elsewhere by now."""
        if os.path.isdir(HANDLES):
            self.hold(os.readlink(f"{HANDLES}/{handle}"), said)
        else:
            self.check([said])


def confined(storage: Storage, confines: Confines) -> Storage:
    """Return the storage with its reads confined to the bounds."""
    bounded: Storage = replace(storage, confines=confines)  # type: ignore[type-var]  # each kind of storage is a record
    return bounded
