"""Merges runs into one that says the same of the same files, in their new order; no data file is read.

Rows pass by in windows (`store.kway`); what is held of each file is a few integers and its id. A file that stands in
several runs counts once: each column takes its row from the last run that covers it. A column that a run does not cover
gets UNKNOWN rows for its files, which keeps them as before. Aggregates are computed anew from the files' rows.

Which source says what of each file is decided here, once for all kinds; how rows are merged is the kind's. Of a file of
which no source knows a key's values, or that is blanked, nothing is left: it is unkeyed. Runs that do not cover the
same keys, or whose values of a key do not compare, are not merged: the files of the one would become unkeyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from metaindex.core import DamagedIndexError, Mask
from metaindex.formats import Footer
from metaindex.index.build.key_build import write_unkeyed
from metaindex.index.kinds.described import MergedFiles, Ordinals
from metaindex.index.kinds.fact_rows import columns_together, merge_facts
from metaindex.index.kinds.facts import constant
from metaindex.index.kinds.keyed import Units, part_number
from metaindex.index.kinds.kind import MergeInto, StoredKind
from metaindex.index.kinds.registry import FACT_ROWS, KINDS
from metaindex.index.log.entry import CoveredColumn, CoveredKey, RunRef
from metaindex.index.store.kway import few_or_merged, stream
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import FILES, OWN
from metaindex.index.store.writer import PartStream, RunSink, id_rows, partition_rows, side_by_side, write_sorted

if TYPE_CHECKING:
    from metaindex.index.kinds.pieces import WritesPieces


_NO_KEYS = OWN | {FACT_ROWS.files.partition, FACT_ROWS.partitions.partition}


def unmerged(source: RunReader) -> set[str]:
    """Return the metadata partitions of a run that cannot be merged here: such a run stays as it is."""
    return {partition for partition in source.kinds() - _NO_KEYS if KINDS.stored(partition) is None}


@dataclass(frozen=True, slots=True)
class Merged:
    """The new run, and the new ordinal of each file of each old run: -1 if the file was dropped."""

    run: RunRef
    ordinals: Mapping[str, Ordinals]


def merge_runs(
    sources: Sequence[RunReader],
    sink: RunSink,
    keep: Mapping[str, Mask] | None = None,
    blank: Mapping[str, Mask] | None = None,
    write: WritesPieces | None = None,
) -> Merged:
    """Write the run of all files of the sources, or of those that `keep` marks in a source; those that `blank` marks
    are kept without facts. `write`: as in `MergeInto`. Raises DamagedIndexError if a source cannot be read."""
    columns: tuple[CoveredColumn, ...] | None = ()
    keys: tuple[CoveredKey, ...] | None = sources[0].run.keys if sources else ()
    for source in sources:
        columns = columns_together(columns or (), source.run.columns)
        keys = keys_together(keys or (), source.run.keys)
        another = source.run.table_uuid != sources[0].run.table_uuid
        if columns is None or keys is None or another or unmerged(source):
            raise ValueError(
                "runs that are merged are of one table, agree on the types of their columns and on their keys, and have"
                " mergeable kinds"
            )
    with side_by_side(sink) as many:
        files = merge_files(sources, many, keep or {})
        parts = [*files.parts, *merge_facts(columns or (), sources, files, blank or {}, many)]
        covered, rows = merge_keys(
            keys or (), sources, files.ordinals, len(files.partition_ord), many, blank or {}, write
        )
    run = sink.sealed(
        [*parts, *rows],
        files=len(files.partition_ord),
        partitions=files.partitions.num_rows,
        files_digest=files.digest,
        columns=tuple(columns or ()),
        builder="merge" if not all(source.run.listed_only for source in sources) else "",
        uncovered_files=min(sum(source.run.uncovered_files for source in sources), len(files.partition_ord)),
        keys=covered,
        table_uuid=sources[0].run.table_uuid if sources else "",
        trusted=min((source.run.trusted for source in sources), default=Footer.REVISION),
    )
    return Merged(
        run,
        {source.run.run: files.ordinals[i] for i, source in enumerate(sources)},
    )


def keys_together(a: Sequence[CoveredKey], b: Sequence[CoveredKey]) -> tuple[CoveredKey, ...] | None:
    """The keys of a run merged of two that cover these; None where the runs stay apart."""
    others = {key.key_id: key for key in b}
    if others.keys() != {key.key_id for key in a}:
        return None
    out = []
    for key in a:
        other = others[key.key_id]
        if not (KINDS.readable(key) and KINDS.readable(other) and KINDS.rows_of(key).together(key, other)):
            return None
        columns = [
            _together(KINDS.rows_of(key), column, two) for column, two in zip(key.columns, other.columns, strict=True)
        ]
        known = [column for column in columns if column is not None]
        if len(known) < len(columns):
            return None
        out.append(replace(key, columns=tuple(known)))
    return tuple(out)


def merge_keys(
    keys: Sequence[CoveredKey],
    sources: Sequence[RunReader],
    ordinals: Sequence[Ordinals],
    files: int,
    sink: RunSink,
    blank: Mapping[str, Mask],
    write: WritesPieces | None = None,
) -> tuple[tuple[CoveredKey, ...], list[PartInfo]]:
    """Write the rows of all keys of a run of so many files. `ordinals`: by source, the new ordinal of each of its
    files, -1 if it is dropped. `keys`: from `keys_together`. `write`: as in `MergeInto`."""
    blanked = np.zeros(files, np.bool_)
    for source, places in zip(sources, ordinals, strict=True):
        if source.run.run in blank:
            here = places[blank[source.run.run]]
            blanked[here[here >= 0]] = True
    unkeyed = [unkeyed_of(source) for source in sources]
    merged, parts, without = [], [], []
    for number, key in enumerate(keys):
        owner = np.full(files, -1, np.int32)
        for at, places in enumerate(ordinals):
            taken = places.copy()
            taken[unkeyed[at].get(key.key_id, _NONE)] = -1
            owner[taken[taken >= 0]] = at
        owner[blanked] = -1
        some = [
            (source, _covered(source, key), _mine(places, owner, at, unkeyed[at].get(key.key_id, _NONE)))
            for at, (source, places) in enumerate(zip(sources, ordinals, strict=True))
        ]
        layout, written = KINDS.rows_of(key).merge(key, some, MergeInto(sink, partial(part_number, number), write))
        left = np.flatnonzero(owner < 0)
        merged.append(replace(key, layout=layout, unkeyed_files=len(left)))
        without.append((key.key_id, left))
        parts += written
    return tuple(merged), [*parts, *write_unkeyed(sink, without)]


def unkeyed_of(source: RunReader) -> dict[int, Units]:
    """Return for each key of a run the ordinals it does not cover. DamagedIndexError if their number differs from the
    log entry's."""
    by_key: dict[int, list[npt.NDArray[np.int64]]] = {}
    for part in source.parts("unkeyed"):
        table = source.read(part, range(len(source.footer(part).rows)), ["key_id", "ordinal"], keep=False)
        ids = np.asarray(table.column("key_id").to_numpy())
        for key in np.unique(ids).tolist():
            by_key.setdefault(key, []).append(
                np.asarray(table.column("ordinal").to_numpy())[ids == key].astype(np.int64)
            )
    out = {key: np.unique(np.concatenate(ordinals)) for key, ordinals in by_key.items()}
    for said in source.run.keys:
        count = len(out.get(said.key_id, _NONE))
        if count != said.unkeyed_files:
            raise DamagedIndexError.for_repair(
                f"run {source.run.run} names {said.unkeyed_files} files of which a key knows nothing; {count} are there"
            )
    return out


