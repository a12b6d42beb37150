"""Bounds of a column whose type has changed: what was written under one type, read under another.

Only where every reader maps old values to new ones in the same order and meaning; elsewhere nothing is known of the
column.

    written                  now                                   bounds
    integer                  integer as wide or wider              the same
    integer                  double                                the same; beyond 2^53 loosened by one step
    integer, decimal         decimal with room for all its digits  rescaled
    float16, float32         float32, float64                      the same
    date                     date; timestamp without zone          midnight
    timestamp                timestamp, both with a zone or both    the same; a coarser unit rounds outwards
                             without
    time                     time of another unit                  as timestamps
    string, binary (any)     string, binary (any)                  the same bytes

An older version of a table is read under the type of then, which a column may have outgrown since (`back`):
what was written by then fits it.

    written                  then                                  bounds
    integer                  narrower integer                      the same, where both fit; else unknown
    float64                  float32                               the same, where both are such values; else unknown
    decimal                  of fewer digits, of the same scale    the same, where both fit; else unknown
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, Vector, compute

from .physical import Family, physical_type, to_physical
from .statistics import ColumnBounds

_Step: TypeAlias = Callable[[pa.Array, bool], pa.Array]
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}  # of the widest integer of so many bits
_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}  # bounds of nanoseconds are whole microseconds already


def convert_bounds(bounds: ColumnBounds, to: pa.DataType, *, back: bool = False) -> ColumnBounds | None:
    """Return the bounds for a column that now has type `to`; None if order or meaning may have changed. Values that do
    not fit become null: unknown. `back`: also to a type that the column had before, of files whose bounds fit it. All
    values between such bounds fit it too (a float in double precision is rounded to one between them), so that it does
    not matter what a reader does with those that do not."""
    if bounds.type == to:
        return bounds
    step = _step(_values_of(bounds.type), _values_of(to))
    if step is None:
        return _narrowed(bounds, to) if back else None
    lower = None if bounds.lower is None else step(Vector(bounds.lower).array, False)
    upper = None if bounds.upper is None else step(Vector(bounds.upper).array, True)
    # A moved bound is attained no more, or nobody checked.
    exact = {} if step is _same else {"lower_exact": None, "upper_exact": None}
    if Family.may_be_nan(to) and not Family.may_be_nan(bounds.type):
        exact["nan_count"] = _zeros(bounds)
    return replace(bounds, type=to, lower=lower, upper=upper, **exact)


def _narrowed(bounds: ColumnBounds, to: pa.DataType) -> ColumnBounds | None:
    fit = _fit(_values_of(bounds.type), _values_of(to))
    if fit is None or bounds.lower is None or bounds.upper is None:
        return None
    lower, upper = Vector(bounds.lower).array, Vector(bounds.upper).array
    both = fit(lower) & fit(upper)
    low, high = (Vector.arrow(np.where(both, _plain(ends), 0), both, ends.type) for ends in (lower, upper))
    rounded = {"lower_exact": None, "upper_exact": None} if pa.types.is_floating(to) else {}
    return replace(bounds, type=to, lower=low, upper=high, **rounded)


def _fit(old: pa.DataType, new: pa.DataType) -> Callable[[pa.Array], Mask] | None:
    """Return a function that marks the bounds that are values of the narrower type."""
    is_ = pa.types
    if is_.is_signed_integer(old) and is_.is_signed_integer(new):
        limit = 2 ** (new.bit_width - 1)
    elif is_.is_decimal(old) and is_.is_decimal(new) and old.scale == new.scale and old.precision <= 18:
        limit = 10**new.precision
    elif is_.is_float64(old) and is_.is_float32(new):
        return _single
    else:
        return None

    def within(values: pa.Array) -> Mask:
        plain = _plain(values)
        fits: Mask = Vector(values).present & (plain >= -limit + is_.is_decimal(old)) & (plain < limit)
        return fits

    return within


def _single(values: pa.Array) -> Mask:
    plain = _plain(values)
    with np.errstate(over="ignore", invalid="ignore"):
        fits: Mask = Vector(values).present & (plain.astype(np.float32).astype(np.float64) == plain)
    return fits


def _plain(values: pa.Array) -> np.ndarray[Any, np.dtype[Any]]:
    return Vector(values).items(np.float64 if pa.types.is_floating(values.type) else np.int64)


def _values_of(t: pa.DataType) -> pa.DataType:
    return t.value_type if pa.types.is_dictionary(t) else t


def _zeros(bounds: ColumnBounds) -> pa.Array | None:
    for values in (bounds.row_count, bounds.null_count, bounds.lower, bounds.upper):
        if values is not None:
            return Vector.arrow(np.zeros(len(values), np.int64), None, pa.int64())
    return None


def _same(values: pa.Array, upper: bool) -> pa.Array:
    return values


def _step(old: pa.DataType, new: pa.DataType) -> _Step | None:
    is_ = pa.types
    if physical_type(old) is None or physical_type(new) is None:
        return None
    if old == new:
        return _same
    if is_.is_integer(old):
        return _from_integer(old, new)
    if is_.is_floating(old):
        return _same if is_.is_floating(new) and new.bit_width >= old.bit_width else None
    if is_.is_decimal(old):
        room = is_.is_decimal(new) and new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale
        return _decimal_step(old, new) if room else None
    if is_.is_date(old):
        if is_.is_date(new):
            return _same
        return _midnights if is_.is_timestamp(new) and new.tz is None else None
    if is_.is_timestamp(old):
        return _unit_step(old, new) if is_.is_timestamp(new) and (old.tz is None) == (new.tz is None) else None
    if is_.is_time(old):
        return _unit_step(old, new) if is_.is_time(new) else None
    if _is_bytes(old) and _is_bytes(new):
        return _same
    return None


def _is_bytes(t: pa.DataType) -> bool:
    return physical_type(t) == pa.binary() and not pa.types.is_decimal(t) and not pa.types.is_integer(t)


def _from_integer(old: pa.DataType, new: pa.DataType) -> _Step | None:
    is_ = pa.types
    if is_.is_uint64(old):
        return None
    if is_.is_integer(new) and not is_.is_uint64(new):
        # Unsigned values need one bit more among the signed; negative ones have no place among the unsigned.
        if is_.is_unsigned_integer(new):
            fits = is_.is_unsigned_integer(old) and new.bit_width >= old.bit_width
        else:
            fits = new.bit_width >= old.bit_width + is_.is_unsigned_integer(old)
        return _same if fits else None
    if is_.is_float64(new):
        return _to_doubles
    if is_.is_decimal(new) and new.precision - new.scale >= _DIGITS[old.bit_width]:
        return _decimal_step(pa.decimal128(18, 0), new, integers=True)
    return None


def _to_doubles(values: pa.Array, upper: bool) -> pa.Array:
    """Readers cast to the nearest double, and casting keeps order; one step outwards serves those who compare exactly
    too."""
    integers = Vector(values).items(np.int64)
    doubles = integers.astype(np.float64)
    loose = np.nextafter(doubles, np.inf if upper else -np.inf)
    exact = (integers >= -(2**53)) & (integers <= 2**53)
    return Vector.arrow(np.where(exact, doubles, loose), Vector(values).valid, pa.float64())


def _midnights(values: pa.Array, upper: bool) -> pa.Array:
    days = Vector(values).items(np.int64)
    limit = 2**63 // 86_400_000_000 - 1
    fits = (np.abs(days) <= limit) & Vector(values).present
    return Vector.arrow(np.where(fits, days, 0) * 86_400_000_000, fits, pa.int64())


def _unit_step(old: pa.DataType, new: pa.DataType) -> _Step:
    """A coarser unit cuts the values, down or towards zero as the reader likes: bounds move to the next whole unit
    outwards."""
    micros = _MICROS[new.unit]
    if micros <= _MICROS[old.unit]:
        return _same

    def step(values: pa.Array, upper: bool) -> pa.Array:
        raw = Vector(values).items(np.int64)
        down = raw // micros
        whole = down + (raw - down * micros != 0) if upper else down
        fits = np.abs(whole) <= 2**63 // micros - 1
        moved = np.where(fits, whole, 0) * micros
        return Vector.arrow(moved, fits & Vector(values).present, pa.int64())

    return step


def _decimal_step(old: pa.DataType, new: pa.DataType, *, integers: bool = False) -> _Step:
    def step(values: pa.Array, upper: bool) -> pa.Array:
        exact = values.cast(pa.decimal128(19, 0)) if integers else _decimals(values, old)
        return to_physical(exact.cast(pa.decimal128(new.precision, new.scale)), new, upper=upper)

    return step


def _decimals(values: pa.Array, t: pa.DataType) -> pa.Array:
    """Physical values of a decimal type as Arrow decimals again."""
    words = np.zeros((len(values), 2), np.int64)
    valid = Vector(values).valid
    if t.precision <= 18:
        words[:, 0] = Vector(values).items(np.int64)
        words[:, 1] = words[:, 0] >> 63
    else:
        fixed = values.cast(pa.binary(16)) if valid is None else _filled(values).cast(pa.binary(16))
        rows = Vector(fixed).items(np.uint8, 16).reshape(-1, 16).copy()
        rows[:, 0] ^= 0x80
        words = np.ascontiguousarray(rows[:, ::-1]).view(np.int64).reshape(-1, 2)
    return Vector.arrow(words, valid, pa.decimal128(t.precision, t.scale))


def _filled(values: pa.Array) -> pa.Array:
    return compute("coalesce", values, pa.scalar(b"\x80" + bytes(15), values.type))
