"""Cuts the ranges of a covering index into stretches that can be merged apart: rows of which what they ascend by first
is between two keys.

The keys are those of the parts' bounds (`parts.PartInfo.least`), of which the first bytes alone are compared: what
stands behind them in a long text's key has no order. NULL, which comes first, is the empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import dataclass
from metaindex.index.kinds.values.encoding import KEPT
from metaindex.index.store.layout import PartInfo

from .bounds import Bound, bounds_of


@dataclass(frozen=True, slots=True)
class Stretch:
    """Range from `low` (included) to `high` (excluded); by default everything."""

    low: bytes = b""
    high: bytes | None = None

    def touches(self, part: PartInfo) -> bool:
        """Return whether rows of the part may be in it."""
        least, greatest = _bounds(part)
        return (greatest is None or greatest >= self.low) and (self.high is None or least is None or least < self.high)

    def rows(self, part: PartInfo, table: pa.Table, leading: Callable[[pa.Table], pa.Array]) -> pa.Table:
        """The rows of the part that are in it. `leading`: see `placement.Placement`."""
        least, greatest = _bounds(part)
        below = self.high is None or (greatest is not None and greatest < self.high)
        above = not self.low or (least is not None and least >= self.low)
        if below and above:
            return table
        keys = leading(table)
        if not above:
            inside = pc.greater_equal(keys, pa.scalar(self.low, keys.type))
            table, keys = table.filter(inside), keys.filter(inside)
        return table if below else table.filter(pc.less(keys, pa.scalar(self.high, keys.type)))


def stretches(parts: Sequence[PartInfo], share_bytes: int) -> list[Stretch]:
    """Stretches that hold all rows of the parts, each of about so many bytes where the values allow it."""
    cuts: list[bytes] = []
    held = 0
    starts = sorted((_bounds(part)[0] or b"", part.size_bytes) for part in parts)
    for least, size_bytes in starts:
        if held >= share_bytes and least > (cuts[-1] if cuts else b""):
            cuts.append(least)
            held = 0
        held += size_bytes
    return [Stretch(low, high) for low, high in zip([b"", *cuts], [*cuts, None], strict=True)]


def _bounds(part: PartInfo) -> tuple[Bound, Bound]:
    """None: not known."""
    least, greatest = (None if bound is None else bound[:KEPT] for bound in bounds_of(part, 0))
    return least, greatest
