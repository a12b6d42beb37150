"""Bounds written under one type, read under another: still around every value as it reads now, or unknown."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import ColumnBounds, ColumnRef, convert_bounds, physical_type, to_physical
from metaindex.expressions.arrow_statistics import ArrowStatistics
from tests.strategies import values

WIDENED = [
    (pa.int8(), pa.int16()),
    (pa.int8(), pa.int64()),
    (pa.int32(), pa.int64()),
    (pa.uint8(), pa.int16()),
    (pa.uint32(), pa.int64()),
    (pa.int32(), pa.float64()),
    (pa.int64(), pa.float64()),
    (pa.int32(), pa.decimal128(10, 0)),
    (pa.int32(), pa.decimal128(18, 4)),
    (pa.int64(), pa.decimal128(38, 10)),
    (pa.float32(), pa.float64()),
    (pa.decimal128(9, 2), pa.decimal128(18, 2)),
    (pa.decimal128(9, 2), pa.decimal128(38, 10)),
    (pa.decimal128(20, 2), pa.decimal128(38, 4)),
    (pa.date32(), pa.timestamp("us")),
    (pa.date32(), pa.date64()),
    (pa.timestamp("us"), pa.timestamp("ms")),
    (pa.timestamp("us", tz="UTC"), pa.timestamp("us", tz="Europe/Berlin")),
    (pa.string(), pa.binary()),
    (pa.string(), pa.large_string()),
    (pa.binary(), pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), pa.string()),
]
"""Pairs where a reader may turn old values into new ones."""


@pytest.mark.parametrize(("old", "new"), WIDENED, ids=str)
@given(data=st.data())
def test_values_read_as_the_new_type_stay_inside(old: pa.DataType, new: pa.DataType, data: st.DataObject) -> None:
    plain = old.value_type if pa.types.is_dictionary(old) else old
    column = data.draw(st.lists(values(plain).filter(lambda v: v == v), min_size=1, max_size=4))
    written = pa.array(column, plain)
    bounds = ColumnBounds(old, *(to_physical(written, old, upper=u) for u in (False, True)))
    now = convert_bounds(bounds, new)
    assert now.type == new
    if pa.types.is_string(new):
        written = written.filter(pa.array([_is_text(v) for v in column]))
        if len(written) < len(column):
            return
    try:
        read = (
            written.cast(new, safe=False)
            if pa.types.is_timestamp(new) or pa.types.is_floating(new)
            else written.cast(new)
        )
    except pa.ArrowInvalid:
        return  # the reader itself fails
    low, high = (to_physical(read, new, upper=u) for u in (False, True))
    assert now.lower.type == now.upper.type == physical_type(new)
    for bound, value in zip(now.lower.to_pylist(), low.to_pylist(), strict=True):
        assert bound is None or value is None or bound <= value
    for bound, value in zip(now.upper.to_pylist(), high.to_pylist(), strict=True):
        assert bound is None or value is None or bound >= value


def _is_text(value: object) -> bool:
    try:
        return not isinstance(value, bytes) or bool(value.decode()) or True
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pa.int64(), pa.int32()),
        (pa.int32(), pa.uint32()),
        (pa.uint32(), pa.int32()),
        (pa.int32(), pa.uint64()),
        (pa.int32(), pa.float32()),
        (pa.int32(), pa.string()),
        (pa.int32(), pa.bool_()),
        (pa.bool_(), pa.int32()),
        (pa.int32(), pa.decimal128(9, 0)),
        (pa.float64(), pa.float32()),
        (pa.float64(), pa.decimal128(38, 4)),
        (pa.decimal128(9, 2), pa.decimal128(9, 3)),
        (pa.decimal128(9, 2), pa.decimal128(9, 1)),
        (pa.decimal128(9, 2), pa.string()),
        (pa.decimal128(38, 2), pa.binary()),
        (pa.uint64(), pa.decimal128(38, 0)),
        (pa.string(), pa.int32()),
        (pa.string(), pa.date32()),
        (pa.date32(), pa.timestamp("us", tz="UTC")),
        (pa.date32(), pa.int32()),
        (pa.timestamp("us"), pa.timestamp("us", tz="UTC")),
        (pa.timestamp("us", tz="UTC"), pa.timestamp("us")),
        (pa.timestamp("us"), pa.date32()),
        (pa.timestamp("us"), pa.int64()),
        (pa.time64("us"), pa.timestamp("us")),
        (pa.int32(), pa.list_(pa.int32())),
    ],
    ids=str,
)
def test_changes_of_order_or_meaning_are_unknown(old: pa.DataType, new: pa.DataType) -> None:
    domain = physical_type(old)
    assert convert_bounds(ColumnBounds(old, pa.nulls(2, domain), pa.nulls(2, domain)), new) is None


def test_integers_beyond_doubles_are_loosened() -> None:
    far = pa.array([2**53 + 1, None, 3], pa.int64())
    now = convert_bounds(ColumnBounds(pa.int64(), far, far, lower_exact=pa.array([True, True, True])), pa.float64())
    assert now.lower.to_pylist() == [2.0**53 - 1, None, 3.0]  # type: ignore[union-attr]
    assert now.upper.to_pylist()[0] >= 2.0**53 + 2  # type: ignore[union-attr]
    assert now.lower_exact is None


def test_a_column_that_was_integer_has_no_nan() -> None:
    one = pa.array([1], pa.int64())
    now = convert_bounds(ColumnBounds(pa.int32(), one, one, row_count=one), pa.float64())
    assert now is not None
    assert not ArrowStatistics(1, {ColumnRef(("a",)): now}).some_nan(ColumnRef(("a",))).any()


def test_days_beyond_microseconds_become_unknown() -> None:
    days = pa.array([2**31 - 1, 0], pa.int64())
    now = convert_bounds(ColumnBounds(pa.date32(), days, days), pa.timestamp("us"))
    assert now.upper.to_pylist()[1] == 0  # type: ignore[union-attr]
    far = pa.array([2**40, 0], pa.int64())
    now = convert_bounds(ColumnBounds(pa.date64(), far, far), pa.timestamp("us"))
    assert now.upper.to_pylist() == [None, 0]  # type: ignore[union-attr]


def test_same_type_keeps_exactness_and_missing_bounds_stay_missing() -> None:
    bounds = ColumnBounds(pa.int32(), None, pa.array([5], pa.int64()), upper_exact=pa.array([True]))
    assert convert_bounds(bounds, pa.int32()) is bounds
    wider = convert_bounds(bounds, pa.int64())
    assert wider.lower is None
    assert wider.upper_exact is not None


def test_midnight_and_scale_are_what_readers_make_of_them() -> None:
    day = to_physical(pa.array([dt.date(2020, 1, 2)], pa.date32()), pa.date32(), upper=False)
    moment = convert_bounds(ColumnBounds(pa.date32(), day, day), pa.timestamp("us"))
    expected = to_physical(pa.array([dt.datetime(2020, 1, 2)], pa.timestamp("us")), pa.timestamp("us"), upper=False)
    assert moment.lower == expected
    price = to_physical(pa.array([Decimal("1.25"), None], pa.decimal128(20, 2)), pa.decimal128(20, 2), upper=True)
    finer = convert_bounds(ColumnBounds(pa.decimal128(20, 2), price, price), pa.decimal128(38, 6))
    assert finer.upper == to_physical(
        pa.array([Decimal("1.25"), None], pa.decimal128(38, 6)), pa.decimal128(38, 6), upper=True
    )


NARROWED = [
    (pa.int64(), pa.int32()),
    (pa.int64(), pa.int8()),
    (pa.int32(), pa.int16()),
    (pa.float64(), pa.float32()),
    (pa.decimal128(18, 2), pa.decimal128(9, 2)),
]
"""Of a column that has outgrown its type, as an older version reads it."""


@pytest.mark.parametrize(("stored", "then"), NARROWED, ids=str)
@given(data=st.data())
def test_a_type_of_before_is_answered_where_all_values_fit_it(
    stored: pa.DataType, then: pa.DataType, data: st.DataObject
) -> None:
    fitting = data.draw(st.lists(values(then).filter(lambda v: v == v), min_size=1, max_size=4))
    wide = data.draw(st.lists(values(stored).filter(lambda v: v == v), max_size=2))
    files = [fitting, fitting + wide]
    written = [pa.array(one, stored) for one in files]
    ends = [
        pa.concat_arrays([_extreme(to_physical(one, stored, upper=u), u) for one in written]) for u in (False, True)
    ]
    found = convert_bounds(ColumnBounds(stored, *ends), then, back=True)
    assert found.type == then
    narrow = [to_physical(pa.array(fitting, then), then, upper=u) for u in (False, True)]
    assert found.lower[0].as_py() == _extreme(narrow[0], False)[0].as_py()
    assert found.upper[0].as_py() == _extreme(narrow[1], True)[0].as_py()
    if found.lower[1].is_valid:  # all values are those of the narrower type, or are rounded to some between the bounds
        low, high = (
            to_physical(pa.array(files[1], stored).cast(then, safe=pa.types.is_integer(then)), then, upper=u)
            for u in (False, True)
        )
        assert found.lower[1].as_py() <= _extreme(low, False)[0].as_py()
        assert found.upper[1].as_py() >= _extreme(high, True)[0].as_py()


def _extreme(values: pa.Array, greatest: bool) -> pa.Array:
    import pyarrow.compute as pc

    return pa.array([(pc.max if greatest else pc.min)(values).as_py()], values.type)


def test_what_cannot_be_read_as_the_type_of_before_is_unknown() -> None:
    bounds = ColumnBounds(pa.string(), pa.array([b"1"]), pa.array([b"2"]))
    assert convert_bounds(bounds, pa.int32(), back=True) is None
    assert convert_bounds(ColumnBounds(pa.int64(), pa.array([1]), pa.array([2])), pa.uint8(), back=True) is None
