"""Different values in an aggregate of a Spark query, `count(DISTINCT c)` and `SELECT DISTINCT c`: those of whole files
stand in the plan, each once a group, beside the rows of the other files; Spark tells all of them apart.

Every value has to be known, as it is, and no other may be there: what was cut, and files with deletes, are read. Of
rows that are shown the value has to be the very one: of floats the two zeros are kept as one, so they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, arrow_array
from metaindex.formats import Field, Leaf
from metaindex.index import FileAggregate, FileStatistics, KeptValues
from metaindex.query import (
    AggregateQuestion,
    EachValue,
    How,
    KnownFiles,
    Measure,
    as_shown,
    from_metadata,
)

from .stored_values import as_texts
from .whole_files import Rows

MOST_ENTRIES: Final = 1_000_000
"""So many entries of indexes are read for a plan at most."""


def kept_values(question: AggregateQuestion, bounds: FileStatistics) -> dict[Field, KeptValues]:
    """Return the values that indexes keep of columns whose distinct values are asked."""
    fields = question.asked(How.COUNT_DISTINCT)
    if not question.measures:
        fields = [key for key in question.keys if not pa.types.is_floating(key.type)]
    fields = [field for field in fields if FileAggregate.DISTINCT_VALUES.takes(field.type)]
    told = {field: KeptValues.of(bounds, Leaf((field,))) for field in fields}
    return {field: kept for field, kept in told.items() if kept is not None}


def told_apart(question: AggregateQuestion, files: KnownFiles, certain: Mask) -> AggregateQuestion:
    """Return the question for distinct rows (groups without a measure) that answers most files: the distinct values of
    one column, by the others."""
    if question.measures or not files.values:
        return question
    keys = [key for key in question.keys if key in files.values]
    others = {key: tuple(other for other in question.keys if other != key) for key in keys}
    questions = [AggregateQuestion(others[key], (Measure(How.COUNT_DISTINCT, key),)) for key in keys]
    return max(questions, key=lambda asked: int(np.count_nonzero(from_metadata(asked, files)[0] & certain)))


def place_shown(asked: AggregateQuestion, question: AggregateQuestion) -> int | None:
    """Return the position among the keys of the values that `told_apart` chose; None if it chose none."""
    if asked is question:
        return None
    return next(at for at, key in enumerate(asked.keys) if key not in question.keys)


def nulls_are_known(question: AggregateQuestion, files: KnownFiles) -> Mask:
    """Return a mask of the files of which it is known whether NULL is among the distinct values."""
    known: Mask = files.live.known & (files.live.values == 0)
    for measure in question.told_apart:
        assert measure.field is not None
        column = files.columns[measure.field]
        known |= column.all_null | column.nulls.known
    return known


@dataclass(frozen=True, slots=True)
class EachDifferent:
    """The distinct values of one column, of whole files. `files`: rows of the snapshot; of others not every value is
    known. `shown`: the values are rows of the result, NULL too, at this position among the keys; None: they are
    counted."""

    files: Rows
    question: AggregateQuestion
    shown: int | None
    keys: Sequence[pa.Array]
    values: pa.Array

    def rows(self) -> list[list[str | None]]:
        """Return the rows as they stand in the plan: keys, then each measure, all of them empty but the one that counts
        the values."""
        count = len(self.values)
        columns = [as_texts(key) for key in self.keys]
        told = as_texts(self.values)
        if self.shown is not None:
            columns.insert(self.shown, told)
        else:
            for measure in self.question.measures:
                nothing = ["0" if measure.how is How.COUNT else None] * count
                columns.append(told if measure.tells_apart else nothing)
        return [list(row) for row in zip(*columns, strict=True)]


def each_different(
    question: AggregateQuestion, shown: int | None, files: KnownFiles, some: Rows, keys: Sequence[pa.Array], most: int
) -> EachDifferent | None:
    """Return the distinct values of files. `some`: files of which all else is known; `keys`: of all files, as compared.
    None for an index with a value that is not the column's. Raises TooManyValues (`most`), LeftOut for a damaged index.
    """
    (measure,) = question.told_apart
    field = measure.field
    assert field is not None
    live = some[files.live.values[some] > 0]
    each = EachValue(question.keys, measure, most, MOST_ENTRIES)
    at = arrow_array(live, None, pa.int64())
    of_files = [key.take(at) for key in keys]
    unsaid = each.add_files(of_files, live, files) if len(live) else np.zeros(len(files.deletes), np.bool_)
    told = each.different()
    if told is None:
        return None
    *groups, values = told
    if shown is not None:
        column = files.columns[field]
        null = column.all_null[live] | (column.nulls.values[live] > 0)
        place = arrow_array(np.flatnonzero(null & ~unsaid[live]), None, pa.int64())
        without = pa.table([key.take(place) for key in of_files], names=list(map(str, range(len(of_files)))))
        nulls = min(len(place), 1)
        if of_files:
            without = without.group_by(without.column_names, use_threads=False).aggregate([])
            nulls = without.num_rows
        groups = [pa.concat_arrays([key, without.column(n).combine_chunks()]) for n, key in enumerate(groups)]
        values = pa.concat_arrays([values, pa.nulls(nulls, values.type)])
    known = some[~unsaid[some]]
    shown_keys = [as_shown(key, of.type) for key, of in zip(groups, question.keys, strict=True)]
    return EachDifferent(known, question, shown, shown_keys, values)
