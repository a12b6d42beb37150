"""Wrong answers that other systems gave, one test each: what not to believe of statistics, and what not to conclude."""

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from metaindex.expressions import (
    ArrowStatistics,
    ColumnBounds,
    ColumnRef,
    Interval,
    Literal,
    Not,
    Opaque,
    Predicate,
    bind,
    col,
    convert_bounds,
    may_match,
    physical_type,
)
from metaindex.expressions.places import prefix_interval
from metaindex.expressions.skipping import must_match
from tests.evaluate import compare_values
from tests.scalar_statistics import FileFacts, ScalarStatistics
from tests.strategies import column_bounds, true_facts

A = ColumnRef(("a",))
NAN, INF = math.nan, math.inf


def of(t: pa.DataType, *facts: FileFacts) -> ArrowStatistics:
    return ArrowStatistics(len(facts), {A: column_bounds(t, facts)})


def holding(t: pa.DataType, *columns: list[object]) -> ArrowStatistics:
    """Files that hold these values, with all statistics exact."""
    return of(t, *(true_facts(column, pa.types.is_floating(t)) for column in columns))


def kept(p: Predicate, statistics: ArrowStatistics) -> list[bool]:
    return [bool(v) for v in may_match(p, statistics)]


def certain(p: Predicate, statistics: ArrowStatistics) -> list[bool]:
    return [bool(v) for v in must_match(p, statistics)]


def test_1_16_17_a_nan_bound_makes_both_bounds_unknown() -> None:
    both = pa.array([1.0, NAN, NAN]), pa.array([NAN, 2.0, NAN])
    zero = pa.array([0, 0, 0], pa.int64())
    statistics = ArrowStatistics(3, {A: ColumnBounds(pa.float64(), *both, zero, zero)})
    for p in (col("a") > 100.0, col("a") < -100.0, col("a") == 7.0):
        assert kept(p, statistics) == [True] * 3
        assert certain(~p, statistics) == [False] * 3


def test_2_absent_statistics_are_not_all_null() -> None:
    absent = of(pa.string(), FileFacts(None, None, None, None, 10), FileFacts(None, None, None, None, None))
    assert kept(col("a") == "x", absent) == [True, True]
    assert kept(col("a").is_not_null(), absent) == [True, True]


def test_3_prefix_range_reaches_to_the_successor() -> None:
    assert kept(col("a").startswith("p"), holding(pa.string(), ["pa", "pz"], ["p"], ["q"], ["o", "oz"])) == [
        True,
        True,
        False,
        False,
    ]


def test_4_unknown_null_count_keeps_is_null_and_null_safe_equality() -> None:
    unknown = of(pa.int32(), FileFacts(1, 5, None, 0, 3), FileFacts(1, 5, 0, 0, 3), FileFacts(None, None, 3, 0, 3))
    for p in (col("a").is_null(), col("a").eq_null_safe(None)):
        assert kept(p, unknown) == [True, False, True]
        assert certain(p, unknown) == [False, False, True]


def test_5_changes_that_are_not_monotone_prove_nothing() -> None:
    bounds = column_bounds(pa.int64(), [FileFacts(1, 300)])
    assert convert_bounds(bounds, pa.int8()) is None
    statistics = ArrowStatistics(1, {A: bounds})
    for text in ("a * -1 > 5", "CAST(a AS TINYINT) = 44", "a COLLATE UTF8_LCASE = 'x'"):
        p = Opaque(text, (A,))
        assert kept(p, statistics) == kept(~p, statistics) == [True]
        assert certain(p, statistics) == certain(~p, statistics) == [False]


