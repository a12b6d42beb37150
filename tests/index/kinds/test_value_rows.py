"""Bits of entries and units: they fit, they say which row group, and what is merged keeps its meaning."""

from bisect import bisect_left
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import example, given
from hypothesis import strategies as st

from metaindex.expressions import Interval, Literal
from metaindex.index.kinds.canonical import NO_VALUE, Absent
from metaindex.index.kinds.keyed import Hits
from metaindex.index.kinds.values.asked import (
    encode_each_interval,
    encode_literal,
    encode_literals,
    in_order,
)
from metaindex.index.kinds.values.encoding import CUT, KEPT, as_bytes, encode_values
from metaindex.index.kinds.values.key_reader import position
from metaindex.index.kinds.values.ordering import sort_keys
from metaindex.index.kinds.values.rows import (
    MOST_GROUPS,
    Layout,
    hash_layout,
    key_layout,
    merged_layout,
    packed,
    raw_unit,
    units_of,
)
from tests.evaluate import compare_values
from tests.strategies import TYPES, values

counts = st.integers(0, 30).flatmap(lambda bits: st.integers(0, 1 << bits))


@given(counts, st.integers(0, 1 << 40), counts)
def test_entries_are_never_negative_and_ordinals_fit(files: int, entries: int, groups: int) -> None:
    for layout in (hash_layout(files, entries, groups), key_layout(files, groups), key_layout(files, groups, True)):
        assert 0 <= layout.group_bits < layout.unit_bits
        assert layout.hash_bits + layout.unit_bits <= 63
        assert max(files - 1, 0) < 1 << (layout.unit_bits - layout.group_bits)
        assert Layout.of(layout.as_mapping()) == layout
    by_hash = hash_layout(files, entries, groups)
    if by_hash.group_bits:
        assert by_hash.hash_bits >= 40
    last = packed(np.array([2**64 - 1], np.uint64), np.array([(1 << by_hash.unit_bits) - 1], np.int64), by_hash)
    assert last[0] == (1 << (by_hash.hash_bits + by_hash.unit_bits)) - 1


@given(st.integers(0, 1 << 30), st.integers(1, 1 << 20), st.data(), st.integers(0, 16))
def test_units_name_the_row_group_that_the_contract_says(
    ordinal: int, groups: int, data: st.DataObject, group_bits: int
) -> None:
    group = data.draw(st.integers(0, groups - 1))
    (unit,) = units_of(np.array([raw_unit(ordinal, group, groups)], np.int64), group_bits).tolist()
    most = 1 << group_bits
    assert unit >> group_bits == ordinal
    if group_bits:
        assert unit & (most - 1) == (group if groups <= most else group * most // groups)
        if groups <= MOST_GROUPS:
            told = Hits(units=np.array([unit], np.int64), group_bits=group_bits).groups(ordinal, groups)
            assert told[group]


def test_what_is_merged_keeps_row_groups_where_they_mean_the_same() -> None:
    some = hash_layout(100, 10**6, 4)
    assert merged_layout([some, hash_layout(10, 1000, 1)], 110, 10**6).group_bits == 2
    squeezed = Layout(40, 23, 3, 200)  # 200 row groups share 8 numbers
    assert squeezed.shared
    assert merged_layout([some, squeezed], 110, 10**6).group_bits == 3  # files of up to 8 are as they are
    assert merged_layout([hash_layout(9, 9, 16), squeezed], 110, 10**6).group_bits == 0
    assert merged_layout([squeezed, squeezed], 110, 10**6).group_bits == 3
    assert merged_layout([Layout(40, 20, 0, 9), some], 110, 10**6).group_bits == 0
    many = merged_layout([some], 10**7, 10**11)
    assert (many.group_bits, many.hash_bits + many.unit_bits <= 63) == (0, True)
    assert merged_layout([key_layout(5, 4), key_layout(5, 1)], 10, 10).hash_bits == 0


@given(
    st.lists(st.binary(max_size=20) | st.binary(max_size=3).map(lambda end: b"https://example.com/" + end), max_size=60)
)
def test_keys_are_sorted_as_bytes_are_and_equal_ones_keep_their_order(keys: list[bytes]) -> None:
    ordered, order = sort_keys(pa.array(keys, pa.binary()))
    assert ordered.to_pylist() == sorted(keys)
    assert order.tolist() == sorted(range(len(keys)), key=lambda at: keys[at])
    assert pc.take(pa.array(keys, pa.binary()), pa.array(order)).to_pylist() == sorted(keys)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=60),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), max_size=10),
)
def test_integers_are_sorted_and_found_as_their_bytes_are(keys: list[int], asked: list[int]) -> None:
    array = pa.array(keys, pa.int64())
    ordered, order = sort_keys(array)
    assert ordered.to_pylist() == sorted(keys)
    assert order.tolist() == sorted(range(len(keys)), key=lambda at: keys[at])
    as_they_were = as_bytes(array)
    assert all(len(key) == 8 for key in as_they_were.to_pylist())
    assert sort_keys(as_they_were)[1].tolist() == order.tolist()
    with_null = as_bytes(pa.array([None, *keys, None], pa.int64()).slice(1))
    assert with_null.to_pylist() == [*as_they_were.to_pylist(), None]
    for key in asked:
        for right in (False, True):
            place = position(ordered, key, right=right)
            assert place == position(as_bytes(ordered), as_bytes(pa.array([key]))[0].as_py(), right=right)


