"""The statistics of one run as answers to a walk (RFC-27's two levels): its files, and its partitions.

A question about a column reads only the row groups that may say yes: the row groups of a part are asked first, as if
each were one file, from Parquet's own ranges in the footer; then the rows of those that remain. A row group is passed
over only where the same question, by the same guards, is proved False for all of it.

    partition_stats   one answer a partition                     level "partition_stats"
    column_stats      one answer a file, in surviving partitions  level "column_stats"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask, TooLate, Vector, dataclass
from metaindex.expressions import (
    ArrowStatistics,
    ColumnBounds,
    ColumnRef,
    Family,
    ManyFiles,
    Question,
    convert_bounds,
    physical_type,
)
from metaindex.formats import Footer as Footers
from metaindex.formats import Trust
from metaindex.index.kinds.described import StoredColumn
from metaindex.index.kinds.states import StatState
from metaindex.index.store.cache import Footer
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader

from .rows import believed

_SUFFIX = {"int64": "int", "double": "double", "binary": "bytes"}


@dataclass(frozen=True, slots=True)
class Units:
    """A level of statistics: its metadata partition, the column that numbers its units, and their count."""

    kind: str
    number: str
    count: int


@dataclass(frozen=True, slots=True)
class Needs:
    """Statistics that answer a question: bounds, counts (NULLs, NaNs, rows). Without counts, the state alone tells
    which units are all NULL."""

    bounds: bool
    counts: bool
    trust: bool = False


_BOUNDS, _COUNTS, _ALL = Needs(True, False), Needs(False, True), Needs(True, True)
_TOLD = Needs(True, False, trust=True)
_NUMBERS = Needs(False, False)


class RunStatistics(ManyFiles):
    """PruningStatistics[Mask] over the files (or the partitions) of one run. Columns it does not know are True
    throughout. Single answers are kept: who changes one copies it."""

    def __init__(
        self,
        reader: RunReader,
        units: Units,
        columns: Mapping[ColumnRef, StoredColumn],
        scope: Mask | None = None,
    ) -> None:
        """`scope`: partitions that may hold matching rows; the answer for a file of any other is False, as its
        partition's was."""
        super().__init__(units.count)
        self._reader = reader
        self._units = units
        self._columns = columns
        self._scope = scope
        self._answers: dict[Question, Mask] = {}
        self._cumulated: npt.NDArray[np.int64] | None = None

    def _ask(self, question: Question) -> Mask:
        mask = self._answers.get(question)
        if mask is None:
            mask = self._answers[question] = self.many([question])[0]
        return mask

    def knows(self, column: ColumnRef) -> Mask:
        """Return a mask of the units whose values are known from rows or footers, under the type that the column has
        now."""
        told, stored = self.constant(False), self._columns.get(column)
        if stored is None:
            return told
        suffix = _SUFFIX[str(physical_type(stored.stored))]
        asked = [(part, self._reader.footer(part)) for part in self._reader.parts(self._units.kind) if part.rows]
        found = [(part, np.flatnonzero(self._candidates(footer, stored))) for part, footer in asked]
        holding = [(part, groups) for part, groups in found if len(groups)]
        as_stored = stored.stored == stored.current and not self._aged(stored)
        if holding and as_stored and all(_facts(self._reader.footer(part))[groups].all() for part, groups in holding):
            return self.constant(True)
        for part, groups in holding:
            table, _ = self._rows(part, groups, stored, _TOLD, suffix)
            state, trust = (Vector(table.column(name)).numbers for name in ("state", "trust"))
            known = (state != StatState.UNKNOWN) & (trust > Trust.LOG)
            if stored.stored != stored.current:
                carried = convert_bounds(_bounds_of_rows(table, stored.stored, suffix), stored.current, back=True)
                if carried is None or carried.lower is None:
                    continue
                known &= np.asarray(carried.lower.is_valid()) | (state == StatState.ALL_NULL)
            told[Vector(table.column(self._units.number)).numbers[known]] = True
        return told

    def many(self, questions: Sequence[Question]) -> Mask:
        """Answer many questions, a row each. Each column's rows are found once, in the row groups that may match one of
        its questions; each question uses the answers of its own row groups."""
        out = np.ones((len(questions), self.count), np.bool_)
        alike = Question.grouped(((id(question.column), _needed(question)), question) for question in questions)
        for (_, name), (places, some) in alike.items():
            stored = self._columns.get(some[0].column)
            if stored is None or (stored.partition and self._units.kind == "column_stats"):
                continue
            if name == "some_nan" and not Family.may_be_nan(stored.current):
                out[places] = False
                continue
            TooLate.check()
            parts = self._reader.parts(self._units.kind)
            holding = [part for part in parts if part.rows and _within(part, stored.column_id)]
            if not holding:  # covered, says the log entry: nothing is proved
                continue
            out[places] = False
            for pieces in self._reader.each(holding, partial(self._found, some, stored, _NEEDED[name])):
                for rows, units in pieces:
                    if len(rows) == 1:
                        out[places[0], units[rows[0]]] = True
                        continue
                    number, at = np.nonzero(rows)
                    out[np.array(places)[number], units[at]] = True
        return out

    def _found(
        self, questions: Sequence[Question], stored: StoredColumn, needs: Needs, part: PartInfo
    ) -> list[tuple[Mask, npt.NDArray[np.int32]]]:
        """Return units of a part, and for each question (of one column) a truth for each of them."""
        footer, column = self._reader.footer(part), questions[0].column
        if stored.stored != stored.current:
            needs = _ALL  # that values fit the type of an older version is seen by their bounds
        candidates = self._candidates(footer, stored)
        aged = self._aged(stored)
        if candidates.any() and not aged:
            may = self._of_footer(footer, column, stored, needs).many(questions)
            candidates &= may.any(axis=0)
        out = []
        suffix = _SUFFIX[str(physical_type(stored.stored))]
        if needs is _BOUNDS and len(questions) == 1 and questions[0].name == "some_between" and not aged:
            inside = candidates & _all_inside(footer, questions[0], stored, suffix)
            if inside.any() and (not self._reader.far or np.array_equal(inside, candidates)):  # far: one read for both
                units, whole = self._scoped(self._rows(part, np.flatnonzero(inside), stored, _NUMBERS, suffix)[0])
                out.append((whole[None], units))
                candidates &= ~inside
        groups = np.flatnonzero(candidates)
        if not len(groups):
            return out
        table, first = self._rows(part, groups, stored, needs, suffix)
        if needs is _BOUNDS and _nothing_but_nan(table, stored, suffix):
            table, first = self._rows(part, groups, stored, _ALL, suffix)
        units, scoped = self._scoped(table)
        answer = _statistics(column, _bounds_of_rows(table, stored.stored, suffix), stored, len(units)).many(questions)
        if len(questions) > 1 and not aged:  # else every one of these row groups may match
            answer &= may[:, np.repeat(groups, footer.rows[groups])[first : first + len(units)]]
        return [*out, (answer & scoped, units)]

    def _scoped(self, table: pa.Table) -> tuple[npt.NDArray[np.int32], Mask]:
        """Return the units of some rows, and a mask of those in the scope."""
        units = np.asarray(Vector(table.column(self._units.number)).numbers)
        if self._scope is None:
            return units, np.ones(len(units), np.bool_)
        return units, self._scope[Vector(table.column("partition_ord")).numbers]

    def _rows(
        self, part: PartInfo, groups: npt.NDArray[np.intp], stored: StoredColumn, needs: Needs, suffix: str
    ) -> tuple[pa.Table, int]:
        """The column's rows in the row groups, as far as the question needs them, and the place of the first."""
        read, columns_of = [self._units.number], _span(self._reader.footer(part), "column_id")
        alone = bool((columns_of.least[groups] == columns_of.greatest[groups]).all())
        if not alone:
            read.append("column_id")
        if self._scope is not None:
            read.append("partition_ord")
        if needs.bounds:
            read += [f"lower_{suffix}", f"upper_{suffix}"]
        if needs is not _NUMBERS:
            read += ["null_count", "value_count", "nan_count"] if needs.counts else ["state"]
        aged = self._aged(stored)
        table = self._reader.read(part, groups.tolist(), [*read, "trust"] if aged or needs.trust else read)
        start, mine = 0, table
        if not alone:
            ids = Vector(table.column("column_id")).numbers
            start = int(np.searchsorted(ids, stored.column_id))  # sorted by column id: one stretch
            mine = table.slice(start, int(np.searchsorted(ids, stored.column_id, side="right")) - start)
        of_files = self._units.kind == "column_stats"
        return (believed(mine, stored.stored, self._reader.run.trusted, of_files=of_files) if aged else mine), start

    def _aged(self, stored: StoredColumn) -> bool:
        """Return whether the rows may say what an older table of writers believed."""
        return self._reader.run.trusted < Footers.REVISION and not stored.partition

    def _candidates(self, footer: Footer, stored: StoredColumn) -> Mask:
        """Row groups that hold rows of the column and touch the scope."""
        columns_of = _span(footer, "column_id")
        candidates: Mask = (columns_of.least <= stored.column_id) & (columns_of.greatest >= stored.column_id)
        if self._scope is not None:
            ordered = _span(footer, "partition_ord")
            inside = self._cumulated_scope()
            last = len(self._scope) - 1
            touched = inside[np.clip(ordered.greatest, 0, last) + 1] > inside[np.clip(ordered.least, 0, last)]
            candidates &= touched | (columns_of.least != columns_of.greatest) | ~ordered.known
        return candidates

    def _of_footer(self, footer: Footer, column: ColumnRef, stored: StoredColumn, needs: Needs) -> ArrowStatistics:
        """Return the statistics of row groups, each treated as one file."""
        bounds = footer.derived.get((stored.stored, needs))
        if bounds is None:
            bounds = footer.derived[(stored.stored, needs)] = _bounds_of_groups(footer, stored.stored, needs)
        return _statistics(column, bounds, stored, len(footer.rows))

    def _cumulated_scope(self) -> npt.NDArray[np.int64]:
        if self._cumulated is None:
            assert self._scope is not None
            self._cumulated = np.concatenate((np.zeros(1, np.int64), np.cumsum(self._scope)))
        return self._cumulated


