"""Merges `files`, `file_ids` and `partitions`: renumbers the files by (partition, path). A file in several runs counts
once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from metaindex.core import Mask
from metaindex.index.kinds.described import MergedFiles, Ordinals
from metaindex.index.kinds.facts import constant
from metaindex.index.store.kway import in_order, merged, stream
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import FILES
from metaindex.index.store.writer import PartStream, RunSink, id_rows, partition_rows, write_sorted

_AT_ONCE = 1 << 16
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
    for window in _windows(streams, sum(source.run.files for source in sources)):
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


def _windows(streams: Sequence[Iterator[pa.Table]], files: int) -> Iterator[pa.Table]:
    """Yield all files in order: a few at once, many in windows. Files with the same id are in one window."""
    if files > _AT_ONCE:
        yield from merged(streams, _KEYS)
    elif tables := [table for stream_ in streams for table in stream_]:
        yield in_order(tables, _KEYS)


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
