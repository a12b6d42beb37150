"""Canonical forms: alike hashes alike whatever the type, a literal hashes like every value that equals it, and xxHash64
is xxHash64."""

import datetime as dt
import struct
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import ColumnRef, Comparison, Literal, Op
from metaindex.index.kinds.canonical import (
    NO_VALUE,
    UnkeyedValuesError,
    answers_for,
    hash_key,
    hash_literal,
    hash_literals,
    hash_values,
)
from metaindex.index.kinds.xxhash64 import hash_slices, hash_words
from tests.evaluate import matches
from tests.strategies import TYPES, literals, values

EPOCH = dt.datetime(1970, 1, 1)


def form(value: object) -> bytes:
    """The canonical form, value by value, as the module's table says it."""
    match value:
        case bool() | int():
            fits = -(2**63) <= value < 2**63
            return int(value).to_bytes(8 if fits else 16, "little", signed=True)
        case Decimal():
            sign, digits, exponent = Context(prec=80).normalize(value).as_tuple() if value else (0, (0,), 0)
            assert isinstance(exponent, int)
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            if exponent >= 0:
                return form(unscaled * 10**exponent)
            return unscaled.to_bytes(16, "little", signed=True) + bytes([-exponent])
        case float():
            if value != value:
                return struct.pack("<Q", 0x7FF8000000000000)
            if value in (float("inf"), float("-inf")) or value != int(value) or not -(2**63) <= value < 2**63:
                return struct.pack("<d", value)
            return form(int(value))
        case dt.datetime():
            return form((value.replace(tzinfo=None) - EPOCH) // dt.timedelta(microseconds=1))
        case dt.date():
            return form((value - EPOCH.date()).days * 86_400_000_000)
        case str():
            return value.encode()
        case bytes():
            return value
    raise AssertionError(value)


def hashed(array: pa.Array) -> list[int | None]:
    hashes, valid = hash_values(array)
    return [h if valid is None or valid[i] else None for i, h in enumerate(hashes.tolist())]


typed_values = st.sampled_from(TYPES).flatmap(
    lambda t: st.tuples(st.just(t), st.lists(st.none() | values(t), max_size=12))
)


@given(typed_values, st.integers(0, 3))
def test_values_hash_as_their_form_says(case: tuple[pa.DataType, list[object]], skip: int) -> None:
    t, rows = case
    expected = [None if row is None else xxhash.xxh64_intdigest(form(row)) for row in rows]
    array = pa.array(rows, t)
    assert hashed(array) == expected
    assert hashed(array.slice(skip)) == expected[skip:]
    assert hashed(array.dictionary_encode() if not pa.types.is_decimal(t) else array) == expected


@given(st.data())
def test_a_literal_hashes_like_every_value_that_equals_it(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(TYPES))
    value, asked = data.draw(values(t)), data.draw(literals(t))
    found = hash_literal(asked, t)
    held = pa.array([value], t)
    if matches(Comparison(ColumnRef(("c",)), Op.EQ, asked), {"c": held[0].as_py()}):
        assert found is None or found == hashed(held)[0]
    elif isinstance(found, int):
        assert found != hashed(held)[0]


@given(st.data())
def test_a_columns_own_values_have_a_hash(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(TYPES))
    held = pa.array([data.draw(values(t))], t)
    assert hash_literal(Literal.of(held[0].as_py()), t) == hashed(held)[0]


ALIKE = [
    [
        pa.array([42], t)
        for t in (pa.int8(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64())
    ]
    + [
        pa.array([Decimal(42)], t)
        for t in (pa.decimal128(9, 0), pa.decimal128(9, 2), pa.decimal128(38, 10), pa.decimal256(38, 3))
    ],
    [pa.array(["é" * 20], t) for t in (pa.string(), pa.large_string(), pa.string_view())]
    + [
        pa.array(["é" * 20]).dictionary_encode(),
        pa.array([("é" * 20).encode()]),
        pa.array([("é" * 20).encode()], pa.binary(40)),
    ],
    [pa.array([2.5], t) for t in (pa.float16(), pa.float32(), pa.float64())],
    [pa.array([Decimal("2.5")], t) for t in (pa.decimal128(9, 1), pa.decimal128(18, 6), pa.decimal128(38, 30))],
    [pa.array([2**64 - 1], pa.uint64()), pa.array([Decimal(2**64 - 1)], pa.decimal128(38, 4))],
    [pa.array([0.0, -0.0][i : i + 1]) for i in (0, 1)] + [pa.array([0])],
    [
        pa.array(np.array([bits], np.uint64).view(np.float64))
        for bits in (0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001)
    ],
    [
        pa.array([dt.date(2024, 5, 6)]),
        pa.array([dt.date(2024, 5, 6)], pa.date64()),
        pa.array([dt.datetime(2024, 5, 6)], pa.timestamp("us")),
    ]
    + [pa.array([dt.datetime(2024, 5, 6)], pa.timestamp(unit)) for unit in ("s", "ms", "ns")],
    [pa.array([dt.time(3, 4)], t) for t in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))],
]


@pytest.mark.parametrize("arrays", ALIKE, ids=lambda arrays: str(arrays[0].type))
def test_the_same_value_hashes_alike_whatever_its_type(arrays: list[pa.Array]) -> None:
    assert len({hashed(array)[0] for array in arrays}) == 1