_NONE = np.zeros(0, np.int64)


def _mine(places: Ordinals, owner: npt.NDArray[np.int32], number: int, unkeyed: Units) -> npt.NDArray[np.int64]:
    """The new ordinal of each file of a source, -1 where it is not taken from there."""
    out = places.astype(np.int64)
    out[unkeyed] = -1
    there = out >= 0
    out[there] = np.where(owner[out[there]] == number, out[there], -1)
    return out


def _covered(source: RunReader, key: CoveredKey) -> CoveredKey:
    return next(covered for covered in source.run.keys if covered.key_id == key.key_id)


def _together(rows: type[StoredKind], a: CoveredColumn, b: CoveredColumn) -> CoveredColumn | None:
    """The column with the type that the values of both are of."""
    if a.type_text == b.type_text:
        return b
    old, new = a.type, b.type
    if old is None or new is None:
        return None
    if rows.carries_over(old, new):
        return b
    return replace(b, type_text=a.type_text) if rows.carries_over(new, old) else None


_MOST_ROWS = 1 << 17  # of all streams together; the row of a file is wide
_KEYS = ("partition", "path", "file_id")


def merge_files(sources: Sequence[RunReader], sink: RunSink, keep: Mapping[str, Mask]) -> MergedFiles:
    ordinals = [np.full(source.run.files, -1, np.int32) for source in sources]
    streams = [
        _files_of(source, number, len(sources), keep.get(source.run.run)) for number, source in enumerate(sources)
    ]
    writer = PartStream(sink, "files", FILES)
    digest = xxhash.xxh3_128()
    ids: list[bytes] = []
    partition_ords: list[Ordinals] = []
    records: list[pa.Array] = []
    names: list[str] = []
    sizes: list[int] = []
    count = 0
    for window in few_or_merged(streams, _KEYS, sum(source.run.files for source in sources)):
        first = _first_of_its_kind(window)
        at = (np.cumsum(first) - 1 + count).astype(np.int32)
        sources_, olds = (np.asarray(window.column(n).to_numpy()) for n in ("source", "ordinal"))
        for number, places in enumerate(ordinals):
            mine = sources_ == number
            places[olds[mine]] = at[mine]
        window = window.filter(pa.array(first)).combine_chunks()
        numbers = _numbered(window, names, sizes)
        new = {
            "ordinal": pa.array(np.arange(count, count + len(numbers), dtype=np.int32)),
            "partition_ord": pa.array(numbers),
        }
        writer.add(pa.table([new.get(n, window.column(n)) for n in FILES.names], schema=FILES))
        raw = _bytes_of(window.column("file_id"))
        digest.update(raw)
        ids.append(raw)
        partition_ords.append(numbers)
        records.extend(window.column("record_count").chunks)
        count += len(numbers)
    parts = writer.close()
    every_id = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), count, [None, pa.py_buffer(b"".join(ids))])
    partition_ord = np.concatenate([np.zeros(0, np.int32), *partition_ords])
    counts = np.bincount(partition_ord, minlength=len(names))
    partitions = partition_rows(names, counts, np.array(sizes, np.int64))
    parts = [
        *parts,
        *write_sorted(sink, "file_ids", id_rows(every_id)),
        *write_sorted(sink, "partitions", partitions.sort_by("partition_id")),
    ]
    return MergedFiles(
        ordinals,
        partition_ord,
        pa.chunked_array(records, pa.int64()).combine_chunks(),
        partitions,
        digest.hexdigest(),
        parts,
    )


