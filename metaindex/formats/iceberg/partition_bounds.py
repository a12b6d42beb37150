"""Bounds from the files' partition values, as `ColumnBounds` (the table of rules is in `transforms`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector
from metaindex.expressions import ColumnBounds, physical_type
from metaindex.formats.model import Leaf

from .metadata import PartitionSpec
from .statistics import Ints, counts, decimals, decode, kept, signed_zero, whole_numbers
from .transforms import Transform, made_of

if TYPE_CHECKING:
    import polars as pl

_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1
_FINEST_FIRST = (
    "identity",
    "hour",
    "day",
    "truncate",
    "month",
    "year",
    "bucket",
)  # of a bucket only NULL is known here


def partition_bounds(data: pl.DataFrame, specs: Mapping[int, PartitionSpec], leaf: Leaf) -> ColumnBounds | None:
    """Bounds from the columns p<field id> of `data`, counts of one row; unknown for files of specs that say nothing of
    the leaf, None where all do."""
    import polars as pl

    domain = physical_type(leaf.type)
    if domain is None or leaf.field.field_id is None:
        return None
    count = data.height
    parts = [
        (files, *best)
        for files, made in made_of(data, specs, leaf.field.field_id)
        if (best := _best(made, leaf.type)) is not None
    ]
    if not parts:
        return None

    lower, upper = pa.nulls(count, domain), pa.nulls(count, domain)
    nulls, nulls_known = np.zeros(count, np.int64), np.zeros(count, bool)
    nans, nans_known = np.zeros(count, np.int64), np.zeros(count, bool)
    exact = np.zeros(count, bool)
    for files, transform, values in parts:
        is_null = values.is_null().to_numpy()
        nulls_known[files], nulls[files] = True, is_null
        is_nan = np.zeros(len(files), bool)
        if values.dtype in (pl.Float32, pl.Float64):
            is_nan = values.is_nan().fill_null(False).to_numpy()
        nans_known[files], nans[files] = True, is_nan
        low, high = _bounds(values, transform, leaf.type)
        usable = ~is_null & ~is_nan
        lower, upper = _placed(lower, files, kept(low, usable)), _placed(upper, files, kept(high, usable))
        exact[files] = transform.name == "identity"
    tight = Vector.arrow(exact)
    return ColumnBounds(
        type=leaf.type,
        lower=lower,
        upper=upper,
        null_count=counts(nulls, nulls_known),
        nan_count=counts(nans, nans_known) if pa.types.is_floating(leaf.type) else None,
        row_count=Vector.arrow(np.ones(count, np.int64), None, pa.int64()),
        lower_exact=tight,
        upper_exact=tight,
    )


def identity_values(
    data: pl.DataFrame, specs: Mapping[int, PartitionSpec], leaf: Leaf
) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
    """The column's value in each file whose spec has an identity of it, NULL among the values, and which files those
    are; None where no spec has."""
    values, known = pa.nulls(data.height, leaf.type), np.zeros(data.height, np.bool_)
    for files, made in made_of(data, specs, leaf.field.field_id):
        for typed in (_as_column(said, leaf.type) for transform, said in made if transform.name == "identity"):
            if typed is not None:
                values, known[files] = _placed(values, files, typed), True
    return (values, known) if known.any() else None


def _as_column(values: pl.Series, of: pa.DataType) -> pa.Array | None:
    """Partition values as the column's type; None where they are no such values."""
    import polars as pl

    try:
        if pa.types.is_decimal(of) and values.dtype == pl.Binary:
            unscaled = [None if v is None else int.from_bytes(v, "big", signed=True) for v in values.to_list()]
            return pa.array([None if v is None else Decimal(v).scaleb(-of.scale, _WIDE) for v in unscaled], of)
        if pa.types.is_timestamp(of) and values.dtype == pl.Int32:  # a date, when it was written
            return values.to_arrow().cast(pa.int32()).cast(pa.date32()).cast(pa.timestamp(of.unit)).cast(of)
        if pa.types.is_temporal(of) and values.dtype.is_integer():
            width = pa.int32() if of.bit_width == 32 else pa.int64()
            return values.to_arrow().cast(width).view(of)
        if values.dtype == pl.String:
            return values.to_arrow().cast(pa.large_string()).cast(of)
        if values.dtype == pl.Binary:
            return values.to_arrow().cast(pa.large_binary()).cast(pa.binary()).cast(of)
        return values.to_arrow().cast(of)
    except pa.ArrowException:
        return None


_WIDE = Context(prec=50)


def _best(made: list[tuple[Transform, pl.Series]], of: pa.DataType) -> tuple[Transform, pl.Series] | None:
    """The field that says most of the column."""
    numbers = not (pa.types.is_string(of) or pa.types.is_binary(of))

    def fineness(pair: tuple[Transform, pl.Series]) -> tuple[int, int]:
        transform = pair[0]
        return _FINEST_FIRST.index(transform.name), transform.parameter if numbers else -transform.parameter

    return min((pair for pair in made if pair[0].name in _FINEST_FIRST), key=fineness, default=None)


def _placed(full: pa.Array, files: npt.NDArray[np.intp], values: pa.Array) -> pa.Array:
    if len(files) == len(full):
        return values
    index = np.full(len(full), -1, np.int64)
    index[files] = np.arange(len(files))
    taken = values.take(Vector.arrow(index, index >= 0, pa.int64()))
    return pc.coalesce(taken, full)


