"""Arrow columns of Python lists, by their buffers: `pa.array` would import pandas, which costs half a second once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import arrow_array

STRETCH = 1 << 20


def numbers(values: Sequence[int]) -> pa.Array:
    """Return int64 values without nulls."""
    return arrow_array(np.array(values, np.int64), None, pa.int64())


def texts(values: Sequence[str | None]) -> pa.Array:
    """Strings; None is null."""
    return arrow_array([None if value is None else value.encode() for value in values]).view(pa.string())


def long_texts(values: Sequence[str | None]) -> pa.ChunkedArray:
    """Strings of any number: a string array holds 2 GB of text, so they are cut into stretches."""
    pieces = [texts(values[at : at + STRETCH]) for at in range(0, len(values), STRETCH)]
    return pa.chunked_array(pieces, pa.string())


def repeated(text: str, count: int) -> pa.Array:
    """Return an array that repeats one text."""
    data = text.encode()
    offsets = np.arange(count + 1, dtype=np.int32) * len(data)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data * count)])
