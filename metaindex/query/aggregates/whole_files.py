"""Answers for whole files, of which every row passes a filter, by what indexes hold of them: for an engine that reads
the other files by itself and puts both together.

More is required than of a skip, since rows that would pass are not read: only facts answer (`known`). Of different
values every one has to be known, as it is, and no other may be there: what was cut, and files with deletes, are read.
Of rows that are shown the value has to be the very one: of floats the two zeros are kept as one, so they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector
from metaindex.formats import Field, FileTable, Leaf
from metaindex.index import ColumnFacts, FileStatistics, Kept, OpenIndex
from metaindex.query.order import Direction, as_shown
from metaindex.query.pruning.result import PruneResult
from metaindex.query.readers.scan import Scan

from .aggregating import Rows, from_metadata
from .counts import KnownCounts
from .each_value import EachValue, TooManyValues
from .known import KnownColumn, KnownFiles, facts_of, live_rows
from .measures import AggregateQuestion, How, Measure
from .order_by import Sorted, certain_files
from .partial import PartialAnswers

MOST_GROUPS: Final = 10_000
"""So many rows answer at most."""
MOST_ENTRIES: Final = 1_000_000
"""So many entries of indexes are read for an answer at most."""
_MORE_DIGITS: Final = 10  # of a sum of decimals than of its values
_MOST_DIGITS: Final = 28  # of a sum that is answered
_TRIES: Final = 3


class Unproved(Enum):
    """Why nothing is answered."""

    NOTHING_ANSWERED = auto()  # of no file all that is asked is known exactly
    TOO_MANY_GROUPS = auto()  # or different values
    NO_THRESHOLD = auto()  # of too few rows it is known where they stand at worst
    CHANGED = auto()  # the files that would prove it were written since an index read them
    NOTHING_BEHIND = auto()  # every file may hold a row that comes as early


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """An aggregate of some files. `files`: rows of the snapshot; `blocks`: rows as columns, keys and then measures,
    which together with those of the other files make the aggregate; `values`: different ones among them."""

    files: Rows
    blocks: list[list[pa.Array]]
    indexes: tuple[str, ...]
    values: int = 0


@dataclass(frozen=True, slots=True)
class FirstFiles:
    """The proof for the first rows of an order. `behind`: files all of whose rows come later; `proof`: those whose rows
    come first. Rows of the snapshot."""

    behind: Rows
    proof: Rows
    indexes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WholeFiles:
    """The files of a version, row by row of its snapshot. `kept`: those that the filters leave; `certain`: of which
    every row passes; `certain_by`: indexes whose statistics of the filters' columns prove that. `changed`: a mask of
    the files that are others now than those that an index read."""

    result: PruneResult
    files: FileTable
    kept: Mask
    certain: Mask
    bounds: FileStatistics
    deleted: KnownCounts
    certain_by: frozenset[str]
    changed: Callable[[Rows], Mask]

    @classmethod
    def of(cls, scan: Scan, indexes: Sequence[OpenIndex], changed: Callable[[Rows], Mask]) -> WholeFiles:
        """Tell which files of a scan (`Queries.over_files`) are certain by these indexes."""
        snapshot, result = scan.snapshot, scan.result
        assert result is not None, "a predicate was asked"
        kept = np.zeros(len(snapshot.files), np.bool_)
        kept[scan.file_rows] = True
        bounds = FileStatistics(snapshot, indexes, claims=False)
        certain = certain_files(scan) & kept
        by = frozenset[str]()
        if certain.any():
            told = facts_of(result.predicate, bounds).values()
            by = frozenset(name for facts in told for name in facts.indexes)
        return cls(result, snapshot.files, kept, certain, bounds, KnownCounts.deleted(snapshot.files), by, changed)

    @property
    def live(self) -> KnownCounts:
        """Return the rows that are not deleted."""
        return live_rows(self.bounds, [])

    def without(self, rows: Rows) -> PruneResult:
        """Return the answer to the filters without these files."""
        paths = self.files.paths.take(pa.array(rows)).combine_chunks()
        return self.result.without(np.asarray(pc.is_in(self.result.files.paths, value_set=paths)))

    def certain_first(self) -> Rows | None:
        """Return the certain files, if some of the files are and some are not. An empty one is not."""
        live = self.live
        rows = np.flatnonzero(self.certain & ~(live.known & (live.values == 0)))
        return None if not len(rows) or len(rows) == int(np.count_nonzero(self.kept)) else rows

    def first(self, leaf: Leaf, direction: Direction, rows: int) -> FirstFiles | Unproved:
        """Prove by an index's statistics of whole files a threshold that so many live rows reach."""
        if rows < 1:
            return Unproved.NO_THRESHOLD
        (told,) = self.bounds.columns([leaf])
        column = Sorted(told, direction)
        best, live, certain = column.best(), self.live, self.certain
        for _ in range(_TRIES):
            threshold = column.threshold(rows, live, self.deleted, certain)
            if threshold is None:
                return Unproved.NO_THRESHOLD
            changed = threshold.proof[self.changed(threshold.proof)]
            if not len(changed):
                break
            certain = certain.copy()
            certain[changed] = False
        else:
            return Unproved.CHANGED
        behind = np.flatnonzero(best.behind(threshold.place) & self.kept)
        behind = behind[~self.changed(behind)]
        return FirstFiles(behind, threshold.proof, told.indexes) if len(behind) else Unproved.NOTHING_BEHIND

    def aggregate(
        self, keys: Sequence[Field], measures: Sequence[tuple[How, Field | None]], *, values: bool
    ) -> MetadataAnswer | Unproved:
        """Answer for files of which every row passes, if everything asked is known exactly. NaN, zeros of floats and
        deletes: a file is not answered for unless the rows' answer is certain to the bit. `values`: also by indexes
        that keep each value."""
        question = AggregateQuestion(tuple(keys), tuple(Measure(how, field) for how, field in measures))
        try:
            found = self.bounds.settled(lambda: self._aggregate(question, values=values))
        except TooManyValues:
            found = Unproved.TOO_MANY_GROUPS
        apart = not measures or any(how is How.COUNT_DISTINCT for how, _ in measures)
        if isinstance(found, MetadataAnswer) or not apart:
            return found
        try:
            constants = self._aggregate(question, values=False)  # there may be files of one value each
        except TooManyValues:
            return found
        return constants if isinstance(constants, MetadataAnswer) else found

    def _aggregate(self, asked: AggregateQuestion, *, values: bool) -> MetadataAnswer | Unproved:
        """Answer. Raises TooManyValues."""
        if len(asked.told_apart) > 1:
            return Unproved.NOTHING_ANSWERED
        told = list(self.bounds.columns([Leaf((field,)) for field in asked.fields]))
        columns_ = {facts.leaf.field: KnownColumn.of(facts) for facts in told}
        live = self.live
        added = {field: Kept.sums(self.bounds, Leaf((field,))) for field in asked.asked(How.SUM)}
        sums = {field: kept for field, kept in added.items() if kept is not None}
        of_values = _kept_values(asked, self.bounds) if values else {}
        files_known = KnownFiles(live, self.files.with_deletes, columns_, sums, {}, of_values)
        question = _told_apart(asked, files_known, self.certain)
        shown = _place_shown(asked, question)
        sure, keys, partials = from_metadata(question, files_known)
        if shown is not None:
            sure &= _nulls_are_known(question, files_known)
        extremes = zip(question.added_up, partials, strict=True)
        for field, compared in (
            *zip(question.keys, keys, strict=True),
            *((measure.field, partial) for measure, partial in extremes if measure.compares),
        ):
            if field is not None and pa.types.is_floating(field.type):
                sure &= ~_zero(compared)
        for facts in told:
            if facts.leaf.field in sums:
                sure &= _cannot_overflow(facts, self) | facts.all_null
        files = np.flatnonzero(sure & self.certain)
        files = files[~self.changed(files)]
        if not len(files):
            return Unproved.NOTHING_ANSWERED
        each: _EachDifferent | None = None
        if question.told_apart:
            each = _each_different(question, shown, files_known, files, keys, MOST_GROUPS)
            if each is None or not len(each.files):
                return Unproved.NOTHING_ANSWERED
            files = each.files
        blocks: list[list[pa.Array]] = []
        if shown is None and (question.keys or question.added_up):
            gathered = PartialAnswers(question.keys, question.added_up)
            some = files[live.values[files] > 0]
            if len(some):
                at = Vector.arrow(some, None, pa.int64())
                gathered.add([key.take(at) for key in keys], [partial.take(at) for partial in partials])
            blocks.append(_in_their_places(question, gathered.table()))
        blocks += [] if each is None else [each.block()]
        if sum(len(block[0]) for block in blocks) > MOST_GROUPS:
            return Unproved.TOO_MANY_GROUPS
        by = {*self.certain_by, *(name for facts in told for name in facts.indexes)}
        by |= {name for kept in sums.values() for name in kept.indexes}
        by |= {name for kept in of_values.values() for name in kept.indexes} if each is not None else set()
        return MetadataAnswer(files, blocks, tuple(sorted(by)), 0 if each is None else len(each.values))


