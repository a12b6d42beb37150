"""Statistics of add actions as JSON text, read by columns.

A million texts of which some columns are asked are newline-joined and given to Arrow's JSON reader with a schema of
just those. Where that fails (a number as text, a damaged row) each column is read alone, if need be row by row, and the
odd row is unknown. Absent and explicit null are the same: unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow._compute import ExtractRegexOptions

from metaindex.core import Vector, compute
from metaindex.expressions import physical_type, to_physical
from metaindex.formats.columns import cast_to, child, int64_values, rows_array, strings, unchunked, where

from .stats_rows import Column, LeafStatistics, json_type, moment, parsed_rows, read_rows, whole

FEW_TEXTS = 64
"""Up to so many texts are parsed one by one, once for all columns: starting Arrow's reader for each column costs
more."""

CHUNK_ROWS = 20_000
"""Texts that are given to the reader at a time."""
_NOT_NUMBERS = r':\s*"(?:NaN|[+\-]?(?:Infinity|infinity|INF|Inf|inf))"'


def read_leaves(stats: pa.Array, columns: Sequence[Column]) -> list[LeafStatistics]:
    """Parse each column's statistics from the texts. One pass reads all columns, unless a value is malformed."""
    chunks = [_read_chunk(stats.slice(start, CHUNK_ROWS), columns) for start in range(0, len(stats), CHUNK_ROWS)]
    if not chunks:
        return [LeafStatistics.unknown(0, type_) for _, type_ in columns]
    return [LeafStatistics.joined([chunk.pop(0) for chunk in chunks]) for _ in columns]


def _read_chunk(stats: pa.Array, columns: Sequence[Column]) -> list[LeafStatistics]:
    import pyarrow.compute as pc

    count = len(stats)
    if stats.null_count == count:
        return [LeafStatistics.unknown(count, type_) for _, type_ in columns]
    schema, nan = _schema(columns), np.zeros(count, np.bool_)
    table = None if schema is None else read_texts(stats, schema)
    if table is None and len(columns) > 1:
        return [alone for column in columns for alone in _read_chunk(stats, [column])]
    if table is None and schema is not None and any(pa.types.is_floating(type_) for _, type_ in columns):
        # Not-numbers stand as texts between the numbers. They bound nothing; a NaN makes both bounds doubtful.
        nan = Vector(pc.match_substring(stats, '"NaN"')).truths(null=False)
        table = read_texts(pc.replace_substring_regex(stats, _NOT_NUMBERS, ":null"), schema)
    if table is None:
        return [read_rows(parsed_rows(stats), source, type_) for source, type_ in columns]
    return [_of_table(table, source, type_, nan) for source, type_ in columns]


def _schema(columns: Sequence[Column]) -> pa.Schema | None:
    """Return the schema of the texts, restricted to the columns. None if one column is inside another."""
    bounds = [(source, read_as) for source, type_ in columns if (read_as := json_type(type_)) is not None]
    counts, values = _nested([(source, pa.int64()) for source, _ in columns]), _nested(bounds)
    if counts is None or values is None:
        return None
    fields = [pa.field("tightBounds", pa.bool_()), pa.field("nullCount", counts)]
    if bounds:
        fields += [pa.field("minValues", values), pa.field("maxValues", values)]
    return pa.schema(fields)


def _of_table(
    table: pa.Table, source: tuple[str, ...], type_: pa.DataType, nan: npt.NDArray[np.bool_]
) -> LeafStatistics:
    """Return the statistics of one column of parsed texts. `nan`: rows in which a value was NaN."""
    import pyarrow.compute as pc

    count = table.num_rows

    def leaf(name: str) -> pa.Array:
        return pc.struct_field(unchunked(table.column(name)), list(source))

    loose = ~Vector(table.column("tightBounds")).truths(null=True)
    if json_type(type_) is None:
        nothing = pa.nulls(count, physical_type(type_))
        return LeafStatistics(nothing, nothing, leaf("nullCount"), loose)
    low, high = _typed(leaf("minValues"), type_), _typed(leaf("maxValues"), type_)
    lower, upper = to_physical(low, type_, upper=False), to_physical(high, type_, upper=True)
    return LeafStatistics(lower, upper, leaf("nullCount"), loose).without_nan(low, high, also=nan)


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


def read_texts(stats: pa.Array, schema: pa.Schema) -> pa.Table | None:
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
    offsets = Vector.arrow(np.array([0, len(lines)], np.int32), None, pa.int32())
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
    try:
        return values.cast(pa.date32() if pa.types.is_date(type_) else type_)
    except pa.ArrowInvalid:
        pass
    return pa.array([moment(v, type_) for v in values.to_pylist()], type_)


_FIRST = r'^\{"numRecords":(?P<count>[0-9]{1,18})[,}]'


def numbers_of_records(stats: pa.Array) -> pa.Array:
    """Return numRecords of every text: null if it is missing or invalid."""
    count = len(stats)
    if count == 0 or stats.null_count == count:
        return pa.nulls(count, pa.int64())
    # Nearly every writer puts the number first.
    first = compute("extract_regex", stats, options=ExtractRegexOptions(_FIRST))
    leading, known = int64_values(cast_to(child(first, "count"), pa.int64()))
    numbers = leading.copy()
    rest = np.flatnonzero(~known & Vector(stats).present)
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
            numbers[rows], known[rows] = Vector(counts).items(np.int64), Vector(counts).present
    known &= numbers >= 0
    return Vector.arrow(numbers, known, pa.int64())
