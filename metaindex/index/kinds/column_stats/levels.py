"""Statistics of both levels of a run: its files, and its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from metaindex.core import DamagedIndexError, Mask, Vector
from metaindex.expressions import ColumnRef, ManyFiles, Question
from metaindex.index.kinds.described import StoredColumn
from metaindex.index.store.reader import RunReader

from .reader import RunStatistics, Units


def partition_source(run: RunReader, columns: Mapping[ColumnRef, StoredColumn]) -> RunStatistics:
    """Return a source that treats each partition of a run as one file."""
    return RunStatistics(run, Units("partition_stats", "partition_ord", run.run.partitions), columns)


def file_source(run: RunReader, columns: Mapping[ColumnRef, StoredColumn], scope: Mask | None) -> RunStatistics:
    """The files of a run, but for what only their partitions say."""
    return RunStatistics(run, Units("column_stats", "ordinal", run.run.files), columns, scope)


class BothLevels(ManyFiles):
    """The files of a run: a partition column is answered by partition, any other by the rows of files."""

    def __init__(self, run: RunReader, columns: Mapping[ColumnRef, StoredColumn], scope: Mask | None) -> None:
        super().__init__(run.run.files)
        self._run, self._columns = run, columns
        self._files = file_source(run, columns, scope)
        self._partitions = partition_source(run, columns)

    def _ask(self, question: Question) -> Mask:
        stored = self._columns.get(question.column)
        if stored is not None and stored.partition:
            return expand(self._run, question.ask(self._partitions), stored.column_id)
        return question.ask(self._files)

    def many(self, questions: Sequence[Question]) -> Mask:
        if not any(stored.partition for stored in self._columns.values()):
            return self._files.many(questions)
        out = np.ones((len(questions), self.count), np.bool_)
        stored = (self._columns.get(question.column) for question in questions)
        levels = Question.grouped(
            (column is not None and column.partition, q) for column, q in zip(stored, questions, strict=True)
        )
        for by_partition, (places, some) in levels.items():
            if not by_partition:
                out[places] = self._files.many(some)
                continue
            for place, question, row in zip(places, some, self._partitions.many(some), strict=True):
                out[place] = expand(self._run, row, self._columns[question.column].column_id)
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
        raise DamagedIndexError.for_refresh(
            f"the aggregates of run {run.run.run} count its files, partition by partition; they do not"
        )
    return np.cumsum(count, dtype=np.int64) - count, count
