"""Aggregates of a Spark query: which files are answered for, and what they bring in to each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, Vector, arrow_array, counted
from metaindex.formats import Leaf
from metaindex.index import ColumnFacts, KeptSums, KnownCounts, LeftOut, StatState
from metaindex.query import (
    AggregateQuestion,
    How,
    KnownColumn,
    KnownFiles,
    Measure,
    PartialAnswers,
    PruneResult,
    TooManyValues,
    from_metadata,
)

from .different_values import EachDifferent, each_different, kept_values, nulls_are_known, place_shown, told_apart
from .reasons import Reason
from .request import AggregateAsked
from .stored_values import as_texts
from .whole_files import Rows, WholeFiles, indexes_of

_MORE_DIGITS: Final = 10  # of a sum of decimals than of its values
_MOST_DIGITS: Final = 28  # of a sum that is answered
MOST_GROUPS: Final = 10_000
"""So many rows of what is known stand in a plan at most."""


@dataclass(frozen=True, slots=True)
class Answered:
    """`files`: those that are not read, as `rows` says what they bring in: a group each, keys and then answers."""

    known: WholeFiles
    files: Rows
    rows: list[list[str | None]]
    result: PruneResult
    indexes: tuple[str, ...]
    values: int = 0  # different ones, that stand in the plan

    def __str__(self) -> str:
        values = f" ({counted(self.values, 'different value')})" if self.values else ""
        return f"{len(self.files):,} files are answered for by what is known of them{values}"

    def reply(self, before: str) -> dict[str, object]:
        """Return the reply. `before`: label of the filters' answer."""
        label = ", ".join(part for part in (before, f"{len(self.files)} files answered") if part)
        return {"label": label, "proof": self.known.proof(self.files), "rows": self.rows}


def answered(asked: AggregateAsked, known: WholeFiles) -> Answered | Reason:
    """Answer for files of which every row passes, if everything asked is known exactly. NaN, zeros of floats and
    deletes: a file is read unless the rows' answer is certain to the bit."""
    try:
        found = _answered(asked, known)
    except LeftOut:
        found = Reason.NOTHING_ANSWERED
    except TooManyValues:
        found = Reason.TOO_MANY_GROUPS
    if isinstance(found, Answered) or not _tells_apart(asked):
        return found
    try:
        constants = _answered(asked, known, values_kept=False)  # there may be files of one value each
    except TooManyValues:
        return found
    if isinstance(constants, Answered):
        return constants
    of_text = known.scan.text is not None and found is Reason.NOTHING_ANSWERED
    return Reason.TEXT_VALUES if of_text else found


def _tells_apart(asked: AggregateAsked) -> bool:
    return not asked.measures or any(how is How.COUNT_DISTINCT for how, _ in asked.measures)


