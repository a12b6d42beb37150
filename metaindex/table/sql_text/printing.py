"""A statement becomes text that `parsing` reads as the same statement: every name between backticks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from metaindex.expressions import column_sql, quoted, text_sql
from metaindex.index import Kind

from .tree import (
    AskedVersion,
    CandidateIndex,
    ChangeIndex,
    CreateIndex,
    DescribeIndex,
    ExplainIndexes,
    ExplainWhatIf,
    Options,
    RecommendIndexes,
    RefreshIndex,
    ShowIndexes,
    Statement,
    TableName,
    VerifyIndex,
)
from .using import using_text, value_text


def printed(statement: Statement) -> str:
    """Write a statement in one line, unless a name, a text or a query has more."""
    return " ".join(word for word in _words(statement) if word)


def create_text(name: str, table: str, kinds: Sequence[Kind]) -> str:
    """The statement that creates an index. `table`: as it is written."""
    return f"CREATE INDEX {quoted(name)} ON {table} {_with_options(kinds, ())}"


def _words(statement: Statement) -> Iterable[str]:
    match statement:
        case CreateIndex(name, table, kinds, if_not_exists, at, options):
            yield "CREATE INDEX"
            yield "IF NOT EXISTS" if if_not_exists else ""
            yield from _on(name, table)
            yield _asked(at)
            yield _with_options(kinds, options)
        case RefreshIndex(name, table, mode, if_exists, at, options, where):
            yield "REFRESH INDEX"
            yield "IF EXISTS" if if_exists else ""
            yield from _on(name, table)
            yield _asked(at)
            yield mode.upper()
            yield _options(options)
            yield f"WHERE {where}" if where else ""
        case ChangeIndex(verb, name, table, mode, if_exists, hours, options):
            yield f"{verb.upper()} INDEX"
            yield "IF EXISTS" if if_exists else ""
            yield from _on(name, table)
            yield mode.upper()
            yield "" if hours is None else f"RETAIN {value_text(hours)} HOURS"
            yield _options(options)
        case ShowIndexes(table, at):
            yield "SHOW INDEXES ON"
            yield table_text(table)
            yield _asked(at)
        case DescribeIndex(name, table, history):
            yield "DESCRIBE INDEX"
            yield "HISTORY" if history else ""
            yield from _on(name, table)
        case VerifyIndex(name, table, options):
            yield "VERIFY INDEX"
            yield from _on(name, table)
            yield _options(options)
        case ExplainIndexes(query, formatted):
            yield "EXPLAIN INDEXES"
            yield "FORMATTED" if formatted else ""
            yield query
        case ExplainWhatIf(query, candidates, options):
            yield "EXPLAIN WHATIF"
            yield query
            yield _candidates(candidates, options)
        case RecommendIndexes(tables, queries, options):
            yield "RECOMMEND INDEXES ON"
            yield ", ".join(map(table_text, tables))
            yield f"FROM {text_sql(queries)}" if queries else ""
            yield _options(options)
        case _:
            assert_never(statement)


def table_text(table: TableName) -> str:
    """Write a table as a statement names it."""
    name = text_sql(table.path) if table.path else column_sql(table.parts)
    return f"{name} {with_text(table.options)}" if table.options else name


def with_text(options: Options) -> str:
    """Write the reader options of a table."""
    return f"WITH ({', '.join(f'{text_sql(key)} = {value_text(value)}' for key, value in options)})"


def _on(name: str, table: TableName) -> Iterable[str]:
    return quoted(name), "ON", table_text(table)


def _asked(at: AskedVersion) -> str:
    if at.version is not None:
        return f"VERSION AS OF {value_text(at.version)}"
    return f"TIMESTAMP AS OF {text_sql(at.timestamp)}" if at.timestamp is not None else ""


def _options(options: Options) -> str:
    said = ", ".join(f"{text_sql(key)} = {value_text(value)}" for key, value in options)
    return f"OPTIONS ({said})" if said else ""


def _with_options(kinds: Sequence[Kind], options: Options) -> str:
    """Write the kinds, with the statement's options behind the last kind's own."""
    return " ".join(f"USING {using_text(kind, options if kind is kinds[-1] else ())}" for kind in kinds)


def _candidates(candidates: Sequence[CandidateIndex], options: Options) -> str:
    if not candidates:
        return _options(options)
    said = [
        f"INDEX {f'ON {table_text(candidate.table)} ' if candidate.table is not None else ''}"
        + _with_options(candidate.kinds, options if candidate is candidates[-1] else ())
        for candidate in candidates
    ]
    return f"WITH {', '.join(said)}"