def test_6_a_column_without_statistics_is_unknown_inside_and_and_or() -> None:
    statistics = holding(pa.int32(), [0, 1], [5])
    b_is = col("b") == "abc"
    assert kept((col("a") == 0) & b_is, statistics) == [True, False]
    assert kept((col("a") == 0) | b_is, statistics) == [True, True]
    assert kept((col("a") == 0) & b_is & col("d").is_null(), statistics) == [True, False]
    assert certain((col("a") < 9) | b_is, statistics) == [True, True]
    assert certain((col("a") < 9) & b_is, statistics) == [False, False]


def test_14_strict_not_equal_and_not_in_fail_on_null_and_nan_rows() -> None:
    doubles = holding(pa.float64(), [1.0, None], [1.0, NAN], [1.0], [NAN], [None])
    # NaN != 5 is TRUE in every engine; a NULL never matches.
    for p in (col("a") != 5.0, ~col("a").isin([5.0, 6.0])):
        assert certain(p, doubles) == [False, True, True, True, False]
    exact = of(
        pa.int32(),
        FileFacts(1, 1, 0, 0, 2),
        FileFacts(1, 3, 0, 0, 2),
        FileFacts(6, 9, 1, 0, 2),
        FileFacts(6, 9, None, 0, 2),
    )
    assert certain(col("a") != 5, exact) == [True, True, False, False]
    assert certain(col("a") != 2, exact) == [True, False, False, False]


def test_15_not_starts_with_keeps_unless_every_value_has_the_prefix() -> None:
    p = Not(col("a").startswith("p"))
    facts = [
        FileFacts("pa", "pz", None, 0, 3),  # unknown NULLs: NULL NOT LIKE is NULL, so they never match
        FileFacts("pa", "pz", 0, 0, 3),
        FileFacts("p", "q", 0, 0, 3),
        FileFacts("o", "pz", 0, 0, 3),
        FileFacts("q", "r", None, 0, 3),
        FileFacts("q", "r", 0, 0, 3),
    ]
    assert kept(p, of(pa.string(), *facts)) == [False, False, True, True, True, True]
    assert certain(p, of(pa.string(), *facts)) == [False, False, False, False, False, True]


def test_15_malformed_text_between_prefix_and_successor_is_no_prefix() -> None:
    # Bytes between U+D7FF and U+E000: no valid text, but a column may hold them, and they do not start with U+D7FF.
    bounds = column_bounds(pa.binary(), [FileFacts(b"\xed\xa0\x80", b"\xed\xa0\x80", 0, 0, 1)])
    statistics = ArrowStatistics(1, {A: ColumnBounds(pa.string(), bounds.lower, bounds.upper, bounds.null_count)})
    assert kept(~col("a").startswith("\ud7ff"), statistics) == [True]


def test_18_in_is_narrowed_by_both_bounds() -> None:
    for values in ([1, 8], list(range(-40, 4)) + list(range(8, 60))):
        assert kept(col("a").isin(values), of(pa.int32(), FileFacts(4, 7), FileFacts(4, 8))) == [False, True]
    words = [f"k{i:03}" for i in range(0, 100, 10)]
    for many in (words[:2], [*words, "a", "b", "c", "d", "e", "f", "g", "h"]):
        found = kept(
            col("a").isin(many),
            of(pa.string(), FileFacts("k001", "k009"), FileFacts("k001", "k010"), FileFacts(None, "k")),
        )
        assert found == [False, True, len(many) > 2]


def test_19_row_count_of_zero_that_bounds_deny_is_no_empty_file() -> None:
    statistics = of(
        pa.int32(),
        FileFacts(1, 5, 0, 0, 0),  # a writer that did not know
        FileFacts(None, None, 0, 0, None),
        FileFacts(None, None, 0, 0, 0),  # empty indeed
        FileFacts(None, None, 3, 0, 0),
    )
    assert kept(col("a").is_not_null(), statistics) == [True, True, False, True]
    assert kept(col("a") == 3, statistics) == [True, True, False, True]