def partition_source(run: RunReader, columns: Mapping[ColumnRef, StoredColumn]) -> RunStatistics:
    """Return a source that treats each partition of a run as one file."""
    return RunStatistics(run, Units("partition_stats", "partition_ord", run.run.partitions), columns)


class BothLevels(ManyFiles):
    """The files of a run: a partition column is answered by partition, any other by the rows of files."""

    def __init__(self, run: RunReader, columns: Mapping[ColumnRef, StoredColumn], scope: Mask | None) -> None:
        super().__init__(run.run.files)
        self._run, self._columns = run, columns
        # but for what only their partitions say
        self._files = RunStatistics(run, Units("column_stats", "ordinal", self.count), columns, scope)
        self._partitions = partition_source(run, columns)

    def _ask(self, question: Question) -> Mask:
        stored = self._columns.get(question.column)
        if stored is not None and stored.partition:
            return expand(self._run, question.ask(self._partitions), stored.column_id)
        return question.ask(self._files)

    def knows(self, column: ColumnRef) -> Mask:
        stored = self._columns.get(column)
        return self.constant(True) if stored is not None and stored.partition else self._files.knows(column)

    def many(self, questions: Sequence[Question]) -> Mask:
        out, columns = self._files.many(questions), [self._columns.get(question.column) for question in questions]
        by_partition = {at: column for at, column in enumerate(columns) if column is not None and column.partition}
        rows = self._partitions.many([questions[at] for at in by_partition])
        for (at, column), row in zip(by_partition.items(), rows, strict=True):
            out[at] = expand(self._run, row, column.column_id)
        return out


