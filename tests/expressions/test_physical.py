"""Physical domains keep order, round outwards, and place literals without loss."""

import datetime as dt
import functools
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import LiteralTypeError
from metaindex.expressions import (
    Family,
    Interval,
    Literal,
    PhysicalInterval,
    from_physical,
    physical_type,
    to_physical,
)
from metaindex.expressions.places import physical_points, prefix_interval
from tests.evaluate import compare_values
from tests.strategies import TYPES, literals, values

MORE_TYPES = (
    *TYPES,
    pa.int16(),
    pa.uint8(),
    pa.large_string(),
    pa.large_binary(),
    pa.dictionary(pa.int32(), pa.string()),
)


def values_of(t: pa.DataType) -> st.SearchStrategy[object]:
    return values(t.value_type if pa.types.is_dictionary(t) else t)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[pa.DataType, object, object]:
    t = draw(st.sampled_from(MORE_TYPES))
    number = values_of(t).filter(lambda v: v == v)
    return t, draw(number), draw(number)


@given(pairs())
def test_physical_order_is_the_order_of_values(case: tuple[pa.DataType, object, object]) -> None:
    t, a, b = case
    low_a, low_b = to_physical(pa.array([a, b], t), t, upper=False).to_pylist()
    up_a, up_b = to_physical(pa.array([a, b], t), t, upper=True).to_pylist()
    order = compare_values(a, b)
    if order == 0:
        assert low_a == low_b
        assert up_a == up_b
        assert low_a <= up_a
    elif order < 0:
        assert up_a < low_b  # these types are not coarser than their domain
    else:
        assert low_a > up_b


@given(pairs())
def test_people_read_back_the_value(case: tuple[pa.DataType, object, object]) -> None:
    t, a, _ = case
    (stored,) = to_physical(pa.array([a], t), t, upper=True).to_pylist()
    read = from_physical(stored, t)
    assert compare_values(read, a) == 0


@pytest.mark.parametrize("t", MORE_TYPES, ids=str)
@given(data=st.data())
def test_physical_arrays_have_the_promised_type_and_keep_nulls_of_slices(t: pa.DataType, data: st.DataObject) -> None:
    one = data.draw(values_of(t).filter(lambda v: v == v))
    array = pa.array([None, one, None, one, one, None], t).slice(1, 4)
    for upper in (False, True):
        out = to_physical(array, t, upper=upper)
        assert out.type == physical_type(t)
        assert out.is_valid().to_pylist() == [True, False, True, True]
        assert out[0] == out[2] == out[3]


@pytest.mark.parametrize(
    "t",
    [
        pa.null(),
        pa.list_(pa.int32()),
        pa.struct([("a", pa.int32())]),
        pa.map_(pa.string(), pa.int32()),
        pa.duration("us"),
        pa.decimal256(50, 2),
        pa.decimal128(5, -2),
        pa.month_day_nano_interval(),
    ],
    ids=str,
)
def test_types_without_bounds_are_none(t: pa.DataType) -> None:
    assert physical_type(t) is None
    with pytest.raises(TypeError, match="physical_type"):
        to_physical(pa.nulls(1, t), t, upper=True)
    assert PhysicalInterval.of(Interval(Literal(1), None), t) is None


def test_nan_is_no_bound_and_zero_covers_both_signs() -> None:
    column = pa.array([math.nan, 0.0, -0.0, None, -math.inf], pa.float32())
    lower, upper = (to_physical(column, pa.float32(), upper=u).to_pylist() for u in (False, True))
    assert lower[0] is None
    assert upper[0] is None
    assert lower[3] is None
    assert [math.copysign(1, v) for v in (*lower[1:3], *upper[1:3])] == [-1, -1, 1, 1]
    assert lower[4] == upper[4] == -math.inf


def test_half_floats_are_numbers() -> None:
    column = pa.array([np.float16(1.5), np.float16("nan")], pa.float16())
    assert to_physical(column, pa.float16(), upper=True).to_pylist() == [1.5, None]


@pytest.mark.parametrize(
    ("nanos", "low", "high"), [(1500, 1, 2), (-1500, -2, -1), (2000, 2, 2), (-2000, -2, -2), (-1, -1, 0)]
)
def test_nanoseconds_round_outwards(nanos: int, low: int, high: int) -> None:
    for t in (pa.timestamp("ns"), pa.timestamp("ns", tz="UTC"), pa.time64("ns")):
        if pa.types.is_time(t) and nanos < 0:
            continue
        column = pa.array([nanos], pa.int64()).view(t)
        assert to_physical(column, t, upper=False).to_pylist() == [low]
        assert to_physical(column, t, upper=True).to_pylist() == [high]


