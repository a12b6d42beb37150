"""A predicate on a version of a table, and the walk over all sources, and over each alone for the report; an index that
fails in any way is taken out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from enum import Enum
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, MetaIndexError, Plain, dataclass
from metaindex.expressions import (
    ColumnRef,
    CompositeStatistics,
    IsNull,
    ManyFiles,
    Not,
    Opaque,
    Predicate,
    PredicateProgram,
    PruningStatistics,
    Question,
    gathered_form,
    may_match,
)
from metaindex.formats import FileTable, Schema, Version
from metaindex.index import BoundPredicate, Lacking, OpenIndex
from metaindex.query.described import describe
from metaindex.storage import each_at, is_remote

from .report import LOG as LOG
from .sources import FileSource, by_kind, tally_of

logger = logging.getLogger("metaindex")

T = TypeVar("T")

Sources = Mapping[str, PruningStatistics[Mask]]
"""By the name of the index, or `LOG`."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A predicate on a version of a table."""

    table: str
    format: str
    version: Version
    predicate: Predicate
    schema: Schema | None = None  # that the predicate is bound to; None: it may be not bound yet

    def bound(self, schema: Schema) -> Predicate:
        """The predicate with the names and types of a schema."""
        return self.predicate if schema is self.schema else schema.bound(self.predicate)

    @property
    def named(self) -> set[tuple[str, ...]]:
        """Names of the predicate's columns, in parts."""
        return {ref.parts for ref in self.predicate.columns}

    def known_to(self, indexes: Iterable[OpenIndex]) -> bool:
        """Return whether some index has statistics or a key of a column that the predicate names."""
        if self.schema is None:
            return any(index.entry.content.runs for index in indexes)
        named = self.named
        stable = {leaf.stable for leaf in self.schema.leaves() if leaf.parts in named}
        return any(not stable.isdisjoint(index.covered_columns()) for index in indexes)


class NeedsSnapshot(Enum):
    """Returned in place of an answer to ask for the table's own snapshot."""

    NEEDED = "no index that knows the version is left"
    HELPS = "the table itself knows more than the indexes, which keep many files"


@dataclass(slots=True)
class Tally:
    """The files that one source drops alone, and how long it took to answer."""

    files: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LeafReport(Plain):
    """The answer of one kind of one index (`index`: its name, or the table's log) to one part of a predicate: `leaf`,
    with the NOT above it. `answered`: False if no key that was asked had an answer. `together`: the part asks whether
    several columns, which a key keys as one, have one of some combinations of values."""

    JSON = "part index kind answered dropped_files"
    leaf: Predicate
    index: str
    kind: str
    dropped_files: int  # proved to hold no row for which the part is true
    together: str = ""
    answered: bool = True

    @property
    def part(self) -> str:
        """Return the part of the predicate, for people."""
        return self.together or describe(self.leaf)


@dataclass(slots=True)
class Walked:
    """The outcome of a walk. `dropped`, `certain` and `leaves` are worked out when asked for; `row_groups` gives what
    the sources know of the row groups of a kept file, by its row in `files`. `certain` goes by facts alone; with
    `claims=True` by what the table's log claims, too, which answers nothing."""

    files: FileTable
    total_files: int
    total_bytes: int
    schema: Schema
    predicate: Predicate
    walked: Predicate
    alone: dict[str, Tally]
    used_columns: dict[str, tuple[str, ...]]
    dropped: Callable[[], FileTable]
    certain: Callable[..., pa.Array]
    leaves: Callable[[], list[LeafReport]]
    row_groups: Callable[[int, int], PruningStatistics[Mask]]
    knows_row_groups: bool  # may they be told apart
    lacks: Mapping[str, Lacking] = field(default_factory=dict)  # files of which an index knows no column that is asked

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled, it answers what can be asked of files, worked out now; the indexes, which know of row groups, stay
        here."""
        told = {name: getattr(self, name) for name in self.__dataclass_fields__}
        told |= {name: _answer(told[name]) for name in _LATER} | {"row_groups": None, "knows_row_groups": False}
        return _told, (told,)


_LATER = ("dropped", "certain", "leaves")


def _answer(ask: Callable[[], T]) -> T | MetaIndexError:
    """Return the answer, or the index's error, which is raised where the answer is used."""
    try:
        return ask()
    except MetaIndexError as error:
        return error


def _again(answer: T | MetaIndexError, **_: bool) -> T:
    if isinstance(answer, MetaIndexError):
        raise answer
    return answer


def _told(told: dict[str, Any]) -> Walked:
    later = {name: partial(_again, told[name]) for name in _LATER}
    return Walked(**{**told, **later, "row_groups": lambda _, groups: FileSource(groups, [], 0)})


