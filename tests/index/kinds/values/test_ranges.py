"""Ranges that are looked up together are answered as each alone, listed or not, in one go or in several; units are
sorted and each once, whichever way is taken."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.index.kinds.values import ranges
from metaindex.index.kinds.values.asked import KeyRange
from metaindex.index.kinds.values.key_reader import _each_once, position

ROWS = st.lists(st.tuples(st.integers(-3, 20), st.integers(0, 12)), max_size=40).map(sorted)
ENDS = st.none() | st.integers(-5, 22)


@given(ROWS, st.integers(0, 3), st.lists(st.tuples(ENDS, ENDS), max_size=15), st.booleans())
def test_rows_are_those_of_a_search_for_each_end(
    rows: list[tuple[int, int]], nulls: int, ends: list[tuple[int | None, int | None]], texts: bool
) -> None:
    key: Callable[[int], int | bytes] = (lambda n: b"%03d" % (n + 10)) if texts else int
    keys = pa.array([None] * nulls + [key(k) for k, _ in rows], pa.binary() if texts else pa.int64())
    asked = [KeyRange(*(None if end is None else key(end) for end in pair)) for pair in ends]
    found = ranges.rows_of_each(keys, asked)
    if found is None:
        assert len(keys) > 64 * len(asked)
        return
    for one, first, last in zip(asked, found[0].tolist(), found[1].tolist(), strict=True):
        low = nulls if one.low is None else position(keys, one.low)
        high = len(keys) if one.high is None else position(keys, one.high, right=True)
        assert list(range(first, last)) == list(range(low, high))
        assert first <= last


@pytest.mark.parametrize("listed", [0, 1 << 30], ids=["looked at", "listed"])
@given(
    ROWS, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=15), st.sampled_from([1, 20, 1 << 22])
)
def test_units_are_those_between_the_rows(
    listed: int, rows: list[tuple[int, int]], ends: list[tuple[int, int]], together: int
) -> None:
    units = np.array([unit for _, unit in rows], np.int64)
    first = np.array([min((*pair, len(rows))) for pair in ends], np.int64)
    last = np.array([min(max(pair), len(rows)) for pair in ends], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "_MOST_LISTED", listed)
        patch.setattr(ranges, "_LISTED", 0)
        patch.setattr(ranges, "_TOGETHER", together)
        found = ranges.units_of_each(units, first, last)
    for one, start, stop in zip(found, first.tolist(), last.tolist(), strict=True):
        assert one.dtype == np.int64
        assert one.tolist() == sorted(set(units[start:stop].tolist()))


def test_what_is_too_much_is_looked_up_one_by_one() -> None:
    units = np.arange(1 << 15, dtype=np.int64)
    ends = np.zeros(1 << 13, np.int64), np.full(1 << 13, len(units), np.int64)
    assert ranges.units_of_each(units, *ends) is None
    keys = pa.array([b"%05d" % n for n in range(200)], pa.binary())
    assert ranges.rows_of_each(keys, [KeyRange(None, None)]) is None


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**50)), st.booleans())
def test_units_are_sorted_and_each_once(units: list[int], dense: bool) -> None:
    given_ = np.array([unit % 100 if dense else unit for unit in units], np.int64)
    found = _each_once(given_)
    assert found.dtype == np.int64
    assert found.tolist() == sorted(set(given_.tolist()))
