"""Values as keys whose order is the values' order. Of `value_keys` and `value_lists`.

    column type (at the build)                         key
    boolean, integer, date, time, timestamp,           the physical int64 (`metaindex.expressions.physical`) itself
    decimal of up to 18 digits
    floats                                             8 bytes: the double, big-endian; sign bit flipped where it is
                                                       positive, all bits where negative; -0.0 is 0.0; NaN is 8 bytes of
                                                       0xFF
    uint64, wider decimals                             the physical 16 bytes
    text, binary                                       the bytes; of values longer than 255: their first 248, then the
                                                       big-endian xxHash64 of the whole: 256 bytes, as no other has
    several columns                                    of each part two bytes of length, big-endian, and its bytes; cut
                                                       as texts are. Their order means nothing

As a part of several columns an integer is 8 bytes: big-endian, sign bit flipped.

Cut values are in order up to their first 248 bytes, and two that differ may (hardly) be the same 256 bytes: ranges err
wide around them, and nothing is concluded from equality of cut bytes but that a file may hold the value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector
from metaindex.expressions import physical_type, to_physical
from metaindex.index.kinds.canonical import check_form, plain_type
from metaindex.index.kinds.xxhash64 import byte_slices, hash_slices

CUT = 256
"""Bytes of a cut value. Fewer: the value is whole."""
KEPT = 248
_SIGN = np.uint64(1 << 63)


def key_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """Return the type of keys for columns of these types: int64 or binary."""
    return pa.int64() if len(types) == 1 and physical_type(plain_type(types[0])) == pa.int64() else pa.binary()


def encode_key(columns: Sequence[pa.Array], types: Sequence[pa.DataType]) -> pa.Array:
    """Return each row's key (`key_type`), null if a part is NULL. `types`: of the table's columns. Raises
    UnkeyedValuesError like `canonical.hash_values`; ArrowInvalid for a value that its type cannot hold."""
    if len(columns) == 1:
        return encode_values(columns[0], types[0])
    import pyarrow.compute as pc

    parts = [as_bytes(encode_values(values, t)) for values, t in zip(columns, types, strict=True)]
    pieces = []
    for part in parts:
        lengths = np.diff(byte_slices(part)[1]).astype(">u2").view(np.uint8).reshape(-1, 2)
        pieces += [Vector.arrow(np.ascontiguousarray(lengths), None), part]
    return _cut(pc.binary_join_element_wise(*pieces, b""))


def encode_values(values: pa.Array, t: pa.DataType) -> pa.Array:
    """The key of each value, null where it is NULL."""
    t = plain_type(t)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    domain = physical_type(t)
    if domain is None or physical_type(values.type) is None:
        raise TypeError(f"keys are made of columns whose values compare; got {t}; choose another column")
    if domain == pa.binary() and not pa.types.is_decimal(t) and not pa.types.is_uint64(t):
        return _cut(values)
    check_form(values)
    if values.type != t:
        values = values.cast(t)
    if domain == pa.float64():
        return Vector.arrow(_words(ordered(Vector(values.cast(pa.float64())).items(np.float64))), Vector(values).valid)
    return to_physical(values, t, upper=False)


def as_bytes(keys: pa.Array) -> pa.Array:
    """Keys as bytes of the same order: integers in 8, others as they are."""
    if keys.type != pa.int64():
        return keys
    return Vector.arrow(_words(Vector(keys).items(np.int64).view(np.uint64) ^ _SIGN), Vector(keys).valid)


def ordered(doubles: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """Words in the order of the doubles."""
    bits = (doubles + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    negative = (bits >> np.uint64(63)).astype(np.bool_)
    flipped = np.where(negative, ~bits, bits | np.uint64(1 << 63))
    return np.where(np.isnan(doubles), np.uint64(2**64 - 1), flipped)


def doubles(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Invert `ordered`: return the doubles of the words."""
    bits = np.where(words >> np.uint64(63), words ^ _SIGN, ~words)
    return np.where(words == np.uint64(2**64 - 1), np.nan, bits.view(np.float64))


def _words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    return words.astype(">u8").view(np.uint8).reshape(-1, 8)


def _cut(values: pa.Array) -> pa.Array:
    """Cast to binary, with long values cut."""
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())  # Arrow takes no rows of views
    lengths = _lengths(values)
    long = np.flatnonzero(lengths >= CUT)
    if not len(long):
        return values.cast(pa.binary())
    import pyarrow.compute as pc

    rows = Vector.arrow(long.astype(np.int64), None, pa.int64())
    some = values.take(rows).cast(pa.large_binary())
    held, offsets = byte_slices(some)
    ends = Vector.arrow(_words(hash_slices(held, offsets[:-1], np.diff(offsets))), None).cast(pa.large_binary())
    short = pc.binary_join_element_wise(pc.binary_slice(some, 0, KEPT), ends, pa.scalar(b"", pa.large_binary()))
    mask = np.zeros(len(values), np.bool_)
    mask[long] = True
    # Long values are gone before the rest becomes one array of short offsets.
    rest = pc.if_else(pa.array(mask), None, values.cast(pa.large_binary()))
    return pc.replace_with_mask(rest, pa.array(mask), short).cast(pa.binary())


def _lengths(values: pa.Array) -> npt.NDArray[np.int64]:
    """Bytes of each value; 0 for NULL."""
    if pa.types.is_fixed_size_binary(values.type):
        return np.full(len(values), values.type.byte_width, np.int64)
    lengths = np.diff(byte_slices(values)[1])
    return np.where(Vector(values).present, lengths, 0)
