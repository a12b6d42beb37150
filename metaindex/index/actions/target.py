"""The table at the version of an action. Each part is loaded on demand: the version, the changes since a known one, or
all files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.core import ArgumentError, Cure, UnknownColumnError, VersionNotFoundError
from metaindex.expressions import ArrowStatistics, may_match
from metaindex.formats import At, Base, Changes, Format, Snapshot, TableRef, Version
from metaindex.storage import holding_ends

_WHERE, _UNDER = Cure("argument", "where"), Cure("argument", "under")
Limit = Callable[[Snapshot], npt.NDArray[np.bool_]]
"""Which files an action is limited to."""


@dataclass(slots=True)
class Target:
    """A version of a table, `version` as it was when the action was made ready."""

    format: Format
    ref: TableRef
    at: At
    version: Version
    settled: bool = True  # False: some file may still change under its identity, so the version is not recorded
    _snapshot: Snapshot | None = None
    limit: Limit | None = None
    _reading: TableRef | None = None
    _ready: Version | None = field(init=False)

    def __post_init__(self) -> None:
        self._ready = self.version

    @classmethod
    def of(
        cls,
        format_: Format,
        ref: TableRef,
        at: At,
        settle_seconds: float,
        where: object = None,
        under: str | None = None,
        time_zone: str = "UTC",
    ) -> Target:
        """Loads no files where the format has a log. A listing of plain files waits, once, for those changed a moment
        ago. `where`, `under`: only files of these partitions, or below this folder, are meant."""
        limit = limited(where, under, time_zone)
        if format_.has_log:
            return cls(format_, ref, at, format_.resolve(ref, at), limit=limit)
        reading = _held(ref)
        snapshot = format_.snapshot(reading, at)
        if racy(snapshot).any():
            newest = pc.max(snapshot.files.table.column("modified_ms")).as_py() or 0
            wait = newest / 1000 + settle_seconds - time.time()
            time.sleep(min(max(wait, 0.0) + 0.01, settle_seconds + 0.1))
            snapshot = format_.snapshot(reading, at)
        return cls(format_, ref, at, snapshot.version, not racy(snapshot).any(), snapshot, limit, reading)

    @property
    def reading(self) -> TableRef:
        """The table for who reads data files of this version: the end of each is asked for once."""
        if self._reading is None:
            self._reading = _held(self.ref)
        return self._reading

    def snapshot(self) -> Snapshot:
        """Return all files."""
        if self._snapshot is None:
            self._snapshot = self.format.snapshot(self.ref, self.at)
        return self._snapshot

    def changes(self, bases: Sequence[Base]) -> Changes | None:
        """Return the changes since one of the versions from the log, or None: to the version as it was when the action
        was made ready, and from the second time on to the one that is meant then."""
        to, self._ready = self._ready, None
        return self.format.changes(self.ref, bases, self.at, to) if bases else None


def _held(ref: TableRef) -> TableRef:
    return replace(ref, storage=holding_ends(ref.storage))


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


def limited(where: object, under: str | None, time_zone: str) -> Limit | None:
    """The limit that a user asks for, or None. ArgumentError where both ways are named, or `under` is no folder below
    the table."""
    if where is not None and under is not None:
        raise ArgumentError(f"a refresh is limited by {_WHERE} or by {_UNDER}, not by both; leave one out")
    if under is not None:
        folder = under.strip("/") if isinstance(under, str) else ""
        if not folder or under.startswith("/") or "://" in under or ".." in folder.split("/"):
            raise ArgumentError(f"{_UNDER} is a folder below the table, as in 'day=2026-01-01'; got {under!r}")
        return lambda snapshot: _below(snapshot, folder)
    if where is not None:
        return lambda snapshot: _in_partitions(snapshot, where, time_zone)
    return None


def _below(snapshot: Snapshot, folder: str) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.starts_with(snapshot.files.paths, folder + "/").to_numpy(), np.bool_)


def _in_partitions(snapshot: Snapshot, where: object, time_zone: str) -> npt.NDArray[np.bool_]:
    """Files whose partition may match. Only partition columns may be named: of other columns the files themselves would
    have to be asked."""
    predicate = snapshot.schema.predicate(where, time_zone)
    leaves = {leaf.parts: leaf for leaf in snapshot.schema.leaves()}
    known = {}
    for ref in predicate.columns:
        leaf = leaves.get(ref.parts)
        bounds = snapshot.details.partition_bounds(leaf) if leaf is not None else None
        if bounds is None:
            partitions = ", ".join(snapshot.partition_columns) or "none"
            raise UnknownColumnError(
                f"{_WHERE} of a refresh names partition columns; {ref.name!r} is none; partition columns: {partitions};"
                f" or use {_UNDER}"
            )
        known[ref] = bounds
    return may_match(predicate, ArrowStatistics(len(snapshot.files), known))
