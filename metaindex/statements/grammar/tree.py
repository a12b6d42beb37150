"""Statements as values: `parsing` makes them from text."""

from __future__ import annotations

from metaindex.core import dataclass
from metaindex.expressions import column_sql, text_sql
from metaindex.formats import ReadOptions
from metaindex.index import Kind

Options = tuple[tuple[str, object], ...]  # in the order of the text, each name once


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as a statement names it: by the `parts` of a name, as in lake.flights or delta.`/data/flights`, or by a
    `path` between quotes. `options`: how its files are read, behind WITH."""

    parts: tuple[str, ...] = ()
    path: str = ""
    options: Options = ()

    def text(self) -> str:
        """Write a table as a statement names it."""
        name = text_sql(self.path) if self.path else column_sql(self.parts)
        return ReadOptions.in_sql(name, self.options)


@dataclass(frozen=True, slots=True)
class AskedVersion:
    """A version of a table: VERSION AS OF, or TIMESTAMP AS OF."""

    version: int | str | None = None
    timestamp: str | None = None


NOW = AskedVersion()


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE INDEX. `options`: those that are no kind's own."""

    name: str
    table: TableName
    kinds: tuple[Kind, ...]
    if_not_exists: bool = False
    at: AskedVersion = NOW
    options: Options = ()


@dataclass(frozen=True, slots=True)
class ChangeIndex:
    """A statement with any other verb that changes an index. `verb`: as it is written, in small letters; `mode`: of
    REFRESH and OPTIMIZE; `hours`: of CLEAN, what is kept; `at`, `where`: of REFRESH, the latter a condition over
    partition columns, as it stands in the text; "" is none."""

    verb: str
    name: str
    table: TableName
    mode: str = ""
    if_exists: bool = False
    hours: float | None = None
    options: Options = ()
    at: AskedVersion = NOW
    where: str = ""


@dataclass(frozen=True, slots=True)
class ShowIndexes:
    """SHOW INDEXES."""

    table: TableName
    at: AskedVersion = NOW


@dataclass(frozen=True, slots=True)
class DescribeIndex:
    """DESCRIBE INDEX. `history`: what happened to it, in place of what it is."""

    name: str
    table: TableName
    history: bool = False


@dataclass(frozen=True, slots=True)
class VerifyIndex:
    """VERIFY INDEX."""

    name: str
    table: TableName
    options: Options = ()


@dataclass(frozen=True, slots=True)
class ExplainIndexes:
    """EXPLAIN INDEXES. `formatted`: as one text for a person."""

    query: str
    formatted: bool = False


@dataclass(frozen=True, slots=True)
class CandidateIndex:
    """An index that there is not: WITH INDEX. `table`: of which, where the query reads several."""

    kinds: tuple[Kind, ...]
    table: TableName | None = None


@dataclass(frozen=True, slots=True)
class ExplainWhatIf:
    """EXPLAIN WHATIF. Where there is no candidate, those that follow from the query are weighed."""

    query: str
    candidates: tuple[CandidateIndex, ...] = ()
    options: Options = ()


@dataclass(frozen=True, slots=True)
class RecommendIndexes:
    """RECOMMEND INDEXES. `queries`: the name or path of a workload; None: the tables' own query logs."""

    tables: tuple[TableName, ...]
    queries: TableName | None = None
    options: Options = ()


Statement = (
    CreateIndex
    | ChangeIndex
    | ShowIndexes
    | DescribeIndex
    | VerifyIndex
    | ExplainIndexes
    | ExplainWhatIf
    | RecommendIndexes
)