def _in_their_places(question: AggregateQuestion, table: pa.Table) -> list[pa.Array]:
    """Return the columns of the groups, with NULL for distinct values, which are in other rows."""
    columns_ = [column.combine_chunks() for column in table.columns]
    for at, measure in enumerate(question.measures, len(question.keys)):
        if measure.tells_apart:
            columns_.insert(at, pa.nulls(table.num_rows))
    return columns_


def _cannot_overflow(facts: ColumnFacts, known: WholeFiles) -> bool:
    """Return whether the values of all files that the filters leave can be added in any order without an intermediate
    sum that overflows its type, by bounds and counts. Spark's sum fails at the first overflow, or wraps; in another
    order it might not. For files that no index knows, the type bounds the values, and the table's log the rows: a wrong
    number there makes an error of a sum that is one, or not, by the order of its rows."""
    type_ = facts.leaf.type
    digits = type_.precision + _MORE_DIGITS if pa.types.is_decimal(type_) else 0
    if digits > _MOST_DIGITS:
        return False
    bounded = facts.bounded
    farthest = np.zeros(len(bounded))
    for side in ("lower", "upper"):
        bound = Vector(facts.facts.column(side)).array
        bounded &= Vector(bound).present
        farthest = np.maximum(farthest, np.abs(Vector(bound).items(np.int64).astype(np.float64)))
    widest = float(10**type_.precision) if digits else 2.0 ** (type_.bit_width - 1)
    logged = KnownCounts.physical(known.files)
    rows = np.where(known.live.known, known.live.values, np.where(logged.known, logged.values, np.inf))
    most = np.where(bounded, farthest, widest) * rows
    asked = known.kept & ~facts.all_null
    limit = float(10**digits) if digits else 2.0**63
    return bool(most[asked].sum() < limit / 2)  # half: what floats round away is far less


