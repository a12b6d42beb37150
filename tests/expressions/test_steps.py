"""The walk taken once for all questions: what it answers is what the walk itself answers, question by question."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import Mask, TooLate
from metaindex.expressions import And, ArrowStatistics, ColumnBounds, Opaque, Or, Predicate, col, may_match
from metaindex.expressions import statistics as module
from metaindex.expressions.column_ref import ColumnRef
from metaindex.expressions.predicate_program import PredicateProgram
from metaindex.expressions.skipping import may_fail, must_match
from metaindex.expressions.statistics import CompositeStatistics, Question
from tests import strategies


def many_leaves(schema: strategies.Schema) -> st.SearchStrategy[Predicate]:
    """Lists of alike terms, as programs write them, and trees of any shape."""
    alike = st.tuples(*(strategies.leaves({c: t}, constants=False) for c, t in schema.items())).map(And)
    return st.one_of(
        st.lists(alike, min_size=1, max_size=12).map(lambda terms: Or(tuple(terms))),
        st.lists(alike, min_size=1, max_size=12).map(lambda terms: ~Or(tuple(terms))),
        st.lists(strategies.leaves(schema), min_size=1, max_size=12).map(lambda terms: Or(tuple(terms))),
        strategies.predicates(schema, max_leaves=12),
    )


@given(st.data())
def test_it_answers_what_the_walk_answers(data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas())
    files = data.draw(strategies.files(schema, max_files=9))
    more = data.draw(strategies.files(schema, max_files=1))
    p = data.draw(many_leaves(schema))
    count = len(files.rows)
    own = ArrowStatistics(count, files.bounds)
    same = ArrowStatistics(count, {c: b for c, b in files.bounds.items() if c in more.bounds})
    for source in (own, CompositeStatistics([own, same])):
        assert np.array_equal(PredicateProgram.may_match(p).over(source, count), may_match(p, source))
        assert np.array_equal(PredicateProgram.may_fail(p).over(source, count), may_fail(p, source))
        assert np.array_equal(~PredicateProgram.may_fail(p).over(source, count), must_match(p, source))


@given(st.data())
@pytest.mark.slow
def test_questions_asked_together_are_answered_as_alone(data: st.DataObject) -> None:
    schema = data.draw(strategies.schemas(max_columns=2))
    files = data.draw(strategies.files(schema, max_files=9))
    questions = [q for p in data.draw(st.lists(many_leaves(schema), min_size=1, max_size=4)) for q in asked(p)]
    source = ArrowStatistics(len(files.rows), files.bounds)
    for question, row in zip(questions, source.many(questions), strict=True):
        assert np.array_equal(row, question.ask(source)), question


def asked(p: Predicate) -> Sequence[Question]:
    return (*PredicateProgram.may_match(p).questions, *PredicateProgram.may_fail(p).questions)


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_the_pieces_in_which_answers_come_change_nothing(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE_BYTES", piece)
    bounds = ColumnBounds(pa.int64(), pa.array([0, 10, 20]), pa.array([9, 19, 29]))
    source = ArrowStatistics(3, {ColumnRef(("k",)): bounds})
    p = Or(tuple((col("k") >= i) & (col("k") < i + 1) & (col("k") != 21) for i in (3, 5, 21, 5, 40)))
    assert (
        PredicateProgram.may_match(p).over(source, 3).tolist() == may_match(p, source).tolist() == [True, False, True]
    )


class Counting(ArrowStatistics):
    asked = 0

    def many(self, questions: Sequence[Question]) -> Mask:
        self.asked += len(questions)
        return super().many(questions)


def test_a_question_is_asked_once_and_what_nothing_depends_on_not_at_all() -> None:
    source = Counting(2, {})
    p = Or(tuple((col("k") == i % 5) & (col("s") == "v") for i in range(100)))
    PredicateProgram.may_match(p).over(source, 2)
    assert source.asked == 6
    assert PredicateProgram.may_match(p | Opaque("f(b)")).over(source, 2).tolist() == [True, True]
    assert source.asked == 6


def test_the_rows_of_answers_are_nobody_elses() -> None:
    bounds = ColumnBounds(pa.int64(), pa.array([0, 10]), pa.array([9, 19]))
    source = ArrowStatistics(2, {ColumnRef(("k",)): bounds})
    p = Or(((col("k") == 1) & (col("k") < 5), (col("k") == 11) & (col("k") < 5), col("k") == 11))
    found: list[Mask] = [PredicateProgram.may_match(p).over(source, 2) for _ in range(2)]
    assert found[0].tolist() == found[1].tolist() == may_match(p, source).tolist()


def test_nobody_waits_any_more() -> None:
    p = Or(tuple((col("k") == i) & (col("s") == "v") for i in range(100)))
    with TooLate.after(0.0), pytest.raises(TooLate):
        PredicateProgram.may_match(p).over(ArrowStatistics(2, {}), 2)
    with TooLate.after(0.0), pytest.raises(TooLate):
        Question.ask_all(PredicateProgram.may_match(p).questions[:1], ArrowStatistics(2, {}))
    assert PredicateProgram.may_match(p).over(ArrowStatistics(2, {}), 2).all()
