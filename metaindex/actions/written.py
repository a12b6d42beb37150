"""What the writer of a commit knows of it, so that a refresh that follows reads no data for it (RFC-27: metadata prepared with the data commit).

A log says least, greatest and NULLs of a column; no log counts NaN, and without their count an index on floats answers little. Whoever has just written the rows can tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from .follow import Seen


@dataclass(frozen=True, slots=True)
class Written:
    """One commit: it made `version` of `before`, and every file that it added holds nothing but `rows` rows that its writer had in hand. `without_nan`: top-level float
    columns of these rows in which no value is NaN."""

    before: str
    version: str
    rows: int
    without_nan: frozenset[str]

    def told(self, seen: Seen) -> frozenset[str]:
        """Columns without NaN in every file that is new since the base: all of `without_nan` where this commit is the whole way from there, else none."""
        alone = seen.base is not None and seen.base.record.version.id == self.before
        if not alone or seen.gone is None or seen.snapshot.version.id != self.version:
            return frozenset()
        counts = seen.snapshot.files.table.column("record_count")
        whole = counts.null_count == 0 and pc.sum(counts, min_count=0).as_py() == self.rows
        return self.without_nan if whole else frozenset()
