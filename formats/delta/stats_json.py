"""Statistics of add actions as JSON text, read by columns.

A million texts of which some columns are asked are newline-joined and given to Arrow's JSON reader with a schema of just those. Where that
fails (a number as text, a damaged row) each column is read alone, if need be row by row, and the odd row is unknown. Absent and explicit null are the same: unknown.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.physical import physical_type, to_physical
from expressions.vectors import from_vector, truths, valid_mask, vector

from .columns import one, rows_array, strings, where

FEW_TEXTS = 64
"""Up to so many texts are parsed one by one, once for all columns: starting Arrow's reader for each column costs more."""

_CHUNK_ROWS = 20_000
_BLOCK_ROWS = 1 << 14  # their windows stay in the processor's cache
_PREFIX = b'{"numRecords":'
_WINDOW = 32  # the prefix and up to 18 digits, in whole words
_PREFIX_WORDS = np.frombuffer(_PREFIX.ljust(16, b"\0"), "<u8")
_PREFIX_MASK = np.uint64(2**48 - 1)  # six bytes of the second word
_EXACT = Context(prec=100)  # Python's own context ends at 28 digits
_NOT_NUMBERS = r':\s*"(?:NaN|[+\-]?(?:Infinity|infinity|INF|Inf|inf))"'


Row = Mapping[str, Any]
Column = tuple[tuple[str, ...], pa.DataType]
"""Where a column stands in the texts (physical names), and its type in the table."""
"""A text, parsed."""


