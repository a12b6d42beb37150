"""The state tables say what the Hyperspace paper's figure 6 and table 1 say."""

import itertools

from metaindex.log.states import COMPATIBLE, LEAVES, NEEDS, STABLE, TRANSIENT, Operation, State


def test_every_operation_has_a_row_in_every_table() -> None:
    for table in (NEEDS, TRANSIENT, LEAVES, COMPATIBLE):
        assert set(table) == set(Operation)


def test_operations_lead_from_stable_to_stable_through_their_own_transient_state() -> None:
    assert set(NEEDS.values()) | set(LEAVES.values()) <= STABLE
    assert len(set(TRANSIENT.values())) == len(Operation)
    assert not set(TRANSIENT.values()) & STABLE


def test_compatibility_is_symmetric_and_reflexive() -> None:
    for a, b in itertools.product(Operation, repeat=2):
        assert (b in COMPATIBLE[a]) == (a in COMPATIBLE[b])
        assert a in COMPATIBLE[a]


def test_compatibility_matrix_is_the_papers() -> None:
    apart = {frozenset({a, b}) for a, b in itertools.combinations(Operation, 2) if b not in COMPATIBLE[a]}
    together = {frozenset(pair) for pair in itertools.combinations(Operation, 2)} - apart

    assert together == {
        frozenset({Operation.DELETE, Operation.OPTIMIZE}),
        frozenset({Operation.DELETE, Operation.REFRESH}),
        frozenset({Operation.OPTIMIZE, Operation.REFRESH}),
    }


def test_transient_states_are_named_after_their_verbs() -> None:
    assert TRANSIENT[Operation.VACUUM] is State.VACUUMING
    assert LEAVES[Operation.VACUUM] is State.DOESNOTEXIST
