"""What a row of a row group costs: more bytes and values take longer, smaller row groups do not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.formats.parquet.costs import RowCost, decoding_ms

_COUNTS = st.integers(0, 1 << 40)


@given(_COUNTS, _COUNTS, _COUNTS, st.booleans(), st.sampled_from(["unpacked", "values"]), _COUNTS)
def test_more_takes_longer(packed: int, unpacked: int, values: int, texts: bool, grown: str, more: int) -> None:
    sizes = {"unpacked": max(packed, unpacked), "values": values}
    less = decoding_ms(packed, **sizes, texts=texts)
    assert 0 < less <= decoding_ms(packed, **{**sizes, grown: sizes[grown] + more}, texts=texts)
    assert less <= decoding_ms(packed, **sizes, texts=True)


@given(st.integers(1, 1 << 31), st.tuples(*[st.floats(0, 1e6)] * 3), st.integers(1, 1 << 31), st.integers(1, 1 << 31))
def test_smaller_row_groups_take_no_longer(
    rows: int, milliseconds: tuple[float, float, float], some: int, others: int
) -> None:
    find, by_pages, whole = milliseconds
    cost = RowCost(rows, 1, 1, find, min(by_pages, whole), whole, by_pages=True, has_many=True)
    assert cost.of_rows(min(some, others)) <= cost.of_rows(max(some, others)) <= cost.ms
    assert cost.of_rows(rows) == pytest.approx(cost.ms)
    larger = replace(cost, find_ms=2 * find)
    assert cost.ms <= larger.ms
    assert cost.of_rows(some) <= larger.of_rows(some)
