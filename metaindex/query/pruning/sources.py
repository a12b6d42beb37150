"""Answers about one set of files, put together: from both levels of a run and its keys, from several runs and indexes,
from the table's own log."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

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

    @property
    def tally(self) -> tuple[int, int]:
        asked, answered = zip((0, 0), *(tally_of(portion.source) for portion in self._portions), strict=True)
        return sum(asked), sum(answered)

    @property
    def known(self) -> Mask:
        """The files of which some run knows some column."""
        return self._in_any(p for p in self._portions if isinstance(p.source, ManyFiles) and p.source.columns)

    def knowing(self, column: ColumnRef) -> Mask:
        """The files of which the run in a portion knows the column."""
        own = ((p, p.source) for p in self._portions if isinstance(p.source, ManyFiles))
        return self._in_any(portion for portion, source in own if column in source.columns)

    def _in_any(self, portions: Iterable[Portion]) -> Mask:
        out = np.zeros(self.count, np.bool_)
        for portion in portions:
            if len(portion.positions) == self.count:  # of a million files it is soon said
                return np.ones(self.count, np.bool_)
            out[portion.positions] = True
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


def log_source(snapshot: Snapshot, refs: Sequence[ColumnRef]) -> PruningStatistics[Mask]:
    """Return what the table itself knows of its files: partition values, and statistics in its log."""
    count = len(snapshot.files)
    leaves = {leaf.parts: leaf for leaf in snapshot.schema.leaves()}
    asked = {ref: leaves[ref.parts] for ref in refs if ref.parts in leaves}
    by_partition, by_log = {}, _null_lists(snapshot, [ref for ref in refs if ref not in asked])
    for ref, leaf in asked.items():
        if (bounds := snapshot.details.partition_bounds(leaf)) is not None:
            by_partition[ref] = bounds
        if (bounds := snapshot.details.log_bounds(leaf)) is not None:
            by_log[ref] = bounds
    sources: list[PruningStatistics[Mask]] = [ArrowStatistics(count, by_partition), ArrowStatistics(count, by_log)]
    if (hashes := snapshot.details.partition_hashes(asked)) is not None:
        sources.append(hashes)
    return CompositeStatistics(sources)