def walk(
    predicate: Predicate, sources: Sources, alone: dict[str, Tally], indexes: Sequence[OpenIndex], count: int
) -> tuple[Mask, dict[str, Mask]]:
    """The files that may match, of `count`; and, for the report, by each source alone (its answers are kept, so that
    costs no read)."""
    by_name = {index.name: index for index in indexes}
    root = indexes[0].storage.root if indexes else ""
    if PredicateProgram.pays(predicate):
        return _walk_together(PredicateProgram.may_match(predicate), sources, alone, by_name, count, root)
    ask_ahead(root, predicate, sources)
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


def ask_ahead(root: str, predicate: Predicate, sources: Sources) -> None:
    """Ask sources that lie on a store side by side what the walk will ask of one after the other: they keep their
    answers. What goes wrong is met again there. Nothing is asked on a disk, nor for a large predicate."""
    if not is_remote(root) or PredicateProgram.pays(predicate):
        return
    by_column = Question.grouped((q.column, q) for q in PredicateProgram.may_match(predicate).questions)
    asked = [
        (apart, questions)
        for source in sources.values()
        if isinstance(source, ManyFiles)
        for column, (_, questions) in by_column.items()
        for apart in source.apart(column)
    ]

    def ask(pair: tuple[ManyFiles, Sequence[Question]]) -> None:
        with suppress(Exception):
            for question in pair[1]:
                question.ask(pair[0])

    each_at(root, asked, ask)


def _walk_together(
    steps: PredicateProgram,
    sources: Sources,
    alone: dict[str, Tally],
    indexes: Mapping[str, OpenIndex],
    count: int,
    root: str,
) -> tuple[Mask, dict[str, Mask]]:
    """Like `_walk`, for large predicates: each source is asked once for all questions, a piece at a time."""
    walked = {name: steps.evaluation(count) for name in sources}
    together = steps.evaluation(count)
    for piece in Question.batches(steps.questions, count):

        def ask(name: str, piece: Sequence[Question] = piece) -> Mask:
            started = time.perf_counter()
            with guard(indexes.get(name)):
                own = Question.ask_all(piece, sources[name])
            alone[name].seconds += time.perf_counter() - started
            return own

        matrix: Mask | None = None
        for name, own in zip(sources, each_at(root, list(sources), ask), strict=True):
            if len(sources) > 1:
                matrix = own.copy() if matrix is None else np.logical_and(matrix, own, out=matrix)
            walked[name].take(own)
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
    walked = [steps.evaluation(count) for steps in each]
    places = [place for place, steps in enumerate(each) for _ in steps.questions]
    first = 0
    for piece in Question.batches([question for steps in each for question in steps.questions], count):
        matrix: Mask | None = None
        for name, source in sources.items():
            with guard(by_name.get(name)):
                own = Question.ask_all(piece, source)
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


def known_by(sources: Mapping[str, ManyFiles], indexes: Sequence[OpenIndex], column: ColumnRef) -> Mask:
    """Return a mask of the files of which some index, by name, has a fact of a column."""
    by_name, known = {index.name: index for index in indexes}, None
    for name, source in sources.items():
        if known is None or not known.all():
            with guard(by_name.get(name)):
                known = source.knows(column) if known is None else known | source.knows(column)
    assert known is not None, "there is an index"
    return known


def surely(predicate: Predicate, source: PruningStatistics[Mask], count: int) -> Mask:
    """Return a mask of the files in which every row matches; all False if an index cannot say."""
    try:
        return PredicateProgram.must_match(predicate, source, count)
    except Exception as error:  # noqa: BLE001 - as in `guard`: an index never gets in the way of an answer
        logger.warning("no file is called certain: %s", error)
        return np.zeros(count, np.bool_)


def leaf_reports(asked: BoundPredicate, sources: Sources, live: Mask | None = None) -> list[LeafReport]:
    """Report which source answered which leaf of the predicate, and how many (live) files that proves out."""
    reports = []
    kinds = [(name, kind, source) for name, of_index in sources.items() for kind, source in by_kind(of_index).items()]
    for part in gathered_form(asked.walked).signed_leaves():
        if isinstance(part.child if isinstance(part, Not) else part, Opaque):
            continue
        for name, kind, source in kinds:
            asked_before, answered_before = tally_of(source)
            try:
                out = ~may_match(part, source)
            except Exception as error:  # noqa: BLE001 - as in `guard`
                logger.warning("what index %r answers to a part of a predicate cannot be told: %s", name, error)
                continue
            dropped = int(np.count_nonzero(out if live is None else out & live))
            together = str(asked.combinations.get(part.column, "")) if isinstance(part, IsNull) else ""
            times, answers_given = tally_of(source)
            answered = times == asked_before or answers_given > answered_before
            reports.append(LeafReport(part, name, kind, dropped, together, answered))
    return reports


def column_names(refs: set[ColumnRef]) -> tuple[str, ...]:
    return tuple(sorted(ref.name for ref in refs))