@dataclass(frozen=True, slots=True)
class LeafStatistics:
    """One column's statistics as written: bounds in the physical domain, null counts, and whether the bounds are said to be loose."""

    lower: pa.Array
    upper: pa.Array
    null_count: pa.Array
    loose: npt.NDArray[np.bool_]

    @classmethod
    def unknown(cls, count: int, type_: pa.DataType) -> LeafStatistics:
        domain = physical_type(type_)
        nothing = pa.nulls(count, domain)
        return cls(nothing, nothing, pa.nulls(count, pa.int64()), np.zeros(count, np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[LeafStatistics]) -> LeafStatistics:
        return cls(
            pa.concat_arrays([p.lower for p in parts]),
            pa.concat_arrays([p.upper for p in parts]),
            pa.concat_arrays([p.null_count for p in parts]),
            np.concatenate([p.loose for p in parts]),
        )

    def take(self, rows: npt.NDArray[np.int64]) -> LeafStatistics:
        taken = rows_array(rows)
        return LeafStatistics(
            self.lower.take(taken), self.upper.take(taken), self.null_count.take(taken), self.loose[rows]
        )


def numbers_of_records(stats: pa.Array) -> pa.Array:
    """numRecords of every text: null where it is not said, or makes no sense."""
    count = len(stats)
    if count == 0 or stats.null_count == count:
        return pa.nulls(count, pa.int64())
    numbers, known = _leading_numbers(stats)
    valid = valid_mask(stats)
    rest = np.flatnonzero(~known if valid is None else ~known & valid)
    if len(rest):
        texts = stats.take(rows_array(rest))
        for start in range(0, len(rest), _CHUNK_ROWS):
            chunk = texts.slice(start, _CHUNK_ROWS)
            rows = rest[start : start + _CHUNK_ROWS]
            table = _read(chunk, pa.schema([("numRecords", pa.int64())]))
            if table is not None:
                found = one(table.column("numRecords"))
            else:
                found = pa.array([_whole(row.get("numRecords")) for row in parsed_rows(chunk)], pa.int64())
            values, said = vector(found, np.int64), valid_mask(found)
            numbers[rows] = values
            known[rows] = True if said is None else said
    known &= numbers >= 0
    return from_vector(numbers, known, pa.int64())


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
    """The number behind the prefix, and whether there is one that ends inside the window."""
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


def read_leaves(stats: pa.Array, columns: Sequence[Column]) -> list[LeafStatistics]:
    """What the texts say of each column. The texts are read once for all of them, but where some value is not as it should be."""
    chunks = [_read_chunk(stats.slice(start, _CHUNK_ROWS), columns) for start in range(0, len(stats), _CHUNK_ROWS)]
    if not chunks:
        return [LeafStatistics.unknown(0, type_) for _, type_ in columns]
    return [LeafStatistics.joined([chunk.pop(0) for chunk in chunks]) for _ in columns]


def _read_chunk(stats: pa.Array, columns: Sequence[Column]) -> list[LeafStatistics]:
    schema = _schema(columns) if len(columns) > 1 and stats.null_count < len(stats) else None
    table = None if schema is None else _read(stats, schema)
    if table is None:
        return [_read_column(stats, source, type_) for source, type_ in columns]
    nan = np.zeros(len(stats), np.bool_)
    return [_of_table(table, source, type_, nan) for source, type_ in columns]


def _schema(columns: Sequence[Column]) -> pa.Schema | None:
    """Of the texts, as far as they speak of the columns. None where one column stands inside of another."""
    bounds = [(source, read_as) for source, type_ in columns if (read_as := _json_type(type_)) is not None]
    counts, values = _nested([(source, pa.int64()) for source, _ in columns]), _nested(bounds)
    if counts is None or values is None:
        return None
    fields = [pa.field("tightBounds", pa.bool_()), pa.field("nullCount", counts)]
    if bounds:
        fields += [pa.field("minValues", values), pa.field("maxValues", values)]
    return pa.schema(fields)


def _read_column(stats: pa.Array, source: tuple[str, ...], type_: pa.DataType) -> LeafStatistics:
    import pyarrow.compute as pc

    count = len(stats)
    if stats.null_count == count:
        return LeafStatistics.unknown(count, type_)
    schema = _schema([(source, type_)])
    assert schema is not None
    nan = np.zeros(count, np.bool_)
    table = _read(stats, schema)
    if table is None and pa.types.is_floating(type_):
        # Not-numbers stand as texts between the numbers. They bound nothing; a NaN makes both bounds doubtful.
        nan = truths(pc.match_substring(stats, '"NaN"'), null=False)
        table = _read(pc.replace_substring_regex(stats, _NOT_NUMBERS, ":null"), schema)
    if table is None:
        return read_rows(parsed_rows(stats), source, type_)
    return _of_table(table, source, type_, nan)


def _of_table(
    table: pa.Table, source: tuple[str, ...], type_: pa.DataType, nan: npt.NDArray[np.bool_]
) -> LeafStatistics:
    """One column of texts that were read. `nan`: where some value was NaN."""
    import pyarrow.compute as pc

    count = table.num_rows

    def leaf(name: str) -> pa.Array:
        return pc.struct_field(one(table.column(name)), list(source))

    loose = _loose(one(table.column("tightBounds")))
    if _json_type(type_) is None:
        nothing = pa.nulls(count, physical_type(type_))
        return LeafStatistics(nothing, nothing, leaf("nullCount"), loose)
    low, high = _typed(leaf("minValues"), type_), _typed(leaf("maxValues"), type_)
    lower, upper = to_physical(low, type_, upper=False), to_physical(high, type_, upper=True)
    if pa.types.is_floating(type_):
        doubtful = nan.copy()
        doubtful[where(pc.is_nan(low))] = doubtful[where(pc.is_nan(high))] = True
        if doubtful.any():
            keep = rows_array(np.arange(count), ~doubtful)
            lower, upper = lower.take(keep), upper.take(keep)
    return LeafStatistics(lower, upper, leaf("nullCount"), loose)


def _loose(tight: pa.Array) -> npt.NDArray[np.bool_]:
    return ~truths(tight, null=True)


def _nested(columns: Sequence[Column]) -> pa.DataType | None:
    """A struct with a leaf for each column; None where one stands inside of another."""
    tree: dict[str, Any] = {}
    for source, type_ in columns:
        at = tree
        for name in source[:-1]:
            at = at.setdefault(name, {})
            if not isinstance(at, dict):
                return None
        if source[-1] in at:
            return None
        at[source[-1]] = type_
    return _struct(tree)


def _struct(tree: Mapping[str, Any]) -> pa.DataType:
    return pa.struct([pa.field(name, _struct(of) if isinstance(of, dict) else of) for name, of in tree.items()])


def _json_type(type_: pa.DataType) -> pa.DataType | None:
    """How bounds of a type stand in JSON; None where it has none that may be believed."""
    is_ = pa.types
    if is_.is_boolean(type_) or is_.is_floating(type_) or is_.is_decimal(type_) or is_.is_string(type_):
        return type_
    if is_.is_integer(type_):
        return pa.int64()
    if is_.is_date(type_) or is_.is_timestamp(type_):
        return pa.string()
    return None


def _read(stats: pa.Array, schema: pa.Schema) -> pa.Table | None:
    """The texts as a table, one row each; None where they cannot be read so."""
    import pyarrow.compute as pc
    from pyarrow import json as arrow_json

    empty, newline = strings(["{}"])[0], strings(["\n"])[0]
    lines = stats.cast(pa.string())
    for odd in ("\n", "\r"):
        if len(where(pc.match_substring(lines, odd))):
            lines = pc.replace_substring(lines, odd, " ")  # between tokens only: inside of texts it would be escaped
    lines = pc.coalesce(lines, empty)
    # What is no object says nothing; Arrow's reader must not see it: a bare `null` crashes the process.
    others = where(pc.invert(pc.match_substring_regex(lines, r"^\s*\{")))
    if len(others):
        values = lines.to_pylist()
        for row in others.tolist():
            values[row] = "{}"
        lines = strings(values)
    offsets = from_vector(np.array([0, len(lines)], np.int32), None, pa.int32())
    text = pc.binary_join(pa.ListArray.from_arrays(offsets, lines), newline)
    data = text.buffers()[2]
    if data is None:
        return None
    try:
        table = arrow_json.read_json(
            pa.BufferReader(data.slice(0, _length(text))),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=max(_length(text) + 2, 1024)),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowException, OverflowError):
        return None
    return table if table.num_rows == len(stats) else None