def _zero(values: pa.Array) -> Mask:
    """Return a mask of 0.0 and -0.0 among floats as they are compared: both are one."""
    zeros: Mask = Vector(values).items(np.int64) == 0
    return zeros


def _kept_values(question: AggregateQuestion, bounds: FileStatistics) -> dict[Field, Kept]:
    """Return the values that indexes keep of columns whose distinct values are asked."""
    fields = question.asked(How.COUNT_DISTINCT)
    if not question.measures:
        fields = [key for key in question.keys if not pa.types.is_floating(key.type)]
    told = {field: Kept.values(bounds, Leaf((field,))) for field in fields if Kept.may_be_told_apart(field.type)}
    return {field: kept for field, kept in told.items() if kept is not None}


def _told_apart(question: AggregateQuestion, files: KnownFiles, certain: Mask) -> AggregateQuestion:
    """Return the question for distinct rows (groups without a measure) that answers most files: the distinct values of
    one column, by the others."""
    if question.measures or not files.values:
        return question
    keys = [key for key in question.keys if key in files.values]
    others = {key: tuple(other for other in question.keys if other != key) for key in keys}
    questions = [AggregateQuestion(others[key], (Measure(How.COUNT_DISTINCT, key),)) for key in keys]
    return max(questions, key=lambda asked: int(np.count_nonzero(from_metadata(asked, files)[0] & certain)))


