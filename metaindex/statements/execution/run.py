"""A statement is run: the verb of `Table` that it says, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol, assert_never

from metaindex.advisor import Recommendation, Workload, recommend
from metaindex.core import (
    ArgumentError,
    Cure,
    IndexNotFoundError,
    MetaIndexError,
    Progress,
    TextTable,
    Words,
    dataclass,
)
from metaindex.formats import ReadOptions
from metaindex.index import KINDS, IndexFolder, Kind
from metaindex.statements.grammar.tree import (
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
from metaindex.statements.grammar.verbs import VERBS
from metaindex.table import Table, handle_of, hint

from .results import (
    DESCRIBED,
    WEIGHED,
    StatementResult,
    changed,
    indexes_shown,
    nothing,
    recommended,
    result,
    verified,
    weighed,
)
from .words import StatementWords


@dataclass(frozen=True, slots=True)
class AskedTables:
    """A query: what it reads, the tables that it reads, each once, and which of its names mean which path."""

    workload: Workload
    tables: tuple[Table, ...]
    names: Mapping[str, str]


def not_asked(how: str, why: str, *cure: str) -> ArgumentError:
    """Return the error for a query whose tables cannot be resolved; `why` may be a workload's message about it."""
    return ArgumentError(f"a query reads tables that can have an index; of this one {how}: {why}", *cure)


class NamedTables(Protocol):
    """`builder`: who builds where a statement does not say, None for the table's own. `in_spark`: are they a session's,
    whose queries read them by Spark? `names`: paths of tables by the names that whoever runs statements gave them, and
    `naming`: how such a name is given."""

    in_spark: bool
    names: Mapping[str, str]
    naming: str
    builder: str | None
    progress: Progress | None

    def open(self, name: TableName) -> Table:
        """Return the table of a name. Raises MetaIndexError if there is none, or it cannot have an index."""

    def takes_options(self, name: TableName) -> bool:
        """Return whether WITH may follow the name, with options for reading files."""

    def asked(self, query: str) -> AskedTables:
        """Return the tables that a query reads. Raises MetaIndexError if they cannot be resolved."""

    def explained(self, query: str, *, formatted: bool) -> StatementResult:
        """Explain which indexes a query uses, and why it does not use the others."""

    def workload(self, name: TableName, tables: Sequence[Table]) -> Workload:
        """Return the queries that a statement names behind FROM: those that whoever runs it may read. Raises
        ArgumentError for others."""


_HOUR_SECONDS: Final = 3600


def run(statement: Statement, tables: NamedTables) -> StatementResult:
    """Run a statement and return its result, with cures worded as statements. Raises like the verbs of `Table`."""
    with _words(statement, tables).spoken():
        return _run(statement, tables)


def _words(statement: Statement, tables: NamedTables) -> StatementWords:
    """Return the words that cures take from the statement."""
    words = StatementWords(in_spark=tables.in_spark, named_by=tables.naming, face=Words.asked())
    match statement:
        case ExplainIndexes() | ExplainWhatIf() | RecommendIndexes():
            return words
        case ShowIndexes(table):
            return replace(words, table=table, takes_options=tables.takes_options(table))
        case _:
            table = statement.table
            return replace(words, table=table, index=statement.name, takes_options=tables.takes_options(table))


def _run(statement: Statement, tables: NamedTables) -> StatementResult:
    match statement:
        case CreateIndex():
            return _create(statement, tables)
        case ChangeIndex():
            return _in_its_words(statement, tables)
        case ShowIndexes(name, at):
            table = tables.open(name)
            infos = table.indexes(version=at.version, timestamp=at.timestamp)
            return indexes_shown(infos, in_spark=tables.in_spark, hint="" if infos else hint(table.path))
        case DescribeIndex(name, table, history):
            return _described(name, table, tables, history=history)
        case VerifyIndex(name, table, options):
            how = VERBS["verify"].arguments(options)
            return verified(tables.open(table).verify_index(name, progress=tables.progress, **how))
        case ExplainIndexes(query, formatted):
            return tables.explained(query, formatted=formatted)
        case ExplainWhatIf():
            return _what_if(statement, tables)
        case RecommendIndexes():
            return _recommend(statement, tables)
        case _:
            assert_never(statement)


def _create(statement: CreateIndex, tables: NamedTables) -> StatementResult:
    outcome = tables.open(statement.table).create_index(
        statement.name,
        *statement.kinds,
        progress=tables.progress,
        version=statement.at.version,
        timestamp=statement.at.timestamp,
        if_not_exists=statement.if_not_exists,
        **{"builder": tables.builder, **VERBS["create"].arguments(statement.options)},
    )
    return changed(outcome)


def _in_its_words(statement: ChangeIndex, tables: NamedTables) -> StatementResult:
    """A verb whose errors say which indexes there are, and call the verbs as statements do."""
    try:
        return _change(statement, tables)
    except IndexNotFoundError as error:
        IndexFolder.check_name(statement.name)
        fact = f"{statement.verb} needs an index; there is none named {statement.name!r}"
        raise handle_of(tables.open(statement.table)).indexes().missing(fact, statement.name) from error


def _change(statement: ChangeIndex, tables: NamedTables) -> StatementResult:
    table = tables.open(statement.table)
    verb = statement.verb
    if statement.if_exists:
        latest = handle_of(table).indexes().log(statement.name).latest()
        if latest is None or latest.gone:
            return nothing(statement.name, verb, "DOESNOTEXIST", "there is no such index")
        if verb == "drop" and latest.deleted:
            return nothing(statement.name, verb, latest.stable.value, "it is dropped already")
    how = VERBS[verb].arguments(statement.options)
    if "builder" in VERBS[verb].options:
        how = {"builder": tables.builder, "progress": tables.progress, **how}
    if verb == "refresh":
        how |= {"version": statement.at.version, "timestamp": statement.at.timestamp, "where": statement.where or None}
    elif statement.hours is not None:
        how["retention"] = statement.hours * _HOUR_SECONDS
    if statement.mode:
        how["mode"] = statement.mode
    outcome = getattr(table, VERBS[verb].method)(statement.name, **how)
    return changed(outcome)


