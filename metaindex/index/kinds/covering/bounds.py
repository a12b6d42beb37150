"""Bounds of a part's rows in the manifest: keys in hexadecimal digits (`values.encoding`), of the least value and of
the greatest; NULL, which comes first, is the empty text. What stands first is by what the rows ascend; where more is
said, commas are between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector, dataclass
from metaindex.index.kinds.values.encoding import KEPT, as_bytes, encode_values
from metaindex.index.store.layout import PartInfo

Bound = bytes | None
"""A key; None where it is not known."""


class Bounds(Protocol):
    """Collects the bounds of a part's rows, as they are added."""

    def add(self, rows: pa.Table) -> None:
        """The next rows, as the part has them."""

    def said(self) -> tuple[str, str]:
        """`least` and `greatest`, once there were rows."""


class FirstAndLast:
    """Bounds of rows that ascend by their first column."""

    def __init__(self) -> None:
        self._first: pa.Table | None = None
        self._last: pa.Table | None = None

    def add(self, rows: pa.Table) -> None:
        self._first = rows.slice(0, 1) if self._first is None else self._first
        self._last = rows.slice(rows.num_rows - 1)

    def said(self) -> tuple[str, str]:
        assert self._first is not None
        assert self._last is not None
        return self._key(self._first), self._key(self._last)

    @staticmethod
    def _key(row: pa.Table) -> str:
        column = Vector(row.column(0)).array
        key = as_bytes(encode_values(column, column.type))[0].as_py()
        return "" if key is None else key.hex()


class Extremes:
    """Bounds of several columns of rows in any order."""

    def __init__(self) -> None:
        self._least: list[bytes] = []
        self._greatest: list[bytes] = []

    def add(self, columns: list[pa.Array]) -> None:
        """The next rows of each."""
        ends = [_ends(column) for column in columns]
        least, greatest = [low for low, _ in ends], [high for _, high in ends]
        self._least = list(map(min, self._least or least, least))
        self._greatest = list(map(max, self._greatest or greatest, greatest))

    def said(self) -> tuple[str, str]:
        return ",".join(key.hex() for key in self._least), ",".join(key.hex() for key in self._greatest)


def _ends(column: pa.Array) -> tuple[bytes, bytes]:
    """The least key and the greatest, of a row at least; that of NULL is empty."""
    keys = encode_values(column, column.type)
    if keys.type == pa.int64():
        keys = _integer_ends(keys)
    ends = pc.min_max(as_bytes(keys))
    least, greatest = ends["min"].as_py() or b"", ends["max"].as_py() or b""
    return b"" if column.null_count else least, greatest


def _integer_ends(keys: pa.Array) -> pa.Array:
    numbers = Vector(keys).items(np.int64)[Vector(keys).present]
    return pa.array([int(numbers.min()), int(numbers.max())] if len(numbers) else [], pa.int64())


def bounds_of(part: PartInfo, place: int) -> tuple[Bound, Bound]:
    """Return the bounds at a place: 0 is the sort column. A malformed text is unknown."""
    return _bound(part.least, place), _bound(part.greatest, place)


def _bound(said: str | None, place: int) -> Bound:
    texts = [] if said is None else said.split(",")
    try:
        return bytes.fromhex(texts[place])
    except (IndexError, ValueError):
        return None


# Stretches: ranges that can be merged apart, as what their rows ascend by first is between two keys. Of keys the first
# bytes alone are compared: what stands behind them in a long text's key has no order. ------------------------------


@dataclass(frozen=True, slots=True)
class Stretch:
    """Range from `low` (included) to `high` (excluded); by default everything."""

    low: bytes = b""
    high: bytes | None = None

    def touches(self, part: PartInfo) -> bool:
        """Return whether rows of the part may be in it."""
        least, greatest = _ends_of(part)
        return (greatest is None or greatest >= self.low) and (self.high is None or least is None or least < self.high)

    def rows(self, part: PartInfo, table: pa.Table, leading: Callable[[pa.Table], pa.Array]) -> pa.Table:
        """The rows of the part that are in it. `leading`: see `placement.Placement`."""
        least, greatest = _ends_of(part)
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
    starts = sorted((_ends_of(part)[0] or b"", part.size_bytes) for part in parts)
    for least, size_bytes in starts:
        if held >= share_bytes and least > (cuts[-1] if cuts else b""):
            cuts.append(least)
            held = 0
        held += size_bytes
    return [Stretch(low, high) for low, high in zip([b"", *cuts], [*cuts, None], strict=True)]


def _ends_of(part: PartInfo) -> tuple[Bound, Bound]:
    """None: not known."""
    least, greatest = (None if bound is None else bound[:KEPT] for bound in bounds_of(part, 0))
    return least, greatest
