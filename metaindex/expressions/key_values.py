"""Values of keys as values of the column that they are compared with: by the table of literals, or refused by name.

Kinds whose comparison with the column is plain (integers of any width, texts, decimals of as many digits, times) are
brought over as vectors; of all others each distinct value is a literal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ArgumentError, LiteralTypeError, MetaIndexError, Vector, first_line

from .coercion import Coerced, coerce, family
from .engines.grid import on_grid
from .literals import Literal
from .physical import Family

MOST_LITERALS = 1_000_000
_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def as_column(keys: pa.ChunkedArray, t: pa.DataType, name: str, time_zone: str, *, plain: bool = False) -> pa.Array:
    """Convert each key to the value of type `t` that equals it, NULL if none does. Raises LiteralTypeError for a key of
    a type, or with a value, that the column is not compared with. `plain`: also for another family of types, which
    engines compare each in its own way."""
    values = Vector(keys).array
    if pa.types.is_nested(values.type):
        raise LiteralTypeError(f"a key must be a value; those of {name!r} are {values.type}; take a field of theirs")
    if family(t) is None:
        raise LiteralTypeError(
            f"keys are compared with columns whose values have an order; {name!r} is {t}; leave it out of on="
        )
    held = pa.binary(16) if isinstance(t, pa.UuidType) else t
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), held)
    if isinstance(t, pa.UuidType) and isinstance(values.type, pa.UuidType):
        return values.storage
    if values.type.equals(t):
        return values
    as_held = _as_vector(values, t)
    if as_held is None and plain:
        raise LiteralTypeError(
            f"a condition is the same to every engine where keys have their column's type; {name!r} is {t}, and the"
            f" keys are {values.type}; cast them to {t}"
        )
    return _as_literals(values, t, held, name, time_zone) if as_held is None else as_held


def _as_vector(values: pa.Array, t: pa.DataType) -> pa.Array | None:
    s, is_ = values.type, pa.types
    if is_.is_integer(s) and is_.is_integer(t):
        return _integers(values, t)
    if is_.is_floating(s) and is_.is_floating(t):
        return _floats(values, t)
    if Family.of(s) is Family.of(t) is Family.TEXT:
        return values.cast(t)
    if Family.of(s) is Family.of(t) is Family.BYTES:
        return _bytes(values, t)
    if is_.is_date32(s) and is_.is_date32(t):
        return values
    if is_.is_timestamp(s) and is_.is_timestamp(t) and (s.tz is None) == (t.tz is None):
        return _times(values, t)
    if is_.is_time(s) and is_.is_time(t):
        return _times(values, t)
    room = is_.is_decimal(s) and is_.is_decimal(t) and s.scale <= t.scale
    if room and s.precision - s.scale <= t.precision - t.scale:
        return values.cast(t)
    return None


def _integers(values: pa.Array, t: pa.DataType) -> pa.Array:
    mine, theirs = np.iinfo(t.to_pandas_dtype()), np.iinfo(values.type.to_pandas_dtype())
    low, high = max(mine.min, theirs.min), min(mine.max, theirs.max)
    raw = Vector(values).items(values.type.to_pandas_dtype())
    fits = (raw >= raw.dtype.type(low)) & (raw <= raw.dtype.type(high))
    return Vector.arrow(np.where(fits, raw, 0).astype(t.to_pandas_dtype()), _both(values, fits), t)


def _floats(values: pa.Array, t: pa.DataType) -> pa.Array:
    dtypes = {16: np.float16, 32: np.float32, 64: np.float64}
    raw = Vector(values).items(dtypes[values.type.bit_width]).astype(np.float64)
    with np.errstate(over="ignore"):
        cast = raw.astype(dtypes[t.bit_width])
    same = (cast.astype(np.float64) == raw) | np.isnan(raw)
    return Vector.arrow(cast, _both(values, same), t)


def _bytes(values: pa.Array, t: pa.DataType) -> pa.Array:
    if not pa.types.is_fixed_size_binary(t):
        return values.cast(pa.binary()).cast(t)
    fits = pc.equal(pc.binary_length(values.cast(pa.binary())), t.byte_width)
    return pc.if_else(fits, values.cast(pa.binary()), None).cast(t)


def _times(values: pa.Array, t: pa.DataType) -> pa.Array:
    """Convert to another unit: a value finer than the unit, or beyond its range, equals none and becomes NULL."""
    raw = Vector(values).items(np.int32 if values.type.bit_width == 32 else np.int64).astype(np.int64)
    old, new = _NANOS[values.type.unit], _NANOS[t.unit]
    if old >= new:
        factor = old // new
        limit = (2**31 if t.bit_width == 32 else 2**63) - 1
        fits = np.abs(np.maximum(raw, -(2**63) + 1)) <= limit // factor
        moved = np.where(fits, raw, 0) * factor
    else:
        moved = raw // (new // old)
        fits = moved * (new // old) == raw
    return Vector.arrow(moved.astype(np.int32 if t.bit_width == 32 else np.int64), _both(values, fits), t)


def _both(values: pa.Array, fits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return fits & Vector(values).present


def _as_literals(values: pa.Array, t: pa.DataType, held: pa.DataType, name: str, time_zone: str) -> pa.Array:
    plain = values.storage if isinstance(values.type, pa.UuidType) else values
    coded = plain if pa.types.is_dictionary(plain.type) else plain.dictionary_encode()
    distinct = coded.dictionary
    if isinstance(values.type, pa.UuidType):
        distinct = pa.ExtensionArray.from_storage(values.type, distinct)
    if len(distinct) > MOST_LITERALS:
        raise ArgumentError(
            f"keys of another type than their column are at most {MOST_LITERALS:,}; {name!r} is {t}, and the keys are"
            f" {len(distinct):,} of {distinct.type}; cast them to {t}"
        )
    try:
        given = distinct.to_pylist()
    except (ValueError, OverflowError) as error:
        raise LiteralTypeError(
            f"a key of another type than its column is a value that Python has; {name!r} is {t}, and the keys are"
            f" {distinct.type} with one that it has not ({first_line(error)}); cast them to {t}"
        ) from error
    taken = [_value(value, t, name, time_zone) for value in given]
    return pa.array(taken, held).take(coded.indices)


def _value(value: Any, t: pa.DataType, name: str, time_zone: str) -> Any:
    """Return the value of the column that equals a key; None if none does."""
    if value is None:
        return None
    try:
        given = Literal.of(value)
        answer = coerce(given, t, time_zone)
    except LiteralTypeError:
        raise
    except MetaIndexError as error:
        raise LiteralTypeError(f"a key must be a value; that of {name!r} is {value!r} ({error})") from error
    if isinstance(answer, str):
        raise LiteralTypeError(
            f"keys go with their column by the table of literals; {name!r} is {t}, and a key is {given.value!r};"
            f" {answer}"
        )
    if isinstance(answer, Coerced):
        raise LiteralTypeError(
            f"keys are compared as their column's values are; {name!r} is {t}, and Spark would compare the key"
            f" {given.value!r} in another type; cast the keys to {t}"
        )
    return _held(answer, t)


def _held(answer: Literal, t: pa.DataType) -> Any:
    value: Any = answer.value
    if isinstance(t, pa.UuidType):
        return value.bytes
    if on_grid(t, value) is not None:
        return None
    if pa.types.is_integer(t) or pa.types.is_decimal(t):
        return value
    if pa.types.is_floating(t):
        double = float(value)
        with np.errstate(over="ignore"):
            same = double != double or float(np.dtype(t.to_pandas_dtype()).type(double)) == double
        return double if same else None
    if pa.types.is_fixed_size_binary(t) and len(value) != t.byte_width:
        return None
    return value
