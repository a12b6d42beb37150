"""Keys in the walk: with statistics, with other keys, of several columns; for files and for the row groups of a file.
Judged by every row."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaindex.expressions import (
    And,
    ArrowStatistics,
    ColumnRef,
    Comparison,
    CompositeStatistics,
    In,
    Literal,
    Op,
    Or,
    Predicate,
    PredicateProgram,
    col,
    may_match,
)
from metaindex.index.kinds.keyed import Hits
from metaindex.index.lookup.combined import MOST_VALUES, with_combinations
from metaindex.index.lookup.key_source import AskedKey, KeySource
from metaindex.query.pruning.sources import FileSource
from tests import strategies
from tests.evaluate import matches
from tests.index.lookup.reference import Reference

QUESTIONS = ["among", "between", "other", "null", "value", "nan"]


def keyed(
    data: st.DataObject, schema: strategies.Schema, groups: Sequence[Sequence[Sequence[strategies.Row]]]
) -> list[AskedKey]:
    """Some keys of some columns, alone and together, of some kinds, each unkeyed in some files."""
    columns = list(schema)
    some = st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True).map(tuple)
    found = []
    for key in data.draw(st.lists(some, min_size=1, max_size=4, unique=True)):
        values = [[[tuple(strategies.value_of(r, c) for c in key) for r in rows] for rows in file] for file in groups]
        able = data.draw(st.frozensets(st.sampled_from(QUESTIONS))) | {"among"}
        if len(key) > 1:
            values = [[[row for row in rows if None not in row] for rows in file] for file in values]
        reference = Reference(values, data.draw(st.sampled_from([0, 1, 4])), able)
        kind = data.draw(st.sampled_from(["values", "value_keys", "value_lists", "bloom_filters"]))
        unkeyed = data.draw(st.sets(st.integers(0, len(groups) - 1), max_size=2))
        found.append(reference.asked(key, kind, sorted(unkeyed)))
    return found


def keyed_files(
    data: st.DataObject,
) -> tuple[strategies.Schema, strategies.Files, list[list[list[strategies.Row]]], list[AskedKey]]:
    schema = data.draw(strategies.schemas())
    files = data.draw(strategies.files(schema))
    groups = [[rows[at : at + 2] for at in range(0, len(rows), 2)] for rows in files.rows]
    return schema, files, groups, keyed(data, schema, groups)


@given(st.data())
def test_a_file_or_row_group_that_holds_a_match_is_kept(data: st.DataObject) -> None:
    schema, files, groups, keys = keyed_files(data)
    predicate = data.draw(strategies.predicates(schema))
    walked, keyed_by = source(*keys, files=len(groups), predicate=predicate)
    both = CompositeStatistics([ArrowStatistics(len(groups), files.bounds), keyed_by])
    for statistics in (keyed_by, both):
        mask = may_match(walked, statistics)
        for place, file in enumerate(groups):
            found = [any(matches(predicate, row) is True for row in rows) for rows in file]
            assert mask[place] or not any(found)
            inside = may_match(walked, FileSource(len(file), [statistics], place)) if file else []
            assert all(kept or not wanted for kept, wanted in zip(inside, found, strict=True))


@given(st.data())
def test_questions_asked_together_are_answered_as_alone(data: st.DataObject) -> None:
    schema, _, groups, keys = keyed_files(data)
    predicate = Or(tuple(data.draw(st.lists(strategies.predicates(schema), min_size=1, max_size=6))))
    walked, combinations = with_combinations(predicate, {k.columns for k in keys if len(k.columns) > 1})
    questions = [*PredicateProgram.may_match(walked).questions, *PredicateProgram.may_fail(walked).questions]
    sources = [KeySource(len(groups), keys, combinations) for _ in range(3)]
    expected = [question.ask(sources[0]).tolist() for question in questions]
    assert sources[1].many(questions).tolist() == expected  # nothing is kept yet
    assert sources[1].many(questions).tolist() == expected
    every = [data.draw(st.booleans()) and question.ask(sources[2]) is not None for question in questions]
    assert sources[2].many(questions).tolist() == expected, every  # some is kept
    assert np.array_equal(
        PredicateProgram.may_match(walked).over(sources[2], len(groups)), may_match(walked, sources[0])
    )


A, B, C = (ColumnRef((name,)) for name in "abc")


def source(*keys: AskedKey, files: int, predicate: Predicate) -> tuple[Predicate, KeySource]:
    walked, combinations = with_combinations(predicate, {k.columns for k in keys if len(k.columns) > 1})
    return walked, KeySource(files, keys, combinations)


def test_a_pair_that_stands_in_no_row_drops_the_file_that_holds_both_values() -> None:
    rows = [[[(1, 2), (3, 4)]], [[(1, 4)]]]
    predicate = (col("a") == 1) & col("b").isin([4, 5])
    walked, keys = source(Reference(rows).asked((A, B)), files=2, predicate=predicate)
    assert may_match(walked, keys).tolist() == [False, True]


def test_a_column_fixed_above_counts_in_every_branch_below() -> None:
    rows = [[[(1, 2)]], [[(1, 3)]], [[(2, 2)]]]
    predicate = And(
        (Comparison(A, Op.EQ, Literal(1)), Or((Comparison(B, Op.EQ, Literal(2)), Comparison(C, Op.EQ, Literal(0)))))
    )
    walked, keys = source(
        Reference(rows).asked((A, B)), Reference([[[]], [[(0,)]], [[]]]).asked((C,)), files=3, predicate=predicate
    )
    assert may_match(walked, keys).tolist() == [True, True, False]


def test_under_not_nothing_is_added() -> None:
    predicate = ~((col("a") == 1) & (col("b") == 2))
    assert with_combinations(predicate, {(A, B)}) == (predicate, {})


def test_more_combinations_than_are_looked_up_add_nothing() -> None:
    many = tuple(Literal(n) for n in range(MOST_VALUES))
    predicate = And((In(A, many), In(B, many[:2])))
    assert with_combinations(predicate, {(A, B)}) == (predicate, {})


def test_what_a_key_does_not_know_is_kept_and_a_bloom_filter_is_asked_for_it() -> None:
    lists = Reference([[[(1,)]], [[(2,)]], [[(2,)]]]).asked((A,), "value_lists", unkeyed=[1, 2])
    blooms = Reference([[[(1,)]], [[(2,)]], [[(1,)]]]).asked((A,), "bloom_filters")
    predicate = col("a") == 1
    _, alone = source(lists, files=3, predicate=predicate)
    _, both = source(lists, blooms, files=3, predicate=predicate)
    assert may_match(predicate, alone).tolist() == [True, True, True]
    assert may_match(predicate, both).tolist() == [True, False, True]


def test_behind_an_exact_answer_nobody_is_asked() -> None:
    class Never(Reference):
        def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
            raise AssertionError("a bloom filter was read")

    keys = (Never([[[]]]).asked((A,), "bloom_filters"), Reference([[[(1,)]]]).asked((A,), "values"))
    _, found = source(*keys, files=1, predicate=col("a") == 1)
    assert may_match(col("a") == 1, found).tolist() == [True]


def test_row_groups_of_a_file_that_another_leaf_keeps() -> None:
    users = Reference([[[(1,)], [(2,)], [(3,)]]], group_bits=2).asked((A,))
    bounds = Reference([[[(5,)], [(6,)], [(7,)]]], group_bits=2).asked((B,), "value_keys")
    predicate = (col("a") == 9) | (col("b") > 6)
    walked, keys = source(users, bounds, files=1, predicate=predicate)
    assert may_match(walked, FileSource(3, [keys], 0)).tolist() == [False, False, True]


def test_an_index_that_fails_for_row_groups_proves_nothing() -> None:
    class Broken(Reference):
        def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
            raise OSError("gone")

    _, keys = source(Broken([[[(1,)]]]).asked((A,)), files=1, predicate=col("a") == 1)
    assert may_match(col("a") == 1, FileSource(2, [keys], 0)).tolist() == [True, True]


def test_groups_that_share_a_number_are_kept_together() -> None:
    hits = Hits(units=np.array([1 << 1 | 1]), group_bits=1)
    found = hits.groups(1, 5)
    assert found.tolist() == [False, False, False, True, True]