@pytest.mark.parametrize("prefix", ["\ud7ff", "\U0010ffff", "a\U0010ffff", "\x7f", "\uffff"])
def test_20_prefix_successors_at_the_edges_of_unicode(prefix: str) -> None:
    values: list[object] = [prefix, prefix + "x", prefix + "\U0010ffff"]
    assert kept(col("a").startswith(prefix), holding(pa.string(), values)) == [True]
    high = prefix_interval(prefix).high
    assert high is None or high.value.encode() > (prefix + "\U0010ffff" * 3).encode()  # type: ignore[union-attr]


def test_20_bounds_of_malformed_utf8_compare_as_bytes() -> None:
    statistics = ArrowStatistics(1, {A: ColumnBounds(pa.string(), pa.array([b"\xff\xfe"]), pa.array([b"\xff\xff"]))})
    assert kept(col("a") == "z", statistics) == [False]
    assert kept(col("a") > "z", statistics) == [True]


def test_21_text_compares_as_utf8_not_as_utf16() -> None:
    # As UTF-16 an emoji (surrogates, D83D) is below U+FFFD; as UTF-8 it is above.
    statistics = of(pa.string(), FileFacts("a", "😀", 0, 0, 2), FileFacts("a", "\ufffd", 0, 0, 2))
    assert kept(col("a") > "\ufffd", statistics) == [True, False]


def test_27_case_is_ignored_by_binding_so_statistics_are_found() -> None:
    statistics = ArrowStatistics(1, {ColumnRef(("FlightDate",)): column_bounds(pa.int32(), [FileFacts(1, 5)])})
    p = col("flightdate") == 9
    assert kept(p, statistics) == [True]
    assert kept(bind(p, {("FlightDate",): pa.int32()}), statistics) == [False]


def test_28_null_safe_equality_truth_table() -> None:
    statistics = holding(pa.int32(), [1], [2], [None], [1, None], [2, None])
    is_1, is_null = col("a").eq_null_safe(1), col("a").eq_null_safe(None)
    assert kept(is_1, statistics) == [True, False, False, True, False]
    assert kept(~is_1, statistics) == [False, True, True, True, True]
    assert certain(is_1, statistics) == [True, False, False, False, False]
    assert certain(~is_1, statistics) == [False, True, True, False, True]
    assert kept(is_null, statistics) == [False, False, True, True, True]
    assert kept(~is_null, statistics) == [True, True, False, True, True]
    assert certain(is_null, statistics) == [False, False, True, False, False]
    assert certain(~is_null, statistics) == [True, True, False, False, False]


def test_29_infinities_and_zeros_are_ordinary_bounds() -> None:
    statistics = holding(pa.float64(), [-INF, 1.0], [1.0, INF], [-0.0], [0.0])
    assert kept(col("a") == INF, statistics) == [False, True, False, False]
    assert kept(col("a") < -1e308, statistics) == [True, False, False, False]
    for zero in (0.0, -0.0):
        assert kept(col("a") == zero, statistics)[2:] == [True, True]
        assert kept(col("a") > zero, statistics)[2:] == [False, False]
        assert kept(col("a") != zero, statistics)[2:] == [False, False]


def test_30_literals_take_the_column_s_type() -> None:
    statistics = of(pa.date32(), FileFacts(dt.date(2020, 1, 1), dt.date(2020, 1, 31)))
    p = bind(col("a") == "2020-02-01", {("a",): pa.date32()})
    assert kept(p, statistics) == [False]
    price = of(pa.decimal128(9, 2), FileFacts(Decimal("1.00"), Decimal("2.00")))
    assert kept(bind(col("a") > 2, {("a",): pa.decimal128(9, 2)}), price) == [False]


class Collated(pa.ExtensionType):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(pa.string(), "tests.collated")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, data: bytes) -> "Collated":
        return cls()


def test_31_collated_text_has_no_bounds() -> None:
    assert physical_type(Collated()) is None
    assert isinstance(bind(col("a") == "x", {("a",): Collated()}), Opaque)
    statistics = ArrowStatistics(1, {A: ColumnBounds(Collated(), None, None)})
    assert kept(col("a") == "x", statistics) == [True]


