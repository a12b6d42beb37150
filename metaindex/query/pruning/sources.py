"""Answers about one set of files, put together: from both levels of a run and its keys, from several runs and indexes,
from the table's own log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from metaindex.core import Mask, dataclass
from metaindex.expressions import (
    ArrowStatistics,
    ColumnBounds,
    ColumnRef,
    Comparison,
    CompositeStatistics,
    In,
    ManyFiles,
    Predicate,
    PruningStatistics,
    Question,
    may_match,
)
from metaindex.formats import Snapshot
from metaindex.index import RunCoverage

Ordinals = npt.NDArray[np.int64]

logger = logging.getLogger("metaindex")

LEAVES = (Comparison, In)
"""Predicates whose walk asks the same of every file, whatever it is told."""


@dataclass(frozen=True, slots=True)
class Portion:
    """Files at `positions` (ascending) of the asked set are files `ordinals` of the source."""

    source: PruningStatistics[Mask]
    positions: Ordinals
    ordinals: Ordinals

    @classmethod
    def located(cls, known: RunCoverage, at: Ordinals) -> list[Portion]:
        """Return the portion of some files that a run has (`OpenIndex.locate`); none if it has none."""
        positions = np.flatnonzero(at >= 0)
        return [cls(known.whole(), positions, at[positions])] if len(positions) else []

    def ordinal(self, position: int) -> int | None:
        at = int(np.searchsorted(self.positions, position))
        return int(self.ordinals[at]) if at < len(self.positions) and self.positions[at] == position else None


class JoinedSources(ManyFiles):
    """A set of files, portions of which other sources know under their own numbers. What no source knows is True."""

    def __init__(self, count: int, portions: Sequence[Portion]) -> None:
        super().__init__(count)
        self._portions = portions

    def _ask(self, question: Question) -> Mask:
        answer = self.constant(True)
        for portion in self._portions:
            answer[portion.positions] &= question.ask(portion.source)[portion.ordinals]
        return answer

    def many(self, questions: Sequence[Question]) -> Mask:
        out = np.ones((len(questions), self.count), np.bool_)
        for portion in self._portions:
            first = 0
            for some in Question.batches(
                questions, len(portion.source.constant(True))
            ):  # a run may have more files than are asked of
                last = first + len(some)
                out[first:last, portion.positions] &= Question.ask_all(some, portion.source)[:, portion.ordinals]
                first = last
        return out

    def apart(self, column: ColumnRef) -> Iterable[ManyFiles]:
        for portion in self._portions:
            if isinstance(portion.source, ManyFiles):
                yield from portion.source.apart(column)

    @property
    def tally(self) -> tuple[int, int]:
        asked, answered = zip((0, 0), *(tally_of(portion.source) for portion in self._portions), strict=True)
        return sum(asked), sum(answered)

    @property
    def known(self) -> Mask:
        """The files of which some run knows some column."""
        out = self.constant(False)
        for portion in self._portions:
            if isinstance(portion.source, ManyFiles) and portion.source.columns:
                out[portion.positions] = True
        return out

    def knows(self, column: ColumnRef) -> Mask:
        out = self.constant(False)
        for portion in self._portions:
            if isinstance(portion.source, ManyFiles) and column in portion.source.columns:
                out[portion.positions] |= portion.source.knows(column)[portion.ordinals]
        return out

    def in_file(self, question: Question, position: int, groups: int) -> Mask:
        out = np.ones(groups, np.bool_)
        for portion in self._portions:
            ordinal = portion.ordinal(position)
            if ordinal is not None:
                out &= in_file(portion.source, question, ordinal, groups)
        return out

    def by_kind(self) -> Mapping[str, PruningStatistics[Mask]]:
        of_kind: dict[str, list[Portion]] = {}
        for portion in self._portions:
            for kind, source in by_kind(portion.source).items():
                of_kind.setdefault(kind, []).append(Portion(source, portion.positions, portion.ordinals))
        return {kind: JoinedSources(self.count, portions) for kind, portions in of_kind.items()}


class HeardStatistics(ManyFiles):
    """Statistics of a source in the files in which it is heard about a column. Answers of metadata rest on facts alone;
    and a claim of whoever wrote the table's log is heard where no index has a fact."""

    def __init__(self, count: int, source: PruningStatistics[Mask], heard: Callable[[ColumnRef], Mask]) -> None:
        super().__init__(count)
        self._source, self._heard = source, heard
        self._unheard: dict[ColumnRef, Mask] = {}

    @classmethod
    def facts(cls, source: ManyFiles) -> HeardStatistics:
        """Return what facts of an index say."""
        return cls(source.count, source, source.knows)

    def _ask(self, question: Question) -> Mask:
        if question.column not in self._unheard:
            self._unheard[question.column] = ~self._heard(question.column)
        return question.ask(self._source) | self._unheard[question.column]