def _length(text: pa.Array) -> int:
    offsets = np.frombuffer(text.buffers()[1], np.int32, 2)
    return int(offsets[1])


def _typed(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Texts of dates and times as such; what cannot be read is null."""
    if not pa.types.is_string(values.type) or pa.types.is_string(type_):
        return values
    if pa.types.is_date(type_):
        try:
            return values.cast(pa.date32())
        except pa.ArrowInvalid:
            pass
    else:
        try:
            return values.cast(type_)
        except pa.ArrowInvalid:
            pass
    return pa.array([_moment(v, type_) for v in values.to_pylist()], type_)


def _moment(text: str | None, type_: pa.DataType) -> dt.date | dt.datetime | None:
    """A date or a time; a time with a zone becomes UTC, a zone that is missing or too many makes it unknown."""
    if text is None:
        return None
    try:
        value = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if pa.types.is_date(type_):
        return value.date() if len(text) == 10 else None
    if (value.tzinfo is None) != (type_.tz is None):
        return None
    try:
        return value if value.tzinfo is None else value.astimezone(dt.UTC)
    except OverflowError:
        return None


def _parsed(text: str | None) -> Row:
    try:
        found = json.loads(text or "{}", parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def parsed_rows(stats: pa.Array) -> list[Row]:
    """What each text says, nothing where it says nothing that can be read."""
    return [_parsed(text) for text in stats.to_pylist()]


def read_rows(rows: Sequence[Row], source: tuple[str, ...], type_: pa.DataType) -> LeafStatistics:
    """As `read_leaf`, of texts that are parsed."""
    lower: list[Any] = []
    upper: list[Any] = []
    nulls: list[int | None] = []
    loose: list[bool] = []
    for row in rows:
        low, high = _at(row.get("minValues"), source), _at(row.get("maxValues"), source)
        doubtful = any(v == "NaN" or (isinstance(v, float) and v != v) for v in (low, high))
        if doubtful and pa.types.is_floating(type_):
            low = high = None
        lower.append(_value(low, type_, ROUND_FLOOR))
        upper.append(_value(high, type_, ROUND_CEILING))
        nulls.append(_whole(_at(row.get("nullCount"), source)))
        loose.append(row.get("tightBounds", True) is not True and row.get("tightBounds") is not None)
    if _json_type(type_) is None:
        nothing = pa.nulls(len(nulls), physical_type(type_))
        return LeafStatistics(nothing, nothing, pa.array(nulls, pa.int64()), np.array(loose, np.bool_))
    kept_as = pa.int64() if pa.types.is_integer(type_) else type_
    return LeafStatistics(
        to_physical(pa.array(lower, kept_as), type_, upper=False),
        to_physical(pa.array(upper, kept_as), type_, upper=True),
        pa.array(nulls, pa.int64()),
        np.array(loose, np.bool_),
    )


def _at(values: Any, source: tuple[str, ...]) -> Any:
    for name in source:
        if not isinstance(values, dict):
            return None
        values = values.get(name)
    return values


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63 else None


def _value(raw: Any, type_: pa.DataType, rounding: str) -> Any:
    """A bound as JSON has it, as a value of the type; None where it is none."""
    is_ = pa.types
    if is_.is_boolean(type_):
        return raw if isinstance(raw, bool) else None
    if is_.is_string(type_):
        return raw if isinstance(raw, str) and _is_unicode(raw) else None
    if is_.is_date(type_) or is_.is_timestamp(type_):
        return _moment(raw, type_) if isinstance(raw, str) else None
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        return None
    try:
        if is_.is_floating(type_):
            number = float(raw)
            return number if is_.is_float64(type_) else _float32(number, raw)
        exact = Decimal(raw)
        if is_.is_integer(type_):
            return _whole(int(exact.to_integral_value(rounding=rounding)))
        if is_.is_decimal(type_):
            scaled = exact.quantize(Decimal(1).scaleb(-type_.scale), rounding, _EXACT)
            return scaled if len(scaled.as_tuple().digits) <= type_.precision else None
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return None


def _is_unicode(text: str) -> bool:
    """JSON can escape half a surrogate pair; no text of ours holds one."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _float32(number: float, raw: Any) -> float | None:
    with np.errstate(over="ignore"):
        near = float(np.float32(number))
    return near if np.isfinite(near) or not np.isfinite(float(raw)) else None
