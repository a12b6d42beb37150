"""Statistics that a commit's writer knows, so that the next refresh reads none of its data (RFC-27: metadata prepared
with the data commit).

A log says least, greatest and NULLs of a column; no log counts NaN, and without their count an index on floats answers
little. Whoever has just written the rows can tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import compute

if TYPE_CHECKING:
    from .snapshot_delta import Seen


@dataclass(frozen=True, slots=True)
class Written:
    """A commit: it made `version` of `before`, and its added files hold only the writer's `rows` rows. `without_nan`:
    top-level float columns of these rows in which no value is NaN."""

    before: str
    version: str
    rows: int
    without_nan: frozenset[str]

    @classmethod
    def of(cls, before: str, version: str, data: pa.Table | pa.RecordBatch) -> Written:
        """Return the statistics of a commit of exactly these rows."""
        names = [name for name in data.column_names if data.column_names.count(name) == 1]
        clean = frozenset(name for name in names if without_nan(data.column(name)))
        return cls(before, version, data.num_rows, clean)

    def told(self, seen: Seen) -> frozenset[str]:
        """Columns without NaN in every file that is new since the base: all of `without_nan` where this commit is the
        whole way from there, else none."""
        alone = seen.base is not None and seen.base.record.version.id == self.before
        if not alone or seen.gone is None or seen.snapshot.version.id != self.version:
            return frozenset()
        counts = seen.snapshot.files.table.column("record_count")
        whole = counts.null_count == 0 and sum(counts.to_pylist()) == self.rows
        return self.without_nan if whole else frozenset()


def without_nan(values: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether the column has floats and no NaN. A sum is NaN if a value is; where it is NaN for another reason
    (two infinities), the answer is False."""
    if not (pa.types.is_float32(values.type) or pa.types.is_float64(values.type)):
        return False
    total = compute("sum", values).as_py()
    return total is None or not math.isnan(total)
