"""A key that was not cut is decoded to the value that it was made of."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from metaindex.kinds.values.decoding import decoded
from metaindex.kinds.values.encoding import encode_key

VALUES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.float64(), st.floats()),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.decimal128(9, 2), st.decimals(-9999999, 9999999, places=2, allow_nan=False)),
    (pa.decimal128(38, 4), st.decimals(-(10**30), 10**30, places=4, allow_nan=False)),
    (pa.string(), st.text(st.characters(codec="utf-8"), max_size=300)),
    (pa.binary(), st.binary(max_size=300)),
]
typed = st.sampled_from(VALUES).flatmap(lambda one: st.tuples(st.just(one[0]), one[1]))


@given(st.lists(typed, min_size=1, max_size=3))
def test_a_key_is_decoded_to_its_value_unless_it_was_cut(columns: list[tuple[pa.DataType, Any]]) -> None:
    types = [t for t, _ in columns]
    (key,) = encode_key([pa.array([value], t) for t, value in columns], types).to_pylist()

    found = decoded(key, types)

    if isinstance(key, bytes) and len(key) == 256:
        assert found is None
        return
    if found is None:  # a part of it was cut
        assert any(isinstance(value, str | bytes) and len(value) > 80 for _, value in columns)
        return
    for one, (_, value) in zip(found, columns, strict=True):
        same = math.isnan(one) if isinstance(value, float) and math.isnan(value) else one == value  # type: ignore[arg-type]
        assert same, (one, value)
