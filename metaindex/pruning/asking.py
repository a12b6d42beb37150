"""Questions of a walk as values: so that they can be handed on to other sources, kept with their answers, and asked again of one file's row groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from expressions.literals import Literal
from expressions.records import dataclass
from expressions.statistics import Interval, ManyFiles, Mask, PruningStatistics
from expressions.tree import ColumnRef


@dataclass(frozen=True, eq=False)
class Question:
    """One of the questions of `PruningStatistics`, by its name, with what it is asked of the column."""

    name: str
    column: ColumnRef
    arguments: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        return self is other or self._told == other._told

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Worked out once, and of a long list by its beginning: a question may name a hundred thousand values, and is looked for in several places."""
        return hash((self.name, self.column, *map(_beginning, self.arguments)))

    @property
    def _told(self) -> tuple[object, ...]:
        return self.name, self.column, self.arguments

    def ask(self, source: PruningStatistics[Mask]) -> Mask:
        answer: Mask = getattr(source, self.name)(self.column, *self.arguments)
        return answer


class Asking(ManyFiles, ABC):
    """PruningStatistics[Mask] whose every question goes through `_ask`. An answer may be changed by who asked: it is nobody else's."""

    @abstractmethod
    def _ask(self, question: Question) -> Mask: ...

    def some_between(self, column: ColumnRef, interval: Interval) -> Mask:
        return self._ask(Question("some_between", column, (interval,)))

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        return self._ask(Question("some_among", column, (tuple(values),)))

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        return self._ask(Question("some_other", column, (tuple(values),)))

    def some_null(self, column: ColumnRef) -> Mask:
        return self._ask(Question("some_null", column))

    def some_value(self, column: ColumnRef) -> Mask:
        return self._ask(Question("some_value", column))

    def some_nan(self, column: ColumnRef) -> Mask:
        return self._ask(Question("some_nan", column))


_FEW = 8


def _beginning(argument: Any) -> object:
    """Equal ones of equal arguments."""
    return (len(argument), argument[:_FEW]) if isinstance(argument, tuple) else argument
