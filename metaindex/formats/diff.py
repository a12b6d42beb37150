"""The diff of two snapshots by their file tables: what serves where the log cannot.

A file is the same file when its path, size, time and sign are: whatever a format promises, paths are written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .model import ChangedPositions, Diff, Field, FileTable, Schema, Snapshot

if TYPE_CHECKING:
    from pyroaring import BitMap64

_IDENTITY = ("path", "size_bytes", "modified_ms", "etag")


def compare(base: Snapshot, target: Snapshot) -> Diff:
    """What changed from `base` to `target`, in either direction of time. Rows are as in their own snapshot,
    `deletes_changed` as at target."""
    before, after = base.files.table, target.files.table
    was, now = _positions(before, after, _IDENTITY)
    appended = _without(after, now)
    deleted = _without(before, was)
    same_before, same_after = before.column("deletes").take(was), after.column("deletes").take(now)
    differs = _differs(same_before, same_after)
    ordered = pc.sort_indices(now.filter(differs))
    before_rows, after_rows = was.filter(differs).take(ordered), now.filter(differs).take(ordered)
    return Diff(
        base.version,
        target.version,
        FileTable(appended),
        FileTable(deleted),
        FileTable(after.take(after_rows)),
        shape(base.schema) != shape(target.schema) if target.format == "iceberg" else base.schema != target.schema,
        positions=lambda row: ChangedPositions.between(
            _positions_of(base, before_rows[row].as_py()), _positions_of(target, after_rows[row].as_py())
        ),
    )


def shape(schema: Schema) -> object:
    """The columns alone: in Iceberg what partitions say of a column comes from the live files, and is no change of the
    schema."""

    def of(one: Field) -> object:
        return (one.name, str(one.type), one.nullable, one.stable, str(one.default), [of(c) for c in one.children])

    return [of(one) for one in schema]


def with_positions(diff: Diff, base: Snapshot, target: Callable[[], Snapshot]) -> Diff:
    """The diff of a log that does not say which positions changed: two snapshots do, the target's loaded when it is
    asked."""
    if diff.positions is not None:
        return diff

    def positions(row: int) -> ChangedPositions:
        path = diff.deletes_changed.paths[row]
        return ChangedPositions.between(
            *(_positions_of(one, pc.index(one.files.paths, path).as_py()) for one in (base, target()))
        )

    return replace(diff, positions=positions)


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
