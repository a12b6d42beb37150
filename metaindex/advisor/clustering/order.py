"""Bounds of any type as numbers that sort, and lie apart, as the values do: dates, numbers and times are kept as such,
texts and wide decimals become whole numbers.

Of texts the order is exact: different ones are different numbers, a greater one is a greater number. How far apart they
lie follows from the eight bytes behind what all of them begin with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Vector, arrow_array, compute

from .overlap import Ints, Numbers

_SPARE = 3
"""Bits of the eight bytes that give way: to the sign, and so that millions of neighbours can be told apart."""


def numbers_of(parts: Sequence[pa.Array]) -> list[Numbers]:
    """Arrays of one physical domain, without NULL, as vectors that compare with each other."""
    if not pa.types.is_binary(parts[0].type):
        dtype = np.float64 if pa.types.is_float64(parts[0].type) else np.int64
        return [Vector(part).items(dtype) for part in parts]
    placed = _placed(pa.concat_arrays([part.cast(pa.large_binary()) for part in parts]))
    return list(np.split(placed, np.cumsum([len(part) for part in parts])[:-1]))


def _placed(values: pa.Array) -> Ints:
    """Texts as whole numbers."""
    count = len(values)
    if not count:
        return np.zeros(0, np.int64)
    order = Vector(compute("array_sort_indices", values)).items(np.uint64).astype(np.int64)
    ordered = compute("take", values, arrow_array(order, None, pa.int64()))
    grows = np.ones(count, np.bool_)
    grows[1:] = Vector(compute("not_equal", ordered.slice(1), ordered.slice(0, count - 1))).truths(null=True)
    # Each stands at least one behind the one before it, so that those which differ beyond the eight bytes differ, too.
    number = np.cumsum(grows) - 1
    placed = np.empty(count, np.int64)
    placed[order] = np.maximum.accumulate(_eight_bytes(ordered) - number) + number
    return placed


def _eight_bytes(ordered: pa.Array) -> Ints:
    """Return the eight bytes behind the common beginning of sorted texts."""
    first, last = ordered[0].as_py(), ordered[-1].as_py()
    begin = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    offsets = np.frombuffer(ordered.buffers()[1], np.int64, len(ordered) + 1, ordered.offset * 8)
    data = np.frombuffer(ordered.buffers()[2] or b"\0", np.uint8)
    words = np.zeros(len(ordered), np.uint64)
    for place in range(begin, begin + 8):
        at = offsets[:-1] + place
        byte = np.where(at < offsets[1:], data[np.minimum(at, len(data) - 1)], 0)
        words = (words << np.uint64(8)) | byte.astype(np.uint64)
    return (words >> np.uint64(_SPARE)).astype(np.int64)
