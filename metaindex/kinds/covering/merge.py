"""Merges the rows of a covering index of several runs, bucket by bucket or over all ranges: sorted streams in windows, so that a row group of each part is in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.kinds.merging import KeyRows
from metaindex.log.entry import CoveredKey
from metaindex.store.kway import merged
from metaindex.store.layout import PartInfo
from metaindex.store.reader import RunReader
from metaindex.store.writer import RunSink

from .order import in_spark_order, sort_columns
from .parts import PART_BYTES, RANGE_BYTES, PartWriter, StoredPart, WrittenPart, column_bytes, read_groups, stored_parts
from .plan import ORDINAL, CoveringLayout, bytes_of, with_lineage

_THREADS = 8
"""Buckets that are merged at a time on a store, where that is waiting; on a disk half as many, and no more than processors."""

_Stream = tuple[RunReader, list[StoredPart], npt.NDArray[np.int64]]
"""A run, its parts of a bucket, and the new ordinals of its files."""

PART_NUMBERS = 10_000_000
"""Of each key of a run, as `keyed.part_number` has it."""


def merge_rows(
    key: CoveredKey, some: Sequence[KeyRows], sink: RunSink, number: Callable[[int], int]
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """See `merging.Merge`."""
    layout = CoveringLayout.of(key)
    by_bucket: dict[int | None, list[_Stream]] = {}
    for reader, covered, ordinals in some:
        mine: dict[int | None, list[StoredPart]] = {}
        for part in stored_parts(reader, covered):
            mine.setdefault(part.bucket, []).append(part)
        for bucket, parts in mine.items():
            by_bucket.setdefault(bucket, []).append((reader, parts, ordinals))
    place = number(0) // PART_NUMBERS

    def write(one: tuple[int | None, list[_Stream]]) -> list[WrittenPart]:
        bucket, streams = one
        most = RANGE_BYTES if bucket is None else PART_BYTES
        writer = PartWriter(sink, key.key_id, layout.stored, place, "000000", bucket, most)
        for table in _windows(layout, streams):
            writer.add(table)
        return writer.close()

    buckets = sorted(by_bucket.items(), key=lambda pair: pair[0] or 0)
    threads = _THREADS if "://" in sink.storage.root else min(os.cpu_count() or 1, _THREADS // 2)
    with ThreadPoolExecutor(max(1, min(threads, len(buckets)))) as pool:
        written = [part for parts in pool.map(write, buckets) for part in parts]
    kept = {name: value for name, value in key.layout.items() if not name.startswith("bytes:")}
    return {**kept, **bytes_of(column_bytes(written))}, [one.info for one in written]


def _windows(layout: CoveringLayout, streams: Sequence[_Stream]) -> Iterator[pa.Table]:
    """The rows that are taken, in their new order."""
    names = with_lineage(layout.stored).names
    keys = [f"_mi_sort{place}" for place in range(layout.indexed)]
    for window in merged([_rows(layout, *stream) for stream in streams], keys):
        yield in_spark_order(window, keys).select(names)


def _rows(
    layout: CoveringLayout, reader: RunReader, parts: Sequence[StoredPart], ordinals: npt.NDArray[np.int64]
) -> Iterator[pa.Table]:
    """The rows of one run that are taken, with their new ordinals, and what they are sorted by."""
    for part in parts:
        for group in range(len(reader.footer(part.info).rows)):
            table = read_groups(reader, part.info, layout.stored, [group])
            new = ordinals[table.column(ORDINAL).to_numpy()]
            at = table.schema.get_field_index(ORDINAL)
            table = table.set_column(at, table.schema.field(at), pa.array(new.astype(np.int32)))
            if (new < 0).any():
                table = table.filter(pc.greater_equal(table.column(ORDINAL), 0))
            yield sort_columns(table, layout.indexed)[0]
