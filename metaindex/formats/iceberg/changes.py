"""Changes from the commits alone: each commit's own manifests say which files it added and deleted.

The base is proved by lying among the target's ancestors, as the same commit. Row-level deletes are attached by rules
over all files (partitions, sequence numbers), so where the set of delete manifests differs between base and target the
commits do not say which files they touch: there is no answer then. Counts in the manifest list of the target prove the
outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.formats.format import TableRef
from metaindex.formats.model import Base, Changes, FileTable, Snapshot
from metaindex.storage import each_at, is_remote

from .locations import Place
from .manifests import ADDED, DATA, DELETED, Manifest, named_by, read_manifest_list, read_manifests
from .metadata import SnapshotInfo, TableMetadata

if TYPE_CHECKING:
    import polars as pl


def changes_from_commits(
    ref: TableRef,
    place: Place,
    metadata: TableMetadata,
    bases: Sequence[Base],
    target: SnapshotInfo | None,
    commit_of: Callable[[TableMetadata, SnapshotInfo], str],
    assembled: Callable[[Sequence[Manifest], pl.DataFrame, pl.DataFrame, Sequence[int]], Snapshot],
) -> Changes | None:
    """Return the changes since a base; see `Format.changes`. `commit_of` is the fingerprint of a commit, `assembled`
    the snapshot of entries, given their manifests, those of deletes, and the specs of live files."""
    import polars as pl

    if target is None:
        return None
    line = _line(metadata, bases, target, commit_of)
    if line is None:
        return None
    base, below, commits = line
    root = ref.storage.root
    asked = (target, below, *(commits[:-1] if is_remote(root) else ()))
    manifests, before, *between = each_at(root, asked, partial(read_manifest_list, ref.storage, place, metadata))
    data = [m for m in manifests if m.content == DATA]
    if any(m.added_snapshot_id is None or m.live_files is None or m.spec_id is None for m in data):
        return None
    deletes = [m for m in manifests if m.content != DATA]
    if {m.location for m in deletes} != {m.location for m in before if m.content != DATA}:
        return None
    lists = {commit.id: listed for commit, listed in zip(asked[2:], between, strict=True)} | {target.id: manifests}
    read = _named(ref, place, metadata, commits, target, lists)
    if read is None:
        return None
    named, own = read
    # The last word on each file counts; a file that one commit deletes and adds again is there.
    order = named.sort("commit", "status", descending=[False, True], maintain_order=True)
    last = order.unique("location", keep="last", maintain_order=True).drop("commit")
    added = last.filter(pl.col("status") == ADDED)
    if not _adds_up(before, data, order, added):
        return None
    newest = max((m.sequence_number for m in deletes), default=-1)
    # No delete is asked where none is as young as the youngest of the files.
    young = added.height and added["sequence_number"].min() <= newest  # type: ignore[operator]
    attached = read_manifests(ref.storage, place, metadata, deletes if young else [], snapshot_id=target.id)
    live_specs = sorted({m.spec_id for m in data if m.live_files and m.spec_id is not None})
    touched = assembled(own, added, attached, live_specs)
    return Changes(base.version, touched, _gone(place, named, added), sum(m.live_files or 0 for m in data))


def _named(
    ref: TableRef,
    place: Place,
    metadata: TableMetadata,
    commits: Sequence[SnapshotInfo],
    target: SnapshotInfo,
    lists: Mapping[int, list[Manifest]],
) -> tuple[pl.DataFrame, list[Manifest]] | None:
    """The entries that commits added and deleted: `commit` is the number of theirs, `entry` that among the live ones of
    the manifests that the commits wrote, which come second. `lists`: manifest lists that are read already. None where
    one does not tell."""
    import polars as pl

    live = pl.col("status") != DELETED

    def entries_of(commit: SnapshotInfo) -> tuple[list[Manifest], pl.DataFrame, int] | None:
        listed = lists.get(commit.id)
        listed = read_manifest_list(ref.storage, place, metadata, commit) if listed is None else listed
        if any(m.added_snapshot_id is None for m in listed):
            return None
        mine = [m for m in listed if m.content == DATA and m.added_snapshot_id == commit.id]
        entries = read_manifests(ref.storage, place, metadata, mine, snapshot_id=commit.id, only_live=False)
        entries = entries.with_columns(entry=live.cast(pl.Int64).cum_sum() - 1)
        return mine, entries.filter(named_by(commit.id)), entries.filter(live).height

    frames: list[pl.DataFrame] = []
    own: list[Manifest] = []
    stated = 0
    for at, told in enumerate(each_at(ref.storage.root, commits, entries_of)):
        if told is None:
            return None
        mine, entries, count = told
        own += mine
        frames.append(entries.with_columns(entry=pl.col("entry") + stated, commit=pl.lit(at, pl.Int64)))
        stated += count
    frames = [frame for frame in frames if frame.height]
    if not frames:
        empty = read_manifests(ref.storage, place, metadata, [], snapshot_id=target.id)
        frames = [empty.with_columns(entry=pl.lit(0, pl.Int64), commit=pl.lit(0, pl.Int64))]
    return pl.concat(frames, how="diagonal_relaxed"), own


def _adds_up(before: list[Manifest], after: list[Manifest], order: pl.DataFrame, added: pl.DataFrame) -> bool:
    """Return whether the base's files and the named ones add up to the target's. They do not if a commit lists none of
    its deletions, as PyIceberg before 0.10 does when it merges manifests. A file was live at the base if it is first
    named as deleted."""
    import polars as pl

    counts = [m.live_files for m in before if m.content == DATA]
    if None in counts:
        return True
    first = order.unique("location", keep="first")
    left = first.filter(pl.col("status") == DELETED).height
    was = sum(count for count in counts if count is not None)
    return was - left + added.height == sum(m.live_files or 0 for m in after)


def _gone(place: Place, named: pl.DataFrame, added: pl.DataFrame) -> FileTable:
    """Files that the commits name and that are not among those that they added."""
    key = ["location", "size_bytes"]
    gone = (
        named.select(key).unique(maintain_order=True).join(added.select(key), on=key, how="anti", maintain_order="left")
    )
    sizes = pa.array(gone["size_bytes"].to_numpy(), pa.int64())
    paths = place.paths(gone["location"]).to_arrow().cast(pa.string())
    return FileTable(pa.table([paths, sizes], names=["path", "size_bytes"]))


def _line(
    metadata: TableMetadata,
    bases: Sequence[Base],
    target: SnapshotInfo,
    commit_of: Callable[[TableMetadata, SnapshotInfo], str],
) -> tuple[Base, SnapshotInfo, list[SnapshotInfo]] | None:
    """The base nearest above the target's ancestors, and the commits after it, oldest first."""
    known = {(base.version.id, base.version.fingerprint.partition("-")[0]): base for base in bases}
    commits: list[SnapshotInfo] = []
    for ancestor in metadata.ancestors(target.id):
        base = known.get((str(ancestor.id), commit_of(metadata, ancestor)))
        if base is not None:
            return base, ancestor, commits[::-1]
        commits.append(ancestor)
    return None
