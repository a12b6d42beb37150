"""Diff of two versions: from the log if it can serve it, else by comparing the file tables of two snapshots.

A file is the same file when its path, size, time and sign are: whatever a format promises, paths are written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Shown, counted, dataclass, human_bytes

from .column_names import told_apart
from .model import IDENTITY, ChangedPositions, Changes, Field, FileTable, Schema, Snapshot, Version

if TYPE_CHECKING:
    from pyroaring import BitMap64


@dataclass(frozen=True, slots=True, repr=False)
class Diff(Shown):
    """Changes from `base` to `target`. A file whose bytes are the same and whose deletes changed is in
    `deletes_changed` only (as at target)."""

    base: Version
    target: Version
    appended: FileTable
    deleted: FileTable
    deletes_changed: FileTable
    schema_changed: bool
    source: str = "snapshots"  # "log" where the log itself served the range
    positions: Callable[[int], ChangedPositions] | None = field(default=None, compare=False, repr=False)
    """What changed in file `row` of `deletes_changed`, read when asked for; equality deletes are not in it."""

    @classmethod
    def between(cls, base: Snapshot, target: Snapshot) -> Diff:
        """Compare two snapshots, in either direction of time. Rows are as in their own one, `deletes_changed` as at the
        target."""
        return between(base, None, target, "snapshots")

    def _printed(self) -> str:
        said = [f"from version {self.base} to {self.target}{', the schema changed' if self.schema_changed else ''}"]
        for what in ("appended", "deleted", "deletes_changed"):
            files: FileTable = getattr(self, what)
            said.append(f"{what}: {counted(len(files), 'file')}, {human_bytes(files.size_bytes)}")
            said += (f"  {path}" for path in files.paths.to_pylist())
        return "\n".join(said)


def of_changes(changes: Changes | None, base: Snapshot) -> Diff | None:
    """Return the diff listed in the log, from the changes that a refresh reads too (`Format.changes`): the cost is that
    of the commits since `base`. None where the log cannot serve it, as backwards in time, or where what it says does
    not make the files that it counts; then two snapshots are to be compared."""
    if changes is None or changes.base != base.version:
        return None
    gone, named = (
        changes.gone.table,
        pa.chunked_array([*changes.gone.paths.chunks, *changes.touched.files.paths.chunks]),
    )
    rows = pc.indices_nonzero(pc.is_in(base.files.paths, named.cast(pa.string()))).cast(pa.int64())
    diff = between(base, rows, changes.touched, "log")
    said = gone.column("deletes") if "deletes" in gone.column_names else None
    if said is not None and _other_deletes(diff.deleted.table, gone.column("path"), said):
        return None
    count = len(base.files) + len(diff.appended) - len(diff.deleted)
    return diff if changes.files is None or changes.files == count else None


def between(base: Snapshot, rows: pa.Array | None, target: Snapshot, source: str) -> Diff:
    """Compare the files of `base` in these rows (None: all) with those of `target`, which may be only those that a log
    names."""
    before, after = base.files.table if rows is None else base.files.table.take(rows), target.files.table
    was, now = _positions(before, after, IDENTITY)
    differs = _differs(before.column("deletes").take(was), after.column("deletes").take(now))
    ordered = pc.sort_indices(now.filter(differs))
    before_rows, after_rows = was.filter(differs).take(ordered), now.filter(differs).take(ordered)
    if rows is not None:
        before_rows = _one(rows).take(before_rows)
    return Diff(
        base.version,
        target.version,
        FileTable(_without(after, now)),
        FileTable(_without(before, was)),
        FileTable(after.take(after_rows)),
        shape(base.schema) != shape(target.schema) if target.format == "iceberg" else base.schema != target.schema,
        source,
        partial(_changed, (base, before_rows), (target, after_rows)),
    )


def _changed(before: tuple[Snapshot, pa.Array], after: tuple[Snapshot, pa.Array], row: int) -> ChangedPositions:
    """Return a file's changed positions, by its row in two snapshots. A module's function, to be picklable."""
    return ChangedPositions.between(*(_positions_of(snapshot, rows[row].as_py()) for snapshot, rows in (before, after)))


def _other_deletes(left: pa.Table, paths: pa.ChunkedArray, said: pa.ChunkedArray) -> bool:
    """Return whether the log removes a file with deletes that had none at the base, or the other way round: it then
    means another one."""
    at = pc.index_in(left.column("path"), paths)
    named = pc.is_valid(at)
    had = pc.is_valid(left.column("deletes").filter(named))
    return bool(pc.any(pc.xor(had, pc.is_valid(said.take(at.filter(named))))).as_py())


def shape(schema: Schema) -> object:
    """The columns alone: in Iceberg what partitions say of a column comes from the live files, and is no change of the
    schema."""

    def of(field: Field) -> object:
        return (
            field.name,
            str(field.type),
            tuple(told_apart(field.type)),
            field.nullable,
            field.stable,
            str(field.default),
            [of(c) for c in field.children],
        )

    return [of(field) for field in schema]


def _positions_of(snapshot: Snapshot, row: int) -> BitMap64:
    from pyroaring import BitMap64

    deleted = snapshot.files.table.column("deletes")[row].is_valid
    return snapshot.details.deletes(row).positions if deleted else BitMap64()


def _positions(before: pa.Table, after: pa.Table, keys: Sequence[str]) -> tuple[pa.Array, pa.Array]:
    """Row numbers of the files that are in both: in `before`, and in `after`, side by side."""
    hit = pc.index_in(after.column("path"), before.column("path"))
    now = _numbers(after.num_rows)
    both = pc.is_valid(hit)
    was = _one(hit.filter(both)).cast(pa.int64())
    now = _one(now).filter(_one(both))
    same = None
    for key in keys[1:]:
        equal = pc.invert(_differs(before.column(key).take(was), after.column(key).take(now)))
        same = equal if same is None else pc.and_(same, equal)
    return (was, now) if same is None else (was.filter(_one(same)), now.filter(_one(same)))


def _numbers(count: int) -> pa.Array:
    return pa.array(np.arange(count, dtype=np.int64))


def _one(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _differs(left: pa.ChunkedArray, right: pa.ChunkedArray) -> pa.Array:
    """NULL equals NULL."""
    unequal = pc.fill_null(pc.not_equal(left, right), False)
    return _one(pc.or_(unequal, pc.xor(pc.is_null(left), pc.is_null(right))))


def _without(table: pa.Table, rows: pa.Array) -> pa.Table:
    if not len(rows):
        return table
    kept = np.ones(table.num_rows, np.bool_)
    kept[rows.to_numpy()] = False
    return table.filter(pa.array(kept))