def _files_of(source: RunReader, number: int, among: int, keep: Mask | None) -> Iterator[pa.Table]:
    for table in stream(source, "files", FILES, None, among, _MOST_ROWS):
        if keep is not None:
            table = table.filter(pa.array(keep[np.asarray(table.column("ordinal").to_numpy())]))
        yield table.append_column("source", constant(number, table.num_rows, pa.int16()))


def _first_of_its_kind(window: pa.Table) -> Mask:
    """False for a file that the row before is already, from another run: the same id."""
    first = np.ones(window.num_rows, np.bool_)
    if window.num_rows > 1:
        ids = window.column("file_id").combine_chunks()
        same = pc.equal(ids.slice(1), ids.slice(0, len(ids) - 1))
        here = np.asarray(window.column("source").to_numpy())
        first[1:] = ~np.asarray(same.to_numpy(zero_copy_only=False), np.bool_) | (here[1:] == here[:-1])
    return first


def _numbered(window: pa.Table, names: list[str], sizes: list[int]) -> Ordinals:
    """The partition number of each file; new partitions are put behind `names`, bytes are added up in `sizes`."""
    text = window.column("partition").combine_chunks()
    if not len(text):
        return np.zeros(0, np.int32)
    changes = np.asarray(
        pc.not_equal(text.slice(1), text.slice(0, len(text) - 1)).to_numpy(zero_copy_only=False), np.bool_
    )
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    bytes_ = np.add.reduceat(np.asarray(window.column("size_bytes").to_numpy()), starts)
    goes_on = bool(names) and names[-1] == text[0].as_py()
    base = len(names) - 1 if goes_on else len(names)
    if goes_on:
        sizes[-1] += int(bytes_[0])
    names.extend(text.take(pa.array(starts[1 if goes_on else 0 :])).to_pylist())
    sizes.extend(bytes_[1 if goes_on else 0 :].tolist())
    return (np.concatenate(([0], np.cumsum(changes))) + base).astype(np.int32)


def _bytes_of(ids: pa.ChunkedArray) -> bytes:
    return b"".join(c.buffers()[1].slice(16 * c.offset, 16 * len(c)).to_pybytes() for c in ids.chunks if len(c))
