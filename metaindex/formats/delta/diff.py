"""What the log says changed between a snapshot and a later version.

Over several commits a key needs its first and its last action, and whether it was live at the base: an add of a live
key (statistics written again) is no change, nor is a file that came and went in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.expressions.errors import CorruptTableError
from metaindex.formats.model import ChangedPositions, Diff, FileTable, Snapshot, Version
from metaindex.formats.protocol import At, TableRef

from .actions import FileAction, FileKey, file_columns
from .columns import kept, one, rows_array, take
from .log_segment import commit_fingerprint, stored_commit_fingerprint
from .partitions import partition_values
from .path_index import find
from .replay import read_commit
from .schema import TableSchema, parse_schema
from .snapshot import DeltaDetails, file_deletes, file_table

if TYPE_CHECKING:
    from pyroaring import BitMap64

    from .table import DeltaFormat


def diff_from_log(ref: TableRef, format_: DeltaFormat, base: Snapshot, target: At) -> Diff | None:
    """None where the log cannot serve the range: backwards, a commit cleaned, or a base that is not this log's."""
    if base.format != "delta" or not isinstance(base.details, DeltaDetails):
        return None
    resolved = format_.resolve(ref, target)
    first, last = int(base.version.id) + 1, int(resolved.id)
    if last < first - 1:
        return None
    if last == first - 1:
        if resolved != base.version:
            return None
        return _diff(base, resolved, _no_files(base), _no_files(base), _no_files(base), False)
    if not _same_table(ref, base):
        return None
    live: dict[FileKey, FileAction] = {}
    touched: dict[FileKey, bool] = {}
    schema: TableSchema | None = None
    schema_changed = False
    fingerprint = ""
    for version in range(first, last + 1):
        try:
            commit, data = read_commit(ref.storage, ref.path, version)
        except CorruptTableError as error:
            if error.__cause__ is not None and isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        fingerprint = commit_fingerprint(data)
        if commit.protocol is not None:
            commit.protocol.check(ref.path)
        if commit.metadata is not None:
            commit.metadata.check(ref.path)
            schema = parse_schema(commit.metadata, ref.path)
        for added, key, body in commit.files:
            touched[key] = True
            if added:
                live[key] = body
            else:
                live.pop(key, None)
    if fingerprint != resolved.fingerprint:
        return None  # the log was written anew while it was read
    if schema is not None:
        schema_changed = schema.schema != base.schema
    else:
        schema = base.details.schema
    return _compared(ref, base, resolved, live, touched, schema, schema_changed)


def _same_table(ref: TableRef, base: Snapshot) -> bool:
    try:
        return stored_commit_fingerprint(ref.storage, int(base.version.id)) == base.version.fingerprint
    except FileNotFoundError:
        return False


def _compared(
    ref: TableRef,
    base: Snapshot,
    target: Version,
    live: dict[FileKey, FileAction],
    touched: dict[FileKey, bool],
    schema: TableSchema,
    schema_changed: bool,
) -> Diff:
    assert isinstance(base.details, DeltaDetails)
    files = base.files.table
    rows = find(files.column("path"), base.details.path_index, list({path for path, _ in touched}))
    hit = np.zeros(files.num_rows, np.bool_)
    hit[rows] = True
    before = kept(files, hit)  # not `take`, which would join the chunks of every column
    old_paths, old_deletes = (one(before.column(name)).to_pylist() for name in ("path", "deletes"))
    old_signs = [one(before.column(name)).to_pylist() for name in ("size_bytes", "modified_ms")]
    was_signed = list(zip(*old_signs, strict=True))
    was: dict[FileKey, int] = {(p, d): at for at, (p, d) in enumerate(zip(old_paths, old_deletes, strict=True))}
    new = {path: (key, body) for key, body in live.items() for path in (key[0],)}
    gone: list[int] = []
    appended: list[tuple[FileKey, FileAction]] = []
    changed: list[tuple[FileKey, FileAction]] = []
    changed_at: list[int] = []
    settled: set[str] = set()
    for key, at in was.items():
        if key not in touched:
            continue  # another key of the same path was touched: this one lives on
        settled.add(key[0])
        successor = new.get(key[0])
        if successor is None:
            gone.append(at)
        elif (successor[1]["size"], successor[1].get("modificationTime")) != was_signed[at]:
            gone.append(at)
            appended.append(successor)
        elif successor[0] != key:
            changed.append(successor)
            changed_at.append(int(rows[at]))
    appended += [pair for path, pair in new.items() if path not in settled]
    dropped = take(before, rows_array(np.array(gone, np.int64)))
    after = _as_files(changed, schema)

    def positions(row: int) -> ChangedPositions:
        said = f"{ref.path} version {target.id}"
        old = _deleted(ref, f"{ref.path} version {base.version.id}", files, changed_at[row])
        return ChangedPositions.between(old, _deleted(ref, said, after, row))

    return _diff(base, target, _as_files(appended, schema), dropped, after, schema_changed, positions)


def _deleted(ref: TableRef, said: str, files: pa.Table, row: int) -> BitMap64:
    from pyroaring import BitMap64

    return file_deletes(ref.storage, said, files, row) if files.column("deletes")[row].is_valid else BitMap64()


def _as_files(actions: list[tuple[FileKey, FileAction]], schema: TableSchema) -> pa.Table:
    table, _ = file_columns(actions)
    return file_table(table, schema.partition_columns, partition_values(table, schema.partition_sources))


def _no_files(base: Snapshot) -> pa.Table:
    return base.files.table.slice(0, 0)


def _diff(
    base: Snapshot,
    target: Version,
    appended: pa.Table,
    deleted: pa.Table,
    changed: pa.Table,
    schema_changed: bool,
    positions: Callable[[int], ChangedPositions] | None = None,
) -> Diff:
    return Diff(
        base=base.version,
        target=target,
        appended=FileTable(appended),
        deleted=FileTable(deleted),
        deletes_changed=FileTable(changed),
        schema_changed=schema_changed,
        source="log",
        positions=positions,
    )
