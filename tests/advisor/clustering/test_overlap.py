"""Overlap and reads of files against brute force: ties, ranges of one point, infinities, the ends of whole numbers."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.clustering.overlap import OverlapReads, Ranges, RowPlaces, even_fractions, histogram, numbers_of

_INTEGERS = st.one_of(st.integers(-6, 6), st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1]))
_DOUBLES = st.one_of(
    st.integers(-6, 6).map(float), st.floats(allow_nan=False), st.sampled_from([float("inf"), float("-inf"), -0.0])
)
_TEXTS = st.one_of(
    st.binary(max_size=3), st.binary(max_size=12).map(lambda tail: b"a common beginning" + tail), st.just(b"\xff" * 20)
)


def ranges(values: st.SearchStrategy[object]) -> st.SearchStrategy[list[tuple[object, object]]]:
    pair = st.tuples(values, values).map(lambda two: (min(two), max(two)))  # type: ignore[type-var]
    return st.lists(pair, min_size=1, max_size=12)


def vectors(files: list[tuple[object, object]]) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = zip(*files, strict=True)
    type_ = {int: pa.int64(), float: pa.float64(), bytes: pa.binary()}[type(lower[0])]
    low, high = numbers_of([pa.array(lower, type_), pa.array(upper, type_)])
    return low, high


ANY = st.one_of(ranges(_INTEGERS), ranges(_DOUBLES), ranges(_TEXTS))


@given(ANY)
def test_depth_and_overlaps_are_those_of_brute_force(files: list[tuple]) -> None:
    lower, upper = vectors(files)
    points = [low for low, _ in files]
    at = {point: sum(low <= point <= high for low, high in files) for point in points}
    assert Ranges(lower, upper).depths().tolist() == [
        max(at[p] for p in points if low <= p <= high) for low, high in files
    ]
    expected = [sum(a <= high and low <= b for a, b in files) - 1 for low, high in files]
    assert Ranges(lower, upper).overlaps().tolist() == expected


def brute_rows(
    lower: np.ndarray, upper: np.ndarray, weights: list[int], portions: int
) -> list[tuple[object, Fraction]]:
    """Places and shares of rows, one by one."""
    found = []
    for low, high, weight in zip(lower.tolist(), upper.tolist(), weights, strict=True):
        for middle in range(1, 2 * portions, 2):
            share = Fraction(weight, portions * sum(weights))
            if isinstance(low, int):
                found.append((low + (high - low + 1) * middle // (2 * portions), share))
            else:
                found.append((low + (high - low) * middle / (2 * portions), share))
    return sorted(found, key=lambda one: one[0])


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(0, 9), st.integers(1, 9), st.integers(1, 9)), min_size=1,
    max_size=9),
       st.sampled_from([Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)]), st.booleans())  # fmt: skip
def test_what_values_and_ranges_read_is_that_of_brute_force(
    files: list[tuple[int, int, int, int]], share: Fraction, doubles: bool
) -> None:
    dtype = np.float64 if doubles else np.int64
    lower = np.array([low for low, *_ in files], dtype)
    upper = np.array([low + width for low, width, *_ in files], dtype)
    rows, weights = [one[2] for one in files], [one[3] for one in files]
    portions = 4
    fractions = (2 * np.arange(portions) + 1) / (2 * portions)
    reads = OverlapReads(Ranges(lower, upper), RowPlaces.of(lower, upper, np.array(rows, np.float64), fractions))
    placed = brute_rows(lower, upper, rows, portions)

    def weighed(first: object, last: object) -> int:
        return sum(w for a, b, w in zip(lower, upper, weights, strict=True) if a <= last and first <= b)

    by_value = sum(float(part) * weighed(place, place) for place, part in placed)
    assert reads.by_value(np.array(weights, np.float64)) == pytest.approx(by_value)
    # Between these beginnings the first and the last place of a range stay the same.
    after, cuts = Fraction(0), {Fraction(0), 1 - share}
    steps = []
    for place, part in placed:
        after += part
        steps.append((after, place))
        cuts |= {cut for cut in (after, after - share) if 0 < cut < 1 - share}
    edges = sorted(cuts)
    by_range = 0.0
    for start, end in pairwise(edges):
        middle = (start + end) / 2
        first = next(place for cut, place in steps if middle < cut)
        last = next(place for cut, place in steps if middle + share < cut)
        by_range += float((end - start) / (1 - share)) * weighed(first, last)
    assert reads.by_range(np.array(weights, np.float64), float(share)) == pytest.approx(by_range)


@given(ANY, st.randoms())
def test_the_order_of_files_does_not_matter(files: list[tuple], random: object) -> None:
    mixed = list(files)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    seen = []
    for some in (files, mixed):
        lower, upper = vectors(some)
        ones = np.ones(len(some))
        reads = OverlapReads(Ranges(lower, upper), RowPlaces.of(lower, upper, ones))
        told = [reads.by_value(ones), reads.by_range(ones, 0.01)]
        seen.append(
            [*sorted(Ranges(lower, upper).depths().tolist()), *sorted(Ranges(lower, upper).overlaps().tolist()), *told]
        )
    assert seen[0] == pytest.approx(seen[1])


@given(st.integers(1, 200), st.integers(1, 50))
def test_a_sorted_table_has_depth_one(files: int, width: int) -> None:
    lower = np.arange(files, dtype=np.int64) * width
    upper = lower + width - 1
    ones = np.ones(files)
    reads = OverlapReads(Ranges(lower, upper), RowPlaces.of(lower, upper, ones))
    assert Ranges(lower, upper).depths().tolist() == [1] * files
    assert histogram(Ranges(lower, upper).depths()) == {1: files}
    assert reads.by_value(ones) == pytest.approx(1)
    assert 1 <= reads.by_range(ones, 0.01) <= 2 + 0.01 * files


@given(st.integers(2, 200))
def test_a_sorted_table_whose_files_share_their_ends_has_depth_two(files: int) -> None:
    lower = np.arange(files, dtype=np.float64)
    assert Ranges(lower, lower + 1).depths().tolist() == [2] * files
    assert histogram(Ranges(lower, lower + 1).depths()) == {2: files}


@given(st.integers(1, 300), st.integers(-5, 5))
def test_a_table_of_one_value_is_read_whole(files: int, value: int) -> None:
    same, ones = np.full(files, value, np.int64), np.ones(files)
    reads = OverlapReads(Ranges(same, same), RowPlaces.of(same, same, ones))
    assert set(Ranges(same, same).depths()) == {files}
    assert reads.by_value(ones) == pytest.approx(files)
    assert reads.by_range(ones, 0.01) == pytest.approx(files)


def test_the_histogram_counts_by_powers_of_two() -> None:
    depth = np.array([1, 2, 3, 4, 5, 8, 9, 16, 17, 1000, 1024, 1025], np.int64)
    assert histogram(depth) == {1: 1, 2: 1, 4: 2, 8: 2, 16: 2, 32: 1, 1024: 2, 2048: 1}
    assert histogram(depth[:0]) == {}


@given(st.lists(_TEXTS, min_size=1, max_size=30))
def test_texts_become_numbers_of_the_same_order(values: list[bytes]) -> None:
    (found,) = numbers_of([pa.array(values, pa.binary())])
    order = {value: place for place, value in enumerate(sorted(set(values)))}
    ranks = {number: place for place, number in enumerate(sorted(set(found.tolist())))}
    assert [ranks[number] for number in found.tolist()] == [order[value] for value in values]


def test_texts_lie_apart_as_they_differ_behind_what_they_begin_with() -> None:
    low, middle, high = numbers_of([pa.array([b"user-0", b"user-2", b"user-8"], pa.binary())])[0].tolist()
    assert (middle - low) / (high - low) == pytest.approx(2 / 8, rel=0.01)


def test_few_files_have_many_places_and_many_few() -> None:
    assert [len(even_fractions(count)) for count in (0, 10, 1 << 17, 1 << 20, 1 << 22)] == [64, 64, 32, 4, 4]


def test_a_range_is_over_a_part_of_the_rows() -> None:
    one = np.zeros(1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        OverlapReads(Ranges(one, one), RowPlaces.of(one, one, one + 1)).by_range(one, 1.0)