def test_timestamps_beyond_microseconds_are_unknown() -> None:
    for unit in ("s", "ms"):
        t = pa.timestamp(unit)
        column = pa.array([2**62, -(2**62), 1], pa.int64()).view(t)
        low = to_physical(column, t, upper=False).to_pylist()
        assert low[:2] == [None, None]
        assert low[2] is not None


def test_dates_of_both_widths_are_days() -> None:
    day = dt.date(1969, 12, 31)
    for t in (pa.date32(), pa.date64()):
        assert to_physical(pa.array([day], t), t, upper=False).to_pylist() == [-1]
        assert to_physical(pa.array([day], t), t, upper=True).to_pylist() == [-1]


def test_values_beyond_the_calendar_are_text_for_people() -> None:
    assert from_physical(10_000_000, pa.date32()) == "29349-01-26"
    assert str(from_physical(2**62, pa.timestamp("us", tz="UTC"))).endswith("Z")
    assert from_physical(b"\xff", pa.string()) == "\\xff"
    assert from_physical(None, pa.int32()) is None


@st.composite
def intervals(draw: st.DrawFn) -> tuple[pa.DataType, Interval, object]:
    t = draw(st.sampled_from(TYPES))
    end = st.none() | literals(t)
    return (
        t,
        Interval(draw(end), draw(end), draw(st.booleans()), draw(st.booleans())),
        draw(values(t).filter(lambda v: v == v)),
    )


@given(intervals())
def test_a_value_inside_the_interval_is_inside_its_physical_one(case: tuple[pa.DataType, Interval, object]) -> None:
    t, interval, value = case
    physical = PhysicalInterval.of(interval, t)
    if physical is None:
        return
    inside = _inside(value, interval)
    if physical.empty:
        assert not inside
        return
    (v,) = to_physical(pa.array([value], t), t, upper=True).to_pylist()
    above = physical.low is None or v > physical.low or (v == physical.low and not physical.low_open)
    below = physical.high is None or v < physical.high or (v == physical.high and not physical.high_open)
    assert (above and below) == inside


@given(st.data())
def test_many_intervals_are_placed_as_each_alone(data: st.DataObject) -> None:
    t, other = data.draw(st.sampled_from(MORE_TYPES)), data.draw(st.sampled_from(TYPES))
    numbers = st.sampled_from([0, 1, -1, 2**63 - 1, 2**63 - 2, -(2**63), 2**63, 2**70]).map(Literal)
    texts = st.sampled_from(["", "a", "b", "ä", "\ud800"]).map(Literal)
    end = st.none() | literals(other) | numbers | texts
    some = data.draw(st.lists(st.builds(Interval, end, end, st.booleans(), st.booleans())))
    assert PhysicalInterval.of_each(some, t) == [PhysicalInterval.of(one, t) for one in some]


def _inside(value: object, interval: Interval) -> bool:
    low, high = interval.low, interval.high
    above = low is None or compare_values(value, low.value) >= interval.low_open
    below = high is None or compare_values(value, high.value) <= -interval.high_open
    return above and below


@pytest.mark.parametrize(
    ("interval", "t", "low", "high"),
    [
        (Interval(Literal(3.5), None, low_open=True), pa.int32(), 4, None),
        (Interval(None, Literal(3.5), high_open=True), pa.int32(), None, 3),
        (Interval(Literal(3), Literal(9), True, True), pa.int64(), 4, 8),
        (Interval(None, Literal(1000), high_open=True), pa.int8(), None, 999),
        (Interval(None, Literal(2**70)), pa.int64(), None, None),
        (Interval(Literal(-math.inf), Literal(math.inf)), pa.int64(), None, None),
        (Interval(Literal(Decimal("1.005")), None), pa.decimal128(9, 2), 101, None),
        (Interval(None, Literal(dt.datetime(1970, 1, 2, 12))), pa.date32(), None, 1),
        (Interval(Literal(dt.date(1970, 1, 2)), None), pa.timestamp("us"), 86_400_000_000, None),
    ],
)
def test_literals_between_or_beyond_values_move_to_a_neighbour(
    interval: Interval, t: pa.DataType, low: object, high: object
) -> None:
    physical = PhysicalInterval.of(interval, t)
    assert not physical.empty
    assert (physical.low, physical.high) == (low, high)


