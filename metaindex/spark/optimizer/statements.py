"""Statements about indexes in a session of Spark: its tables by their names, with the rights that the session has."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from metaindex.advisor import Workload, from_texts, workload
from metaindex.core import (
    ArgumentError,
    Config,
    ExpressionError,
    MetaIndexError,
    NotATableError,
    SparkDriver,
    StatementError,
    first_line,
)
from metaindex.expressions import column_sql, text_sql
from metaindex.formats import NAMED, Format
from metaindex.spark.frames import each_of, has_files, is_of_delta, table_of, tables_in
from metaindex.statements import (
    FORMATTED,
    AskedTables,
    ChangeIndex,
    CreateIndex,
    Statement,
    StatementResult,
    TableName,
    Token,
    begins_as_query,
    explained,
    is_ours,
    no_query,
    parsed,
    path_between_quotes,
    placed,
    result,
    run,
    schema_of,
    slip,
    tokens,
)
from metaindex.table import Table, check_options, open_table

from .enabling import rule_of
from .quiet import unlogged
from .tables import place_of
from .text_scans import as_indexed, check_refreshed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from metaindex.core import Progress

    from .explaining import ExplainedScan

_TYPES: Final = {pa.string(): "STRING", pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN"}
_NO_TABLE: Final = re.compile(r"\[(?:TABLE_OR_VIEW|PATH|SCHEMA)_NOT_FOUND")
_OF_STORES: Final = re.compile(r"(?:^|\[|, )((?:spark\.hadoop\.)?fs\.[^,\]]+)")
"""Settings of stores, in a text of names."""
_WHO_ASKS: Final = re.compile(
    r"fs\.(?:azure\.(?:account|sas)|gs\.auth)\.|\.(?:access\.key|secret\.key|session\.token|credentials\.provider)$"
)
"""Settings that say who asks a store, and not where it is."""
_INDEXED: Final = "org.apache.spark.sql.connector.catalog.index.SupportsIndex"


class OthersIndexError(MetaIndexError):
    """The table is of a catalog that has indexes of its own: the statement is Spark's."""