def _described(name: str, table: TableName, tables: NamedTables, *, history: bool) -> StatementResult:
    opened = tables.open(table)
    if history:
        told = opened.history(name)
        return StatementResult(told.to_arrow(), tuple(told.shown))
    infos = opened.indexes(all=True)
    if name not in [info.name for info in infos]:
        raise IndexNotFoundError(
            f"an index is described that there is; there is no {name!r}; there are: "
            + (", ".join(info.name for info in infos) or "none")
        )
    info = infos[name]
    kinds, built = _kinds_and_options_of(opened, name)
    facts = {fact: _fact(value) for fact, value in info.to_json().items() if value not in (None, "", (), [])}
    if kinds:
        named = table if table.options and not info.other_options else _as_built(table, opened, built, tables)
        facts["statement"] = KINDS.create_text(name, named.text(), kinds)
    rows = [{"name": fact, "value": value} for fact, value in facts.items()]
    more = [f"{'statement':<10}{facts['statement']}"] if kinds else []
    return result(DESCRIBED, rows, *info.shown, *more)


def _kinds_and_options_of(table: Table, name: str) -> tuple[list[Kind], Mapping[str, object]]:
    """Return the kinds and options that the index was built with; empty if it cannot be read, or is gone."""
    try:
        latest = handle_of(table).indexes().log(name).latest()
        return ([], {}) if latest is None else ([KINDS.of(spec) for spec in latest.kinds], latest.table.options)
    except MetaIndexError:
        return [], {}


def _as_built(table: TableName, opened: Table, options: Mapping[str, object], tables: NamedTables) -> TableName:
    """Return the table with the options that the index was built with. Spark infers a schema if told so."""
    said = {ReadOptions.spelled(key): value for key, value in options.items() if key != "file_format"}
    if tables.in_spark and str(said.get("inferSchema", "")).lower() == "true":
        said.pop("schema", None)
    if options.get("file_format") == "csv" and not any(key.lower() == "header" for key in said):
        said = {"header": True, **said}  # to Spark a header has to be said
    of_no_text = str(said.get("schema", "")).startswith("?")  # a schema that no text says
    if not said or of_no_text or handle_of(opened).ref.patterns:
        return table
    given = tuple((key, value if isinstance(value, bool | int | float) else str(value)) for key, value in said.items())
    return TableName((str(options.get("file_format", "parquet")), opened.path), options=given)


def _fact(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _what_if(statement: ExplainWhatIf, tables: NamedTables) -> StatementResult:
    asked = tables.asked(statement.query)
    how = VERBS["whatif"].arguments(statement.options)
    by_table: dict[str, list[CandidateIndex]] = {table.path: [] for table in asked.tables}
    for candidate in statement.candidates:
        by_table[_candidates_table(candidate, tables, by_table)].append(candidate)
    rows: list[dict[str, object]] = []
    told: list[str | TextTable] = []
    for table in asked.tables:
        candidates = by_table[table.path]
        if statement.candidates and not candidates:
            continue
        kinds = [candidate.kinds for candidate in candidates]
        answer = table.what_if(asked.workload, *kinds, tables=asked.names or None, **how)
        rows += weighed(answer)
        told += [*([""] if told else []), *answer.shown]
    rows += [{"query": problem.example, "note": problem.reason} for problem in asked.workload.problems]
    return result(WEIGHED, rows, *told)


def _candidates_table(candidate: CandidateIndex, tables: NamedTables, known: Mapping[str, object]) -> str:
    if candidate.table is None:
        if len(known) == 1:
            return next(iter(known))
        raise ArgumentError(
            f"an index is of one table; the query reads {len(known)}: {', '.join(known)}; say WITH INDEX ON table"
            " USING ..."
        )
    path = tables.open(candidate.table).path
    if path not in known:
        raise ArgumentError(
            f"an index is weighed for a table that the query reads; it does not read {path}, but {', '.join(known)}"
        )
    return path


def _recommend(statement: RecommendIndexes, tables: NamedTables) -> StatementResult:
    how = VERBS["recommend"].arguments(statement.options)
    opened = [tables.open(name) for name in statement.tables]
    names = dict(tables.names) | {
        ".".join(name.parts): table.path for name, table in zip(statement.tables, opened, strict=True) if name.parts
    }
    answer = recommend(
        None if statement.queries is None else tables.workload(statement.queries, opened),
        *opened,
        budget_bytes=how.pop("budget", None),
        tables=names or None,
        progress=tables.progress,
        **how,
    )
    if not answer.templates:
        raise ArgumentError(f"indexes are recommended for queries; {_without_queries(statement.queries, answer)}")
    return recommended(answer)


def _without_queries(queries: TableName | None, answer: Recommendation) -> str:
    """Fact and cure."""
    if queries is not None:
        return "; ".join((f"of {queries.text()} none can be read", *answer.notes[:1], "name others behind FROM"))
    return (
        "none are given, and none are noted; name their file (FROM 'queries.sql'), or have them noted as they are asked"
        f" by {Cure('setting', 'Config(query_log=True)')}, in a session of Spark by SET spark.metaindex.queryLog ="
        " kept"
    )
