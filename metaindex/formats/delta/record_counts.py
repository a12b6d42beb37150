"""Record counts that add actions state: the first number of the statistics, read without parsing them if the writer put
it first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector, arrow_array

from .columns import rows_array, unchunked
from .stats_json import CHUNK_ROWS, read_texts
from .stats_rows import parsed_rows, whole

_BLOCK_ROWS = 1 << 14  # their windows stay in the processor's cache
_PREFIX = b'{"numRecords":'
_WINDOW = 32  # the prefix and up to 18 digits, in whole words
_PREFIX_WORDS = np.frombuffer(_PREFIX.ljust(16, b"\0"), "<u8")
_PREFIX_MASK = np.uint64(2**48 - 1)  # six bytes of the second word


def numbers_of_records(stats: pa.Array) -> pa.Array:
    """Return numRecords of every text: null if it is missing or invalid."""
    count = len(stats)
    if count == 0 or stats.null_count == count:
        return pa.nulls(count, pa.int64())
    numbers, known = _leading_numbers(stats)
    valid = Vector(stats).valid
    rest = np.flatnonzero(~known if valid is None else ~known & valid)
    if len(rest):
        texts = stats.take(rows_array(rest))
        for start in range(0, len(rest), CHUNK_ROWS):
            chunk = texts.slice(start, CHUNK_ROWS)
            rows = rest[start : start + CHUNK_ROWS]
            table = read_texts(chunk, pa.schema([("numRecords", pa.int64())]))
            if table is not None:
                counts = unchunked(table.column("numRecords"))
            else:
                counts = pa.array([whole(row.get("numRecords")) for row in parsed_rows(chunk)], pa.int64())
            values, said = Vector(counts).items(np.int64), Vector(counts).valid
            numbers[rows] = values
            known[rows] = True if said is None else said
    known &= numbers >= 0
    return arrow_array(numbers, known, pa.int64())


def _leading_numbers(stats: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Nearly every writer puts numRecords first: its digits are read straight from the buffer."""
    count = len(stats)
    numbers, known = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    width = np.dtype(np.int64 if pa.types.is_large_string(stats.type) else np.int32)
    offsets_buffer, data_buffer = stats.buffers()[1:3]
    if data_buffer is None or data_buffer.size < _WINDOW:
        return numbers, known
    offsets = np.frombuffer(offsets_buffer, width, count + 1, stats.offset * width.itemsize)
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data_buffer, np.uint8), _WINDOW)
    for start in range(0, count, _BLOCK_ROWS):
        ends = offsets[start : start + _BLOCK_ROWS + 1].astype(np.int64)
        starts = ends[:-1]
        room = np.flatnonzero((ends[1:] - starts >= _WINDOW) & (starts < len(windows)))
        if len(room):
            numbers[start + room], known[start + room] = _digits(windows[starts[room]])
    return numbers, known


def _digits(windows: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the number after the prefix, and whether there is one that ends inside the window."""
    words = windows.view("<u8")
    running = (words[:, 0] == _PREFIX_WORDS[0]) & ((words[:, 1] & _PREFIX_MASK) == _PREFIX_WORDS[1])
    value = np.zeros(len(windows), np.int64)
    ended = np.zeros(len(windows), np.bool_)
    for at in range(len(_PREFIX), _WINDOW):
        byte = windows[:, at].astype(np.int64)
        digit = (byte >= 48) & (byte <= 57)
        if at > len(_PREFIX):
            ended |= running & ((byte == 44) | (byte == 125))
        running &= digit
        if not running.any():
            break
        value = np.where(running, value * 10 + (byte - 48), value)
    return value, ended