class Answering:
    """Answers the session's parser (`StatementParser.java`): whether a text is a statement of ours, and what it
    returns. Nothing is raised: errors are in the answer. `session` gives the session; `config`, `storage_options`:
    those of `open_table`."""

    def __init__(self, session: Callable[[], SparkSession], config: Config, storage_options: Mapping[str, str]) -> None:
        self._session = session
        self._how = {"config": config, "storage_options": dict(storage_options)}

    def __call__(self, request: str) -> str:
        asked = json.loads(request)
        text = str(asked["text"])
        try:
            with SparkDriver.interrupts_first(), unlogged():
                return json.dumps(
                    {"parse": self._parsed, "script": self._script, "slip": self._slip, "run": self._run}[
                        str(asked["what"])
                    ](text)
                )
        except OthersIndexError:
            return json.dumps({"other": True})
        except Exception as error:  # noqa: BLE001 - told to whoever runs the statement
            return json.dumps({"error": self._said(error, text)})

    def _parsed(self, text: str) -> dict[str, object]:
        if not is_ours(text):
            return {"other": True}
        try:
            statement = parsed(text)
        except StatementError as error:
            if self._theirs(text):
                return {"other": True}
            return _placed(text, error.args[0], error.at, error.end)
        return {"columns": [[field.name, _ddl(field.type)] for field in schema_of(statement)]}

    def _slip(self, text: str) -> dict[str, object]:
        """Answer for a text that Spark cannot parse, and that resembles a statement of ours."""
        error = slip(text)
        if error is None:
            return {"other": True}
        return _placed(text, error.args[0], error.at, error.end)

    def _script(self, text: str) -> dict[str, object]:
        """Answer for a script, which Spark parses whole: refuse the first statement of ours in it."""
        try:
            inside = [*indexes_in(text)] if is_script(text) else []
        except StatementError:
            return {"other": True}  # Spark has its own error
        for at, statement in inside:
            if not self._theirs(statement):
                first = " ".join(statement.split()[:2])
                told = (
                    "a script has no statements about indexes; give it to sql() by itself, or say EXECUTE IMMEDIATE"
                    f" '{first} ...' in its place"
                )
                return _placed(text, told, at, at + len(first))
        return {"other": True}

    def _theirs(self, text: str) -> bool:
        """Return whether a statement that is wrong as ours is right as Spark's, on a table with indexes of its own."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        spark = self._session()
        parser, state = rule_of(spark).placed.parser, spark._jsparkSession.sessionState()
        try:
            with SparkDriver.interrupts_first():
                if parser is None:
                    return False
                named = parser.theirs(text)
                return named is not None and bool(parser.hasIndexes(state.analyzer().execute(named)))
        except (PySparkException, Py4JJavaError):
            return False  # the statement has the error that ours found

    def _run(self, text: str) -> dict[str, object]:
        statement = parsed(text)
        rows = run(statement, SparkTables(self._session(), self._how, statement)).rows
        return {"rows": [[_plain(value) for value in row.values()] for row in rows.to_pylist()]}

    def _said(self, error: Exception, text: str) -> str:
        known = isinstance(error, MetaIndexError)
        said = str(error) if known else first_line(error)
        place = placed(text, error.named) if isinstance(error, MetaIndexError) and error.named else None
        at = "" if place is None else "; line {}, column {}".format(*StatementError(said, text, place).place)
        return f"[{type(error).__name__}] {said}{at}"


def _placed(text: str, said: str, at: int, end: int) -> dict[str, object]:
    """An error at a place of the text."""
    line, column = StatementError(said, text, at).place
    place = {"line": line, "column": column - 1, "start": at, "stop": max(at, end - 1)}
    return {"error": said, "near": f"'{text[at:end] or 'end of input'}'", **place}


def _ddl(kind: pa.DataType) -> str:
    return f"ARRAY<{_ddl(kind.value_type)}>" if pa.types.is_list(kind) else _TYPES[kind]


def _fact(error: Exception) -> str:
    """Return Spark's message as a part of a line of ours."""
    return f"Spark says: {first_line(error)[:300].rstrip(' .;')}"


def _plain(value: object) -> object:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