def _bounds(values: pl.Series, transform: Transform, of: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Lower and upper bounds of the source column, in its physical domain; rows of NULL hold anything."""
    import polars as pl

    domain = physical_type(of)
    nothing = pa.nulls(len(values), domain)
    if transform.name == "bucket":
        return nothing, nothing
    if transform.name in ("year", "month", "day", "hour"):
        return _period(values, transform.name, of) if values.dtype.is_integer() else (nothing, nothing)
    width = 1 if transform.name == "identity" else transform.parameter
    if width < 1:
        return nothing, nothing
    if values.dtype == pl.String and (pa.types.is_string(of) or pa.types.is_binary(of)):
        return _text(values, transform)
    if values.dtype == pl.Binary and pa.types.is_decimal(of):
        wide, known = decode(values.fill_null(b"").to_arrow().cast(pa.large_binary()), of, upper=False)
        low = decimals(wide, known, of)
        if width == 1:
            return low, low
        return (low, _raised(low, width)) if of.precision <= 18 else (low, nothing)
    if values.dtype == pl.Binary and (
        pa.types.is_string(of) or pa.types.is_binary(of) or pa.types.is_fixed_size_binary(of)
    ):
        raw = values.to_arrow().cast(pa.large_binary()).cast(pa.binary())
        if transform.name != "truncate":
            return raw, raw
        return raw, pc.if_else(pc.less(pc.binary_length(raw), width), raw, _successors(raw))
    if values.dtype in (pl.Float32, pl.Float64) and pa.types.is_floating(of) and width == 1:
        numbers = values.cast(pl.Float64).fill_null(0.0).to_numpy()
        return tuple(Vector.arrow(signed_zero(numbers, upper), None, pa.float64()) for upper in (False, True))
    if (
        (values.dtype.is_integer() or values.dtype == pl.Boolean)
        and pa.types.is_int64(domain)
        and not pa.types.is_decimal(of)
    ):
        read = values.cast(pl.Int64).fill_null(0).to_numpy()
        days = values.dtype == pl.Int32
        low, high = (counts(*whole_numbers(read, of, days=days, upper=upper)) for upper in (False, True))
        if width == 1:
            return low, high
        # The lowest numbers wrap round when they are cut, and land among the highest.
        sound = ~(((read > _INT32_MAX - width) & (read <= _INT32_MAX)) | (read > _INT64_MAX - width))
        return kept(low, sound), kept(_raised(high, width), sound)
    return nothing, nothing


def _raised(low: pa.Array, width: int) -> pa.Array:
    """Return low + width - 1, without overflow."""
    raised = np.minimum(Vector(low).items(np.int64), _INT64_MAX - width + 1) + (width - 1)
    return Vector.arrow(raised, Vector(low).valid, pa.int64())


def _text(values: pl.Series, transform: Transform) -> tuple[pa.Array, pa.Array]:
    raw = values.to_arrow().cast(pa.large_string()).cast(pa.string()).cast(pa.binary())
    if transform.name == "identity":
        return raw, raw
    # Nothing in UTF-8 is above 0xFF, so every text that starts with v lies at or below v + 0xFF; a shorter text was not
    # cut.
    cut = (values.str.len_chars() >= transform.parameter).fill_null(True).to_numpy()
    last = Vector.arrow([b"\xff", b""])
    beyond = pc.binary_join_element_wise(raw, last[0], last[1])
    return raw, pc.if_else(Vector.arrow(cut), beyond, raw)


def _successors(cut: pa.Array) -> pa.Array:
    """The next bytes behind all that start with a value; null where there is none. A bound includes its end, so this is
    one value more than can be there."""
    distinct = cut.dictionary_encode()
    return pa.array([_successor(value) for value in distinct.dictionary.to_pylist()], pa.binary()).take(
        distinct.indices
    )


def _successor(prefix: bytes) -> bytes | None:
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000}
_FURTHEST = {"year": 290_000, "month": 290_000 * 12, "day": 106_000_000, "hour": 2_500_000_000}


def _period(values: pl.Series, name: str, of: pa.DataType) -> tuple[pa.Array, pa.Array]:
    import polars as pl

    period = values.cast(pl.Int64).fill_null(0).to_numpy()
    known = np.abs(period) < _FURTHEST[name]
    period = np.where(known, period, 0)
    # Old writers rounded towards zero; days of dates were never rounded.
    rounded = not (name == "day" and pa.types.is_date(of))
    first = period - ((period <= 0) & rounded)
    nothing = pa.nulls(len(values), pa.int64())
    if pa.types.is_date(of):
        if name == "hour":
            return nothing, nothing
        return counts(_days(first, name), known), counts(_days(period + 1, name) - 1, known)
    if not pa.types.is_timestamp(of):
        return nothing, nothing
    last = 0 if of.unit == "ns" else 1  # nanoseconds are rounded up to the microsecond
    return counts(_start(first, name), known), counts(_start(period + 1, name) - last, known)


def _days(period: Ints, name: str) -> Ints:
    """First days of the periods, counted from 1970."""
    if name == "day":
        return period
    months = period * 12 if name == "year" else period
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _start(period: Ints, name: str) -> Ints:
    return period * _MICROS[name] if name in _MICROS else _days(period, name) * _MICROS["day"]
