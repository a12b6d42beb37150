"""The walk over all sources, and over each alone for the report; an index that fails in any way is taken out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, MetaIndexError, counted, dataclass
from metaindex.expressions import (
    And,
    BatchEvaluation,
    ColumnRef,
    CompositeStatistics,
    IsNull,
    Not,
    Opaque,
    Or,
    Predicate,
    PredicateProgram,
    PruningStatistics,
    answers,
    gathered_form,
    leaves,
    may_fail,
    may_match,
    pieces,
    signed_leaves,
)
from metaindex.formats import FileTable, Schema
from metaindex.index import OpenIndex
from metaindex.query.described import describe

from .combined import Combination
from .report import LOG as LOG
from .run_coverage import BoundPredicate
from .sources import FileSource, asked_and_answered, by_kind

logger = logging.getLogger("metaindex")

T = TypeVar("T")

Sources = Mapping[str, PruningStatistics[Mask]]
"""By the name of the index, or `LOG`."""


@dataclass(slots=True)
class Tally:
    """The files that one source drops alone, and how long it took to answer."""

    files: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LeafReport:
    """The answer of one kind of one index (`index`: its name, or the table's log) to one part of a predicate: `leaf`,
    with the NOT above it. `answered`: False if no key that was asked had an answer. `together`: the part asks whether
    several columns, which a key keys as one, have one of some combinations of values."""

    leaf: Predicate
    index: str
    kind: str
    dropped_files: int  # proved to hold no row for which the part is true
    together: Combination | None = None
    answered: bool = True

    @property
    def part(self) -> str:
        """Return the part of the predicate, for people."""
        if self.together is None:
            return describe(self.leaf)
        names = ", ".join(column.name for column in self.together.columns)
        return f"({names}) together, {counted(len(self.together.values), 'combination')}"


@dataclass(slots=True)
class Walked:
    """The outcome of a walk. `dropped`, `certain` and `leaves` are worked out when asked for; `row_groups` gives what
    the sources know of the row groups of a kept file, by its row in `files`."""

    files: FileTable
    total_files: int
    total_bytes: int
    schema: Schema
    predicate: Predicate
    walked: Predicate
    alone: dict[str, Tally]
    used_columns: dict[str, tuple[str, ...]]
    dropped: Callable[[], FileTable]
    certain: Callable[[], pa.Array]
    leaves: Callable[[], list[LeafReport]]
    row_groups: Callable[[int, int], PruningStatistics[Mask]]
    knows_row_groups: bool  # may they be told apart
    lacks: Mapping[str, str] = field(default_factory=dict)  # of which files an index knows no column that is asked

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled, it answers what can be asked of files, worked out now; the indexes, which know of row groups, stay
        here."""
        told = (self.files, self.total_files, self.total_bytes, self.schema, self.predicate, self.walked, self.alone)
        return _told, (*told, self.used_columns, *map(_answer, (self.dropped, self.certain, self.leaves)))


def _answer(ask: Callable[[], T]) -> T | MetaIndexError:
    """Return the answer, or the index's error, which is raised where the answer is used."""
    try:
        return ask()
    except MetaIndexError as error:
        return error


def _again(answer: T | MetaIndexError) -> T:
    if isinstance(answer, MetaIndexError):
        raise answer
    return answer


def _told(*told: Any) -> Walked:
    *plain, dropped, certain, leaves = told
    files, total_files, total_bytes, schema, predicate, walked, alone, used_columns = plain
    return Walked(
        files,
        total_files,
        total_bytes,
        schema,
        predicate,
        walked,
        alone,
        used_columns,
        partial(_again, dropped),
        partial(_again, certain),
        partial(_again, leaves),
        row_groups=lambda _, groups: FileSource(groups, [], 0),
        knows_row_groups=False,
    )


def walk(
    predicate: Predicate, sources: Sources, alone: dict[str, Tally], indexes: Sequence[OpenIndex], count: int
) -> tuple[Mask, dict[str, Mask]]:
    """The files that may match, of `count`; and, for the report, by each source alone (its answers are kept, so that
    costs no read)."""
    by_name = {index.name: index for index in indexes}
    if many_leaves(predicate):
        return _walk_together(PredicateProgram.may_match(predicate), sources, alone, by_name, count)
    masks = {}
    for name, source in sources.items():
        started = time.perf_counter()
        with guard(by_name.get(name)):
            masks[name] = may_match(predicate, source)
        alone[name].seconds += time.perf_counter() - started
    if len(masks) == 1:
        (only,) = masks.values()
        return only.copy(), masks
    return may_match(predicate, CompositeStatistics(list(sources.values()))), masks


def _walk_together(
    steps: PredicateProgram, sources: Sources, alone: dict[str, Tally], indexes: Mapping[str, OpenIndex], count: int
) -> tuple[Mask, dict[str, Mask]]:
    """Like `_walk`, for large predicates: each source is asked once for all questions, a piece at a time."""
    walked = {name: BatchEvaluation(steps, count) for name in sources}
    together = BatchEvaluation(steps, count)
    for piece in pieces(steps.questions, count):
        matrix: Mask | None = None
        for name, source in sources.items():
            started = time.perf_counter()
            with guard(indexes.get(name)):
                own = answers(source, piece)
            if len(sources) > 1:
                matrix = own.copy() if matrix is None else np.logical_and(matrix, own, out=matrix)
            walked[name].take(own)
            alone[name].seconds += time.perf_counter() - started
        if matrix is not None:
            together.take(matrix)
    masks = {name: source_walk.answer() for name, source_walk in walked.items()}
    if len(masks) == 1:
        (only,) = masks.values()
        return only.copy(), masks
    return together.answer(), masks


def walk_each(
    predicates: Sequence[Predicate], sources: Sources, indexes: Sequence[OpenIndex], count: int
) -> list[Mask]:
    """The files that each may match: every source is asked once for all of them, a piece at a time."""
    by_name = {index.name: index for index in indexes}
    each = [PredicateProgram.may_match(predicate) for predicate in predicates]
    walked = [BatchEvaluation(steps, count) for steps in each]
    places = [place for place, steps in enumerate(each) for _ in steps.questions]
    first = 0
    for piece in pieces([question for steps in each for question in steps.questions], count):
        matrix: Mask | None = None
        for name, source in sources.items():
            with guard(by_name.get(name)):
                own = answers(source, piece)
            matrix = own if matrix is None else np.logical_and(matrix, own, out=matrix)
        assert matrix is not None, "the table's log always answers"
        of_piece = places[first : first + len(piece)]
        first += len(piece)
        start = 0
        for place, some in groupby(of_piece):
            end = start + len(list(some))
            walked[place].take(matrix[start:end])
            start = end
    return [some_walk.answer() for some_walk in walked]


_FEW = 8
"""Leaves up to which a walk is taken as it stands: a look-up of one value is over sooner than questions are
gathered."""


def many_leaves(predicate: Predicate) -> bool:
    """Return whether the predicate is large enough to ask all its leaves together."""
    return isinstance(predicate, And | Or | Not) and len(leaves(predicate)) > _FEW


def may_match_any(predicate: Predicate, source: PruningStatistics[Mask], count: int) -> Mask:
    """`may_match`, in the way that is sooner done."""
    return (
        PredicateProgram.may_match(predicate).over(source, count)
        if many_leaves(predicate)
        else may_match(predicate, source)
    )


class Failed(Exception):
    """An index failed: it is taken out, and the question asked again."""

    def __init__(self, index: OpenIndex) -> None:
        super().__init__(index.name)
        self.index = index


class guard:  # noqa: N801 - reads as a statement
    """Blames the index for any exception raised inside, which takes it out of this query. Without an index, errors
    pass."""

    def __init__(self, index: OpenIndex | None) -> None:
        self._index = index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._index is not None and isinstance(error, Exception) and not isinstance(error, Failed):
            raise Failed(self._index) from error


def surely(predicate: Predicate, source: PruningStatistics[Mask], count: int) -> Mask:
    """Return a mask of the files in which every row matches; all False if an index cannot say."""
    try:
        if many_leaves(predicate):
            return ~PredicateProgram.may_fail(predicate).over(source, count)
        return ~may_fail(predicate, source)
    except Exception as error:  # noqa: BLE001 - as in `guard`: an index never gets in the way of an answer
        logger.warning("no file is called certain: %s", error)
        return np.zeros(count, np.bool_)


def leaf_reports(asked: BoundPredicate, sources: Sources, live: Mask | None = None) -> list[LeafReport]:
    """Report which source answered which leaf of the predicate, and how many (live) files that proves out."""
    reports = []
    kinds = [(name, kind, source) for name, of_index in sources.items() for kind, source in by_kind(of_index).items()]
    for part in signed_leaves(gathered_form(asked.walked)):
        if isinstance(part.child if isinstance(part, Not) else part, Opaque):
            continue
        for name, kind, source in kinds:
            asked_before, answered_before = asked_and_answered(source)
            try:
                out = ~may_match(part, source)
            except Exception as error:  # noqa: BLE001 - as in `guard`
                logger.warning("what index %r answers to a part of a predicate cannot be told: %s", name, error)
                continue
            dropped = int(np.count_nonzero(out if live is None else out & live))
            together = asked.combinations.get(part.column) if isinstance(part, IsNull) else None
            times, answers_given = asked_and_answered(source)
            answered = times == asked_before or answers_given > answered_before
            reports.append(LeafReport(part, name, kind, dropped, together, answered))
    return reports


def column_names(refs: set[ColumnRef]) -> tuple[str, ...]:
    return tuple(sorted(ref.name for ref in refs))