class SparkTables:
    """The tables of a session: temporary views, catalogs, and formats with a path."""

    def __init__(self, spark: SparkSession, how: Mapping[str, Any], statement: Statement | None = None) -> None:
        self.spark, self._how = spark, how
        verb = statement.verb if isinstance(statement, ChangeIndex) else ""
        self._passed_on = isinstance(statement, CreateIndex) or verb == "drop"
        self._refreshed = statement.name if isinstance(statement, ChangeIndex) and verb == "refresh" else None
        self.in_spark = True
        self.names: Mapping[str, str] = {}
        self.naming = "a view behind ON (CREATE TEMPORARY VIEW name AS SELECT * FROM table)"
        self.builder: str | None = None
        self.progress: Progress | None = None

    def open(self, name: TableName) -> Table:
        options: dict[str, Any] = dict(name.options)
        if name.path:
            self._of_named_stores(self.spark.range(0))
            return open_table(self._readable(name.path), spark=self.spark, **self._how, **options)
        if not options:
            frame = self._frame(f"TABLE {column_sql(name.parts)}", named=True)
            return table_of(frame, **self._how, others=self._others, as_read=self._as_read)
        if len(name.parts) != 2 or name.parts[0].lower() not in NAMED or self._is_in_catalog(name.parts):
            raise ArgumentError(
                f"a table of a catalog knows how its files are read; {'.'.join(name.parts)} is one, and WITH stands"
                " behind it; leave it out"
            )
        check_options(options)
        if "format" in map(str.lower, options):
            raise ArgumentError(f"a table has one format, here {name.parts[0]}; WITH names another; leave it out")
        said = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}
        return table_of(self._read(name.parts[0].lower(), name.parts[1], said), **self._how, as_read=self._as_read)

    def takes_options(self, name: TableName) -> bool:
        return bool(name.path or name.options) or (len(name.parts) == 2 and name.parts[0].lower() in NAMED)

    def _is_in_catalog(self, parts: Sequence[str]) -> bool:
        """A database may be named as a format is: Spark looks there first."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            with SparkDriver.interrupts_first():
                return bool(self.spark.catalog.tableExists(column_sql(parts)))
        except (PySparkException, Py4JJavaError) as error:
            raise NotATableError(f"a table is one that Spark finds; {_fact(error)}; check the name") from None

    def _of_named_stores(self, frame: DataFrame) -> DataFrame:
        """Return the frame. ArgumentError if the session, or a table's options, say where a store is otherwise than the
        application, whose keys metaindex has: what Spark reads by a name is of another store then."""
        if not self._how.get("storage_options"):
            return frame
        session, told = self.spark._jsparkSession, dict[str, str]()
        conf, ours = session.sessionState().conf(), session.sparkContext().hadoopConfiguration()
        for name in _OF_STORES.findall(str(conf.settings().keySet().toString())):
            told[name] = conf.getConfString(name)
        for plan in _with_subqueries(frame._jdf.queryExecution().analyzed()):
            for leaf in each_of(plan.collectLeaves()):
                relation = leaf.relation() if leaf.getClass().getSimpleName() == "LogicalRelation" else None
                if relation is not None and has_files(relation):
                    said = relation.options()
                    told |= {name: said.apply(name) for name in _OF_STORES.findall(str(said.keySet().mkString(", ")))}
        for name, value in told.items():
            if not _WHO_ASKS.search(name) and value != ours.get(name.removeprefix("spark.hadoop.")):
                raise ArgumentError(
                    "a statement asks stores where the application has them; the session, or the table, has another"
                    f" {name}; leave it out"
                )
        return frame

    def _readable(self, path: str) -> str:
        """Return the location that the session means by a path, with its file system: of a path alone that is the one
        of `fs.defaultFS`, which need not be this machine's disk. NotATableError unless that file system lists and opens
        what is there, of a pattern all that fits: what this process could read beside it, by its own rights and keys,
        is no matter of whoever sends statements."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        state = self.spark._jsparkSession.sessionState()
        try:
            with SparkDriver.interrupts_first():
                if self.spark.conf.get("spark.sql.runSQLOnFiles") != "true":
                    raise NotATableError(
                        "a statement names files by paths where spark.sql.runSQLOnFiles is true; here it is false; name"
                        " a table of a catalog"
                    )
                place = SparkDriver(self.spark).jvm.org.apache.hadoop.fs.Path(path)
                there = place.getFileSystem(state.newHadoopConf())
                found = [place] if there.exists(place) else [one.getPath() for one in there.globStatus(place) or ()]
                if not found:
                    raise NotATableError(f"a table is a folder of files; there is nothing at {path}; check the path")
                for fitting in found:
                    files = there.listFiles(fitting, True)
                    if files.hasNext():
                        there.open(files.next().getPath()).close()
                return place_of(str(there.makeQualified(place).toString()))
        except (PySparkException, Py4JJavaError) as error:
            said = f"a statement names a path that the session can read; {_fact(error)}; check the path"
            raise NotATableError(said) from None

    def _read(self, format_: str, path: str, options: Mapping[str, str]) -> DataFrame:
        from pyspark.errors import PySparkException

        options = dict(options)
        schema = options.pop("schema", None)
        reader = self.spark.read.format(format_).options(**options)
        try:
            with SparkDriver.interrupts_first():
                return self._of_named_stores((reader if schema is None else reader.schema(schema)).load(path))
        except PySparkException as error:
            raise NotATableError(f"Spark reads a table's files; {_fact(error)}; check path and options") from None

    def _as_read(self, table: Table, relation: Any) -> Table:
        opened = as_indexed(table, relation)
        if self._refreshed is not None:
            check_refreshed(opened, self._refreshed, relation)
        return opened

    def _others(self, table: Any) -> None:
        """Pass on a table of a catalog that is none of ours, if it has indexes of its own."""
        names = [str(interface.getName()) for interface in table.getClass().getInterfaces()]
        if self._passed_on and _INDEXED in names:
            raise OthersIndexError

    def _frame(self, query: str, *, named: bool = False) -> DataFrame:
        """A query, and nothing that changes anything. `named`: it is the name of a table."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            with SparkDriver.interrupts_first():
                self._check(query)
                return self._of_named_stores(self.spark.sql(query))
        except (PySparkException, Py4JJavaError) as error:
            said = _fact(error)
            if named or _NO_TABLE.search(said):
                cure = "check the name, or the path"
                raise NotATableError(f"a statement names tables that Spark can read; {said}; {cure}") from None
            rule = "a statement has a query that Spark can analyse"
            path = path_between_quotes(query)
            if path:
                rule, said = "queries of a session name a path behind its format", f"this one has {path!r} alone"
            raise ExpressionError(f"{rule}; {said}; {self._named(path) or 'correct the query'}") from None

    def _named(self, path: str) -> str:
        """Return how a query of a session names the table at a path, which statements may name between quotes; empty
        for no path."""
        if not path:
            return ""
        try:
            snapshot = open_table(self._readable(path), **self._how).snapshot()
            table_format = Format.named(snapshot.format)
            format_ = table_format.called(str(snapshot.details.read_options().get("file_format", "parquet")))
        except NotATableError:
            return "check the path, at which there is no table"
        except MetaIndexError:
            return f"write the format before it, as in parquet.{column_sql((path,))}"
        if not table_format.named_by_path:
            return "write the table's name in its catalog"
        if format_ == "csv":
            view = f"CREATE TEMPORARY VIEW name USING csv OPTIONS (path {text_sql(path)}, header true)"
            return f"write a view's name, of {view}"
        return f"write {format_}.{column_sql((path,))}"

    def _check(self, query: str) -> None:
        """Refuse what is no query: before it is analysed, and as it is analysed, for an expression may make a name.
        That runs nothing."""
        parser, state = rule_of(self.spark).placed.parser, self.spark._jsparkSession.sessionState()
        if parser is None or not begins_as_query(query):
            raise no_query(query)
        plan = state.sqlParser().parsePlan(query)
        other = parser.changes(plan)
        if other is None:
            mode = SparkDriver(self.spark).jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
            other = parser.changes(state.executePlan(plan, mode).analyzed())
        if other is not None:
            raise ArgumentError(f"a query changes nothing; this one has {other}; give the query alone")

    def asked(self, query: str) -> AskedTables:
        frame = self._frame(query)
        queries = workload(frame)
        opened: dict[str, Table] = {}
        for table in tables_in(frame, **self._how, as_read=as_indexed):
            opened.setdefault(table.path, table)
        if not opened:
            rule = "a query reads tables that can have an index; it reads none"
            raise ArgumentError(queries.problems[0].reason if queries.problems else rule, "name one behind FROM")
        return AskedTables(queries, tuple(opened.values()), {})

    def workload(self, name: TableName, tables: Sequence[Table]) -> Workload:
        """Read the queries as the session reads rows: of a table, or of a file's lines."""
        at = column_sql(name.parts) if name.parts else f"text.{column_sql((name.path,))}"
        frame = self._frame(f"TABLE {at}", named=True)
        first = frame.schema.fields[0]
        if first.dataType.typeName() != "string" or (name.parts and len(frame.columns) > 1):
            raise ArgumentError(
                f"queries behind FROM are a table of one column of texts, or a file of them; {name.text()} has"
                f" {', '.join(frame.columns)}; name a view that has the texts alone"
            )
        texts = SparkDriver.arrow_of(frame.select(column_sql((first.name,)))).column(0).drop_null()
        return from_texts(
            map(str, texts),
            whole=any(suffix.lower() == ".sql" for suffix in PurePath(name.path).suffixes),
            time_zone=tables[0].config.time_zone,
            spark=self.spark,
            tables=[table.path for table in tables],
        )

    def explained(self, query: str, *, formatted: bool) -> StatementResult:
        from .explaining import explained as explained_here

        frame = self._frame(query)
        told = explained_here(frame, counted=not formatted)
        if formatted:
            return result(FORMATTED, [{"plan": told.text("plaintext")}], told.text("plaintext"))
        rows = [row for scan in told.scans for row in _scan_rows(scan)]
        return explained(rows) if rows else explained(rows, _why_unread(frame))


