"""Why an index does not stand for a scan is told of every kind whose rows are read in the table's place."""

import pytest

import metaindex as mi
from metaindex.index import Kind
from metaindex.spark.optimizer.reasons import Reason
from metaindex.spark.optimizer.scan_planner import Planned
from metaindex.spark.optimizer.why_not import _verdict
from metaindex.table import IndexInfo

COPIES = [mi.Covering("a"), mi.CoveringRange("a")]


@pytest.mark.parametrize("kinds", [*([kind] for kind in COPIES), COPIES], ids=str)
def test_an_index_of_copies_alone_says_why_it_was_refused(kinds: list[Kind]) -> None:
    assert said_of(kinds) is Reason.NOT_COVERED


@pytest.mark.parametrize("kind", COPIES, ids=str)
def test_one_that_is_asked_too_says_what_its_answer_was(kind: Kind) -> None:
    assert said_of([kind, mi.ColumnStats()]) is Reason.NO_FILTER


def said_of(kinds: list[Kind]) -> Reason | None:
    info = IndexInfo("one", "ACTIVE", kinds=tuple(kind.name for kind in kinds))
    planned = Planned(Reason.NO_FILTER, None, {"one": Reason.NOT_COVERED}, None, Reason.NO_FILTER)
    return _verdict(info, Reason.NO_FILTER, planned, None).reason
