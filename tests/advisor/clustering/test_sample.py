"""What is taken of a file that may hold far more than its size."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.clustering.sample import evenly

SCHEMA = pa.schema([("at", pa.int64())])


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 25))
def test_the_rows_that_are_taken_are_spread_evenly(sizes: list[int], most: int) -> None:
    ends = np.cumsum([0, *sizes])
    batches = [
        pa.RecordBatch.from_arrays([pa.array(range(first, end), pa.int64())], schema=SCHEMA)
        for first, end in pairwise(ends)
    ]
    taken = evenly(iter(batches), SCHEMA, most).column("at").to_numpy()
    rows = int(ends[-1])
    assert len(taken) == rows if rows <= most else most / 2 <= len(taken) <= most
    assert len(set(taken.tolist())) == len(taken)
    if len(taken):
        gaps = np.diff([-1, *taken, rows])
        assert (gaps > 0).all()
        assert gaps.max() <= 4 * max(rows / most, 1)


def test_few_rows_are_held_however_many_come() -> None:
    most, held = 100, list[int]()

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(1_000):
            yield pa.RecordBatch.from_arrays([pa.array(range(number * 1000, number * 1000 + 1000))], schema=SCHEMA)
            held.append(pa.total_allocated_bytes())

    before = pa.total_allocated_bytes()
    assert evenly(batches(), SCHEMA, most).num_rows == most
    assert max(held) - before < 10 * 1000 * 8  # of 8,000,000 bytes