def _why_unread(frame: DataFrame) -> str:
    """Return why a query has no scan. Delta replaces an aggregate that its log answers by a row."""
    execution = frame._jdf.queryExecution()
    leaves = [leaf for plan in _with_subqueries(execution.analyzed()) for leaf in each_of(plan.collectLeaves())]
    if not any(leaf.getClass().getSimpleName() in ("LogicalRelation", "DataSourceV2Relation") for leaf in leaves):
        return "the query reads no table"
    left = _with_subqueries(execution.optimizedPlan())
    at_hand = any(plan.getClass().getSimpleName() == "LocalRelation" and not plan.data().isEmpty() for plan in left)
    by_log = at_hand and any(is_of_delta(leaf) for leaf in leaves)
    return "Spark reads no file for it" + (" (Delta answers it from its log)" if by_log else "")


def _with_subqueries(plan: Any) -> list[Any]:
    """A plan of Spark's, and those of the subqueries in its expressions."""
    return [plan, *each_of(plan.subqueriesAll())]


def _scan_rows(scan: ExplainedScan) -> Iterator[dict[str, object]]:
    row: dict[str, object] = {"scan": scan.scan}
    pruned, more = scan.expected, scan.remarks
    if pruned is not None:
        row |= {"files": pruned.kept_files, "total_files": pruned.total_files}
        row |= {"size_bytes": pruned.kept_bytes, "total_bytes": pruned.total_bytes}
    elif scan.whole is not None and scan.cover is None:
        files, size = scan.whole
        row |= {"files": files, "total_files": files, "size_bytes": size, "total_bytes": size}
    if not scan.indexes:
        code = [] if scan.reason is None else [f"{scan.reason.name}: {scan.reason.value}"]
        yield {**row, "reason": "; ".join([*code, *more]) or None}
    for verdict in scan.indexes:
        code = [] if verdict.reason is None else [f"{verdict.reason.name}: {verdict.reason.value}"]
        said = "; ".join(part for part in (*code, verdict.detail, *(more if code else ())) if part)
        yield {**row, "index": verdict.index, "used": verdict.reason is None, "reason": said}


_BEFORE: Final = frozenset({"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT"})
"""Words of a script behind which a statement begins."""


def is_script(text: str) -> bool:
    """Return whether a text begins as a script, perhaps with a label. It may be wrong."""
    try:
        words = tokens(text)
    except StatementError:
        return False
    at = 2 if len(words) > 2 and words[1].is_sign(":") else 0
    return words[at].word == "BEGIN"


def indexes_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield position and text of each statement about indexes in a script. Raises StatementError for a text that cannot
    be split into tokens."""
    words = tokens(text)
    for before, token in pairwise(words):
        if before.is_sign(";") or before.word in _BEFORE:
            said = text[token.start : _end(words, token)]
            if is_ours(said):
                yield token.start, said


def _end(words: list[Token], first: Token) -> int:
    """Return the position where a statement ends: before the next semicolon."""
    return next((word.start for word in words if word.start > first.start and word.is_sign(";")), words[-1].start)
