"""The table at the version of an action. Each part is loaded on demand: the version, the changes since a known one, or
all files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.core import VersionNotFoundError
from metaindex.formats import At, Base, Changes, Format, Snapshot, TableRef, Version


@dataclass(slots=True)
class Target:
    """A version of a table, `version` as it was when the action was made ready."""

    format: Format
    ref: TableRef
    at: At
    version: Version
    settled: bool = True  # False: some file may still change under its identity, so the version is not recorded
    _snapshot: Snapshot | None = None

    @classmethod
    def of(cls, format_: Format, ref: TableRef, at: At, settle_seconds: float) -> Target:
        """Loads no files where the format has a log. A listing of plain files waits, once, for those changed a moment
        ago."""
        if format_.has_log:
            return cls(format_, ref, at, format_.resolve(ref, at))
        snapshot = format_.snapshot(ref, at)
        if racy(snapshot).any():
            newest = pc.max(snapshot.files.table.column("modified_ms")).as_py() or 0
            wait = newest / 1000 + settle_seconds - time.time()
            time.sleep(min(max(wait, 0.0) + 0.01, settle_seconds + 0.1))
            snapshot = format_.snapshot(ref, at)
        return cls(format_, ref, at, snapshot.version, not racy(snapshot).any(), snapshot)

    def snapshot(self) -> Snapshot:
        """Return all files."""
        if self._snapshot is None:
            self._snapshot = self.format.snapshot(self.ref, self.at)
        return self._snapshot

    def changes(self, bases: Sequence[Base]) -> Changes | None:
        """Return the changes since one of the versions from the log, or None."""
        return self.format.changes(self.ref, bases, self.at) if bases else None


def retains(format_: Format, ref: TableRef) -> Callable[[Version], bool]:
    """Return a check whether the table can still read exactly a version."""

    def retained(version: Version) -> bool:
        try:
            return format_.resolve(ref, At.of(version)) == version
        except VersionNotFoundError:
            return False

    return retained


def racy(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
    """Files that may still change under the same identity (plain files changed within two seconds of the listing)."""
    if "files_racy" not in snapshot.files.table.column_names:
        return np.zeros(len(snapshot.files), np.bool_)
    return np.asarray(snapshot.files.table.column("files_racy").to_numpy(), np.bool_)