def test_33_lower_above_upper_makes_both_unknown() -> None:
    crossed = of(pa.int32(), FileFacts(9, 1, 0, 0, 2)), of(pa.string(), FileFacts("z", "a", 0, 0, 2))
    for statistics, values in zip(crossed, [(0, 5, 50), ("", "m", "zz")], strict=True):
        for value in values:
            assert kept(col("a") == value, statistics) == [True]
            assert certain(col("a") != value, statistics) == [False]


def test_36_not_null_drops_only_when_every_row_is_known_to_be_null() -> None:
    statistics = of(
        pa.int32(),
        FileFacts(None, None, 3, None, 3),
        FileFacts(None, None, 3, None, None),
        FileFacts(None, None, None, None, 3),
        FileFacts(1, 1, 3, None, 3),  # a bound denies it
        FileFacts(None, None, 2, None, 3),
        FileFacts(None, None, 0, None, 3),
    )
    assert kept(col("a").is_not_null(), statistics) == [False, True, True, True, True, True]
    assert certain(col("a").is_not_null(), statistics) == [False, False, False, False, False, True]
    assert kept(col("a") == 1, statistics) == [False, True, True, True, True, True]


def test_36_counts_that_cannot_be_are_unknown() -> None:
    counts = pa.array([-1, 5, None], pa.int64()), pa.array([2, 2, 2], pa.int64())
    statistics = ArrowStatistics(3, {A: ColumnBounds(pa.int32(), None, None, counts[0], None, counts[1])})
    assert kept(col("a").is_null(), statistics) == [True, True, True]
    assert kept(col("a").is_not_null(), statistics) == [True, True, True]


def test_38_not_in_with_null_matches_nothing_and_in_with_null_is_never_false() -> None:
    statistics = holding(pa.int32(), [1], [2], [None])
    with_null = col("a").isin([1, None])
    assert kept(~with_null, statistics) == [False, False, False]
    assert kept(with_null, statistics) == [True, False, False]
    assert certain(with_null, statistics) == [True, False, False]
    assert certain(~with_null, statistics) == [False, False, False]


def test_39_null_bounds_are_absent_bounds() -> None:
    statistics = of(
        pa.int32(), FileFacts(None, None, 0, 0, 3), FileFacts(None, 5, 0, 0, 3), FileFacts(5, None, 0, 0, 3)
    )
    assert kept(col("a") > 7, statistics) == [True, False, True]
    assert kept(col("a") < 3, statistics) == [True, True, False]


def test_nan_matches_what_spark_says_and_what_ieee_says() -> None:
    statistics = holding(pa.float64(), [1.0, NAN], [1.0], [NAN], [NAN, None])
    assert kept(col("a") > 5.0, statistics) == [True, False, True, True]
    assert kept(col("a") < 5.0, statistics) == [True, True, False, False]
    assert kept(~(col("a") > 0.0), statistics) == [True, False, True, True]  # TRUE for NaN by IEEE
    assert kept(col("a") == NAN, statistics) == [True, False, True, True]
    assert kept(col("a").is_nan(), statistics) == [True, False, True, True]
    assert kept(~col("a").is_nan(), statistics) == [True, True, False, True]
    assert certain(col("a") > 0.0, statistics) == [False, True, False, False]
    assert certain(col("a").is_nan(), statistics) == [False, False, True, False]


def test_unknown_nan_count_keeps_greater_than_but_not_less_than() -> None:
    statistics = of(pa.float64(), FileFacts(1.0, 2.0, 0, None, 3))
    assert kept(col("a") > 5.0, statistics) == [True]
    assert kept(col("a") < 0.0, statistics) == [False]
    assert kept(col("a") == 5.0, statistics) == [False]
    assert certain(col("a") < 5.0, statistics) == [False]


