"""Cuts the ranges of a covering index into stretches that can be merged apart: rows whose first indexed column is
between two keys.

The keys are those of the parts' bounds (`parts.PartInfo.least`), of which the first bytes alone are compared: what
stands behind them in a long text's key has no order. NULL, which comes first, is the empty text.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.records import dataclass
from metaindex.expressions.vectors import one_array
from metaindex.kinds.values.encoding import KEPT, as_bytes, encode_values
from metaindex.store.layout import PartInfo


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `low` on and below `high`; as it stands here, everything."""

    low: bytes = b""
    high: bytes | None = None

    def touches(self, part: PartInfo) -> bool:
        """May rows of the part be in it?"""
        least, greatest = _bounds(part)
        return (greatest is None or greatest >= self.low) and (self.high is None or least is None or least < self.high)

    def rows(self, part: PartInfo, table: pa.Table) -> pa.Table:
        """The rows of the part that are in it."""
        least, greatest = _bounds(part)
        below = self.high is None or (greatest is not None and greatest < self.high)
        above = not self.low or (least is not None and least >= self.low)
        if below and above:
            return table
        keys = _keys(table)
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


def _bounds(part: PartInfo) -> tuple[bytes | None, bytes | None]:
    """None: not known."""
    least, greatest = (None if bound is None else bytes.fromhex(bound)[:KEPT] for bound in (part.least, part.greatest))
    return least, greatest


def _keys(table: pa.Table) -> pa.Array:
    """Of each row, of the first indexed column."""
    column = one_array(table.column(0))
    keys = as_bytes(encode_values(column, column.type))
    return pc.fill_null(pc.binary_slice(keys, 0, KEPT), b"")