def in_file(source: PruningStatistics[Mask], question: Question, position: int, groups: int) -> Mask:
    """Return what a source knows of a file's row groups; if it does not tell them apart, what it knows of the file."""
    if isinstance(source, ManyFiles):
        return source.in_file(question, position, groups)
    return np.full(groups, question.ask(source)[position], np.bool_)


def by_kind(source: PruningStatistics[Mask]) -> Mapping[str, PruningStatistics[Mask]]:
    """A source for each kind of answers."""
    return source.by_kind() if isinstance(source, ManyFiles) else {"log": source}


def tally_of(source: PruningStatistics[Mask]) -> tuple[int, int]:
    """Return how often the keys of a source of `by_kind` were asked so far, and how often they answered."""
    return source.tally if isinstance(source, ManyFiles) else (0, 0)


class FileSource(ManyFiles):
    """PruningStatistics[Mask] over the row groups of one file, from sources that know the file at a position of theirs.
    Whatever goes wrong in one of them proves nothing."""

    def __init__(self, groups: int, sources: Sequence[PruningStatistics[Mask]], position: int) -> None:
        super().__init__(groups)
        self._sources, self._position = list(sources), position
        self._told: list[tuple[Question, Mask]] = []

    def _ask(self, question: Question) -> Mask:
        out = self.told(question)
        self._told.append((question, out))
        return out

    def may_match(self, predicate: Predicate) -> tuple[Mask, Question | None]:
        """The row groups that may match; and the question that all of the walk came down to, if it was one: then its
        answer (`told`) for any other file is all of the walk there."""
        self._told.clear()
        mask = may_match(predicate, self)
        told = self._told[0] if len(self._told) == 1 and isinstance(predicate, LEAVES) else None
        return mask, told[0] if told is not None and told[1] is mask else None

    def told(self, question: Question) -> Mask:
        """Return what is known of the row groups."""
        out = self.constant(True)
        for source in list(self._sources):
            try:
                out &= in_file(source, question, self._position, self.count)
            except Exception as error:  # noqa: BLE001 - as for whole files: an index never gets in the way of a query
                logger.warning("an index is not asked for row groups, and more is read: %s", error)
                self._sources.remove(source)
        return out


def _null_lists(snapshot: Snapshot, refs: Sequence[ColumnRef]) -> dict[ColumnRef, ColumnBounds]:
    """Return what the log knows of lists and maps."""
    if not refs:
        return {}
    nested = {leaf.parts: leaf for leaf in snapshot.schema.columns if not leaf.field.children}
    said = {ref: snapshot.details.null_lists(nested[ref.parts]) for ref in refs if ref.parts in nested}
    return {ref: bounds for ref, bounds in said.items() if bounds is not None}


@dataclass(frozen=True, slots=True)
class TableSources:
    """Sources that the table itself has: the values of partition columns, which are what its rows show; values made
    from a column to place its files (Iceberg's days and buckets); and what its log claims."""

    values: PruningStatistics[Mask]
    places: PruningStatistics[Mask]
    claims: PruningStatistics[Mask]

    @classmethod
    def of(cls, snapshot: Snapshot, refs: Sequence[ColumnRef]) -> TableSources:
        count, details = len(snapshot.files), snapshot.details
        leaves = {leaf.parts: leaf for leaf in snapshot.schema.leaves()}
        asked = {ref: leaves[ref.parts] for ref in refs if ref.parts in leaves}
        bounds = {ref: told for ref, leaf in asked.items() if (told := details.partition_bounds(leaf)) is not None}
        by_log = _null_lists(snapshot, [ref for ref in refs if ref not in asked])
        by_log |= {ref: told for ref, leaf in asked.items() if (told := details.log_bounds(leaf)) is not None}
        values = {ref: told for ref, told in bounds.items() if asked[ref].field.partition}
        places = [ArrowStatistics(count, {ref: told for ref, told in bounds.items() if ref not in values})]
        hashes = details.partition_hashes(asked)
        return cls(
            ArrowStatistics(count, values),
            CompositeStatistics([*places, *(() if hashes is None else (hashes,))]),
            ArrowStatistics(count, by_log),
        )

    @property
    def without_claims(self) -> PruningStatistics[Mask]:
        """Return what the table's layout says."""
        return CompositeStatistics([self.values, self.places])

    @property
    def with_claims(self) -> PruningStatistics[Mask]:
        """Return what the table says where no index does."""
        return CompositeStatistics([self.values, self.places, self.claims])

    def beside(self, count: int, told: Callable[[ColumnRef], Mask]) -> PruningStatistics[Mask]:
        """Return what the table says beside indexes: its claims where no index has `told` a fact."""
        heard = HeardStatistics(count, self.claims, lambda column: ~told(column))
        return CompositeStatistics([self.values, self.places, heard])
