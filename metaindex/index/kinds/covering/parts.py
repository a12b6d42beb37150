"""The parts of a covering index: plain Parquet that Spark reads as it is, written row group by row group.

    covering/run=<run>/<place>-<tag>-<piece>_<bucket>.mix      a bucket; Spark finds its number in the name
    covering/run=<run>/<place>-<tag>-<piece>.mix               a range: the tags ascend with the rows

Rows are sorted as their `placement` has it, then by `_mi_ordinal` and `_mi_row`. A bucket without rows has no part.
Names are never written twice: a task that is run again has another tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.core import DamagedIndexError, first_line
from metaindex.index.kinds.pieces import WrittenPart
from metaindex.index.kinds.served import ORDINAL, ROW, RowSizes, StoredPart, with_lineage
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo, run_folder
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import SUFFIX, RunSink, digested_end, end_of_pages

from .bounds import Bounds
from .layout import PARTITION, RowLayout
from .placement import Placement

GROUP_ROWS = 1_000_000
GROUP_BYTES = 64 << 20
"""Rows of a row group, and bytes in memory."""
PART_BYTES, RANGE_BYTES = 256 << 20, 64 << 20
"""Of a part of a bucket, and the most of one of a range, as stored, from which on the next begins: a part is put
whole."""
RANGES, LEAST_RANGE_BYTES = 8, 8 << 20
"""A small index in ranges has as many parts as buckets, none of less: several tasks read what a query keeps of it, and
what is left out is left out by bounds."""
STRETCHES, LEAST_STRETCH_BYTES = 64, 2 << 20
"""Along a curve a small index has more parts: one that is left out by one column is so by its bounds, and each column
tells as many parts apart as its root of their number."""
UNPACKED = 2
"""Times the bytes of a part its rows take in memory, at least: so many of a curve are a row group."""
SAMPLE_ROWS, DICTIONARY_BYTES = 1 << 16, 256 << 10
"""A column has a dictionary where half of so many rows have a value that came before, and its values take so much at
most."""

_BUCKET = re.compile(r".*_(\d{1,9})\.mix\Z")
_SPARK = {b"org.apache.spark.version": b"4.0.0"}
"""Tells Spark that days and instants are of the Gregorian calendar, whatever the session says of files by others."""
MARK = b"metaindex.part"
"""In a footer the part's own path, and so its run, key and bucket: no two parts have one footer, whose digest stands in
the manifest."""


def range_bytes(size_bytes: int) -> int:
    """Return the size at which the next part of a range begins, from the total size of all ranges."""
    return min(RANGE_BYTES, max(LEAST_RANGE_BYTES, size_bytes // RANGES))


def stretch_bytes(size_bytes: int) -> int:
    """Like `range_bytes`, along a curve."""
    return min(RANGE_BYTES, max(LEAST_STRETCH_BYTES, size_bytes // STRETCHES))


@dataclass(slots=True)
class PartWriter:
    """Takes sorted tables of `with_lineage(stored)` and writes a bucket's or a range's parts. `tag`: as in the
    names."""

    sink: RunSink
    key_id: int
    stored: pa.Schema
    placement: Placement
    place: int
    tag: str
    bucket: int | None
    most_bytes: int = PART_BYTES
    group_bytes: int = GROUP_BYTES  # in memory
    rows: int = 0
    _done: list[WrittenPart] = field(default_factory=list)
    _waiting: list[pa.Table] = field(default_factory=list)
    _waiting_rows: int = 0
    _waiting_bytes: int = 0
    _out: pa.BufferOutputStream | None = None
    _writer: pq.ParquetWriter | None = None
    _bounds: Bounds | None = None
    _last: pa.Table | None = None  # one row
    _part_rows: int = 0
    _part_keys: int = 0

    def add(self, table: pa.Table) -> None:
        """The next rows."""
        while table.num_rows:
            taken = table.slice(0, GROUP_ROWS - self._waiting_rows)
            table = table.slice(taken.num_rows)
            self._waiting.append(taken)
            self._waiting_rows += taken.num_rows
            self._waiting_bytes += taken.nbytes
            if self._waiting_rows == GROUP_ROWS or self._waiting_bytes >= self.group_bytes:
                self._flush()

    def close(self) -> list[WrittenPart]:
        """Return all parts; none if there were no rows."""
        self._flush()
        self._end()
        return self._done

    def _flush(self) -> None:
        if not self._waiting_rows:
            return
        table = pa.concat_tables(self._waiting)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        if self._writer is None:
            self._out = pa.BufferOutputStream()
            self._writer = _writer(self._out, table, self._path(), self.placement)
            self._bounds, self._last, self._part_rows, self._part_keys = self.placement.bounds(), None, 0, 0
        assert self._bounds is not None
        self._bounds.add(table)
        if self.placement.counts_keys:
            after = table if self._last is None else pa.concat_tables([self._last, table])
            self._part_keys += _changes(after, self.placement.indexed) + (self._last is None)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._last = table.slice(table.num_rows - 1)
        self._part_rows += table.num_rows
        self.rows += table.num_rows
        assert self._out is not None
        if self._out.tell() >= self.most_bytes:
            self._end()

    def _end(self) -> None:
        if self._writer is None or self._out is None or self._bounds is None:
            return
        self._writer.close()
        buffer = self._out.getvalue()
        metadata = pq.read_metadata(pa.BufferReader(buffer))
        path = self._path()
        self.sink.put(path, buffer.to_pybytes())
        info = PartInfo(
            PARTITION,
            path,
            self._part_rows,
            buffer.size,
            *digested_end(buffer, end_of_pages(metadata)),
            self.key_id,
            self.key_id,
            *self._bounds.said(),
        )
        self._done.append(WrittenPart(info, _column_bytes(metadata, self.stored), self._part_keys))
        self._writer = self._out = None

    def _path(self) -> str:
        """Path of the part under construction."""
        end = SUFFIX if self.bucket is None else f"_{self.bucket:05d}{SUFFIX}"
        return f"{run_folder(PARTITION, self.sink.run)}/{self.place:03d}-{self.tag}-{len(self._done):05d}{end}"


def _writer(out: pa.BufferOutputStream, first: pa.Table, path: str, placement: Placement) -> pq.ParquetWriter:
    """`first`: the rows of the first row group, which tell what the columns are like. `path`: the part's."""
    schema, lineage = first.schema, (ORDINAL, ROW)
    key = schema.names[0] if placement.first == 0 else None  # by what rows ascend
    plain = {name for name in schema.names if name not in lineage and not _repeats(first[name], name == key)}
    delta = [*lineage, *(key_ for key_ in [key] if key_ in plain and RowSizes.packs_sorted(schema.field(key_).type))]
    writer = pq.ParquetWriter(
        out,
        schema,
        compression="zstd",
        use_dictionary=_leaves(schema, lambda name, _: name not in plain and name not in delta),
        # Arrow's bounds of floats leave NaN out, which Spark holds for the greatest value: by them it would pass over
        # rows that match.
        write_statistics=_leaves(schema, lambda _, leaf: not pa.types.is_floating(leaf)),
        column_encoding=dict.fromkeys(delta, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
        write_page_index=True,
        store_schema=False,
        store_decimal_as_integer=True,
    )
    writer.add_key_value_metadata({**_SPARK, MARK: path.encode()})  # of a schema that is not stored Arrow writes none
    return writer


def _repeats(column: pa.ChunkedArray, sorted_: bool) -> bool:
    """Return whether a dictionary of its values is worth its bytes, by its first rows: a look-up of one row reads all
    of it. Nested columns are taken to repeat."""
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return True
    sample = column.slice(0, SAMPLE_ROWS)
    values = pc.unique(sample)
    new_ahead = len(column) / len(sample) if sorted_ else 1  # values of other columns come again
    return bool(len(values) * 2 <= len(sample) and values.nbytes * new_ahead <= DICTIONARY_BYTES)


def _leaves(schema: pa.Schema, wanted: Callable[[str, pa.DataType], bool]) -> list[str]:
    """The leaves, as pyarrow names them, that are wanted by the name of their column and their own type."""
    return [
        ".".join((column.name, *below))
        for column in schema
        for below, leaf in _paths(column.type)
        if wanted(column.name, leaf)
    ]


def _paths(t: pa.DataType) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """The leaves of a type: the way there, and their type."""
    inside: list[tuple[tuple[str, ...], pa.DataType]] = []
    if pa.types.is_list(t):
        inside = [(("list", "element"), t.value_type)]
    elif pa.types.is_map(t):
        inside = [(("key_value", "key"), t.key_type), (("key_value", "value"), t.item_type)]
    elif pa.types.is_struct(t):
        inside = [((t.field(at).name,), t.field(at).type) for at in range(t.num_fields)]
    else:
        yield (), t
    for way, type_ in inside:
        yield from (((*way, *below), leaf) for below, leaf in _paths(type_))


def _changes(table: pa.Table, indexed: int) -> int:
    """Count rows whose indexed values differ from the row before (NaN always differs)."""
    changed = pa.array(np.zeros(max(0, table.num_rows - 1), bool))
    for column in table.columns[:indexed]:
        before, after = column.slice(0, len(changed)), column.slice(1)
        other = pc.fill_null(pc.not_equal(before, after), False)
        changed = pc.or_(changed, pc.or_(other, pc.xor(pc.is_null(before), pc.is_null(after))))
    return int(pc.sum(changed, min_count=0).as_py())


def _column_bytes(metadata: pq.FileMetaData, stored: pa.Schema) -> dict[str, int]:
    sizes, at = {}, 0
    for column in with_lineage(stored):
        leaves = len(list(_paths(column.type)))
        sizes[column.name] = sum(
            metadata.row_group(group).column(leaf).total_compressed_size
            for group in range(metadata.num_row_groups)
            for leaf in range(at, at + leaves)
        )
        at += leaves
    return sizes


# Reading ---------------------------------------------------------------------------------------------------------


def stored_parts(reader: RunReader, key: CoveredKey) -> list[StoredPart]:
    """The parts of a covering key in a run, in order of their bucket or range. One read: the manifest (cached)."""
    hashed = RowLayout.of(key).buckets > 0
    parts = [
        StoredPart(part, bucket_of(part.path) if hashed else None)
        for part in reader.parts(PARTITION)
        if part.first_key == key.key_id
    ]
    return sorted(parts, key=lambda part: (part.bucket or 0, part.path))


def bucket_of(path: str) -> int:
    """The bucket in a part's name, as Spark finds it. DamagedIndexError where there is none."""
    match = _BUCKET.match(path)
    if match is None:
        raise DamagedIndexError.for_repair(f"a part of a bucket says which in its name; {path!r} does not")
    return int(match[1])


def read_groups(reader: RunReader, part: PartInfo, stored: pa.Schema, groups: Sequence[int] | None = None) -> pa.Table:
    """Rows of a part (of some row groups), with lineage. Checksums are verified: DamagedIndexError."""
    opened = reader.open(part)
    try:
        some = list(range(opened.metadata.num_row_groups)) if groups is None else list(groups)
        table = opened.read_row_groups(some, use_threads=False)
        return table.rename_columns(with_lineage(stored).names).cast(with_lineage(stored))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise reader.damaged(part.path, f"row groups cannot be decoded ({first_line(error)})") from error
