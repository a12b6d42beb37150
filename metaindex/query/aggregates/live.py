"""Live row counts of files, as far as they are known without opening them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, dataclass
from metaindex.formats import FileTable

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KnownCounts:
    """A count a file; where it is not `known` it means nothing."""

    values: Counts
    known: Mask

    @classmethod
    def of(cls, column: pa.Array | pa.ChunkedArray) -> KnownCounts:
        """Make counts from an Arrow column: NULL and negative values are unknown."""
        column = Vector(column).array
        values, valid = Vector(column).items(np.int64), Vector(column).valid
        known = values >= 0 if valid is None else (values >= 0) & valid
        return cls(np.where(known, values, 0), known)

    def less(self, other: KnownCounts) -> KnownCounts:
        """Return the difference, where it is known and not negative."""
        left = self.values - other.values
        return KnownCounts(left, self.known & other.known & (left >= 0))


def agreed(several: Sequence[KnownCounts]) -> KnownCounts:
    """Return the counts that at least one source knows and none contradicts."""
    limits = np.iinfo(np.int64)
    least = np.minimum.reduce([np.where(counts.known, counts.values, limits.max) for counts in several])
    greatest = np.maximum.reduce([np.where(counts.known, counts.values, limits.min) for counts in several])
    return KnownCounts(least, least == greatest)


def physical_rows(files: FileTable) -> KnownCounts:
    """Rows of each file, deleted ones included, as the table's log states them."""
    return KnownCounts.of(files.table.column("record_count"))


def with_deletes(files: FileTable) -> Mask:
    """The files to which deletes are attached."""
    valid = Vector(files.table.column("deletes")).valid
    return np.ones(len(files), np.bool_) if valid is None else valid


def deleted_rows(files: FileTable) -> KnownCounts:
    """Return the deleted rows of each file: none where no deletes are attached."""
    attached, said = with_deletes(files), KnownCounts.of(files.table.column("deleted_count"))
    return KnownCounts(np.where(attached, said.values, 0), said.known | ~attached)
