"""Changes from the commits alone: each commit's own manifests say which files it added and deleted.

The base is proved by lying among the target's ancestors, as the same commit. Row-level deletes are attached by rules over all files (partitions, sequence numbers), so where the
set of delete manifests differs between base and target the commits do not say which files they touch: there is no answer then. Counts in the manifest list of the target prove
the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from expressions.statistics import ColumnBounds
from formats.changes import Base, Changes
from formats.model import FileTable, Leaf, Schema, Snapshot, Version
from formats.protocol import TableRef

from .deletes import DeleteLoader
from .locations import Place
from .manifests import ADDED, DATA, Manifest, read_manifest_list, read_manifests
from .metadata import Selected, SnapshotInfo, TableMetadata
from .snapshot import IcebergDetails, file_table

if TYPE_CHECKING:
    import polars as pl


class TouchedDetails(IcebergDetails):
    """Of files picked from many manifests: what stands in those about columns is not looked up."""

    def log_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return None


def changes_from_commits(
    ref: TableRef,
    place: Place,
    metadata: TableMetadata,
    bases: Sequence[Base],
    selected: Selected,
    version: Version,
    commit_of: Callable[[SnapshotInfo], str],
    schema_of: Callable[[Sequence[int]], Schema],
) -> Changes | None:
    """See `formats.changes.ServesChanges`. `commit_of` is the fingerprint of a commit, `schema_of` the schema given the specs of live files."""
    import polars as pl

    target = selected.snapshot
    if target is None:
        return None
    found = _line(metadata, bases, target, commit_of)
    if found is None:
        return None
    base, below, commits = found
    manifests = read_manifest_list(ref.storage, place, metadata, target)
    data = [one for one in manifests if one.content == DATA]
    if any(one.added_snapshot_id is None or one.live_files is None or one.spec_id is None for one in data):
        return None
    deletes = [one for one in manifests if one.content != DATA]
    before = read_manifest_list(ref.storage, place, metadata, below)
    if {one.location for one in deletes} != {one.location for one in before if one.content != DATA}:
        return None
    frames = [_named(ref, place, metadata, one, manifests if one.id == target.id else None) for one in commits]
    if any(frame is None for frame in frames):
        return None
    empty = read_manifests(ref.storage, place, metadata, [], snapshot_id=target.id)
    numbered = [
        f.with_columns(commit=pl.lit(at, pl.Int64)) for at, f in enumerate(frames) if f is not None and f.height
    ]
    named = pl.concat(numbered or [empty.with_columns(commit=pl.lit(0, pl.Int64))], how="diagonal_relaxed")
    # The last word on each file counts; a file that one commit deletes and adds again is there.
    order = named.sort("commit", "status", descending=[False, True], maintain_order=True)
    last = order.unique("location", keep="last", maintain_order=True).drop("commit")
    added = last.filter(pl.col("status") == ADDED)
    newest = max((one.sequence_number for one in deletes), default=-1)
    if added.height and added["sequence_number"].min() <= newest:  # type: ignore[operator]
        attached = read_manifests(ref.storage, place, metadata, deletes, snapshot_id=target.id)
    else:  # no delete is as young as the youngest of the files
        attached = empty
    files, pairs = file_table(place, metadata, added, attached, version.id)
    live_specs = sorted({one.spec_id for one in data if one.live_files and one.spec_id is not None})
    schema = schema_of(live_specs)
    loader = DeleteLoader(ref.storage, place, metadata, schema, version.id)
    details = TouchedDetails(ref.storage, place, metadata, (), target.id, added, attached, pairs, loader)
    touched = Snapshot(
        table=place.root,
        format="iceberg",
        version=version,
        timestamp_ms=target.timestamp_ms,
        schema=schema,
        files=files,
        details=details,
        partition_columns=tuple(f.name for f in schema if f.partition),
        properties={**metadata.properties, "table_uuid": metadata.table_uuid},
    )
    gone = named.select("location", "size_bytes").unique(maintain_order=True)
    gone = gone.join(
        added.select("location", "size_bytes"), on=["location", "size_bytes"], how="anti", maintain_order="left"
    )
    sizes = pa.array(gone["size_bytes"].to_numpy(), pa.int64())
    left = pa.table([place.paths(gone["location"]).to_arrow().cast(pa.string()), sizes], names=["path", "size_bytes"])
    return Changes(base.version, touched, FileTable(left), sum(one.live_files or 0 for one in data))


def _line(
    metadata: TableMetadata, bases: Sequence[Base], target: SnapshotInfo, commit_of: Callable[[SnapshotInfo], str]
) -> tuple[Base, SnapshotInfo, list[SnapshotInfo]] | None:
    """The base nearest above the target's ancestors, and the commits after it, oldest first."""
    known = {(base.version.id, base.version.fingerprint.partition("-")[0]): base for base in bases}
    commits: list[SnapshotInfo] = []
    for one in metadata.ancestors(target.id):
        base = known.get((str(one.id), commit_of(one)))
        if base is not None:
            return base, one, commits[::-1]
        commits.append(one)
    return None


def _named(
    ref: TableRef, place: Place, metadata: TableMetadata, commit: SnapshotInfo, manifests: list[Manifest] | None
) -> pl.DataFrame | None:
    """The data entries that a commit added or deleted; None where its manifest list does not tell its own manifests."""
    import polars as pl

    if manifests is None:
        manifests = read_manifest_list(ref.storage, place, metadata, commit)
    if any(one.added_snapshot_id is None for one in manifests):
        return None
    own = [one for one in manifests if one.content == DATA and one.added_snapshot_id == commit.id]
    entries = read_manifests(ref.storage, place, metadata, own, snapshot_id=commit.id, only_live=False)
    return entries.filter((pl.col("status") != 0) & (pl.col("snapshot_id") == commit.id))