def test_loose_bounds_that_meet_prove_the_value() -> None:
    statistics = of(pa.int32(), FileFacts(3, 3, None, 0, None), FileFacts(3, 4, 0, 0, 2))
    assert kept(col("a") != 3, statistics) == [False, True]
    assert kept(~col("a").isin(list(range(30))), statistics) == [False, True]
    words = of(pa.string(), FileFacts("k", "k", 0, 0, 2), FileFacts("k", "l", 0, 0, 2))
    assert kept(~col("a").isin([chr(97 + i) for i in range(20)]), words) == [False, True]


def test_files_without_rows_are_dropped_and_certain() -> None:
    statistics = of(pa.int32(), FileFacts(None, None, 0, 0, 0), FileFacts(None, None, None, None, 0))
    for p in (col("a") > 1, col("a").is_null(), ~col("a").is_null(), col("a").isin([1, None])):
        assert kept(p, statistics) == [False, False]
        assert certain(p, statistics) == [True, True]


def test_bounds_of_another_length_or_domain_are_a_programming_error() -> None:
    with pytest.raises(ValueError, match="2 files"):
        may_match(col("a") == 1, ArrowStatistics(2, {A: ColumnBounds(pa.int32(), pa.array([1], pa.int64()), None)}))
    with pytest.raises(TypeError, match="to_physical"):
        may_match(col("a") == 1, ArrowStatistics(1, {A: ColumnBounds(pa.int32(), pa.array([1], pa.int32()), None)}))


def test_large_binary_and_chunked_bounds_are_taken() -> None:
    lower = pa.chunked_array([pa.array([b"a"]), pa.array([b"m"])])
    upper = pa.chunked_array([pa.array([b"c"]), pa.array([b"z"])])
    assert kept(col("a") == "d", ArrowStatistics(2, {A: ColumnBounds(pa.string(), lower, upper)})) == [False, False]
    large = pa.array([b"a", b"m"], pa.large_binary()), pa.array([b"c", b"z"], pa.large_binary())
    assert kept(col("a") == "n", ArrowStatistics(2, {A: ColumnBounds(pa.string(), *large)})) == [False, True]


def test_an_interval_without_ends_asks_for_numbers() -> None:
    statistics = holding(pa.float64(), [NAN], [1.0], [None])
    assert [bool(v) for v in statistics.some_between(A, Interval(None, None))] == [False, True, False]
    assert [bool(v) for v in statistics.some_other(A, [Literal(NAN)])] == [False, True, False]


class ListedValues(ScalarStatistics):
    """A source that knows every value of a file, as a value list does."""

    def some_between(self, column: ColumnRef, interval: Interval) -> bool:
        low, high = interval.low, interval.high
        return any(
            (low is None or compare_values(value, low.value) >= interval.low_open)
            and (high is None or compare_values(value, high.value) <= -interval.high_open)
            for value in (1, 9)
        )


def test_two_inequalities_of_an_and_ask_for_one_value_between() -> None:
    one_and_nine = ListedValues({A: FileFacts(has_nan=False)})
    assert not may_match((col("a") > 3) & (col("a") < 5), one_and_nine)
    assert not may_match((col("a") > 3) & (col("b") == 1) & ~(col("a") >= 5), one_and_nine)
    assert may_match((col("a") > 3) & (col("a") <= 9), one_and_nine)
    assert may_match((col("a") > 3) | (col("a") < 5), one_and_nine)
    assert may_match((col("a") > 3) & (col("a") < 5.5), one_and_nine)  # two kinds are asked apart
    assert not must_match((col("a") < 3) | (col("a") > 5), one_and_nine)


def test_an_end_that_cannot_be_compared_leaves_the_other_its_proof() -> None:
    statistics = of(pa.int64(), FileFacts(1, 5))
    assert kept((col("a") > 9) & (col("a") < 2.0**60), statistics) == [False]