def _answered(asked: AggregateAsked, known: WholeFiles, *, values_kept: bool = True) -> Answered | Reason:
    """Answer; `values_kept`: also from indexes that keep each value. Raises LeftOut (damage), TooManyValues."""
    meant: dict[str, Leaf] = {}
    for name in asked.columns:
        leaf = known.leaf(name)
        if isinstance(leaf, Reason):
            return leaf
        meant[name] = leaf
    if known.scan.text is not None and not known.scan.needs:
        return Reason.LINES
    told = list(known.bounds.columns(list(meant.values())))
    columns = {facts.leaf.field: KnownColumn.of(facts) for facts in told}
    measures = tuple(Measure(how, None if name is None else meant[name].field) for how, name in asked.measures)
    question = AggregateQuestion(tuple(meant[name].field for name in asked.keys), measures)
    if len(question.told_apart) > 1:
        return Reason.NOTHING_ANSWERED
    live = known.live
    added = {field: KeptSums.of(known.bounds, Leaf((field,))) for field in question.asked(How.SUM)}
    sums = {field: kept for field, kept in added.items() if kept is not None}
    asks = values_kept and known.scan.text is None
    values = kept_values(question, known.bounds) if asks else {}
    files_known = KnownFiles(live, known.files.with_deletes, columns, sums, {}, values)
    asked_first, question = question, told_apart(question, files_known, known.certain)
    shown = place_shown(asked_first, question)
    sure, keys, partials = from_metadata(question, files_known)
    if shown is not None:
        sure &= nulls_are_known(question, files_known)
    extremes = zip(question.added_up, partials, strict=True)
    for field, compared in (
        *zip(question.keys, keys, strict=True),
        *((measure.field, partial) for measure, partial in extremes if measure.compares),
    ):
        if field is not None and pa.types.is_floating(field.type):
            sure &= ~_zero(compared)
    for facts in told:
        if facts.leaf.field in sums:
            sure &= _cannot_overflow(facts, known) | (Vector(facts.facts.column("state")).numbers == StatState.ALL_NULL)
    files = np.flatnonzero(sure & known.certain)
    files = files[~known.changed(files)]
    if not len(files):
        return Reason.NOTHING_ANSWERED
    each: EachDifferent | None = None
    if question.told_apart:
        each = each_different(question, shown, files_known, files, keys, MOST_GROUPS)
        if each is None or not len(each.files):
            return Reason.NOTHING_ANSWERED
        files = each.files
    rows: list[list[str | None]] = []
    if shown is None and (question.keys or question.added_up):
        gathered = PartialAnswers(question.keys, question.added_up)
        some = files[live.values[files] > 0]
        if len(some):
            at = arrow_array(some, None, pa.int64())
            gathered.add([key.take(at) for key in keys], [partial.take(at) for partial in partials])
        rows = _in_their_places(question, gathered.table())
    count = 0 if each is None else len(each.values)
    if len(rows) + count > MOST_GROUPS:
        return Reason.TOO_MANY_GROUPS
    rows += [] if each is None else each.rows()
    out = np.zeros(len(known.kept), np.bool_)
    out[files] = True
    by = {*known.certain_by, *(name for facts in told for name in indexes_of(facts))}
    by |= {name for kept in sums.values() for name in kept.indexes}
    by |= {name for kept in files_known.values.values() for name in kept.indexes} if each is not None else set()
    return Answered(known, files, rows, known.without(out), tuple(sorted(by)), count)


def _in_their_places(question: AggregateQuestion, table: pa.Table) -> list[list[str | None]]:
    """Return a row a group: keys and answers, and NULL for distinct values, which are in other rows."""
    columns = [as_texts(column) for column in table.columns]
    for at, measure in enumerate(question.measures, len(question.keys)):
        if measure.tells_apart:
            columns.insert(at, [None] * table.num_rows)
    return [list(row) for row in zip(*columns, strict=True)]


def _cannot_overflow(facts: ColumnFacts, known: WholeFiles) -> bool:
    """Return whether the values of all files that the filters leave can be added in any order without an intermediate
    sum that overflows its type, by bounds and counts. Spark's sum fails at the first overflow, or wraps; in another
    order it might not. For files that no index knows, the type bounds the values, and the table's log the rows: a wrong
    number there makes an error of a sum that is one, or not, by the order of its rows."""
    type_ = facts.leaf.type
    digits = type_.precision + _MORE_DIGITS if pa.types.is_decimal(type_) else 0
    if digits > _MOST_DIGITS:
        return False
    state = Vector(facts.facts.column("state")).numbers
    bounded: Mask = state == StatState.VALUES
    farthest = np.zeros(len(state))
    for side in ("lower", "upper"):
        bound = Vector(facts.facts.column(side)).array
        stands = Vector(bound).valid
        bounded &= True if stands is None else stands
        farthest = np.maximum(farthest, np.abs(Vector(bound).items(np.int64).astype(np.float64)))
    widest = float(10**type_.precision) if digits else 2.0 ** (type_.bit_width - 1)
    logged = KnownCounts.physical(known.files)
    rows = np.where(known.live.known, known.live.values, np.where(logged.known, logged.values, np.inf))
    most = np.where(bounded, farthest, widest) * rows
    asked = known.kept & (state != StatState.ALL_NULL)
    limit = float(10**digits) if digits else 2.0**63
    return bool(most[asked].sum() < limit / 2)  # half: what floats round away is far less


def _zero(values: pa.Array) -> Mask:
    """Return a mask of 0.0 and -0.0 among floats as they are compared: both are one."""
    zeros: Mask = Vector(values).items(np.int64) == 0
    return zeros
