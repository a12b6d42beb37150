"""Answers joined from several sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from metaindex.core import ExpressionError, Mask, dataclass

from .literals import Literal
from .questions import Question, answers
from .statistics import Interval, PruningStatistics
from .tree import ColumnRef

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CompositeStatistics(Generic[T]):
    """Several sources as one: a question is answered False as soon as one source proves it. Joined per leaf, so that `a
    = 5 OR b < 6` prunes when one source knows a and another knows b. Sources are asked with the same literals, those of
    the predicate."""

    sources: Sequence[PruningStatistics[T]]

    def __post_init__(self) -> None:
        if not self.sources:
            raise ExpressionError("joined statistics need a source; got none; use ArrowStatistics(count, {})")

    def some_between(self, column: ColumnRef, interval: Interval) -> T:
        return self._join(lambda source: source.some_between(column, interval))

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> T:
        return self._join(lambda source: source.some_among(column, values))

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> T:
        return self._join(lambda source: source.some_other(column, values))

    def some_null(self, column: ColumnRef) -> T:
        return self._join(lambda source: source.some_null(column))

    def some_value(self, column: ColumnRef) -> T:
        return self._join(lambda source: source.some_value(column))

    def some_nan(self, column: ColumnRef) -> T:
        return self._join(lambda source: source.some_nan(column))

    def constant(self, value: bool) -> T:
        return self.sources[0].constant(value)

    def all_of(self, parts: Sequence[T]) -> T:
        return self.sources[0].all_of(parts)

    def any_of(self, parts: Sequence[T]) -> T:
        return self.sources[0].any_of(parts)

    def many(self, questions: Sequence[Question]) -> Mask:
        """Answer many questions over many files: one row per question."""
        sources = cast(Sequence[PruningStatistics[Mask]], self.sources)
        out = answers(sources[0], questions)
        for source in sources[1:]:
            out &= answers(source, questions)
        return out

    def _join(self, ask: Callable[[PruningStatistics[T]], T]) -> T:
        return self.all_of([ask(source) for source in self.sources])


if TYPE_CHECKING:
    _composite: Callable[..., PruningStatistics[bool]] = CompositeStatistics[bool]
