"""Covered rows at a version: the rows of which files a key can serve, less which deleted rows.

The rows of an index are physical: those of every file that was ever indexed, deleted or not. Of a version it is known
which files are live (recorded, or found by full identity in the table's own snapshot) and which rows of them are
deleted; a file is served where its rows of the version follow from that, and else is read from the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector
from metaindex.formats import FileTable, Resolved, Schema, Snapshot, Version
from metaindex.index import OpenIndex, ServedKey

Ordinals = npt.NDArray[np.int64]

MOST_DELETED = 1_000_000
"""Deleted rows that are left out one by one; and files whose deletes are read for it. Beyond, files with deletes are
read from the table."""
_MOST_FILES_WITH_DELETES = 2_000
MASK_BITS = 1 << 25
"""Deleted rows are left out by a mask (here 4 MB), which goes with every task, or by a join with what every executor is
sent once."""


@dataclass(frozen=True)
class ServedRun:
    """The served files of one run, and the files whose rows it has that are not live (or not served), by ordinal."""

    key: ServedKey
    served: Ordinals
    dead: Ordinals


@dataclass(frozen=True, eq=False)
class Serving:
    """The rows that one key serves at a version. Compared by identity. `deleted`: number of the run, ordinal, and the
    positions of the deleted rows, of each served file that has such."""

    index: OpenIndex
    version: Version
    schema: Schema
    runs: tuple[ServedRun, ...]
    files: FileTable  # served, in the order of the runs and their ordinals
    total_files: int  # live at the version
    total_bytes: int
    dead_bytes: int  # of files that the index has and the version has not
    deleted: tuple[tuple[int, int, Sequence[int]], ...]

    @property
    def whole(self) -> bool:
        """Return whether every live file is served."""
        return len(self.files) == self.total_files

    def without(self, gone: Mask) -> Serving:
        """Return the serving without some files (a mask of them) whose bytes changed: they count as dead."""
        runs, start = [], 0
        for served_run in self.runs:
            out = gone[start : start + len(served_run.served)]
            start += len(out)
            if not out.all():
                dead = np.union1d(served_run.dead, served_run.served[out])
                runs.append(replace(served_run, served=served_run.served[~out], dead=dead))
        left = {run.key.number for run in runs}
        lost = self.files.filter(pa.array(gone))
        return replace(
            self,
            runs=tuple(runs),
            files=self.files.filter(pa.array(~gone)),
            dead_bytes=self.dead_bytes + lost.size_bytes,
            deleted=tuple(deleted for deleted in self.deleted if deleted[0] in left),
        )

    @cached_property
    def served_bytes(self) -> int:
        """Return the size of the served files."""
        return self.files.size_bytes

    @cached_property
    def deleted_rows(self) -> int:
        """Return how many rows of served files are deleted."""
        return sum(len(positions) for _, _, positions in self.deleted)

    @cached_property
    def masked(self) -> bool:
        """Return whether a mask removes deleted rows: in each file that has some, a bit a row to the last of them."""
        return sum(int(max(positions)) + 1 for _, _, positions in self.deleted if len(positions)) <= MASK_BITS

    @property
    def column_bytes(self) -> Mapping[str, int]:
        """Return the compressed size of each stored column in the parts that are read."""
        sizes: dict[str, int] = {}
        for run in self.runs:
            for name, size in run.key.layout.sizes.column_bytes.items():
                sizes[name] = sizes.get(name, 0) + size
        return sizes

    @property
    def keys(self) -> int:
        """Return how many values the indexed columns have, summed over the runs; 0 if a run does not tell."""
        sizes = [run.key.layout.sizes for run in self.runs]
        counts = [layout.keys for layout in sizes if layout.column_bytes]  # others have no row
        return sum(counts) if all(counts) else 0


def usable_runs(key: ServedKey, types: Mapping[str, object], inner: Mapping[str, str]) -> list[ServedKey]:
    """Return the key in the runs of its index that have rows of it, with the columns stored as these types (JSON of
    Spark's, by stable name) and, if the table tells fields of structs apart by ids, with these (`inner_fields`): a run
    written when a column had another type, or another field of that name, is not used."""
    usable = []
    for each in key.index.served_keys():
        if each.key.key_id == key.key.key_id:
            layout = each.layout
            stored = layout.spark_types
            alike = all(name in stored and same_type(stored[name], type_) for name, type_ in types.items())
            fields = layout.inner if alike and inner else {}
            if alike and all(fields.get(name) == said for name, said in inner.items()):
                usable.append(each)
    return usable


def same_type(type_: object, other: object) -> bool:
    """Return whether two types of Spark are equal but for nullability and metadata."""
    if not isinstance(type_, dict) or not isinstance(other, dict):
        return type_ == other
    if type_.get("type") != other.get("type"):
        return False
    if type_["type"] == "struct":
        names = [[field["name"] for field in side["fields"]] for side in (type_, other)]
        pairs = zip(type_["fields"], other["fields"], strict=False)
        return names[0] == names[1] and all(same_type(a["type"], b["type"]) for a, b in pairs)
    inner = {"array": ("elementType",), "map": ("keyType", "valueType")}.get(str(type_["type"]))
    return inner is not None and all(same_type(type_[name], other[name]) for name in inner)


def serving(index: OpenIndex, runs: Sequence[ServedKey], resolved: Resolved, loaded: Snapshot | None) -> Serving:
    """Return what these runs of one key serve of a version. The table's log is replayed only if the index has not
    recorded the version, or files that it has rows of have deletes. `loaded`: the snapshot, if it is at hand. Raises
    MetaIndexError."""
    recorded = index.versions.find(resolved.version)
    if recorded is None:
        return _of_snapshot(index, runs, loaded or resolved.load())
    masks = {}
    with_deletes = {}
    for each in runs:
        live, keyed = recorded.live.mask(each.run), each.keyed()
        masks[each.number] = live & keyed, keyed
        with_deletes[each.number] = recorded.live.with_deletes(each.run) & live & keyed
    snapshot = None
    deleted: dict[int, dict[int, Sequence[int]]] = {}
    if any(mask.any() for mask in with_deletes.values()):
        snapshot = loaded or resolved.load()
        for each in runs:
            positions, not_served = _deletes(each, with_deletes[each.number], snapshot)
            deleted[each.number] = positions
            masks[each.number][0][not_served] = False
    total = recorded.record.files, recorded.record.size_bytes
    return _assembled(index, resolved.version, recorded.schema, runs, masks, deleted, total)


def _of_snapshot(index: OpenIndex, runs: Sequence[ServedKey], snapshot: Snapshot) -> Serving:
    """Files found by full identity; each in one run."""
    files = index.identities(snapshot)
    left = np.ones(len(files), np.bool_)
    masks: dict[int, tuple[Mask, Mask]] = {}
    rows: dict[int, Ordinals] = {}
    for each in runs:
        number, run, keyed = each.number, each.run, each.keyed()
        at = index.locate(run, files)
        here = np.flatnonzero((at >= 0) & left)
        here = here[keyed[at[here]]]
        left[here] = False
        live = np.zeros(run.files, np.bool_)
        live[at[here]] = True
        masks[number] = live, keyed
        row_of = np.full(run.files, -1, np.int64)
        row_of[at[here]] = here
        rows[number] = row_of
    attached = np.asarray(snapshot.files.table.column("deletes").is_valid())
    deleted: dict[int, dict[int, Sequence[int]]] = {}
    for number in masks:
        live = masks[number][0]
        marked = np.flatnonzero(live)
        marked = marked[attached[rows[number][marked]]]
        positions, not_served = _read_deletes(snapshot, marked, rows[number][marked])
        deleted[number] = positions
        live[not_served] = False
    total = len(snapshot.files), snapshot.files.size_bytes
    return _assembled(index, snapshot.version, snapshot.schema, runs, masks, deleted, total)


def _deletes(key: ServedKey, marked: Mask, snapshot: Snapshot) -> tuple[dict[int, Sequence[int]], Ordinals]:
    """The deleted positions of the marked files, by ordinal; and the ordinals of those that cannot be served."""
    import pyarrow.compute as pc

    ordinals = np.flatnonzero(marked)
    if not len(ordinals):
        return {}, ordinals
    paths = key.index.rows(key.run, "files", ordinals, ["path"]).column("path")
    rows = pc.index_in(paths, value_set=snapshot.files.paths.combine_chunks()).fill_null(-1)
    return _read_deletes(snapshot, ordinals, Vector(rows).numbers.astype(np.int64))


def _read_deletes(snapshot: Snapshot, ordinals: Ordinals, rows: Ordinals) -> tuple[dict[int, Sequence[int]], Ordinals]:
    """Return the deleted positions of the files at these rows of the snapshot, and the files that cannot be served."""
    known = Vector(snapshot.files.table.column("deleted_count").fill_null(0)).numbers.astype(np.int64)
    if len(ordinals) > _MOST_FILES_WITH_DELETES or int(known[rows[rows >= 0]].sum()) > MOST_DELETED:
        return {}, ordinals
    positions: dict[int, Sequence[int]] = {}
    not_served = []
    count = 0
    attached = snapshot.files.table.column("deletes")
    for ordinal, row in zip(ordinals.tolist(), rows.tolist(), strict=True):
        if row < 0:
            not_served.append(ordinal)
        elif attached[row].is_valid:
            deletes = snapshot.details.deletes(row)
            count += len(deletes.positions)
            if deletes.equality or count > MOST_DELETED:
                not_served.append(ordinal)
            elif len(deletes.positions):
                positions[ordinal] = list(deletes.positions)
    return positions, np.array(not_served, np.int64)


def _assembled(
    index: OpenIndex,
    version: Version,
    schema: Schema,
    runs: Sequence[ServedKey],
    masks: Mapping[int, tuple[Mask, Mask]],
    deleted: Mapping[int, Mapping[int, Sequence[int]]],
    total: tuple[int, int],
) -> Serving:
    shares, tables, dead_bytes = [], [], 0
    positions: list[tuple[int, int, Sequence[int]]] = []
    for each in runs:
        number, run = each.number, each.run
        live, keyed = masks[number]
        served = np.flatnonzero(live)
        dead = np.flatnonzero(keyed & ~live)
        if not len(served):
            continue
        shares.append(ServedRun(each, served, dead))
        tables.append(index.files_of(run, served, np.zeros(run.files, np.bool_)))
        if len(dead):
            sizes = index.rows(run, "files", dead, ["size_bytes"]).column("size_bytes")
            dead_bytes += sum(int(Vector(chunk).numbers.sum()) for chunk in sizes.chunks)
        positions += [(number, ordinal, rows) for ordinal, rows in sorted(deleted.get(number, {}).items())]
    files = FileTable(pa.concat_tables(tables)) if tables else FileTable.empty()
    return Serving(index, version, schema, tuple(shares), files, *total, dead_bytes, tuple(positions))
