"""Aggregates: what is known of a file answers for it where every row matches and what is known is exact; the others are
read. Either way a file brings in partial answers, and these are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, dataclass
from metaindex.formats import Field
from metaindex.index import Kept
from metaindex.query.readers.arrow import read_batches
from metaindex.query.readers.plan import ScanPlan

from .counts import KnownCounts
from .distinct import DifferentValues
from .each_value import EachValue
from .known import Attained, KnownColumn, KnownFiles
from .measures import AggregateQuestion, How, Measure
from .partial import PartialAnswers

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Answers:
    """The result, and which files were answered and opened: rows of the snapshot."""

    table: pa.Table
    answered: Rows
    opened: Rows


def aggregate(
    asked: AggregateQuestion,
    files: KnownFiles,
    certain: Mask,
    kept: Rows,
    scan: Callable[[Rows, Sequence[str]], ScanPlan],
) -> Answers:
    """`kept`: the files that may hold rows that match; `certain`: where every row of a file does, of all files. `scan`
    gives what reads some files, of some columns."""
    wanted = [*(key.name for key in asked.keys), *(measure.name for measure in asked.measures)]
    if not asked.added_up:  # a group without a measure of its own would be no row of any table
        asked = replace(asked, measures=(*asked.measures, Measure(How.COUNT)))
    known, keys, partials = from_metadata(asked, files)
    known &= certain
    gathered = PartialAnswers(asked.keys, asked.added_up)
    told_apart = [_telling_apart(asked.keys, measure) for measure in asked.told_apart]
    live = files.live.values > 0
    for counted in told_apart:
        some = kept[(known & live)[kept]]
        if len(some):
            known &= ~counted.add_files(_of_files(keys, some), some, files)
    answered = kept[known[kept]]
    opened = kept[~known[kept]]
    some = answered[live[answered]]
    if len(some):
        gathered.add(_of_files(keys, some), _of_files(partials, some))
    if len(opened):
        plan = scan(opened, [f.name for f in asked.fields])
        for batch in read_batches(plan):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            gathered.add_rows(columns, batch.num_rows)
            for counted in told_apart:
                counted.add_rows(columns, batch.num_rows)
    return Answers(_together(gathered, told_apart).select(wanted), answered, opened)


def _of_files(arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
    at = Vector.arrow(rows, None, pa.int64())
    return [array.take(at) for array in arrays]


def _telling_apart(keys: Sequence[Field], measure: Measure) -> EachValue | DifferentValues:
    return EachValue(keys, measure) if measure.how is How.COUNT_DISTINCT else DifferentValues(keys, measure)


def _together(gathered: PartialAnswers, told_apart: Sequence[EachValue | DifferentValues]) -> pa.Table:
    groups, answers = gathered.merged(), gathered.table()
    for counted in told_apart:
        answers = answers.append_column(pa.field(counted.measure.name, counted.measure.type), counted.counts(groups))
    return answers


def from_metadata(asked: AggregateQuestion, files: KnownFiles) -> tuple[Mask, list[pa.Array], list[pa.Array]]:
    """Return a mask of the files that metadata answers wholly, and for all files the keys and the partial answers,
    which mean nothing for the others. A file without a live row contributes nothing, and that has to be known."""
    known = files.live.known.copy()
    keys, partials = [], []
    for key in asked.keys:
        constant = _constant(files, key)
        known &= constant.known
        keys.append(constant.values)
    empty = files.live.known & (files.live.values == 0)
    for measure in asked.added_up:
        partial = _partial(measure, files)
        known &= partial.known | empty
        partials.append(partial.values)
    for measure in asked.told_apart:
        known &= _told_apart(measure, files) | empty
    return known, keys, partials


def _told_apart(measure: Measure, files: KnownFiles) -> Mask:
    """Return a mask of the files whose different values are known."""
    assert measure.field is not None
    column = files.columns.get(measure.field)
    none = np.zeros(len(files.deletes), np.bool_)
    if measure.how is How.APPROX_DISTINCT:
        sketches = files.sketches.get(measure.field)
        return (none if sketches is None else _whole(sketches, files)) | (none if column is None else column.all_null)
    values = files.values.get(measure.field)
    kept = none if values is None else values.known & ~files.deletes
    return kept | (none if column is None else column.constant.known)


def _partial(measure: Measure, files: KnownFiles) -> Attained:
    if measure.field is None:
        return _counts(files.live.values, files.live.known)
    column = files.columns.get(measure.field)
    if column is None:
        return _nothing(measure, files)
    match measure.how:
        case How.COUNT:
            none = column.nulls.known & (column.nulls.values == 0)
            values = np.where(column.all_null, 0, files.live.values - np.where(files.deletes, 0, column.nulls.values))
            return _counts(values, none | column.all_null | (column.nulls.known & ~files.deletes))
        case How.MIN | How.MAX:
            extreme = column.least if measure.how is How.MIN else column.greatest
            return Attained(extreme.values, extreme.known & (~files.deletes | column.constant.known))
        case How.SUM:
            kept = files.sums.get(measure.field)
            if kept is None:  # of NULLs alone
                return Attained(pa.nulls(len(files.deletes), measure.partial_type), column.all_null)
            return _sums(kept, column, measure, files)
        case _:
            raise AssertionError("different values are asked apart")


def _sums(kept: Kept, column: KnownColumn, measure: Measure, files: KnownFiles) -> Attained:
    """Return the sums of files without deleted rows: elsewhere a sum says nothing about the rows that are left."""
    known = _whole(kept, files) & ~column.all_null
    assert kept.totals is not None, "sums are asked"
    sums = kept.totals.take(Vector.arrow(np.arange(len(known)), known, pa.int64()))
    try:
        return Attained(sums.cast(measure.partial_type), known | column.all_null)
    except pa.ArrowInvalid:  # more digits than the values of a column can come to: whoever wrote it, it is no sum
        return Attained(pa.nulls(len(known), measure.partial_type), column.all_null)


def _whole(kept: Kept, files: KnownFiles) -> Mask:
    """Return a mask of the files of whose rows, all of them live, a sum or a sketch is."""
    rows = KnownCounts.of(kept.rows)
    same: Mask = kept.known & rows.known & files.live.known & (rows.values == files.live.values)
    return same & ~files.deletes


def _constant(files: KnownFiles, key: Field) -> Attained:
    column = files.columns.get(key)
    if column is not None:
        return column.constant
    raise AssertionError("what is grouped by has an order, and so bounds")


def _counts(values: Rows, known: Mask) -> Attained:
    return Attained(Vector.arrow(values.astype(np.int64), None, pa.int64()), known)


def _nothing(measure: Measure, files: KnownFiles) -> Attained:
    count = len(files.deletes)
    return Attained(pa.nulls(count, measure.partial_type), np.zeros(count, np.bool_))
