"""The parts of a covering index read back, and that they fit each other and the run.

Each row group is read (checksums). The rows of a bucket, or of all ranges, ascend in Spark's order, or along the
curve of their cut points; they are of files of the run that are not unkeyed. The bounds of each part are those that the
manifest says. Of a file with n rows the rows 0 to n-1 are there, each once (texts have no row numbers), and n is what
the table's log says. Every row hashes to its bucket, as Spark does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector
from metaindex.index.kinds.kind import Mismatch
from metaindex.index.kinds.served import NO_ROW, ORDINAL, ROW, StoredPart, with_lineage
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.reader import RunReader

from .layout import PARTITION, RowLayout
from .murmur3 import buckets_of
from .order import Ascending
from .parts import read_groups, stored_parts


def check_parts(reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
    """Raises Mismatch, or what reading raises, where something is wrong. `records`: by ordinal, how many rows the
    table's log says, NULL where it does not."""
    layout = RowLayout.of(key)
    counts = np.zeros(len(unkeyed), np.int64)
    sums, most = counts.copy(), np.full(len(unkeyed), -1, np.int64)
    numbered = False
    for bucket in _by_bucket(stored_parts(reader, key)):
        ascending, bounds = Ascending(layout.placement.sorted_by), _SaidBounds(key, layout)
        for part, table in tables_of(reader, bucket, layout):
            bounds.add(part, table)
            ordinals, rows = table.column(ORDINAL).to_numpy(), table.column(ROW).to_numpy()
            if not 0 <= ordinals.min() <= ordinals.max() < len(unkeyed):
                raise Mismatch(f"rows of {named(key)} are of files that the run does not have", PARTITION)
            if unkeyed[ordinals].any():
                raise Mismatch(f"rows of {named(key)} are of files of which it is said to have none", PARTITION)
            if part.bucket is not None:
                indexed = [Vector(column).array for column in table.columns[: layout.indexed]]
                if (buckets_of(indexed, layout.buckets) != part.bucket).any():
                    raise Mismatch(f"rows of {named(key)} are in other buckets than they hash to", part.path)
            if ascending.broken(layout.placement.sorting(table)):
                raise Mismatch(f"the rows of {named(key)} do not ascend", PARTITION)
            counts += np.bincount(ordinals, minlength=len(unkeyed))
            np.add.at(sums, ordinals, rows)
            np.maximum.at(most, ordinals, rows)
            numbered |= bool((rows != NO_ROW).any())
        bounds.check()
    if numbered and ((most != counts - 1) | (sums != counts * (counts - 1) // 2)).any():
        raise Mismatch(f"{named(key)} has not each row of each file once", PARTITION)
    told = records.is_valid().to_numpy() & ~unkeyed
    if not np.array_equal(counts[told], records.filter(pa.array(told)).to_numpy()):
        raise Mismatch(f"{named(key)} has other rows of a file than the table's log says", PARTITION)


class _SaidBounds:
    """Checks the bounds of parts, those of a bucket or of all ranges, against the manifest."""

    def __init__(self, key: CoveredKey, layout: RowLayout) -> None:
        self._key, self._placement = key, layout.placement
        self._part: StoredPart | None = None
        self._bounds = self._placement.bounds()

    def add(self, part: StoredPart, rows: pa.Table) -> None:
        """The next rows. Mismatch where the part before has other bounds than the manifest says."""
        if self._part is None or part.path != self._part.path:
            self.check()
            self._part, self._bounds = part, self._placement.bounds()
        self._bounds.add(rows)

    def check(self) -> None:
        """Check the last part."""
        if self._part is not None and (self._part.info.least, self._part.info.greatest) != self._bounds.said():
            raise Mismatch(f"rows of {named(self._key)} are beyond the bounds of their part", self._part.path)


def rows_of(reader: RunReader, key: CoveredKey, ordinals: npt.NDArray[np.intp]) -> pa.Table:
    """Return all rows of some files; see `CoveredRows.rows_of`."""
    layout = RowLayout.of(key)
    wanted = pa.array(ordinals.astype(np.int32))
    tables = [with_lineage(layout.stored).empty_table()]
    for _, table in tables_of(reader, stored_parts(reader, key), layout):
        tables.append(table.filter(pc.is_in(table.column(ORDINAL), value_set=wanted)))
    return pa.concat_tables(tables)


def tables_of(
    reader: RunReader, parts: Sequence[StoredPart], layout: RowLayout
) -> Iterator[tuple[StoredPart, pa.Table]]:
    for part in parts:
        for group in range(len(reader.footer(part.info).rows)):
            table = read_groups(reader, part.info, layout.stored, [group])
            if table.num_rows:
                yield part, table


def _by_bucket(parts: Sequence[StoredPart]) -> Iterator[list[StoredPart]]:
    """The parts of each bucket; those of ranges are one stretch."""
    together: dict[int | None, list[StoredPart]] = {}
    for part in parts:
        together.setdefault(part.bucket, []).append(part)
    yield from together.values()


def named(key: CoveredKey) -> str:
    return f"covering index of ({', '.join(column.name for column in key.columns)})"
