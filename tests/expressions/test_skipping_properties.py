"""No dropped file holds a matching row, and every row of a certain file matches: for random rows, statistics and
predicates."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import ArrowStatistics, CompositeStatistics, Not, Predicate, may_match, normalize
from metaindex.expressions.skipping import may_fail, must_match
from metaindex.expressions.statistics import PruningStatistics
from tests.evaluate import matches
from tests.scalar_statistics import ScalarStatistics
from tests.strategies import Files, files, predicates, schemas


@st.composite
def cases(draw: st.DrawFn) -> tuple[Files, Predicate]:
    schema = draw(schemas())
    return draw(files(schema)), draw(predicates(schema))


@given(cases())
def test_dropped_files_hold_no_match_and_certain_files_only_matches(case: tuple[Files, Predicate]) -> None:
    lake, p = case
    vectors = ArrowStatistics(len(lake.rows), lake.bounds)
    kept, certain, failing = may_match(p, vectors), must_match(p, vectors), may_fail(p, vectors)
    assert (certain == ~failing).all()
    for i, rows in enumerate(lake.rows):
        answers = [matches(p, row) for row in rows]
        assert kept[i] or True not in answers
        assert not certain[i] or all(answer is True for answer in answers)


@settings(max_examples=settings.default.max_examples // 2)
@given(cases())
def test_one_file_is_answered_as_soundly_and_as_sharply_as_many(case: tuple[Files, Predicate]) -> None:
    lake, p = case
    vectors = ArrowStatistics(len(lake.rows), lake.bounds)
    kept, certain = may_match(p, vectors), must_match(p, vectors)
    for i, rows in enumerate(lake.rows):
        one = ScalarStatistics(lake.facts[i])
        answers = [matches(p, row) for row in rows]
        assert may_match(p, one) or True not in answers
        assert not must_match(p, one) or all(answer is True for answer in answers)
        # Vectors round (open bounds of text between literals) and refuse a comparison now and then, they never know
        # more than they should.
        assert kept[i] or not may_match(p, one) or True not in answers
        assert not certain[i] or rows == [] or all(answer is True for answer in answers)


@settings(max_examples=settings.default.max_examples // 2)
@given(cases())
def test_normal_form_is_as_sound(case: tuple[Files, Predicate]) -> None:
    lake, p = case
    normal = normalize(Not(p))
    vectors = ArrowStatistics(len(lake.rows), lake.bounds)
    kept, certain = may_match(normal, vectors), must_match(normal, vectors)
    for i, rows in enumerate(lake.rows):
        answers = [matches(p, row) for row in rows]
        assert kept[i] or False not in answers
        assert not certain[i] or all(answer is False for answer in answers)


@settings(max_examples=settings.default.max_examples // 2)
@given(cases(), st.data())
def test_joined_sources_are_sound_and_as_sharp_as_each(case: tuple[Files, Predicate], data: st.DataObject) -> None:
    lake, p = case
    columns = list(lake.bounds)
    some = (
        {c: lake.bounds[c] for c in data.draw(st.lists(st.sampled_from(columns), unique=True)) if columns}
        if columns
        else {}
    )
    sources: list[PruningStatistics] = [
        ArrowStatistics(len(lake.rows), lake.bounds),
        ArrowStatistics(len(lake.rows), some),
    ]  # type: ignore[type-arg]
    joined = CompositeStatistics(sources)
    kept, certain = may_match(p, joined), must_match(p, joined)
    for i, rows in enumerate(lake.rows):
        answers = [matches(p, row) for row in rows]
        assert kept[i] or True not in answers
        assert not certain[i] or all(answer is True for answer in answers)
    assert (kept <= may_match(p, sources[0])).all()
    assert (certain >= must_match(p, sources[0])).all()


def test_joined_sources_need_a_source() -> None:
    with pytest.raises(ValueError, match="need a source"):
        CompositeStatistics([])
