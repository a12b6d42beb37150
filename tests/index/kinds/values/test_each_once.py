"""Units are sorted and each once, whichever way is taken."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaindex.index.kinds.values.key_reader import _each_once


@given(st.lists(st.integers(0, 50) | st.integers(0, 2**50)), st.booleans())
def test_units_are_sorted_and_each_once(units: list[int], dense: bool) -> None:
    given_ = np.array([unit % 100 if dense else unit for unit in units], np.int64)
    found = _each_once(given_)
    assert found.dtype == np.int64
    assert found.tolist() == sorted(set(given_.tolist()))
