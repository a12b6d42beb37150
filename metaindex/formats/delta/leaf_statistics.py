"""Statistics of one column, as add actions have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions import physical_type

from .columns import rows_array

Column = tuple[tuple[str, ...], pa.DataType]
"""Where a column stands in the texts (physical names), and its type in the table."""


@dataclass(frozen=True, slots=True)
class LeafStatistics:
    """Statistics of one column as written: bounds in the physical domain, null counts, and whether the writer marked
    the bounds as loose."""

    lower: pa.Array
    upper: pa.Array
    null_count: pa.Array
    loose: npt.NDArray[np.bool_]

    @classmethod
    def unknown(cls, count: int, type_: pa.DataType) -> LeafStatistics:
        domain = physical_type(type_)
        nothing = pa.nulls(count, domain)
        return cls(nothing, nothing, pa.nulls(count, pa.int64()), np.zeros(count, np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[LeafStatistics]) -> LeafStatistics:
        return cls(
            pa.concat_arrays([p.lower for p in parts]),
            pa.concat_arrays([p.upper for p in parts]),
            pa.concat_arrays([p.null_count for p in parts]),
            np.concatenate([p.loose for p in parts]),
        )

    def take(self, rows: npt.NDArray[np.int64]) -> LeafStatistics:
        taken = rows_array(rows)
        return LeafStatistics(
            self.lower.take(taken), self.upper.take(taken), self.null_count.take(taken), self.loose[rows]
        )