def expand(run: RunReader, partitions: Mask, column: int) -> Mask:
    """Expand a mask of partitions to files: the files of a partition are one range of ordinals. `column`: a covered
    column whose aggregates are loaded."""
    first, count = run.derived("partition ranges", lambda: _partition_ranges(run, column))
    out = np.zeros(run.run.files, np.bool_)
    inside = np.flatnonzero(partitions)
    if len(inside) <= 256:
        for number in inside:
            out[first[number] : first[number] + count[number]] = True
    else:
        out[:] = np.repeat(partitions, count)
    return out


def _partition_ranges(run: RunReader, column: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """First ordinal and number of files of each partition, by its number: the aggregates of any column are in that
    order and count files."""
    counts, ords = [], []
    for part in run.parts("partition_stats"):
        if part.first_key is None or part.last_key is None or not part.first_key <= column <= part.last_key:
            continue
        ids = run.footer(part).range("column_id")
        groups = [g for g in range(len(ids.known)) if not ids.known[g] or ids.least[g] <= column <= ids.greatest[g]]
        table = run.read(part, groups, ["column_id", "partition_ord", "file_count"])
        mine = Vector(table.column("column_id")).numbers == column
        ords.append(Vector(table.column("partition_ord")).numbers[mine])
        counts.append(Vector(table.column("file_count")).numbers[mine])
    count = np.concatenate(counts) if counts else np.zeros(0, np.int32)
    number = np.concatenate(ords) if ords else count
    if not np.array_equal(number, np.arange(run.run.partitions)) or int(count.sum()) != run.run.files:
        raise DamagedIndexError.for_repair(
            f"the aggregates of run {run.run.run} count its files, partition by partition; they do not"
        )
    return np.cumsum(count, dtype=np.int64) - count, count


_NEEDED = {
    "some_between": _BOUNDS,
    "some_among": _BOUNDS,
    "some_among_nan": _ALL,
    "some_other": _ALL,
    "some_null": _COUNTS,
    "some_value": _COUNTS,
    "some_nan": _COUNTS,
}


def _needed(question: Question) -> str:
    """Return the question's name in `_NEEDED`."""
    nan = question.name == "some_among" and any(value.is_nan for value in question.arguments[0])
    return "some_among_nan" if nan else question.name


@dataclass(frozen=True, slots=True)
class _Span:
    """Least and greatest of an integer column in each row group; everything where the footer does not say."""

    least: npt.NDArray[np.int64]
    greatest: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]


