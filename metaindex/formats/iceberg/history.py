"""Diffs straight from the commits: every manifest says which snapshot added or deleted each of its entries.

The commits between base and target are walked along the parents; the net of their entries is what changed. Deletes are
attached anew to the files of the target, which needs the delete manifests of the target but no old data manifest. Where
the log can't be sure (the target does not descend from the base, a commit in between has expired, live counts
disagree), there is no answer, and the caller compares snapshots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaindex.formats.model import FileTable, Snapshot
from metaindex.storage import Storage

from .deletes import attach, describe
from .locations import Place, normals
from .manifests import ADDED, DATA, DELETED, Manifest, named_by, read_manifest_list, read_manifests
from .metadata import NO_SNAPSHOT, SnapshotInfo, TableMetadata
from .snapshot import ICEBERG_FILE_SCHEMA, sign_of_entry, to_files, unpartitioned

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class LogDiff:
    appended: FileTable
    deleted: FileTable
    deletes_changed: FileTable


def log_diff(
    storage: Storage, place: Place, metadata: TableMetadata, base: Snapshot, target: SnapshotInfo | None
) -> LogDiff | None:
    """Return what the commits after `base` up to `target` changed; None if they cannot tell."""
    import polars as pl

    if base.files.table.schema.names != ICEBERG_FILE_SCHEMA.names or base.table != place.root:
        return None
    commits = _commits(metadata, base.version.id, target)
    if commits is None:
        return None
    before = pl.DataFrame(pl.from_arrow(base.files.table))
    if not commits:
        nothing = to_files(before.clear())
        return LogDiff(nothing, nothing, nothing)

    read = _changes(storage, place, metadata, commits)
    if read is None:
        return None
    changes, manifests = read
    # The last word on each file counts.
    last = changes.with_row_index("at").sort("at", "status").unique("path", keep="last", maintain_order=True)
    was = before["path"]
    added = last.filter(pl.col("status") == ADDED)
    came_back = added["path"].is_in(was.implode()).any()
    if came_back or changes.filter(pl.col("status") == ADDED)["path"].is_duplicated().any():
        return None  # a path that was written anew: the snapshots themselves must say
    gone = last.filter((pl.col("status") == DELETED) & pl.col("path").is_in(was.implode()))
    kept = before.join(gone.select("path"), on="path", how="anti", maintain_order="left")
    counts = [m.live_files for m in manifests if m.content == DATA]
    if None in counts or sum(count for count in counts if count is not None) != kept.height + added.height:
        return None

    after = pl.concat([kept, _as_files(added, metadata)], how="vertical_relaxed")
    deletes = [m for m in manifests if m.content != DATA]
    if deletes or kept["deletes"].is_not_null().any():
        entries = read_manifests(storage, place, metadata, deletes, snapshot_id=commits[-1].id)
        after = _with_deletes(place, metadata, after, entries, commits[-1].id)
    survivors = after.head(kept.height)
    changed = survivors.filter(~survivors["deletes"].eq_missing(kept["deletes"]))
    return LogDiff(
        to_files(after.tail(added.height)),
        to_files(before.join(gone.select("path"), on="path", how="semi", maintain_order="left")),
        to_files(changed),
    )


def _commits(metadata: TableMetadata, base: str, target: SnapshotInfo | None) -> list[SnapshotInfo] | None:
    """The snapshots after base up to target, oldest first; None where target does not descend from base."""
    if target is None:
        return [] if base == NO_SNAPSHOT else None
    commits: list[SnapshotInfo] = []
    for ancestor in metadata.ancestors(target.id):
        if str(ancestor.id) == base:
            return commits[::-1]
        commits.append(ancestor)
    if base == NO_SNAPSHOT and commits[-1].parent_id is None:
        return commits[::-1]
    return None


def _changes(
    storage: Storage, place: Place, metadata: TableMetadata, commits: Sequence[SnapshotInfo]
) -> tuple[pl.DataFrame, list[Manifest]] | None:
    """Return what each commit's own data manifests list as added and deleted, commit by commit, and all manifests of
    the last one; None if a manifest does not tell which commit wrote it."""
    import polars as pl

    frames = []
    manifests: list[Manifest] = []
    for commit in commits:
        manifests = read_manifest_list(storage, place, metadata, commit)
        if any(m.added_snapshot_id is None for m in manifests):
            return None
        own = [m for m in manifests if m.content == DATA and m.added_snapshot_id == commit.id]
        entries = read_manifests(storage, place, metadata, own, snapshot_id=commit.id, only_live=False)
        frames.append(
            entries.filter(named_by(commit.id)).select(
                "status",
                "snapshot_id",
                "location",
                "size_bytes",
                "record_count",
                "partition",
                "spec_id",
                "sequence_number",
                "file_format",
                "first_row_id",
            )
        )
    changes = pl.concat(frames)
    return changes.with_columns(place.paths(changes["location"]).alias("path")), manifests


def _as_files(added: pl.DataFrame, metadata: TableMetadata) -> pl.DataFrame:
    """Entries as rows of a FileTable, without deletes."""
    import polars as pl

    return added.select(
        "path",
        "size_bytes",
        pl.lit(None, pl.Int64).alias("modified_ms"),
        "record_count",
        "partition",
        pl.lit(None, pl.String).alias("deletes"),
        pl.lit(None, pl.Int64).alias("deleted_count"),
        sign_of_entry(metadata).alias("etag"),
        pl.col("spec_id").alias("iceberg_spec_id"),
        pl.col("sequence_number").alias("iceberg_sequence_number"),
        pl.col("file_format").alias("iceberg_file_format"),
        pl.col("first_row_id").alias("iceberg_first_row_id"),
    )


def _with_deletes(
    place: Place, metadata: TableMetadata, files: pl.DataFrame, deletes: pl.DataFrame, snapshot_id: int
) -> pl.DataFrame:
    """The files with the identities of their deletes at the target."""
    import polars as pl

    # A FileTable no longer has the locations as they were spelled: both sides are compared in the normal spelling.
    shown = deletes.with_columns(
        normals(deletes["referenced"]),
        *(normals(deletes[bound].cast(pl.String, strict=False)).cast(pl.Binary) for bound in ("path_low", "path_high")),
    )
    data = files.select(
        place.locations(files["path"]).alias("location"),
        pl.col("iceberg_spec_id").alias("spec_id"),
        "partition",
        pl.col("iceberg_sequence_number").alias("sequence_number"),
    )
    pairs = attach(data, shown, unpartitioned(metadata), f"{metadata.location} snapshot {snapshot_id}")
    identities = describe(pairs, deletes)
    return (
        files.drop("deletes", "deleted_count")
        .with_row_index("file")
        .join(identities, on="file", how="left", maintain_order="left")
        .rename({"identity": "deletes"})
        .select(files.columns)
    )
