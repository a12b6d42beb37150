"""Changes between versions as the log lists them, without the files that nothing happened to: an ability of formats
with a log.

A diff of snapshots needs the files of both; whoever knows the base's files already (an index does) needs only what the
commits since then name. The cost is that of the commits, whatever the size of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .model import Diff, FileTable, Schema, Snapshot, Version
from .protocol import At, TableRef


@dataclass(frozen=True, slots=True)
class Base:
    """A version with known files, and what reading the log from there on needs."""

    version: Version
    schema: Schema
    partition_columns: tuple[str, ...] = ()  # `Snapshot.partition_columns`


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes from `base` to the version of `touched`.

    `touched.files` are the files named that are live at the target; some may have been live at the base already (their
    deletes changed, their statistics were written again). `gone` (path, size_bytes, and deletes where the log says with
    which ones a file was taken out) are the others that were named; some may never have been live at the base. The
    files of the target are those of the base, without the `gone` ones, and with the touched ones; that must make
    `files` of them, where the log says how many there are.
    """

    base: Version
    touched: Snapshot  # of the target, but its `files` are not all of the table's
    gone: FileTable
    files: int | None = None


@runtime_checkable
class ServesChanges(Protocol):
    """A format whose log tells changes."""

    def changes(self, ref: TableRef, bases: Sequence[Base], target: At) -> Changes | None:
        """Since the base from which the way is shortest. It is proved to lie on the target's own line of versions: the
        same table, not re-created, not another branch. None where the log cannot serve this: no such base, commits that
        were cleaned, a log that does not say enough; the caller then loads the snapshot."""


@runtime_checkable
class DiffsFromLog(Protocol):
    """A format whose log gives the changes only together with the base's files: which of them an Iceberg delete
    manifest touches follows from their partitions and sequence numbers."""

    def diff(self, ref: TableRef, base: Snapshot, target: At) -> Diff | None:
        """Return the changes listed in the log; None if it cannot serve the range."""