def _place_shown(asked: AggregateQuestion, question: AggregateQuestion) -> int | None:
    """Return the position among the keys of the values that `told_apart` chose; None if it chose none."""
    if asked is question:
        return None
    return next(at for at, key in enumerate(asked.keys) if key not in question.keys)


def _nulls_are_known(question: AggregateQuestion, files: KnownFiles) -> Mask:
    """Return a mask of the files of which it is known whether NULL is among the distinct values."""
    known: Mask = files.live.known & (files.live.values == 0)
    for measure in question.told_apart:
        assert measure.field is not None
        column = files.columns[measure.field]
        known |= column.all_null | column.nulls.known
    return known


@dataclass(frozen=True, slots=True)
class _EachDifferent:
    """The distinct values of one column, of whole files. `files`: rows of the snapshot; of others not every value is
    known. `shown`: the values are rows of the result, NULL too, at this position among the keys; None: they are
    counted."""

    files: Rows
    question: AggregateQuestion
    shown: int | None
    keys: Sequence[pa.Array]
    values: pa.Array

    def block(self) -> list[pa.Array]:
        """Return the rows that bring the values in: keys, then each measure, all of them empty but the one that counts
        the values."""
        count = len(self.values)
        columns = list(self.keys)
        if self.shown is not None:
            columns.insert(self.shown, self.values)
            return columns
        for measure in self.question.measures:
            nothing = pa.array(np.zeros(count, np.int64)) if measure.how is How.COUNT else pa.nulls(count)
            columns.append(self.values if measure.tells_apart else nothing)
        return columns


def _each_different(
    question: AggregateQuestion, shown: int | None, files: KnownFiles, some: Rows, keys: Sequence[pa.Array], most: int
) -> _EachDifferent | None:
    """Return the distinct values of files. `some`: files of which all else is known; `keys`: of all files, as compared.
    None for an index with a value that is not the column's. Raises TooManyValues (`most`), LeftOut for a damaged index.
    """
    (measure,) = question.told_apart
    field = measure.field
    assert field is not None
    live = some[files.live.values[some] > 0]
    each = EachValue(question.keys, measure, most, MOST_ENTRIES)
    at = Vector.arrow(live, None, pa.int64())
    of_files = [key.take(at) for key in keys]
    unsaid = each.add_files(of_files, live, files) if len(live) else np.zeros(len(files.deletes), np.bool_)
    told = each.different()
    if told is None:
        return None
    *groups, values = told
    if shown is not None:
        column = files.columns[field]
        null = column.all_null[live] | (column.nulls.values[live] > 0)
        place = Vector.arrow(np.flatnonzero(null & ~unsaid[live]), None, pa.int64())
        without = pa.table([key.take(place) for key in of_files], names=list(map(str, range(len(of_files)))))
        nulls = min(len(place), 1)
        if of_files:
            without = without.group_by(without.column_names, use_threads=False).aggregate([])
            nulls = without.num_rows
        groups = [pa.concat_arrays([key, without.column(n).combine_chunks()]) for n, key in enumerate(groups)]
        values = pa.concat_arrays([values, pa.nulls(nulls, values.type)])
    known = some[~unsaid[some]]
    shown_keys = [as_shown(key, of.type) for key, of in zip(groups, question.keys, strict=True)]
    return _EachDifferent(known, question, shown, shown_keys, values)