def _span(footer: Footer, column: str) -> _Span:
    spans = footer.derived.get(column)
    if spans is None:
        limits = np.iinfo(np.int64)
        ranged = footer.range(column)
        known = np.array([k and v is not None for k, v in zip(ranged.known, ranged.least, strict=True)], np.bool_)
        least = np.array([v if k else limits.min for k, v in zip(known, ranged.least, strict=True)], np.int64)
        greatest = np.array([v if k else limits.max for k, v in zip(known, ranged.greatest, strict=True)], np.int64)
        spans = footer.derived[column] = _Span(least, greatest, known)
    return spans


def _all_inside(footer: Footer, question: Question, stored: StoredColumn, suffix: str) -> Mask:
    """Return a mask of the row groups in which each unit may have a value in the interval that is asked about: by the
    greatest of its lower bounds, and the least of its upper ones."""
    lower, upper = footer.range(f"lower_{suffix}"), footer.range(f"upper_{suffix}")
    bounded: Mask = (_span(footer, "state").least == StatState.VALUES) & (lower.nulls == 0) & (upper.nulls == 0)
    ends = {
        "lower": _physical(lower.greatest, bounded & lower.known, suffix),
        "upper": _physical(upper.least, bounded & upper.known, suffix),
    }
    for side, values in ends.items():  # one after the other: these two need not be bounds of one file
        bounds = ColumnBounds(stored.stored, **{"lower": None, "upper": None, side: values})
        inside: Mask = question.ask(_statistics(question.column, bounds, stored, len(footer.rows)))
        bounded &= Vector(values).present & inside
    return bounded


def _facts(footer: Footer) -> Mask:
    """Return a mask of the row groups whose rows are all facts, as far as the footer shows."""
    known: Mask = (_span(footer, "state").least > StatState.UNKNOWN) & (_span(footer, "trust").least > Trust.LOG)
    return known


def _within(part: PartInfo, column_id: int) -> bool:
    return part.first_key is None or part.last_key is None or part.first_key <= column_id <= part.last_key


def _statistics(column: ColumnRef, bounds: ColumnBounds, stored: StoredColumn, count: int) -> ArrowStatistics:
    """Bounds under the column's type at the asked version; nothing is known where they cannot be carried over."""
    carried = bounds if stored.stored == stored.current else convert_bounds(bounds, stored.current, back=True)
    return ArrowStatistics(count, {} if carried is None else {column: carried})


