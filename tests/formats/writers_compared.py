"""Compares each statistic of a Parquet file with the file's own rows, read by the reader of today."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.formats.parquet.bounds import _decode
from metaindex.formats.parquet.file import Layouts, read_footer, shape_of
from metaindex.formats.parquet.schema import Coding, FileType
from metaindex.formats.parquet.writers import Kind, Writer


@dataclass(frozen=True)
class Said:
    """One statistic of a column of a row group. `lie`: how it differs from the rows, "" where it does not."""

    writer: str
    version: tuple[int, ...]
    kind: str  # or INT96
    dictionaries: bool
    inside: bool
    claim: str
    lie: str


def of_file(path: Path) -> Iterator[Said]:
    """Every statistic of the file's one column."""
    data = path.read_bytes()
    footer, metadata = read_footer(lambda start, length: data[start : start + length], len(data))
    layouts = Layouts(())
    root, chunks = layouts.schema_of(footer).root, shape_of(layouts, footer, metadata, {})[1]
    node, optional_above = root.children[0], False
    while node.column is None:
        optional_above, node = optional_above or node.optional, node.children[0]
    assert node.type is not None
    if node.repeated or (node.type.coding is Coding.NONE and node.type.physical != "INT96"):
        return
    writer = Writer.of(metadata.created_by or "", lambda: metadata.metadata)
    kind = "INT96" if node.type.physical == "INT96" else str(Kind.of(node.type).name)
    about = writer.name, writer.version, kind, writer.dictionaries, optional_above
    file = pq.ParquetFile(path)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunk = group.column(0)
        values = _leaf(file.read_row_group(number).column(0))
        rows = len(values)

        def said(claim: str, true: bool, how: str) -> Said:
            return Said(*about, claim, "" if true else how)

        yield said(
            "ROWS",
            group.num_rows == rows and chunk.num_values == rows,
            f"{group.num_rows}, {chunk.num_values} of {rows}",
        )
        stated = chunk.statistics
        if stated is None:
            continue
        if stated.has_null_count and rows and not (not node.optional and not optional_above):
            claimed = stated.null_count
            name = "NO_NULL" if claimed == 0 else "ALL_NULL" if claimed == rows else "SOME_NULLS"
            yield said(name, claimed == values.null_count, f"{claimed} of {values.null_count} NULLs in {rows} rows")
        floats = chunks.floats.get((number, 0))
        if floats is not None and (counted := floats.nans) is not None:
            nans = sum(value != value for value in values.drop_null().to_pylist())
            yield said("NANS", counted == nans, f"{counted} of {nans} NaN in {rows} rows")
        if stated.has_distinct_count:
            different = (
                pc.count_distinct(values).as_py()
                if values.type != pa.float16()
                else len(set(values.drop_null().to_pylist()))
            )
            yield said("DISTINCT", stated.distinct_count == different, f"{stated.distinct_count} of {different}")
        raw = (stated.min_raw, stated.max_raw) if stated.has_min_max else (None, None)
        if floats is not None:
            raw = floats.lower, floats.upper
        if raw[0] is not None and raw[1] is not None and node.type.physical != "INT96":
            yield from _bounds(said, stated, raw, node.type, values)


def _bounds(said: Any, stated: Any, raw: tuple[Any, Any], type_: FileType, values: pa.Array) -> Iterator[Said]:
    low, high = (_decode([one], type_)[0] for one in raw)
    numbers = _numbers(values, type_)
    if low.as_py() is None or _is_nan(low) or _is_nan(high):
        yield said("NAN", False, f"{low} to {high}")
        return
    least, greatest = (_number(bound) for bound in (low, high))
    how = f"{low!s:.60} to {high!s:.60}"
    if not numbers:
        yield said("ATTAINED", False, f"{how} of no values")
        yield said("BOUNDS_OF_NOTHING", False, how)
        return
    true = min(numbers), max(numbers)
    how += f" of values from {true[0]!r:.60} to {true[1]!r:.60}"
    yield said("BOUNDS", least <= true[0] and greatest >= true[1], how)
    yield said("ATTAINED", (least, greatest) == true, how)
    for flag, bound, value in (("is_min_value_exact", least, true[0]), ("is_max_value_exact", greatest, true[1])):
        if getattr(stated, flag, None):
            yield said("EXACT_FLAG", bound == value, how)


def _leaf(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    while pa.types.is_struct(array.type):
        array = pc.struct_field(array, [0])  # NULL where the struct is
    if pa.types.is_dictionary(array.type):
        array = (
            array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array.cast(array.type.value_type)
        )
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.string() if pa.types.is_string_view(array.type) else pa.binary())
    return array


def _is_nan(value: pa.Scalar) -> bool:
    return isinstance(value.as_py(), float) and math.isnan(value.as_py())


def _numbers(values: pa.Array, type_: FileType) -> list[Any]:
    """The values that are not NULL or NaN, as comparable things of Python."""
    present = values.drop_null()
    if pa.types.is_floating(present.type):
        return [float(v) for v in present.to_pylist() if not math.isnan(v)]
    if pa.types.is_integer(present.type):
        return present.to_pylist()
    if pa.types.is_integer(type_.arrow):
        present = present.cast(type_.arrow)
    return (
        [_number(value) for value in present.cast(type_.arrow) if value.is_valid]
        if _timed(type_)
        else [v.encode() if isinstance(v, str) else v for v in present.to_pylist()]
    )


def _timed(type_: FileType) -> bool:
    return pa.types.is_temporal(type_.arrow)


def _number(value: pa.Scalar) -> Any:
    if pa.types.is_temporal(value.type):
        return value.cast(pa.int32() if value.type.bit_width == 32 else pa.int64()).as_py()
    plain = value.as_py()
    return plain.encode() if isinstance(plain, str) else plain
