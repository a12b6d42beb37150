"""Row counts of files, as far as they are known without opening them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, dataclass
from metaindex.formats import FileTable


@dataclass(frozen=True, slots=True)
class KnownCounts:
    """A count a file; where it is not `known` it means nothing."""

    values: npt.NDArray[np.int64]
    known: Mask

    @classmethod
    def of(cls, column: pa.Array | pa.ChunkedArray) -> KnownCounts:
        """Make counts from an Arrow column: NULL and negative values are unknown."""
        column = Vector(column).array
        values = Vector(column).items(np.int64)
        known = (values >= 0) & Vector(column).present
        return cls(np.where(known, values, 0), known)

    @classmethod
    def agreed(cls, several: Sequence[KnownCounts]) -> KnownCounts:
        """Return the counts that at least one source knows and none contradicts."""
        limits = np.iinfo(np.int64)
        least = np.minimum.reduce([np.where(counts.known, counts.values, limits.max) for counts in several])
        greatest = np.maximum.reduce([np.where(counts.known, counts.values, limits.min) for counts in several])
        return cls(least, least == greatest)

    @classmethod
    def physical(cls, files: FileTable) -> KnownCounts:
        """Return the rows of each file, deleted ones included, as the table's log claims them. None is what writers
        without statistics say, too."""
        said = cls.of(files.table.column("record_count"))
        return cls(said.values, said.known & (said.values > 0))

    @classmethod
    def deleted(cls, files: FileTable) -> KnownCounts:
        """Return the deleted rows of each file: none where no deletes are attached."""
        attached, said = files.with_deletes, cls.of(files.table.column("deleted_count"))
        return cls(np.where(attached, said.values, 0), said.known | ~attached)

    def less(self, other: KnownCounts) -> KnownCounts:
        """Return the difference, where it is known and not negative."""
        left = self.values - other.values
        return KnownCounts(left, self.known & other.known & (left >= 0))
