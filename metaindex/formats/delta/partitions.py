"""Partition values: texts in the log, typed as Spark casts them (`casts`).

A timestamp's text without a zone is an instant only in some zone: bounds are as wide as zones are, and whoever asks for
values names one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector, compute
from metaindex.expressions import ColumnBounds, physical_type
from metaindex.formats.columns import (
    cast_to,
    from_domain,
    int64_values,
    map_values,
    repeated,
    rows_array,
    strings,
    take,
    unchunked,
)
from metaindex.formats.model import Leaf, partition_text

from .casts import UNKNOWN, Cast, LocalMicros, Unknown, cast

_WIDEST_ZONE = 18 * 3_600_000_000
_INT64 = np.iinfo(np.int64)


def partition_values(files: pa.Table, sources: tuple[str, ...]) -> list[pa.Array]:
    """Per partition column, the text of every file; null is NULL."""
    maps = unchunked(files.column("partition_values"))
    return [map_values(maps, source) for source in sources]


def partition_texts(names: tuple[str, ...], values: list[pa.Array], count: int) -> pa.Array:
    """`model.partition_text` of every file; each tuple is made once."""
    if not names or count == 0:
        return repeated("", count)
    codes, first = np.zeros(count, np.int64), np.zeros(1, np.int64)
    for column in values:
        of_column, said = _coded(column)
        # Codes without gaps, so that the next column's cannot overflow.
        _, first, codes = np.unique(codes * len(said) + of_column, return_index=True, return_inverse=True)
        codes = codes.astype(np.int64)
    taken = rows_array(first)
    tuples = zip(*(take(column, taken).to_pylist() for column in values), strict=True)
    return take(strings([partition_text(names, tuple_) for tuple_ in tuples]), rows_array(codes))


def _coded(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    """Every value as a small number, and what the numbers mean."""
    encoded = compute("dictionary_encode", column)
    said: list[str | None] = [*encoded.dictionary.to_pylist(), None]
    numbers, known = int64_values(cast_to(encoded.indices, pa.int64()))
    return np.where(known, numbers, len(said) - 1), said


def partition_bounds(leaf: Leaf, texts: pa.Array) -> ColumnBounds | None:
    """Bounds of a partition column in every file; counts are of one row."""
    domain = physical_type(leaf.type)
    if domain is None:
        return None
    codes, said = _coded(texts)
    casts = [None if text is None else cast(text, leaf.type) for text in said]

    def counts(flags: list[bool | None]) -> pa.Array:
        return pa.array([None if flag is None else int(flag) for flag in flags], pa.int64()).take(rows_array(codes))

    ends = [_ends(value) for value in casts]
    exact = Vector.arrow(np.array([isinstance(v, int | float | bytes) and v == v for v in casts], np.bool_)[codes])
    floating = pa.types.is_floating(leaf.type)
    return ColumnBounds(
        type=leaf.type,
        lower=_physical([low for low, _ in ends], domain).take(rows_array(codes)),
        upper=_physical([high for _, high in ends], domain).take(rows_array(codes)),
        null_count=counts([None if v is UNKNOWN else v is None for v in casts]),
        nan_count=counts([None if v is UNKNOWN else isinstance(v, float) and v != v for v in casts])
        if floating
        else None,
        row_count=pa.repeat(pa.scalar(1, pa.int64()), len(codes)),
        lower_exact=exact,
        upper_exact=exact,
    )


def _ends(value: Cast) -> tuple[Any, Any]:
    """Bounds of a value in the physical domain; None where it has none."""
    if value is None or isinstance(value, Unknown) or value != value:
        return None, None
    if isinstance(value, LocalMicros):
        return max(value.micros - _WIDEST_ZONE, _INT64.min), min(value.micros + _WIDEST_ZONE, _INT64.max)
    return (-0.0, 0.0) if isinstance(value, float) and value == 0 else (value, value)


def _physical(items: list[Any], domain: pa.DataType) -> pa.Array:
    known = np.array([item is not None for item in items], np.bool_)
    if pa.types.is_binary(domain):
        return Vector.arrow([item or b"" for item in items]).take(rows_array(np.arange(len(items)), known))
    return Vector.arrow(
        np.array([0 if item is None else item for item in items], domain.to_pandas_dtype()), known, domain
    )


def shown_values(leaf: Leaf, texts: pa.Array, time_zone: str) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
    """Return the values of a partition column as a reader in a time zone shows them, one per file, and which of them
    are known; None if values of the type are never known."""
    codes, said = _coded(texts)
    casts = [None if text is None else cast(text, leaf.type) for text in said]
    values = [v.instant(time_zone) if isinstance(v, LocalMicros) else v for v in casts]
    domain = physical_type(leaf.type)
    if domain is None:
        return None
    known = np.array([v is not UNKNOWN for v in values], np.bool_)
    physical = _physical([None if v is UNKNOWN else v for v in values], domain)
    return from_domain(physical, leaf.type).take(rows_array(codes)), known[codes]
