"""Full searches: the columns, files and row groups that hold a text, of every column that an index keys.

The text is read as each column's type reads it ('42' is a number where the column has numbers); a column of whose type
it is no value is not asked. All columns are asked at once, by one walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import ArgumentError, Column, IndexNotFoundError, LiteralTypeError, Plain, Shown, TextTable
from metaindex.expressions import ColumnRef, Comparison, Literal, Op, Opaque, Or, Predicate
from metaindex.formats import OfSchema, Schema
from metaindex.index import KINDS
from metaindex.query.readers.footer_groups import FooterGroups

from .answer import PLACE, SHOWN, Answer, place
from .locate import LOCATED, Places

if TYPE_CHECKING:
    from metaindex.query.pruning.result import PruneResult
    from metaindex.query.queries import Asked, Queries
    from metaindex.query.readers.scan import Scan

SEARCHED = pa.schema([pa.field("column", pa.string(), nullable=False), *list(LOCATED)[:-1]])


@dataclass(frozen=True, slots=True, repr=False)
class Searched(Shown, Plain):
    """`table` has one row for each column and row group that holds the text, or may hold it: the column, then what
    `Located.table` has. `asked`: columns that were asked; `not_asked`: those that an index keys and that cannot hold
    the text, with the reason."""

    JSON = "text exact version asked not_asked found=table"
    text: str
    exact: bool
    version: str
    asked: tuple[str, ...]
    not_asked: Mapping[str, str]
    table: pa.Table

    @property
    def shown(self) -> Sequence[str | TextTable]:
        """Return the output of `metaindex search`."""
        return self.answer.shown

    @property
    def answer(self) -> Answer:
        """Return the answer for people."""
        said = [f"asked at version {self.version}: {', '.join(self.asked) or 'no column'}"]
        said += [f"not asked: {column}: {reason}" for column, reason in self.not_asked.items()]
        rows = self.table.slice(0, SHOWN).to_pylist()
        if not rows:
            return Answer((*said, "in no file; columns that no index keys were not asked"))
        cells = tuple((row["column"], row["path"], *place(row)) for row in rows)
        shown = TextTable((Column("column"), Column("file"), *PLACE), cells)
        return Answer(tuple(said), shown, self.table.num_rows - len(rows))


def search(queries: Queries, text: str, asked: Asked, *, exact: bool) -> Searched:
    """Implement `Table.search`. `asked`: without a predicate."""
    if not isinstance(text, str):
        raise ArgumentError(f"a search is for a text, which each column reads as its type does; got {text!r}; give one")
    opened, _ = queries.handle.open_indexes(asked.only)
    time_zone = queries.handle.config.time_zone
    runs = (run for index in opened for run in index.entry.content.runs)
    stable = {key.columns[0].stable for run in runs for key in KINDS.looked_up(run) if len(key.columns) == 1}
    if not stable:
        raise IndexNotFoundError(
            "a search asks the columns that an index keys; no index of this table keys one; create one, for example"
            " with mi.Values('user_id')"
        )
    parts: dict[str, Predicate] = {}
    not_asked: dict[str, str] = {}

    def everywhere(schema: Schema) -> Predicate:
        parts.clear()
        not_asked.clear()
        for leaf in schema.leaves():
            if leaf.stable in stable:
                column = ColumnRef(leaf.parts)
                equality = _equal(column, text, schema, time_zone)
                if isinstance(equality, str):
                    not_asked[column.name] = equality
                else:
                    parts[column.name] = equality
        return Or(tuple(parts.values()))

    footers = FooterGroups(queries.handle.ref.storage)

    def of_each(answer: PruneResult, scan: Scan | None) -> list[pa.Table]:
        budget = queries.budget
        if scan is not None:  # the files are read for each column
            budget.after_rows(scan.storage, scan.snapshot.files, scan.file_rows, len(parts))
        return [_one(Places(footers, budget), name, part, answer, scan) for name, part in parts.items()]

    def counted(scan: Scan) -> tuple[PruneResult, list[pa.Table]]:
        assert scan.result is not None
        return scan.result, of_each(scan.result, scan)

    asked = replace(asked, predicate=OfSchema(everywhere))
    if exact:
        result, tables = queries.scan(asked).trying(counted)
    else:
        result = queries.prune(asked)
        tables = of_each(result, None)
    whole = pa.concat_tables(tables) if tables else SEARCHED.empty_table()
    return Searched(text, exact, result.version.id, tuple(parts), not_asked, whole)


def _one(places: Places, name: str, part: Predicate, result: PruneResult, scan: Scan | None) -> pa.Table:
    """Return a column's matches: candidates, or with a scan, counted rows."""
    if scan is None:
        places.candidates(result, part)
    else:
        places.exact(replace(scan, predicate=part, predicate_text=None), part)
    rows = places.table().drop_columns(["versions"])
    named = pa.array([name] * rows.num_rows, pa.string())
    return pa.Table.from_arrays([named, *rows.columns], schema=SEARCHED)


def _equal(column: ColumnRef, text: str, schema: Schema, time_zone: str) -> Predicate | str:
    """The column equals the text as its type reads it; or why it cannot."""
    try:
        predicate = schema.bound(Comparison(column, Op.EQ, Literal(text)), time_zone)
    except LiteralTypeError as error:
        return str(error)
    return f"{text!r} cannot be compared with it" if isinstance(predicate, Opaque) else predicate
