"""The state tables say what the Hyperspace paper's figure 6 and table 1 say, and the page shows what they say."""

import itertools
from pathlib import Path

from metaindex.index.log.states import CANCELLED, COMPATIBLE, LEAVES, NEEDS, ONCE, STABLE, TRANSIENT, Operation, State
from tests.docs.log_tables import TABLES, drawn

PAGE = Path(__file__).parents[3] / "docs" / "operation-log.md"
PAPERS = [operation for operation in Operation if operation is not Operation.CANCEL]


def test_every_operation_has_a_row_in_every_table() -> None:
    for table in (NEEDS, TRANSIENT, LEAVES, COMPATIBLE, CANCELLED):
        assert set(table) == set(Operation)


def test_operations_lead_from_stable_to_stable_through_their_own_transient_state() -> None:
    assert {*NEEDS.values(), *LEAVES.values(), *CANCELLED.values()} <= STABLE | {None}
    assert len(set(TRANSIENT.values())) == len(Operation)
    assert not set(TRANSIENT.values()) & STABLE
    assert set(State) == STABLE | set(TRANSIENT.values())


def test_compatibility_is_symmetric_and_reflexive_but_for_cancel() -> None:
    for a, b in itertools.product(PAPERS, repeat=2):
        assert (b in COMPATIBLE[a]) == (a in COMPATIBLE[b])
        assert a in COMPATIBLE[a]
    assert all(Operation.CANCEL not in COMPATIBLE[a] for a in Operation)
    assert COMPATIBLE[Operation.CANCEL] == frozenset()


def test_compatibility_matrix_is_the_papers() -> None:
    apart = {frozenset({a, b}) for a, b in itertools.combinations(PAPERS, 2) if b not in COMPATIBLE[a]}
    together = {frozenset(pair) for pair in itertools.combinations(PAPERS, 2)} - apart
    assert together == {
        frozenset({Operation.DELETE, Operation.OPTIMIZE}),
        frozenset({Operation.DELETE, Operation.REFRESH}),
        frozenset({Operation.OPTIMIZE, Operation.REFRESH}),
    }


def test_what_changes_the_stable_state_happens_once() -> None:
    assert {o for o in PAPERS if NEEDS[o] is not LEAVES[o]} == ONCE


def test_cancel_of_a_vacuum_goes_forward() -> None:
    assert CANCELLED[Operation.VACUUM] is LEAVES[Operation.VACUUM] is State.DOESNOTEXIST


def test_the_page_draws_its_tables_from_the_data() -> None:
    page = PAGE.read_text()
    assert all(f"<!-- {name} -->" in page for name in TABLES)
    assert drawn(page) == page, "python -m tests.docs.log_tables docs/operation-log.md"
