"""Queries that were drawn stand for others: the bounds hold the truth, and where all were asked the truth is told."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.advisor.hypothetical.estimates import Estimate, Spread
from metaindex.advisor.workloads.table_queries import Stands

MOST = 1_000.0

POPULATIONS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "alike": lambda rng, many: rng.normal(500, 20, many),
    "of any size": lambda rng, many: rng.uniform(0, MOST, many),
    "some of nothing": lambda rng, many: 400.0 * (rng.random(many) < 0.7),
    "few of all": lambda rng, many: np.where(rng.random(many) < 0.1, MOST, 30.0),
    "skewed": lambda rng, many: np.minimum(40 * rng.pareto(1.5, many), MOST),
    "nothing": lambda rng, many: np.zeros(many),
}


def told(rng: np.random.Generator, values: np.ndarray, many: int) -> Estimate:
    drawn = rng.choice(len(values), many, replace=False)
    ends = [len(values) * place // many for place in range(many + 1)]
    spread = Spread.of(np.diff(ends).tolist(), [Stands(1)] * many)
    return spread.total([Estimate.exactly(float(values[place])) for place in drawn], [MOST] * many)


@pytest.mark.slow
def test_the_bounds_hold_the_sum_over_all_that_were_asked() -> None:
    shares = {}
    for name, population in POPULATIONS.items():
        for many in (3, 8, 24):
            rng = np.random.default_rng(many)
            held = []
            for _ in range(60):
                values = np.clip(population(rng, int(rng.integers(many + 1, 800))), 0, MOST)
                estimate = told(rng, values, many)
                held.append(estimate.low <= values.sum() <= estimate.high)
                assert estimate.low < estimate.high
                assert 0 <= estimate.low <= estimate.expected <= estimate.high
            shares[name, many] = float(np.mean(held))
    assert np.mean(list(shares.values())) >= 0.9
    assert min(shares.values()) >= 0.75, shares


@given(st.lists(st.floats(0, MOST), min_size=1, max_size=24))
def test_where_all_were_asked_the_truth_is_told(values: list[float]) -> None:
    counts = Counter(values)
    each = [Estimate.exactly(value) for value in counts]
    for stands in (None, Stands(1)):
        spread = Spread.of(list(counts.values()), [stands and Stands(1, count) for count in counts.values()])
        total = spread.total(each, [MOST] * len(each))
        assert total.low == pytest.approx(sum(values))
        assert total.high == pytest.approx(sum(values))


def test_templates_each_have_their_own_spread() -> None:
    """What two vary by adds up to less than the sum of both."""
    values = [Estimate.exactly(value) for value in (10.0, 20.0, 30.0, 40.0) * 6]
    one = Spread.of([5] * 24, [Stands(1)] * 24).total(values, [MOST] * 24)
    two = Spread.of([5] * 48, [Stands(1)] * 24 + [Stands(2)] * 24).total(values * 2, [MOST] * 48)
    assert two.expected == pytest.approx(2 * one.expected)
    assert one.high - one.low < two.high - two.low < 1.8 * (one.high - one.low)


def test_an_estimate_of_each_stays_an_estimate_of_all() -> None:
    spread = Spread.of([3, 2], [None, None])
    assert spread.total([Estimate(1, 2, 3), Estimate(0, 1, 5)], [9.0, 9.0]) == Estimate(3, 8, 19)
    assert not spread.is_open
    assert Spread.of([], []).total([], []) == Estimate.exactly(0.0)
