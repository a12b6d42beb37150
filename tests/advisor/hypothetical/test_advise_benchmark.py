"""The benchmark `advise` runs, on a table so small that its figures mean nothing; how they are counted is held against
numbers that are known."""

from pathlib import Path

import pytest

from benchmarks.advise import PARTS, measure
from benchmarks.advise.truth import Pairs
from metaindex.advisor.hypothetical.estimates import Estimate


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_runs_and_saves_as_much_as_the_best_subset_at_least_nearly(tmp_path: Path) -> None:
    figures = measure(tmp_path, True, PARTS, "needle")
    (truth,) = [figure for figure in figures if "what-if" in figure]
    assert truth["pairs"] == 7 * 12
    chosen = [figure for figure in figures if "recommend" in figure]
    assert len(chosen) == 2
    for figure in chosen:
        assert 0 <= figure["chosen of the dozen"] <= 1  # type: ignore[operator]
        assert figure["read"] <= 0.2  # type: ignore[operator]


def test_how_pairs_are_counted() -> None:
    pairs = Pairs()
    pairs.add(Estimate(0, 10, 20), 30, 100)  # 30 came: 3 times as much, out of its bounds
    pairs.add(Estimate(50, 100, 150), 90, 100)
    pairs.add(Estimate(100, 100, 100), 100, 100)  # neither helps
    pairs.add(Estimate(0, 1, 3), 0, 100)  # below the bytes of a file nothing counts
    figures = pairs.figures(2)
    assert (figures["pairs"], figures["pairs that matter"]) == (4, 3)
    assert figures["within 2x"] == 0.75
    assert figures["in bounds"] == 0.75
    assert figures["median error"] == pytest.approx((0 + 10 / 90) / 2)
    assert figures["their median error"] == pytest.approx(10 / 90)
