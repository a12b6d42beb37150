"""Questions that a predicate's walk asks of statistics, and their answers over whole columns of files.

One family of questions: "may some row of the file ...?". Every answer errs towards True: **False is a proof**, unknown
is True. From these questions alone `skipping.may_match` proves files out, and `skipping.must_match` proves that every
row matches (no row may fail). A question is a value, too (`Question`): it can be handed on to other sources, kept with
its answer, asked again of one file's row groups, and asked together with many.

    answer    means
    False     proved: no physical row of the file is such
    True      some row is, or nothing is known
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, cast

import numpy as np
import pyarrow as pa

from metaindex.core import ExpressionError, Mask, TooLate, dataclass

from .literals import Literal
from .tree import ColumnRef

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interval:
    """The non-null, non-NaN values between two bounds; None is unbounded. `Interval(Literal(5), None, low_open=True)`
    is `> 5`."""

    low: Literal | None
    high: Literal | None
    low_open: bool = False
    high_open: bool = False


class PruningStatistics(Protocol[T]):
    """The questions. T is bool for one file, a Mask for many; a source that knows nothing of a column answers True
    throughout."""

    def some_between(self, column: ColumnRef, interval: Interval) -> T:
        """Return whether some row may hold a non-null, non-NaN value inside the interval."""

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> T:
        """Return whether some row may equal one of the values (no NULL; NaN equals NaN, -0.0 equals 0.0)."""

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> T:
        """Return whether some row may hold a non-null value, or NaN, that equals none of the values."""

    def some_null(self, column: ColumnRef) -> T:
        """Return whether some row may be NULL."""

    def some_value(self, column: ColumnRef) -> T:
        """Return whether some row may be other than NULL (NaN is a value)."""

    def some_nan(self, column: ColumnRef) -> T:
        """Return whether some row may be NaN. Proved False for types that have no NaN."""

    def constant(self, value: bool) -> T:
        """Return the same answer for every file."""

    def all_of(self, parts: Sequence[T]) -> T: ...

    def any_of(self, parts: Sequence[T]) -> T: ...


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Statistics of one column in each of N files: Arrow arrays of length N, in the physical domain of `type`; null is
    unknown.

    * `lower`, `upper`: int64, double or binary (see `literals.physical_type`): no non-null, non-NaN value lies outside.
      They may be loose, unless the matching `exact` array says that the bound is attained (None: none is exact).
    * `null_count`, `nan_count`: int64; null is unknown. None: unknown for all. NaN counts are ignored for types without
      NaN.
    * `row_count`: int64, physical rows, NULLs included.

    A file is known to be all NULL when null_count = row_count, both known; bounds are then null and mean "no values",
    not "unknown".
    """

    type: pa.DataType
    lower: pa.Array | None
    upper: pa.Array | None
    null_count: pa.Array | None = None
    nan_count: pa.Array | None = None
    row_count: pa.Array | None = None
    lower_exact: pa.Array | None = None
    upper_exact: pa.Array | None = None


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

    def ask(self, source: PruningStatistics[T]) -> T:
        answer: T = getattr(source, self.name)(self.column, *self.arguments)
        return answer

    @staticmethod
    def ask_all(questions: Sequence[Question], source: PruningStatistics[Mask]) -> Mask:
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

    @staticmethod
    def batches(questions: Sequence[Question], count: int) -> Iterator[Sequence[Question]]:
        """Yield the questions in batches whose answers for so many files fit in memory."""
        size = max(1, min(_MOST, PIECE_BYTES // max(count, 1)))
        for start in range(0, len(questions), size):
            TooLate.check()
            yield questions[start : start + size]

    @staticmethod
    def grouped(questions: Iterable[tuple[K, Question]]) -> dict[K, tuple[list[int], list[Question]]]:
        """Group questions by a key, with their places."""
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


class ManyFiles(Asks):
    """Base of PruningStatistics[Mask] of `count` files: nothing is known that a source does not answer, in `_ask` or
    question by question. `columns`: those that it is known to know; `KEPT_BYTES`: of answers to many questions that one
    source keeps, about."""

    KEPT_BYTES: Final = 4 << 20
    columns: Collection[ColumnRef] = frozenset()

    def __init__(self, count: int) -> None:
        self.count = count

    def _ask(self, question: Question) -> Mask:
        return self.constant(True)

    def knows(self, column: ColumnRef) -> Mask:
        """Return a mask of the files of which facts (`formats.Trust`) answer what is asked of a column, and no claim of
        whoever wrote the table's log: none by default."""
        return self.constant(False)

    def in_file(self, question: Question, position: int, groups: int) -> Mask:
        """Return what is known of each row group of the file at a position: by default, what is known of the file."""
        return np.full(groups, question.ask(self)[position], np.bool_)

    def apart(self, column: ColumnRef) -> Iterable[ManyFiles]:
        """Return the sources of which all are asked about a column, none in view of another's answer."""
        return (self,)

    def by_kind(self) -> Mapping[str, PruningStatistics[Mask]]:
        """Return a source for each kind of answers that are put together here."""
        return {"": self}

    @property
    def tally(self) -> tuple[int, int]:
        """Return how often the keys of one kind were asked so far, and how often they answered."""
        return 0, 0

    def constant(self, value: bool) -> Mask:
        return np.full(self.count, value, np.bool_)

    def all_of(self, parts: Sequence[Mask]) -> Mask:
        answer = self.constant(True)
        for part in parts:
            answer &= part
        return answer

    def any_of(self, parts: Sequence[Mask]) -> Mask:
        answer = self.constant(False)
        for part in parts:
            answer |= part
        return answer


@dataclass(frozen=True, slots=True)
class CompositeStatistics(Asks, Generic[T]):
    """Several sources as one: a question is answered False as soon as one source proves it. Joined per leaf, so that `a
    = 5 OR b < 6` prunes when one source knows a and another knows b. Sources are asked with the same literals, those of
    the predicate."""

    sources: Sequence[PruningStatistics[T]]

    def __post_init__(self) -> None:
        if not self.sources:
            raise ExpressionError("joined statistics need a source; got none; use ArrowStatistics(count, {})")

    def _ask(self, question: Question) -> T:
        return self.all_of([question.ask(source) for source in self.sources])

    def constant(self, value: bool) -> T:
        return self.sources[0].constant(value)

    def all_of(self, parts: Sequence[T]) -> T:
        return self.sources[0].all_of(parts)

    def any_of(self, parts: Sequence[T]) -> T:
        return self.sources[0].any_of(parts)

    def many(self, questions: Sequence[Question]) -> Mask:
        """Answer many questions over many files: one row per question."""
        sources = cast(Sequence[PruningStatistics[Mask]], self.sources)
        out = Question.ask_all(questions, sources[0])
        for source in sources[1:]:
            out &= Question.ask_all(questions, source)
        return out


if TYPE_CHECKING:
    _composite: Callable[..., PruningStatistics[bool]] = CompositeStatistics[bool]
