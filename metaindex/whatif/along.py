"""What a query leaves of a covering index along a curve: the rows of the sample are cut into as many parts, and pages,
as the index would have, and those are asked as the index's own are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyarrow.types import is_floating

from metaindex.expressions.records import dataclass
from metaindex.expressions.tree import ColumnRef, Predicate
from metaindex.formats.model import Leaf
from metaindex.kinds.served import RowPlan, RowSizes, ServedRows, StoredPart
from metaindex.log.entry import CoveredKey
from metaindex.pruning.ranking import PAGE_ROWS

from .posterior import Estimate

_OFF = 0.25
"""By so much a share of the pieces of a sample is off that of the index's, in nine cases of ten."""
_LEAST_ROWS = 16
"""Of a piece of the sample: those of fewer are narrower than pages of their number would be."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a query leaves of a copy: of its bytes at least, probably and at most; and how many parts."""

    shares: tuple[float, float, float]
    parts: Estimate
    note: str = ""

    def in_parts(self, count: int) -> Left:
        """With the share of parts as that of so many."""
        low, high = np.floor(self.parts.low * count), np.ceil(self.parts.high * count)
        return replace(self, parts=Estimate(float(low), self.parts.expected * count, float(min(high, count))))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The rows of the sample, cut as the index's would be."""

    key: CoveredKey
    parts: Sequence[StoredPart]
    pages: Sequence[StoredPart]

    @classmethod
    def of(cls, plan: RowPlan, rows: pa.Table, every_row: float, parts: int) -> Pieces:
        """`every_row`: how many the table has; `parts`: the index."""
        most = max(1, rows.num_rows // _LEAST_ROWS)
        pages = min(most, max(parts, int(every_row // PAGE_ROWS)))
        return cls(plan.covered(RowSizes({}), 0), plan.cut(rows, min(most, parts)), plan.cut(rows, pages))

    def asked(self, rows: type[ServedRows], columns: Sequence[Leaf], conditions: Sequence[Predicate]) -> Left:
        """Shares, of parts too. Parts are left out by the bounds of every indexed column, pages by those of columns of
        which Parquet keeps any: not of floats."""
        names = {ColumnRef(leaf.parts): leaf.stable for leaf in columns}
        paged = {ColumnRef(leaf.parts): leaf.stable for leaf in columns if not is_floating(leaf.type)}
        parts = rows.parts_left(self.key, self.parts, conditions, names)
        there = {part.path for part in parts}
        pages = [page for page in rows.parts_left(self.key, self.pages, conditions, paged) if self._part(page) in there]
        share = _rows(pages) / max(1, _rows(self.pages))
        shares = share * (1 - _OFF), share, min(1.0, share * (1 + _OFF))
        of_parts = len(parts) / max(1, len(self.parts))
        return Left(shares, Estimate(of_parts * (1 - _OFF), of_parts, min(1.0, of_parts * (1 + _OFF))))

    def _part(self, page: StoredPart) -> str:
        """The part that a page is in: both are numbered in the order of the rows."""
        return self.parts[int(page.path) * len(self.parts) // max(1, len(self.pages))].path


def _rows(parts: Sequence[StoredPart]) -> int:
    return sum(part.info.rows for part in parts)
