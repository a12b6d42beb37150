"""A sample of a table's rows: files spread evenly over partitions and age, read as any query reads them, their deletes
applied. What may be read is limited beforehand, and what was read is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, Cure, MetaIndexError, Plain, Vector, counted, dataclass, human_bytes, percent
from metaindex.expressions import to_physical
from metaindex.formats import FileTable, Leaf, Snapshot
from metaindex.query import FooterGroups, Handle, Scan

from .overlap import Floats, Ints

SHARE = 0.01
SMALL_BYTES = 32_000_000
"""Of a table that is no larger all bytes may be read, where the caller sets no limit."""
FEW_FILES = 4
"""Of so many files the needed columns may be read, however large the files are."""
MOST_BYTES = 1_000_000_000
"""May be read at most, where the caller sets no limit."""
_FILES = 64
_ROWS = 1 << 18
_LOOKED_AT = 8
"""Files whose footers tell, beforehand, how much of a file some columns take."""
_TRIES = 6

Paths = frozenset[tuple[str, ...]]
"""Of columns, as the files have them."""


@dataclass(frozen=True, slots=True)
class Sampled(Plain):
    """The files that were read for the advice. `limit_bytes`: the most that they may have together; `reason`: why none
    was read, or no advice given."""

    files: int = 0
    size_bytes: int = 0
    rows: int = 0
    limit_bytes: int = 0
    total_bytes: int = 0
    reason: str = ""

    @property
    def said(self) -> str:
        """Describe the sample in a line, for people; empty if none was wanted."""
        if not self.files:
            return f"no advice: {self.reason}" if self.reason else ""
        share = percent(self.size_bytes / max(self.total_bytes, 1))
        read = (
            f"{counted(self.files, 'file')} ({human_bytes(self.size_bytes)}, {share} of the table) with"
            f" {counted(self.rows, 'row')}"
        )
        why = f"; no advice: {self.reason}" if self.reason else ""
        return f"read for the advice: {read}; the limit was {human_bytes(self.limit_bytes)}{why}"


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Rows that were read: of each column its values in their physical domain (`expressions.physical`), and of each row
    the file that it is of."""

    values: tuple[pa.Array, ...]
    file: Ints

    def __len__(self) -> int:
        return len(self.file)


def check_share(share: object) -> None:
    """ArgumentError unless it is None or a share."""
    if share is None or (isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1):
        return
    raise ArgumentError(
        f"a sample is a share of the table's bytes, from 0 (nothing is read) to 1; got {share!r}; give such as"
        " sample=0.01"
    )


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """Limit of what advice may read of a table. `share`: of its bytes, as the caller says; None: a hundredth, but at
    least `SMALL_BYTES` or `FEW_FILES` files, and at most `MOST_BYTES`. `part`: of the share that is for one purpose."""

    share: float | None = None
    part: float = 1.0

    def of(self, total_bytes: int, few_bytes: float = 0) -> int:
        """Return how many bytes may be read. `few_bytes`: what a few files take."""
        if self.share is not None:
            return int(total_bytes * self.share * self.part)
        floor = max(min(total_bytes, SMALL_BYTES), few_bytes)
        return int(min(max(total_bytes * SHARE * self.part, floor), MOST_BYTES))

    def too_low(self, limit: int, total_bytes: int, file_bytes: float) -> str:
        """Return why no file was read, and what to do. `file_bytes`: what one takes."""
        if not limit:
            return f"the limit is 0 bytes; allow more with {Cure('argument', 'sample')}"
        share = min(1.0, (int(2_000 * file_bytes / self.part / max(total_bytes, 1)) + 1) / 1_000)
        takes = f"of no file the needed columns fit into the limit of {limit:,} bytes"
        return f"{takes}; allow more with {Cure('argument', 'sample', share)}"


