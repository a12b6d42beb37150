"""Questions of a walk as values: so that they can be handed on to other sources, kept with their answers, asked again
of one file's row groups, and asked many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from metaindex.core import Mask, TooLate, dataclass

from .literals import Literal
from .statistics import Interval, ManyFiles, PruningStatistics
from .tree import ColumnRef

K = TypeVar("K")

PIECE_BYTES = 8 << 20
"""Of answers that are in memory at a time, of one source."""

_MOST = 4_096  # questions of a piece


@dataclass(frozen=True, eq=False)
class Question:
    """A question of `PruningStatistics`: its name, its column, and its arguments."""

    name: str
    column: ColumnRef
    arguments: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Question):
            return NotImplemented
        return self is other or self._told == other._told

    def __hash__(self) -> int:
        """Worked out once, and of a long list by its beginning: a question may name a hundred thousand values, and is
        looked for in several places."""
        kept_hash: int | None = getattr(self, "_hash", None)
        if kept_hash is None:
            kept_hash = hash((self.name, self.column, *map(_beginning, self.arguments)))
            object.__setattr__(self, "_hash", kept_hash)
        return kept_hash

    @property
    def _told(self) -> tuple[object, ...]:
        return self.name, self.column, self.arguments

    def ask(self, source: PruningStatistics[Mask]) -> Mask:
        answer: Mask = getattr(source, self.name)(self.column, *self.arguments)
        return answer


class Asks(ABC):
    """Turns every call into a `Question`."""

    @abstractmethod
    def _ask(self, question: Question) -> Any: ...

    def some_between(self, column: ColumnRef, interval: Interval) -> Any:
        return self._ask(Question("some_between", column, (interval,)))

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> Any:
        return self._ask(Question("some_among", column, (tuple(values),)))

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> Any:
        return self._ask(Question("some_other", column, (tuple(values),)))

    def some_null(self, column: ColumnRef) -> Any:
        return self._ask(Question("some_null", column))

    def some_value(self, column: ColumnRef) -> Any:
        return self._ask(Question("some_value", column))

    def some_nan(self, column: ColumnRef) -> Any:
        return self._ask(Question("some_nan", column))


class BatchStatistics(Asks, ManyFiles):
    """Base of PruningStatistics[Mask] with every question answered by `_ask`. The caller owns an answer and may change
    it."""

    @abstractmethod
    def _ask(self, question: Question) -> Mask: ...


def answers(source: PruningStatistics[Mask], questions: Sequence[Question]) -> Mask:
    """Return a source's answers, one row per question, by the source's own batch method (`many`) if it has one. The
    caller owns the rows."""
    TooLate.check()
    many = getattr(source, "many", None)
    if many is not None:
        matrix: Mask = many(questions)
        return matrix
    rows = []
    for question in questions:
        TooLate.check()
        rows.append(question.ask(source))
    return np.array(rows, np.bool_)


def pieces(questions: Sequence[Question], count: int) -> Iterator[Sequence[Question]]:
    """Yield the questions in batches whose answers for so many files fit in memory."""
    size = max(1, min(_MOST, PIECE_BYTES // max(count, 1)))
    for start in range(0, len(questions), size):
        TooLate.check()
        yield questions[start : start + size]


def grouped(questions: Iterable[tuple[K, Question]]) -> dict[K, tuple[list[int], list[Question]]]:
    """Questions by a key, with their places."""
    groups: dict[K, tuple[list[int], list[Question]]] = {}
    for place, (key, question) in enumerate(questions):
        places, some = groups.setdefault(key, ([], []))
        places.append(place)
        some.append(question)
    return groups


_FEW = 8


def _beginning(argument: Any) -> object:
    """Equal ones of equal arguments."""
    return (len(argument), argument[:_FEW]) if isinstance(argument, tuple) else argument