@given(st.lists(st.binary(max_size=3), max_size=12), st.lists(st.binary(max_size=3), max_size=12))
def test_places_among_bytes_are_those_of_python(some: list[bytes], asked: list[bytes]) -> None:
    """NumPy's own byte strings lose zeros at their ends; vectors of keys do not."""
    held = in_order(some, pa.binary())
    places = [bisect_left(held.tolist(), one) for one in asked]
    assert [int(held.searchsorted(one)) for one in asked] == places
    assert np.searchsorted(held, np.array([*asked, b""], object))[:-1].tolist() == places


@given(st.data())
def test_the_order_of_keys_is_the_order_of_values(data: st.DataObject) -> None:
    t = data.draw(st.sampled_from(TYPES))
    one, other = (pa.array([data.draw(values(t))], t) for _ in range(2))
    first, second = (encode_values(array, t)[0].as_py() for array in (one, other))
    order = compare_values(one[0].as_py(), other[0].as_py())
    assert (first > second) - (first < second) == order
    assert encode_literal(Literal.of(one[0].as_py()), t, t) == first


def test_what_cannot_be_said_of_one_value_is_not_said_of_the_key() -> None:
    """No key, and not "no row has it": that would prove every file out."""
    number = pa.int64()
    assert encode_literals([Literal("x")], [number], [number]) is None
    assert encode_literals([Literal("x"), Literal(1)], [number] * 2, [number] * 2) is None
    assert encode_literals([Literal(1), Literal("x")], [number] * 2, [number] * 2) is None
    assert encode_literals([Literal("x"), Literal(2**70)], [number] * 2, [number] * 2) is NO_VALUE


WHOLE = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text("ab\0", max_size=3).flatmap(lambda end: st.sampled_from([end, "k" * (KEPT - 1) + end, "k" * CUT + end]))


@given(st.lists(st.none() | TEXTS, max_size=9))
@example(["k" * CUT, None, "k"])
def test_a_text_has_one_key_however_a_file_has_it(texts: list[str | None]) -> None:
    keys = encode_values(pa.array(texts, pa.string()), pa.string())
    dictionary = pa.dictionary(pa.int8(), pa.string())
    for type_ in (pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(), dictionary):
        if type_ == dictionary:
            array = pa.array(texts, pa.string()).dictionary_encode()
        else:
            array = pa.array(texts, pa.string()).cast(type_)
        assert encode_values(array, pa.string()).equals(keys), type_


@given(st.one_of(st.tuples(WHOLE, WHOLE, WHOLE), st.tuples(TEXTS, TEXTS, TEXTS)), st.booleans(), st.booleans())
@example((5, 9, 6), True, True)
@example((5, 9, 8), True, True)
@example(("", "k" * 300, "k" * 260), False, False)
def test_the_keys_of_an_interval_are_those_of_its_values(
    three: tuple[Any, Any, Any], low_open: bool, high_open: bool
) -> None:
    """All of them, and of whole numbers no others."""
    low, value, high = sorted(three)
    type_ = pa.int64() if isinstance(value, int) else pa.string()
    bounds = [(Literal(low), Literal(high))]
    if isinstance(value, int):  # of another type they are compared by another way
        bounds += [(Literal(Decimal(low)), Literal(Decimal(high)))]
    for one, (lower, upper) in product({low, value, high}, bounds):
        interval = Interval(lower, upper, low_open, high_open)
        inside = (low < one if low_open else low <= one) and (one < high if high_open else one <= high)
        key, keys = encode_literal(Literal(one), type_, type_), encode_each_interval([interval], type_, type_)[0]
        assert not isinstance(key, Absent)
        assert keys is not None
        within = not isinstance(keys, Absent) and keys.low <= key <= keys.high  # type: ignore[operator]
        assert within or not inside
        if isinstance(value, int):
            assert within == inside
