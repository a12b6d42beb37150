"""A statement becomes text that `parsing` reads as the same statement: every name between backticks."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from metaindex.expressions import column_sql, text_sql, value_sql
from metaindex.index import KINDS, Kind
from metaindex.statements.grammar.tree import (
    AskedVersion,
    CandidateIndex,
    ChangeIndex,
    CreateIndex,
    DescribeIndex,
    ExplainIndexes,
    ExplainWhatIf,
    RecommendIndexes,
    ShowIndexes,
    Statement,
    TableName,
    VerifyIndex,
)


def printed(statement: Statement) -> str:
    """Write a statement in one line, unless a name, a text or a query has more."""
    return " ".join(word for word in _words(statement) if word)


def _words(statement: Statement) -> Iterable[str]:
    match statement:
        case CreateIndex(name, table, kinds, if_not_exists, at, options):
            yield "CREATE INDEX"
            yield "IF NOT EXISTS" if if_not_exists else ""
            yield from _on(name, table)
            yield _asked(at)
            yield _kinds(kinds, options)
        case ChangeIndex(verb, name, table, mode, if_exists, hours, options, at, where):
            yield f"{verb.upper()} INDEX"
            yield "IF EXISTS" if if_exists else ""
            yield from _on(name, table)
            yield _asked(at)
            yield mode.upper()
            yield "" if hours is None else f"RETAIN {value_sql(hours)} HOURS"
            yield _options(options)
            yield f"WHERE {where}" if where else ""
        case ShowIndexes(table, at):
            yield "SHOW INDEXES ON"
            yield table.text()
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
            yield ", ".join(table.text() for table in tables)
            yield "" if queries is None else f"FROM {queries.text()}"
            yield _options(options)
        case _:
            assert_never(statement)


def _kinds(kinds: Sequence[Kind], options: tuple[tuple[str, object], ...]) -> str:
    """Each kind behind its USING, the statement's own options behind the last one's."""
    return " ".join(KINDS.using(kind).text(options if kind is kinds[-1] else ()) for kind in kinds)


def _on(name: str, table: TableName) -> Iterable[str]:
    return column_sql((name,)), "ON", table.text()


def _asked(at: AskedVersion) -> str:
    if at.version is not None:
        return f"VERSION AS OF {value_sql(at.version)}"
    return f"TIMESTAMP AS OF {text_sql(at.timestamp)}" if at.timestamp is not None else ""


def _options(options: tuple[tuple[str, str | int | float | bool], ...]) -> str:
    said = ", ".join(f"{text_sql(key)} = {value_sql(value)}" for key, value in options)
    return f"OPTIONS ({said})" if said else ""


def _candidates(candidates: Sequence[CandidateIndex], options: tuple[tuple[str, str | int | float | bool], ...]) -> str:
    if not candidates:
        return _options(options)
    said = [
        f"INDEX {f'ON {candidate.table.text()} ' if candidate.table is not None else ''}"
        + _kinds(candidate.kinds, options if candidate is candidates[-1] else ())
        for candidate in candidates
    ]
    return f"WITH {', '.join(said)}"
