"""Partitions by their numbers, in Sparks that have only hashes for it."""

import numpy as np
import pyarrow as pa
import pytest

from metaindex.index.kinds.covering.murmur3 import buckets_of, keys_of


@pytest.mark.parametrize("count", [1, 2, 7, 100, 1000, 10_000])
def test_each_bucket_has_a_key_that_hashes_to_it(count: int) -> None:
    assert np.array_equal(buckets_of([pa.array(keys_of(count), pa.int32())], count), np.arange(count))
