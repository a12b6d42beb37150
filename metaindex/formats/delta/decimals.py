"""Bounds of decimals that may have passed through a double, made wide enough to hold the values again.

delta-rs writes a decimal's bound as the double nearest to unscaled / 10^scale, takes the next double nearer to zero
where the whole digits seem too many (a minus counts as one), and prints the shortest text of it; whole numbers are cast
to 64 bits, and saturate. Half a unit in the last place for each of the number itself, the power of ten (two for powers
beyond 10^22), the quotient and the text, one for the step: below 4 units of 2^-52. Nothing in a log says which texts
were made so (an added file may be another writer's than its commit), so every bound of that many digits is widened.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metaindex.core import Vector
from metaindex.expressions import Family

SURE_DIGITS = 15
"""Decimals of up to so many digits are one double each, whose shortest text is the decimal again."""

_SURE = 10 ** (SURE_DIGITS - 1)  # a digit less: below it even the next doubles are within half an unscaled unit
_SHIFT = 50  # widened by size / 2^50, and one unscaled unit
_END = 2**63
_END_REST = 2**14  # 2^63 - 1 is some double near 2^63 once it was read as one
_BEYOND = 2**127  # 16 bytes


def loosened(lower: pa.Array, upper: pa.Array, type_: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Bounds (physical) of a decimal column that hold whatever was rounded into them; unknown where nothing does."""
    if type_.precision <= SURE_DIGITS:
        return lower, upper
    if type_.precision <= 18:
        return _narrow(lower, -1), _narrow(upper, 1)
    return tuple(
        Vector.arrow([None if b is None else _wide(Family.whole(b), sign, type_.scale == 0) for b in ends.to_pylist()])
        for ends, sign in ((lower, -1), (upper, 1))
    )


def _narrow(bounds: pa.Array, sign: int) -> pa.Array:
    numbers = Vector(bounds).items(np.int64)
    size = np.abs(numbers)
    return Vector.arrow(np.where(size < _SURE, numbers, numbers + sign * ((size >> _SHIFT) + 1)), Vector(bounds).valid)


def _wide(number: int, sign: int, whole: bool) -> bytes | None:
    size = abs(number)
    if whole and abs(size - _END) <= _END_REST and (number < 0) == (sign < 0):
        return None
    moved = number if size < _SURE else number + sign * ((size >> _SHIFT) + 1)
    return (moved + _BEYOND).to_bytes(16, "big") if abs(moved) < _BEYOND else None
