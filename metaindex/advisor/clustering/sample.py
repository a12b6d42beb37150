"""A sample of a table's rows: files spread evenly over partitions and age, read as any query reads them, their deletes
applied. What may be read is limited beforehand, and what was read is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, Plain, Vector, arrow_array, counted, dataclass, human_bytes, percent
from metaindex.expressions import to_physical
from metaindex.formats import FileTable, Leaf, Snapshot
from metaindex.query import Handle, Scan

from .overlap import Floats, Ints

SHARE = 0.01
SMALL_BYTES = 32_000_000
"""Of a table that is no larger all bytes may be read, where the caller sets no limit."""
_FILES = 64
_ROWS = 1 << 18


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


def limit_of(share: float | None, total_bytes: int) -> int:
    """Return how many bytes the sampled files may have. None: a hundredth, of small tables all."""
    if share is None:
        return max(int(total_bytes * SHARE), min(total_bytes, SMALL_BYTES))
    return int(total_bytes * share)


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
    return table.take(arrow_array(places, None, pa.int64()))


def _every(first: int, end: int, step: int) -> pa.Array:
    return arrow_array(np.arange(first, end, step, dtype=np.int64), None, pa.int64())


def of_leaf(table: pa.Table, leaf: Leaf) -> pa.Array:
    """The column, or the field inside structs: NULL where a struct around it is."""
    values = Vector(table.column(leaf.parts[0])).array
    for part in leaf.parts[1:]:
        values = pc.struct_field(values, part)
    return values
