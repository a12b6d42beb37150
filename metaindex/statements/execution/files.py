"""Statements without Spark: tables are paths, or names that are given for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from metaindex.advisor import TableNames, TableQuery, Workload, of_table, workload
from metaindex.core import ArgumentError, Column, Config, Progress, TextTable, UnknownColumnError, Words, watched
from metaindex.expressions import ColumnRef, IsNull, bind, column_sql, names_given
from metaindex.formats import NAMED, ConfiguredCatalog
from metaindex.query import Credit, IndexReport
from metaindex.statements.grammar.parsing import parsed
from metaindex.statements.grammar.query_tables import check_query, with_names
from metaindex.statements.grammar.tree import TableName
from metaindex.table import Table, open_table

from .results import EXPLAINED, FORMATTED, StatementResult, result
from .run import AskedTables, not_asked, run
from .words import NAMING, StatementWords

Opens = Callable[[str, str | None, Mapping[str, object]], Table]
"""A path, its format where that is said, and how its files are read."""


@watched
def sql(
    statement: str,
    *,
    tables: Mapping[str, str | os.PathLike[str]] | None = None,
    config: Config | None = None,
    storage_options: Mapping[str, str] | None = None,
    builder: str | None = None,
    progress: Progress | None = None,
) -> StatementResult:
    """Runs a statement about indexes without Spark's SQL: `mi.sql("CREATE INDEX find ON 'lake/flights' USING values
    (tailnum)")`. After `mi.enable(spark)`, `spark.sql` takes the same statements, and knows the names of its catalogs.

    A table is a path between quotes (`'lake/flights'`), a format and a path (``csv.`/data/x` WITH (header = false)``),
    or a name of `tables` (`{"db.flights": "lake/flights"}`). Queries behind FROM are a name of `tables` alone, as in
    `{"asked": "queries.sql"}`: a text does not choose which file is read, and quoted where it is wrong. `config` and
    `storage_options` are those of `open_table`; `builder` is used where the statement does not say OPTIONS (builder =
    ...). docs/guides/sql.md has all statements.

    Raises StatementError for a text that is none, with the place in it; else what the verbs of `Table` raise.
    """
    stores = dict(storage_options or {})

    def opened(path: str, format_: str | None, options: Mapping[str, Any]) -> Table:
        return open_table(path, format=format_, storage_options=stores, config=config, **options)

    return run(parsed(statement), FileTables(opened, TableNames.paths_of(tables), builder, progress))


class FileTables:
    """NamedTables by their paths. `named`: other names for some. `own`: whoever wrote the statements may read every
    file that this process can."""

    def __init__(
        self,
        opens: Opens,
        named: Mapping[str, str] | None = None,
        builder: str | None = None,
        progress: Progress | None = None,
        *,
        catalog: bool = False,
        own: bool = False,
        naming: str = NAMING,
    ) -> None:
        self._opens = opens
        self._own = own
        self.names: Mapping[str, str] = dict(named or {})
        self.naming = naming
        self._named = {name.lower(): path for name, path in self.names.items()}
        self._catalog = catalog  # names of several parts are its own
        self.in_spark = False
        self.builder, self.progress = builder, progress

    def open(self, name: TableName) -> Table:
        options = dict(name.options)
        if name.path:
            return self._opens(name.path, None, options)
        first, whole = name.parts[0].lower(), ".".join(name.parts)
        if whole.lower() in self._named:
            return self._opens(self._named[whole.lower()], None, options)
        if self._catalog:
            return self._opens(ConfiguredCatalog.said_name(name.parts), None, options)
        if len(name.parts) == 2 and first in NAMED:
            return self._opens(name.parts[1], first, options)
        if len(name.parts) == 1:
            return self._opens(whole, None, options)
        known = f"; names are given for {', '.join(self._named)}" if self._named else ""
        meant = get_close_matches(first, NAMED, n=1, cutoff=0.7) if len(name.parts) == 2 else []
        if meant:
            at = column_sql(name.parts[1:])
            raise ArgumentError(f"a format of tables is {', '.join(NAMED)}; {first!r} is none; write {meant[0]}.{at}")
        raise ArgumentError(
            f"without a catalog a table is a path; {whole!r} is a name{known}; write the path between quotes, or"
            f" {NAMED[0]}.`path`, or say what the name means: {self.naming}"
        )

    def takes_options(self, name: TableName) -> bool:
        return not self._catalog

    def asked(self, query: str) -> AskedTables:
        check_query(query)
        text, options = with_names(query, self._is_path)
        queries = workload(text)
        if queries.problems or not queries.templates:
            why = (queries.problems[0].reason,) if queries.problems else ("it is empty", "name one behind FROM")
            raise not_asked("that cannot be told", *why)
        names = dict.fromkeys(read.table for template in queries.templates for read in template.tables)
        if "" in names:
            raise ArgumentError("a query says which table it reads; a condition alone does not; write SELECT ... FROM")
        opened: dict[str, Table] = {}
        paths = {}
        for name in names:
            asked = replace(_table_name(name, self._named), options=options.get(name, ()))
            with self._words(asked).spoken():
                table = self.open(asked)
                table.schema  # noqa: B018 - what is wrong with the files is told of this table
            paths[name] = table.path
            opened.setdefault(table.path, table)
        return AskedTables(queries, tuple(opened.values()), paths)

    def _words(self, name: TableName) -> StatementWords:
        """Return the words of a cure for a table that a query names; there a path stands between quotes."""
        first = name.parts[0]
        if len(name.parts) == 1 and first.lower() not in self._named and not self._catalog:
            name = TableName((), first.removeprefix("./"), name.options)
        return StatementWords(name, takes_options=not self._catalog, named_by=self.naming, face=Words.asked())

    def _is_path(self, text: str) -> bool:
        """Return whether a text between quotes is a path: without a catalog, each that was not given as a name."""
        return not self._catalog and text.lower() not in self._named

    def workload(self, name: TableName, tables: Sequence[Table]) -> Workload:
        from pathlib import Path

        said = name.path or ".".join(name.parts)
        path = self._named.get(said.lower()) or (said if self._own else None)
        if path is None:
            raise ArgumentError(
                "queries behind FROM are those that a name was given for, as a text may be somebody else's;"
                f" {name.text()} is no such name; say what it means: {self.naming}"
            )
        return workload(Path(path), time_zone=tables[0].config.time_zone)

    def explained(self, query: str, *, formatted: bool) -> StatementResult:
        asked = self.asked(query)
        rows: list[dict[str, object]] = []
        texts: list[str] = []
        for table in asked.tables:
            columns = [field.name for field in table.schema]
            given = names_given(with_names(query, self._is_path)[0])
            for read in of_table(asked.workload, TableNames(table.path, asked.names), columns).queries:
                _check_columns(read, table, given)
                with self._words(TableName((table.path,))).spoken():
                    told = table.explain(read.predicate)
                    texts.append(str(told))
                answer = told.result
                row = {
                    "scan": answer.table,
                    "files": answer.kept_files,
                    "total_files": answer.total_files,
                    "size_bytes": answer.kept_bytes,
                    "total_bytes": answer.total_bytes,
                }
                rows += [
                    {
                        **row,
                        "index": report.name,
                        "used": not reason,
                        "reason": reason or report.reason or None,
                    }
                    for report in answer.indexes
                    for reason in [_unused(report, told.credit)]
                ] or [row]
        if formatted:
            return result(FORMATTED, [{"plan": "\n\n".join(texts)}], *texts)
        return explained(rows)


def _check_columns(read: TableQuery, table: Table, given: frozenset[str] | None) -> None:
    """Raise UnknownColumnError for a column that a query shows and its table has not. `given`: names of the query's
    own, None if unknown. Engines have columns beside those of a table, such as `_metadata`."""
    if given is None:
        return
    for parts in sorted(read.columns or ()):
        if parts[0].lower() in given or parts[0].startswith("_"):
            continue
        try:
            bind(IsNull(ColumnRef(parts)), table.schema)
        except UnknownColumnError as error:
            raise UnknownColumnError("a query names columns of the table", *error.args[1:]) from None


def _unused(report: IndexReport, credit: Credit | None) -> str:
    """Return why an index gains a query nothing; empty if it does gain."""
    if not report.used or not report.dropped_files:
        return report.reason or "leaves out no file"
    if credit is not None and credit.beyond.get(report.name) == 0:
        return "leaves out no file that the table's own statistics do not leave out"
    return ""


def explained(rows: Sequence[Mapping[str, object]], unread: str = "the query reads no table") -> StatementResult:
    """Return a row a scan and index; if nothing is scanned, one that says so: `unread`."""
    rows = rows or [{"reason": unread}]
    return result(EXPLAINED, rows, _explained_table(rows))


def _explained_table(rows: Sequence[Mapping[str, object]]) -> TextTable:
    """Return the rows as a table for people, a row for each scan and index."""
    columns = Column.named("scan", "index", "used", "files>", "bytes>", "reason")

    def of(row: Mapping[str, object], one: str, every: str) -> str:
        return "-" if row.get(one) is None else f"{row[one]:,} of {row[every]:,}"

    cells = [
        (
            str(row.get("scan") or "-"),
            str(row.get("index") or "-"),
            "-" if row.get("scan") is None else "yes" if row.get("used") else "no",
            of(row, "files", "total_files"),
            of(row, "size_bytes", "total_bytes"),
            str(row.get("reason") or "-"),
        )
        for row in rows
    ]
    return TextTable(columns, tuple(cells))


def _table_name(text: str, named: Mapping[str, str]) -> TableName:
    """A name as a workload has it: its parts with dots between them, of which a path may have some, too."""
    first, dot, rest = text.partition(".")
    if text.lower() in named:
        return TableName((text,))
    if dot and first.lower() in NAMED:
        return TableName((first, rest))
    return TableName((text,)) if "/" in text or not dot else TableName(tuple(text.split(".")))