@pytest.mark.parametrize(
    ("interval", "t"),
    [
        (Interval(Literal(3.2), Literal(3.8)), pa.int32()),
        (Interval(Literal(3), Literal(4), True, True), pa.int64()),
        (Interval(Literal(2**63), None), pa.int64()),
        (Interval(Literal(2**63 - 1), None, low_open=True), pa.int64()),
        (Interval(None, Literal(-1)), pa.uint64()),
        (Interval(Literal("b"), Literal("a")), pa.string()),
        (Interval(Literal("a"), Literal("a"), high_open=True), pa.string()),
        (Interval(Literal(dt.datetime(2020, 1, 1, 12)), Literal(dt.datetime(2020, 1, 1, 12))), pa.date32()),
    ],
)
def test_intervals_without_a_value_are_empty(interval: Interval, t: pa.DataType) -> None:
    physical = PhysicalInterval.of(interval, t)
    assert physical.empty


@pytest.mark.parametrize(
    ("lit", "t"),
    [
        (Literal(2.0**53), pa.int64()),  # an engine compares as doubles there
        (Literal(2.0**53), pa.uint64()),
        (Literal(2**53 + 1), pa.float64()),
        (Literal(Decimal("0.1")), pa.float64()),
        (Literal(0.5), pa.decimal128(9, 2)),
        (Literal(math.nan), pa.float64()),
        (Literal("5"), pa.int32()),
        (Literal(True), pa.int32()),
        (Literal(1), pa.bool_()),
        (Literal(1), pa.string()),
        (Literal("\ud800"), pa.string()),
        (Literal(dt.datetime(2020, 1, 1)), pa.timestamp("us", tz="UTC")),
        (Literal(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)), pa.timestamp("us")),
        (Literal(dt.date(2020, 1, 1)), pa.timestamp("us", tz="UTC")),
        (Literal(1), pa.time64("us")),
        (Literal(None), pa.int32()),
    ],
)
def test_what_engines_may_compare_otherwise_is_unknown(lit: Literal, t: pa.DataType) -> None:
    assert PhysicalInterval.of(Interval(lit, None), t) is None
    assert PhysicalInterval.of(Interval(None, lit), t) is None
    assert physical_points([lit], t) is None


def test_a_physical_point_is_the_literal_or_none() -> None:
    assert physical_points([Literal(3.0), Literal(3.5)], pa.int32()) == [3, None]
    assert physical_points([Literal("é")], pa.string()) == ["é".encode()]
    assert physical_points([Literal(5)], pa.uint64()) == [b"\x80" + bytes(14) + b"\x05"]


@given(
    st.text(st.sampled_from("ab\x7f\u07ff\ud7ff\ue000\uffff😀\U0010ffff"), max_size=5),
    st.text(max_size=5),
    st.text(max_size=9),
)
def test_prefix_interval_holds_all_texts_with_the_prefix_and_no_other(prefix: str, rest: str, other: str) -> None:
    interval = prefix_interval(prefix)
    assert _inside(prefix + rest, interval)
    assert _inside(other, interval) == other.startswith(prefix)


@pytest.mark.parametrize(
    ("prefix", "high"),
    [
        ("", None),
        ("a", "b"),
        ("a\U0010ffff", "b"),
        ("\U0010ffff", None),
        ("\ud7ff", "\ue000"),
        ("\uffff", "\U00010000"),
        ("z\x7f", "z\x80"),
    ],
)
def test_prefix_successor_is_by_code_points_and_no_surrogate(prefix: str, high: str | None) -> None:
    assert prefix_interval(prefix).high == (None if high is None else Literal(high))


def test_which_types_have_nan() -> None:
    assert Family.may_be_nan(pa.float16())
    assert Family.may_be_nan(pa.dictionary(pa.int8(), pa.float64()))
    assert Family.may_be_nan(pa.list_(pa.float32()))  # not understood, so it may
    assert not Family.may_be_nan(pa.int64())
    assert not Family.may_be_nan(pa.decimal128(9, 2))


def test_sorting_by_physical_value_is_sorting_by_value() -> None:
    numbers = [Decimal(n).scaleb(-2) for n in (-(10**30), -5, -1, 0, 1, 7, 10**30)]
    t = pa.decimal128(38, 2)
    stored = to_physical(pa.array(numbers, t), t, upper=False).to_pylist()
    assert stored == sorted(stored)
    assert sorted(numbers, key=functools.cmp_to_key(compare_values)) == numbers


def test_incomparable_bounds_are_an_error_only_when_values_are_compared_directly() -> None:
    with pytest.raises(LiteralTypeError):
        compare_values("a", 1)
