"""Aggregates of a Spark query: which files are answered for, and what they bring in to each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from metaindex.answers.aggregating import from_metadata
from metaindex.answers.asked import AggregateQuestion
from metaindex.answers.kept import sums_of
from metaindex.answers.known import KnownColumn, KnownFiles
from metaindex.answers.live import with_deletes
from metaindex.answers.measures import How, Measure
from metaindex.answers.partial import PartialAnswers
from metaindex.expressions.vectors import Mask, from_vector, vector
from metaindex.formats.model import Leaf
from metaindex.pruning.result import PruneResult

from .reasons import Reason
from .request import AggregateAsked
from .stored_values import as_texts
from .whole_files import Rows, WholeFiles

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

    def __str__(self) -> str:
        return f"{len(self.files):,} files are answered for by what is known of them"

    def reply(self, before: str) -> dict[str, object]:
        """`before`: what the filters' answer is called."""
        label = ", ".join(part for part in (before, f"{len(self.files)} files answered") if part)
        return {"label": label, "proof": self.known.proof(self.files), "rows": self.rows}


def answered(asked: AggregateAsked, known: WholeFiles) -> Answered | Reason:
    """What files bring in of which every row passes, and all that is asked is known exactly. NaN, zeros of floats and
    deletes: where what the rows would give is not sure to the bit, the file is read."""
    leaves: dict[str, Leaf] = {}
    for name in asked.columns:
        leaf = known.leaf(name)
        if isinstance(leaf, Reason):
            return leaf
        leaves[name] = leaf
    if known.scan.text is not None and not known.scan.needs:
        return Reason.OTHER_TYPES  # lines are counted, which are not rows
    told = list(known.bounds.columns(list(leaves.values())))
    columns = {facts.leaf.parts[0]: KnownColumn.of(facts) for facts in told}
    measures = tuple(Measure(how, None if name is None else leaves[name].field) for how, name in asked.measures)
    question = AggregateQuestion(tuple(leaves[name].field for name in asked.keys), measures)
    live = known.live
    sums = {name: kept for name in question.named(How.SUM) if (kept := sums_of(known.bounds, leaves[name])) is not None}
    files_known = KnownFiles(live, with_deletes(known.files), columns, sums, {})
    sure, keys, partials = from_metadata(question, files_known)
    for field, values in (
        *zip(question.keys, keys, strict=True),
        *((measure.field, values) for measure, values in zip(measures, partials, strict=True) if measure.compares),
    ):
        if field is not None and pa.types.is_floating(field.type):
            sure &= ~_zero(values)
    files = np.flatnonzero(sure & known.certain)
    files = files[~known.changed(files)]
    if not len(files):
        return Reason.NOTHING_ANSWERED
    gathered = PartialAnswers(question.keys, question.measures)
    some = files[live.values[files] > 0]
    if len(some):
        at = from_vector(some, None, pa.int64())
        gathered.add([key.take(at) for key in keys], [partial.take(at) for partial in partials])
    table = gathered.table()
    if table.num_rows > MOST_GROUPS:
        return Reason.TOO_MANY_GROUPS
    rows = [list(row) for row in zip(*(as_texts(column) for column in table.columns), strict=True)]
    out = np.zeros(len(known.kept), np.bool_)
    out[files] = True
    by = {source.removeprefix("index ") for facts in told for source in facts.sources if source.startswith("index ")}
    return Answered(known, files, rows, known.without(out), tuple(sorted(by)))


def _zero(values: pa.Array) -> Mask:
    """Which of these floats, as they are compared, is 0.0 or -0.0: one for the other."""
    zeros: Mask = vector(values, np.int64) == 0
    return zeros
