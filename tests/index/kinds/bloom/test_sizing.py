"""Filters are as large as the asked rate takes: the formula against filters that are counted, and what a key costs."""

import numpy as np
import pytest

from metaindex.index.kinds.bloom.blocks import bits_of, block_of, set_bits
from metaindex.index.kinds.bloom.sizing import MOST_BLOCKS, blocks_for, rate, size_classes

FPPS = (0.1, 0.01, 0.001)
COUNTS = (1, 2, 5, 26, 27, 100, 1000, 10_000, 100_000, 1_000_000)


def measured(count: int, blocks: int, probes: int = 400_000) -> float:
    """The share of hashes that filters of so many values say to hold, over as many filters as make the count steady."""
    random = np.random.default_rng(count)
    filters = min(max(1, 300_000 // count), 300)
    found = 0
    for _ in range(filters):
        words = np.zeros((blocks, 8), np.uint32)
        set_bits(words, np.sort(random.integers(0, 2**64, count, dtype=np.uint64)), blocks)
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        asked = random.integers(0, 2**64, probes // filters, dtype=np.uint64)
        found += int(bits[block_of(asked, blocks)[:, None] * 256 + bits_of(asked)].all(axis=1).sum())
    return found / (probes // filters * filters)


@pytest.mark.parametrize("fpp", FPPS)
@pytest.mark.slow
def test_the_rate_of_filters_is_within_a_fifth_of_the_asked_one(fpp: float) -> None:
    for count in COUNTS:
        blocks = blocks_for(count, fpp)
        noise = 4 * (fpp / 400_000) ** 0.5 + 0.02 * fpp  # of the hashes asked, and of the filters
        found = measured(count, blocks)
        assert found == pytest.approx(float(rate(count, blocks)), abs=noise), count
        assert found <= 1.2 * fpp + noise, count
        if blocks >= 32:  # fewer come in whole steps that are too coarse to be at the rate
            assert found >= 0.8 * fpp - noise, count


@pytest.mark.parametrize("fpp", [0.5, *FPPS, 1e-4, 1e-6])
def test_the_formula_keeps_all_classes_near_the_asked_rate(fpp: float) -> None:
    counts = np.unique(np.geomspace(1, 10_000_000, 2000).astype(int))
    blocks = np.array([blocks_for(int(count), fpp) for count in counts])
    rates = rate(counts, blocks)
    assert (rates <= 1.143 * fpp).all()
    assert (rates[blocks >= 32] >= 0.8 * fpp).all()
    assert (np.diff(blocks) >= 0).all()


@pytest.mark.parametrize(("fpp", "most"), [(0.01, 11.0), (0.001, 17.5)])
def test_bits_of_a_key(fpp: float, most: float) -> None:
    counts = np.unique(np.geomspace(5000, 10_000_000, 500).astype(int)).tolist()
    assert max(256 * blocks_for(count, fpp) / count for count in counts) <= most


def test_classes_are_few_and_near_one_another() -> None:
    classes = size_classes()
    assert classes[0] == 1
    assert classes[-1] == MOST_BLOCKS
    assert len(classes) < 400
    assert (np.diff(classes) > 0).all()
    beyond = classes[classes >= 32]
    assert (beyond[1:] / beyond[:-1]).max() <= 1.0625
    assert blocks_for(10**12, 0.01) == MOST_BLOCKS