@given(st.data())
def test_where_a_type_answers_for_another_values_keep_their_hash(data: st.DataObject) -> None:
    old, new = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(TYPES))
    if not answers_for(old, new):
        return
    rows = data.draw(st.lists(values(old), min_size=1, max_size=6))
    before = pa.array(rows, old)
    try:
        after = before.cast(new)
    except pa.ArrowInvalid:
        return  # bytes that are no text, a date beyond the timestamps: no reader shows them
    assert hashed(before) == hashed(after)


def test_types_that_change_values_do_not_answer() -> None:
    assert answers_for(pa.int32(), pa.float64())
    assert not answers_for(pa.int64(), pa.float64())  # 2^53 + 1 is shown as another number
    assert not answers_for(pa.timestamp("us"), pa.timestamp("ms"))
    assert answers_for(pa.timestamp("ms"), pa.timestamp("us"))
    assert answers_for(pa.timestamp("ns"), pa.timestamp("us"))  # a fraction of a microsecond is not keyed
    assert not answers_for(pa.timestamp("us"), pa.timestamp("us", "UTC"))
    assert not answers_for(pa.list_(pa.int32()), pa.list_(pa.int32()))
    assert answers_for(pa.date32(), pa.timestamp("us"))
    assert not answers_for(pa.timestamp("us"), pa.date32())


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1], pa.int64()).view(pa.timestamp("ns")),
        pa.array([1], pa.int64()).view(pa.date64()),
        pa.array([2**62], pa.int64()).view(pa.timestamp("s")),
        pa.array([-(2**63)], pa.int64()).view(pa.timestamp("ms")),
        pa.array([1], pa.int64()).view(pa.time64("ns")),
    ],
    ids=lambda array: str(array.type),
)
def test_what_is_finer_than_the_form_or_beyond_it_is_not_keyed(array: pa.Array) -> None:
    with pytest.raises(UnkeyedValuesError, match="always read"):
        hash_values(array)


def test_what_stands_under_a_null_is_not_looked_at() -> None:
    fine = pa.Array.from_buffers(
        pa.timestamp("ns"), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(struct.pack("<qq", 1, 2000))]
    )
    assert hashed(fine) == [None, xxhash.xxh64_intdigest(form(2))]


def test_nested_values_are_refused() -> None:
    with pytest.raises(TypeError, match="choose another column"):
        hash_values(pa.array([[1]]))


def test_a_literal_that_no_value_equals_and_one_that_cannot_be_compared() -> None:
    assert hash_literal(Literal.of(3.5), pa.int32()) is NO_VALUE
    assert hash_literal(Literal.of(2**70), pa.int64()) is NO_VALUE
    assert hash_literal(Literal.of("a"), pa.int32()) is None
    assert hash_literal(Literal.of(float("nan")), pa.float64()) == hashed(pa.array([float("nan")]))[0]
    assert hash_literal(Literal.of(float("nan")), pa.int64()) is None


def test_a_combined_key_is_of_all_its_parts() -> None:
    a, b = pa.array([1, 2, None, 4]), pa.array(["x", None, "y", "z"])
    hashes, valid = hash_key([a, b])
    assert valid.tolist() == [True, False, False, True]
    parts = [xxhash.xxh64_digest(form(4)), xxhash.xxh64_digest(b"z")]
    expected = xxhash.xxh64_intdigest(b"".join(part[::-1] for part in parts))
    types = [pa.int64(), pa.string()]
    assert hashes[3] == expected == hash_literals([Literal.of(4), Literal.of("z")], types)
    assert hash_literals([Literal.of(4.5), Literal.of("z")], types) is NO_VALUE
    assert hash_literals([Literal.of("4"), Literal.of("z")], types) is None
    assert hash_literals([Literal.of("4"), Literal.of("z")], [pa.int64(), pa.int64()]) is None


@given(st.lists(st.binary(max_size=100) | st.binary(min_size=200, max_size=300), max_size=30), st.integers(1, 5))
def test_hashes_are_xxhash64(texts: list[bytes], width: int) -> None:
    lengths = np.array([len(text) for text in texts], np.int64)
    data = np.frombuffer(b"".join(texts), np.uint8)
    assert hash_slices(data, np.cumsum(lengths) - lengths, lengths).tolist() == list(map(xxhash.xxh64_intdigest, texts))
    for length in (0, 1, 4, 7, 8, 12, 31, 32, 33, 47, 64, 100, 250):
        even = np.frombuffer((data.tobytes() + b"0123456789")[:10] * 76, np.uint8)
        places = np.arange(3, dtype=np.int64) * length + width
        for starts in (places, places[::-1].copy()):
            expected = [xxhash.xxh64_intdigest(even[at : at + length].tobytes()) for at in starts.tolist()]
            assert hash_slices(even, starts, np.full(3, length, np.int64)).tolist() == expected
    words = np.arange(3 * width, dtype=np.uint64).reshape(3, width) * np.uint64(0x9E3779B97F4A7C15)
    assert hash_words(words).tolist() == [xxhash.xxh64_intdigest(row.tobytes()) for row in words]