def _nothing_but_nan(table: pa.Table, stored: StoredColumn, suffix: str) -> bool:
    """Return whether a unit has values and no bounds: only NaN (and NULL), which only the counts tell from unknown."""
    if not Family.may_be_nan(stored.stored):
        return False
    bounded = Vector(table.column(f"lower_{suffix}")).present
    return bool((~bounded & (Vector(table.column("state")).numbers == StatState.VALUES)).any())


def _bounds_of_rows(table: pa.Table, type_: pa.DataType, suffix: str) -> ColumnBounds:
    def get(name: str) -> pa.Array | None:
        return Vector(table.column(name)).array if name in table.column_names else None

    lower, upper, state = get(f"lower_{suffix}"), get(f"upper_{suffix}"), get("state")
    if state is not None:
        nothing = _ones(Vector(state).numbers == StatState.ALL_NULL)
        return ColumnBounds(type=type_, lower=lower, upper=upper, null_count=nothing, row_count=nothing)
    return ColumnBounds(
        type=type_,
        lower=lower,
        upper=upper,
        null_count=get("null_count"),
        nan_count=get("nan_count"),
        row_count=get("value_count"),
    )


def _bounds_of_groups(footer: Footer, type_: pa.DataType, needs: Needs) -> ColumnBounds:
    """Return the bounds of row groups, each treated as one file: the union of its rows' values. A group with an UNKNOWN
    row is unknown. Only what the question needs is taken from the footer."""
    suffix = _SUFFIX[str(physical_type(type_))]
    states = _span(footer, "state")
    bounded = states.known & (states.least > StatState.UNKNOWN)
    all_null = bounded & (states.greatest == StatState.ALL_NULL)
    lower = upper = None
    if needs.bounds:
        least, greatest = footer.range(f"lower_{suffix}"), footer.range(f"upper_{suffix}")
        known = bounded & least.known & greatest.known & ~all_null
        lower, upper = _physical(least.least, known, suffix), _physical(greatest.greatest, known, suffix)
    if not needs.counts:
        nothing = _ones(all_null)
        return ColumnBounds(type=type_, lower=lower, upper=upper, null_count=nothing, row_count=nothing)
    nulls, nans = (_counts(footer, name) for name in ("null_count", "nan_count"))
    nulls[all_null] = 1
    rows = np.where(all_null, 1, 1 << 60)  # nothing but "equal to the counts" and "not zero" is asked of it
    return ColumnBounds(
        type=type_,
        lower=lower,
        upper=upper,
        null_count=Vector.arrow(nulls, nulls >= 0, pa.int64()),
        nan_count=Vector.arrow(nans, nans >= 0, pa.int64()),
        row_count=Vector.arrow(rows, None, pa.int64()),
    )


def _ones(where: Mask) -> pa.Array:
    """Return the count 1 where True, unknown elsewhere: "as many NULLs as rows" for units that are all NULL."""
    return Vector.arrow(where.astype(np.int64), where, pa.int64())


def _counts(footer: Footer, name: str) -> npt.NDArray[np.int64]:
    """The greatest count in each group, -1 where some row's is unknown."""
    ranges = footer.range(name)
    out = np.full(len(footer.rows), -1, np.int64)
    for g in range(len(out)):
        if ranges.known[g] and ranges.nulls[g] == 0:
            out[g] = ranges.greatest[g]
    return out


def _physical(bounds: list[Any], known: npt.NDArray[np.bool_], suffix: str) -> pa.Array:
    if suffix == "bytes":
        return Vector.arrow([v if k and isinstance(v, bytes) else None for v, k in zip(bounds, known, strict=True)])
    dtype, type_ = (np.int64, pa.int64()) if suffix == "int" else (np.float64, pa.float64())
    data = np.zeros(len(bounds), dtype)
    there = np.fromiter((v is not None for v in bounds), np.bool_, len(bounds)) & known
    for g in np.flatnonzero(there):
        data[g] = bounds[g]
    return Vector.arrow(data, there, type_)
