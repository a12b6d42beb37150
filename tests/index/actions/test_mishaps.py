"""What happens to indexes on real disks besides death: clocks that are wrong by hours, and readers that hold on to what
is cleaned away."""

from pathlib import Path

import pytest

import metaindex as mi
from tests.figures import count

from .faults import FaultStorage
from .mishaps import WRONG_HOURS, a_life_under_wrong_clocks, a_reader_holds_what_is_cleaned_away
from .scenes import VERBS, Scene, clean_now
from .scenes import scene as scene


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(("ahead", "behind"), WRONG_HOURS)
def test_clocks_that_are_wrong_by_hours_decide_nothing(tmp_path: Path, ahead: float, behind: float) -> None:
    a_life_under_wrong_clocks(tmp_path, "", ahead, behind)


@pytest.mark.exhaustive(but="id = 25")
@pytest.mark.slow
@pytest.mark.parametrize("predicate", ["id = 25", "id >= 0", "id = 45 OR id < 5"])
def test_a_query_loses_no_row_whenever_everything_is_rewritten_and_cleaned(scene: Scene, predicate: str) -> None:
    """At every storage call of the query all runs are replaced, and the old ones removed at once, as no retention would
    have it."""
    counting = FaultStorage(scene.begin("active"))
    right = _kept(scene.open(counting).prune(predicate))
    for at in range(len(counting.calls)):
        count("queries interrupted by a clean")
        storage = scene.begin("active")

        def turn(number: int, at: int = at, storage: object = storage) -> None:
            if number == at:
                for verb in ("refresh full", "optimize full"):
                    VERBS[verb](scene.open(storage))  # type: ignore[arg-type]
                clean_now(scene.open(storage))  # type: ignore[arg-type]

        found = scene.open(FaultStorage(storage, between=turn)).prune(predicate)
        assert _kept(found) >= _needed(predicate), (at, counting.calls[at])
        assert _kept(found) <= {"f000", "f002", "f003", "f004"}
        again = scene.open(storage).prune(predicate)
        assert _kept(again) <= right


def _kept(found: mi.PruneResult) -> set[str]:
    return {path.rpartition("/")[2].removesuffix(".parquet") for path in found.paths}


def _needed(predicate: str) -> set[str]:
    return {
        "id = 25": {"f002"},
        "id >= 0": {"f000", "f002", "f003", "f004"},
        "id = 45 OR id < 5": {"f000", "f004"},
    }[predicate]


@pytest.mark.slow
def test_a_reader_that_holds_an_entry_reads_right_while_everything_is_optimized_and_cleaned(tmp_path: Path) -> None:
    a_reader_holds_what_is_cleaned_away(tmp_path, "")