def chosen(files: FileTable, limit_bytes: int, most: int = _FILES, takes: Floats | None = None) -> Ints:
    """The files to read, no more than `most`: evenly spread over the partitions, in each over its age; the same ones
    each time. `takes`: bytes that are read of each; None for all that it has."""
    table = files.table
    keys = [("partition", "ascending"), ("modified_ms", "ascending"), ("path", "ascending")]
    order = Vector(pc.sort_indices(table.select(["partition", "modified_ms", "path"]), keys).cast(pa.int64())).numbers
    sizes = Vector(table.column("size_bytes")).numbers.astype(np.float64) if takes is None else takes
    count = min(len(order), most)
    while count:
        places = ((np.arange(count) + 0.5) * len(order) / count).astype(np.int64)
        rows = order[places]
        if float(sizes[rows].sum()) <= limit_bytes:
            return np.sort(rows)
        count -= 1
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class ColumnCosts:
    """The bytes that reading some columns of files takes: of Parquet their chunks, of other files all."""

    snapshot: Snapshot
    footers: FooterGroups
    sizes: Floats
    by_columns: bool

    @classmethod
    def of(cls, snapshot: Snapshot, footers: FooterGroups) -> ColumnCosts:
        sizes = Vector(snapshot.files.table.column("size_bytes")).numbers.astype(np.float64)
        by_columns = snapshot.details.read_options().get("file_format", "parquet") == "parquet"
        return cls(snapshot, footers, sizes, by_columns)

    def fitting(self, needed: Paths | None, limit: int, spread: Callable[[int, Floats], Ints]) -> Ints:
        """Return as many files as the limit allows, by `spread`, given what each is thought to take."""
        if needed is None or not self.by_columns:
            return spread(limit, self.sizes)
        some = np.unique(np.linspace(0, len(self.sizes) - 1, _LOOKED_AT).astype(np.int64))
        share = self.total(some, needed) / max(float(self.sizes[some].sum()), 1.0)
        for _ in range(_TRIES):
            rows = spread(limit, self.sizes * min(max(share, 1e-9), 1.0))
            taken = self.total(rows, needed)
            if taken <= limit:
                return rows
            share = max(share * 1.05, taken / max(float(self.sizes[rows].sum()), 1.0))
        return spread(limit, self.sizes)

    def of_one(self, needed: Paths | None) -> float:
        """Return what these columns take of a file: the most that they take in a few, evenly chosen."""
        rows = chosen(self.snapshot.files, int(self.sizes.sum()), FEW_FILES)
        return float(max((self._of_file(row, needed) for row in rows.tolist()), default=0))

    def total(self, rows: Ints, needed: Paths | None) -> int:
        return sum(self._of_file(row, needed) for row in rows.tolist())

    def _of_file(self, row: int, needed: Paths | None) -> int:
        whole = int(self.sizes[row])
        if needed is None or not self.by_columns:
            return whole
        try:
            chunks = self.footers.chunk_bytes(self.snapshot.files.paths[row].as_py())
        except (MetaIndexError, OSError):  # whoever reads the file tells
            chunks = {}
        if not chunks:
            return whole
        beginnings = tuple(f"{'.'.join(source)}." for source in needed)
        return sum(size for name, size in chunks.items() if f"{name}.".startswith(beginnings))


def file_scan(handle: Handle, snapshot: Snapshot, row: int, leaves: Sequence[Leaf]) -> Scan:
    """Return the scan of some columns of one file."""
    names = tuple(dict.fromkeys(leaf.parts[0] for leaf in leaves))
    rows, zone = np.array([row], np.int64), handle.config.time_zone
    return Scan(snapshot, handle.ref.storage, handle.ref, rows, columns=names, time_zone=zone)


def read_sample(scan_of: Callable[[int], Scan], rows: Ints, leaves: Sequence[Leaf]) -> SampleRows:
    """The columns in the files `rows`; of many rows some, evenly. Raises what a scan raises."""
    most = max(_ROWS // max(len(rows), 1), 1)
    values: list[list[pa.Array]] = [[] for _ in leaves]
    places = []
    for row in rows.tolist():
        stream = scan_of(row).to_reader()
        table = evenly(stream, stream.schema, most)
        for leaf, column in zip(leaves, values, strict=True):
            column.append(to_physical(of_leaf(table, leaf), leaf.type, upper=False))
        places.append(np.full(table.num_rows, row, np.int64))
    joined = (pa.concat_arrays(column) for column in values)
    return SampleRows(tuple(joined), np.concatenate(places) if places else np.zeros(0, np.int64))


def evenly(batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int) -> pa.Table:
    """Return at most so many rows, evenly spaced. Twice as many and one batch are held, however many come."""
    held: list[pa.RecordBatch] = []
    seen = count = 0
    step = 1
    for batch in batches:
        found = batch.take(_every(-seen % step, batch.num_rows, step))
        seen += batch.num_rows
        count += found.num_rows
        held.append(found)
        while count > 2 * most:
            thinned = pa.Table.from_batches(held, schema=schema)
            held = thinned.take(_every(0, count, 2)).to_batches()
            step *= 2
            count = sum(batch.num_rows for batch in held)
    table = pa.Table.from_batches(held, schema=schema)
    if table.num_rows <= most:
        return table
    places = np.linspace(0, table.num_rows - 1, most).astype(np.int64)
    return table.take(Vector.arrow(places, None, pa.int64()))


def _every(first: int, end: int, step: int) -> pa.Array:
    return Vector.arrow(np.arange(first, end, step, dtype=np.int64), None, pa.int64())


def of_leaf(table: pa.Table, leaf: Leaf) -> pa.Array:
    """The column, or the field inside structs: NULL where a struct around it is."""
    values = Vector(table.column(leaf.parts[0])).array
    for part in leaf.parts[1:]:
        values = pc.struct_field(values, part)
    return values
