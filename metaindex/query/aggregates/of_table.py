"""Counts and extremes of a table, asked of its snapshot and its indexes before its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from metaindex.core import ArrowRows, Column, Mask, Plain, Shown, TextTable, counted, dataclass
from metaindex.formats import Format, Snapshot, Version
from metaindex.index import FileStatistics
from metaindex.query.arguments import names_of
from metaindex.query.lookups.answer import Answer
from metaindex.query.readers.plan import narrowest
from metaindex.query.readers.read_budget import ReadBudget
from metaindex.storage import each_at

from .aggregating import Answers, Rows, aggregate, from_metadata
from .known import KnownFiles, certain_by, leaves_of
from .measures import AggregateQuestion, asked_of
from .order_by import certain_files

if TYPE_CHECKING:
    from metaindex.query.queries import Asked, Queries
    from metaindex.query.readers.scan import Scan

    _Reading: TypeAlias = Callable[[ReadBudget, Rows, Sequence[str]], Scan]

_SHOWN = 100
_AT_ONCE = 16
_NAMED = ("min", "max", "sum", "count_distinct", "approx_distinct", "group_by")


@dataclass(frozen=True, slots=True, repr=False)
class Aggregated(Shown, Plain):
    """`table`: a row a group (one row without groups), the columns that make the groups first, then what was asked:
    `count(*)`, `min(x)`. Of the table's files, `left_out` hold no row that matches, `answered` were answered from what
    is known of them, and `opened` were read."""

    path: str
    version: Version
    table: pa.Table
    left_out: int
    answered: int
    opened: int

    @property
    def total_files(self) -> int:
        """Return the number of files of the version."""
        return self.left_out + self.answered + self.opened

    @property
    def shown(self) -> Sequence[str | TextTable]:
        """Return the output of `metaindex count`."""
        return self.answer.shown

    @property
    def answer(self) -> Answer:
        """Return the answer for people."""
        said = (
            f"{self.path} at version {self.version}: of {counted(self.total_files, 'file')} {self.opened:,} opened,"
            f" {self.answered:,} answered from metadata, {self.left_out:,} left out"
        )
        numbers = [pa.types.is_primitive(t) and not pa.types.is_temporal(t) for t in self.table.schema.types]
        columns = tuple(Column(n, right=r) for n, r in zip(self.table.column_names, numbers, strict=True))
        cells = ArrowRows(self.table.slice(0, _SHOWN)).cells()
        return Answer((said,), TextTable(columns, cells), self.table.num_rows - len(cells))

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        rows = {"rows": ArrowRows(self.table).plain()}
        of_files = self._plain("total_files left_out answered opened")
        return {**self._plain("table=path version=version.id columns=table.column_names"), **rows, **of_files}


def counted_rows(queries: Queries, asked: Asked) -> int:
    """Implement `Table.count`."""
    return int(aggregated(queries, asked, {"count": True}).table.column(0)[0].as_py())


def aggregated(queries: Queries, asked: Asked, words: Mapping[str, object]) -> Aggregated:
    """Implement `Table.aggregate`, of whose arguments `words` has the aggregates."""
    scan = queries.over_files(asked)
    snapshot = scan.snapshot
    counted = words.get("count", False)
    names = {word: names_of(words.get(word), word) or [] for word in _NAMED}
    question = asked_of(
        snapshot.schema,
        snapshot.version,
        count=["*"] if counted is True else [] if counted is False else names_of(counted, "count") or [],
        least=names["min"],
        greatest=names["max"],
        total=names["sum"],
        each_once=names["count_distinct"],
        different=names["approx_distinct"],
        group_by=names["group_by"],
    )
    opened, _ = queries.handle.open_indexes(asked.only)
    bounds = FileStatistics(snapshot, opened, storage=scan.storage, claims=False)

    def reading(budget: ReadBudget, rows: Rows, named: Sequence[str]) -> Scan:
        return replace(scan, budget=budget, rows=rows, columns=tuple(named) or (_for_counting(scan),))

    scan.note("aggregate", [field.name for field in question.fields])
    answers = bounds.settled(lambda: _answered(scan, bounds, question, reading))
    _check_deletes(snapshot, answers.answered)
    left_out = len(snapshot.files) - len(scan.file_rows)
    root = queries.handle.root(snapshot)
    return Aggregated(root, snapshot.version, answers.table, left_out, len(answers.answered), len(answers.opened))


def _check_deletes(snapshot: Snapshot, answered: Rows) -> None:
    """Read the deletes of files whose rows are not read: how many they delete is a claim of the log. Raises
    CorruptTableError where they delete another number, as a scan does."""
    rows = answered[snapshot.files.with_deletes[answered]]

    def read(row: int) -> None:
        snapshot.details.deletes(row)  # large, and of no use here

    each_at(snapshot.table, rows.tolist(), read, of_disk=_AT_ONCE)


def _answered(scan: Scan, bounds: FileStatistics, question: AggregateQuestion, reading: _Reading) -> Answers:
    """Answer the question. Raises TooCostlyError before a file is opened for more than the scan may read."""
    files, certain, budget = _known(scan, bounds, question)
    return aggregate(question, files, certain, scan.file_rows, partial(reading, budget))


def _known(scan: Scan, bounds: FileStatistics, question: AggregateQuestion) -> tuple[KnownFiles, Mask, ReadBudget]:
    """Return what is known of the files, of which every row matches, and what may still be read. Where indexes do not
    answer for a file and the table's log claims what would, its footer is asked; plain files have no other claims."""
    plain = scan.predicate is None and scan.hint is None and not question.fields
    files, certain = KnownFiles.of(bounds, question, by_log=plain), certain_files(scan)
    budget, has_log = scan.budget, Format.named(bounds.snapshot.format).has_log
    lacking = ~(certain & from_metadata(question, files)[0])
    lacking[np.setdiff1d(np.arange(len(lacking)), scan.file_rows)] = False
    if lacking.any():
        if not has_log:
            budget = budget.after_footers(bounds.snapshot.files, np.flatnonzero(lacking))
        claims = replace(bounds, claims=True)
        lacking &= certain_files(scan, claims=True) & from_metadata(question, files.claimed(claims))[0]
    if lacking.any() and has_log:
        budget = budget.after_footers(bounds.snapshot.files, np.flatnonzero(lacking))
    if lacking.any() and bounds.ask_footers(lacking, leaves_of(bounds.snapshot, scan.predicate, question.fields)):
        files = KnownFiles.of(bounds, question, by_log=plain)
        certain |= False if scan.predicate is None else certain_by(scan.predicate, bounds)
    return files, certain, budget


def _for_counting(scan: Scan) -> str:
    """A column to count rows by: one of the predicate, which is read anyway, else a cheap one."""
    schema = scan.snapshot.schema.shown
    named = set() if scan.predicate is None else {ref.parts[0] for ref in scan.predicate.columns}
    fields = [f for f in schema if f.name in named] or [f for f in schema if f.partition] or list(schema)
    return narrowest(pa.schema([pa.field(f.name, f.type) for f in fields]))
