"""From kept files of a sample to kept files of the table: numbers with bounds that hold the truth."""

import numpy as np
import pytest

from metaindex.advisor.hypothetical.estimates import DrawResult, Estimate, TrialCount


def estimate(tried: TrialCount) -> Estimate:
    return Estimate.of(tried.others() + tried.kept)


def test_where_all_files_were_tried_the_number_stands() -> None:
    assert estimate(TrialCount(8, 8, 3)) == Estimate.exactly(3)
    assert estimate(TrialCount(8, 8, 3, DrawResult((0,), (7,)))) == Estimate.exactly(3)


def test_equal_questions_have_equal_answers() -> None:
    tried = TrialCount(500, 10, 1, DrawResult((0, 1, 0, 3), (9, 9, 9, 9)))
    assert estimate(tried) == estimate(tried)


@pytest.mark.parametrize(("total", "sampled", "kept"), [(500, 10, 0), (500, 10, 10), (500, 10, 4), (3, 1, 1)])
def test_no_more_is_kept_than_there_is_and_no_less_than_was_seen(total: int, sampled: int, kept: int) -> None:
    for drawn in (
        None,
        DrawResult((0,) * 20, (sampled - 1,) * 20),
        DrawResult((sampled - 1,) * 20, (sampled - 1,) * 20),
    ):
        found = estimate(TrialCount(total, sampled, kept, drawn))
        assert kept <= found.low <= found.expected <= found.high <= total - sampled + kept


def test_a_value_that_is_like_those_of_one_file_each_is_expected_in_one_file() -> None:
    unique = DrawResult((0,) * 50, (9,) * 50)
    absent = estimate(TrialCount(500, 10, 0, unique))
    assert (absent.low, round(absent.expected, 1)) == (0, 1)
    assert absent.high < 40  # without the draws: 80 and more
    assert estimate(TrialCount(500, 10, 0)).high > 70


def test_a_value_that_most_sampled_files_have_is_heavy_whatever_others_are() -> None:
    unique = DrawResult((0,) * 50, (9,) * 50)
    found = estimate(TrialCount(500, 10, 9, unique))
    assert found.low > 300


def test_a_value_has_the_share_of_those_that_are_kept_as_often() -> None:
    rng = np.random.default_rng(1)
    shares = np.where(rng.random(300) < 0.5, 0.02, 0.9)
    kept = estimate(TrialCount(1_000, 20, 18, DrawResult(tuple(rng.binomial(20, shares).tolist()), (20,) * 300)))
    assert 850 < kept.expected < 950


@pytest.mark.parametrize("share", [0.0, 0.004, 0.05, 0.3, 0.95])
@pytest.mark.slow
def test_the_bounds_hold_the_truth_in_most_samples(share: float) -> None:
    """Values of one share, a sample of 12 of 300 files; each value has a file that it is surely in."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(60):
        files = rng.random(300) < share
        files[rng.integers(300)] = True
        kept = int(files[rng.choice(300, 12, replace=False)].sum())
        drawn = DrawResult(tuple(rng.binomial(11, share, 48).tolist()), (11,) * 48)
        found = estimate(TrialCount(300, 12, kept, drawn))
        held += found.low <= files.sum() <= found.high
    assert held >= 51
