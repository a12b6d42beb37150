"""Ways into a workload: texts, conditions, files of statements, and rows of a query log."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import (
    CLIENTS,
    ArgumentError,
    ExpressionError,
    MetaIndexError,
    ObjectNotFoundError,
    StorageError,
    UnsupportedFeatureError,
)
from metaindex.expressions import JoinKey, Predicate, StatementReads, TableRead, normalize
from metaindex.storage import clean

from .gathering import Gathering, too_long
from .template import PlanReads, Workload, bare, condition, is_frame, reads_of, shown_reads
from .text_files import lines, pieces, statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUFFIXES: Final = (".sql", ".log", ".txt", ".sql.zst", ".sql.zstd", ".sql.gz", ".sql.bz2")
_NO_PATH: Final = re.compile(r"[\s\0']")
_LONGEST_PATH: Final = 4096
_LOCAL: Final = re.compile(r"file:(?://)?(?=/)")
_STORE: Final = re.compile(r"(?!file:)([A-Za-z][A-Za-z0-9+.-]+):/{1,2}(?=[^/])")
"""Of a place on a store, also as a path that has lost a slash."""
_DAY_US: Final = 24 * 3600 * 10**6
_WORDS: Final = "a workload is conditions, SQL texts, DataFrames, a path to a file of texts or an event log, or a list"
_QUERY: Final = re.compile(
    r"(?:\s|\(|--[^\n]*+\n|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)*(?:select|with|from)\b", re.IGNORECASE
)
_WRITES: Final = re.compile(r"\b(?:insert|delete|update|merge)\b", re.IGNORECASE)
_MASKED: Final = (
    "a query of a query log is asked again with its values; those of one are hashed or left out; let the log keep them"
    " (literals='kept'), or give the queries' texts"
)
_NO_QUERY: Final = "the texts of a workload begin with SELECT, WITH or FROM; others are passed over"
_NO_TABLE: Final = "a query of a workload reads tables that could have an index; it reads none"


def workload(queries: object, *, time_zone: str = "UTC", spark: SparkSession | None = None) -> Workload:
    """Group queries into templates with weights: `mi.workload(["dest = 'SEA'", "SELECT * FROM flights"])`.

    `queries`: the text of a condition (as behind WHERE) or of SQL statements, a predicate in any words that `prune`
    takes, a path to a file, or several of them in a list. A file `.sql` has statements that semicolons end; any other
    one a line. It is read as it comes: of a million statements templates are kept, and some examples of their literals.
    Packed files (`.gz`, `.zst`, `.bz2`, `.lz4`, `.snappy`) are unpacked on the way. A file that begins as Spark's event
    logs do is one; a folder of them is read, too. Moments without a zone are of `time_zone`. Spark's DataFrames are
    analysed and optimized in their session, and not run; with `spark` statements are, too: their tables are paths then.
    Of a file, which others may have written, Spark is asked only for statements that name tables of its catalogs.

    What cannot be read is told in `problems` with its reason, and counted; the rest goes on. Raises ArgumentError for
    what is none of these, ObjectNotFoundError for a file that is not there, StorageError for one that cannot be read,
    UnsupportedFeatureError for one on an object store.
    """
    gathering = Gathering()
    taker = _Taker(gathering, time_zone, spark)
    if queries is None:
        raise ArgumentError(f"{_WORDS}; got None")
    for query in queries if isinstance(queries, list | tuple) else (queries,):
        taker.take(query)
    return gathering.workload()


def from_texts(
    texts: Iterable[str], *, whole: bool, time_zone: str, spark: SparkSession, tables: Sequence[str]
) -> Workload:
    """A workload of texts that somebody's session read: queries alone, of which Spark is asked for those that name
    tables of its catalogs, or those at the paths `tables`. What is no query may be anything, and is counted and not
    quoted. `whole`: the texts are lines of one, in which semicolons end statements."""
    taker = _Taker(Gathering(), time_zone, spark)
    pieces = [(f"{text}\n" for text in texts)] if whole else ([text] for text in texts)
    every = (part for some in pieces for part in statements(some))
    taker.texts(filter(taker.is_query, every), tables)
    return taker.gathering.workload()


def path_in(queries: object) -> Path | None:
    """Return the path that it is: a path, or a text without blanks that names an existing file, or ends like one. A
    folder is one if it holds event logs: `month=2` is a condition beside a partition of this name, too."""
    if isinstance(queries, os.PathLike):
        return Path(os.fsdecode(os.fspath(queries)))
    if not isinstance(queries, str) or not 0 < len(queries) <= _LONGEST_PATH or _NO_PATH.search(queries):
        return None
    if _STORE.match(queries):
        return Path(queries)
    path = Path(_LOCAL.sub("", queries))
    try:
        if queries.lower().endswith(_SUFFIXES) or path.is_file():
            return path
        if path.is_dir():
            from .eventlog.events import is_event_log

            return path if is_event_log(path) else None
        return None
    except OSError:
        return None


class _Taker:
    def __init__(self, gathering: Gathering, time_zone: str, spark: SparkSession | None) -> None:
        self.gathering, self.time_zone, self.spark = gathering, time_zone, spark

    def take(self, query: object) -> None:
        path = path_in(query)
        if path is not None:
            self._file(path)
        elif isinstance(query, Workload):
            self.gathering.merge(query)
        elif isinstance(query, str):
            self.texts(statements([query]), None)
        elif is_frame(query):
            self._frame(query)
        else:
            self._condition(query)

    def is_query(self, text: str | None) -> bool:
        """Return whether it begins as a query, or is too long to be read; count it if it does not."""
        if text is None or _QUERY.match(text):
            return True
        self.gathering.problem(_NO_QUERY)
        return False

    def texts(self, texts: Iterator[str | None], named: Sequence[str] | None) -> None:
        """Take statements. `named`: the paths that they may name; None: any, as Python itself gave them."""
        read = partial(reads_of, time_zone=self.time_zone)
        read = read if self.spark is None else partial(self._analysed, named)
        for text in texts:
            if text is None:
                self.gathering.problem(too_long())
            else:
                self.gathering.text(text, read)

    def _analysed(self, named: Sequence[str] | None, text: str) -> StatementReads:
        """A query by Spark; a command, which it must not be given, a condition, or a query of other tables than may be
        named, as without it."""
        if self.spark is None or not _QUERY.match(text) or _WRITES.search(text):
            return reads_of(text, self.time_zone)
        plan: PlanReads | None = CLIENTS.get("text_reads")(text, self.spark, named)
        if plan is None or not plan.reads.tables:
            return reads_of(text, self.time_zone)
        for reason in plan.untold:
            self.gathering.problem(reason, text)
        return plan.reads

    def _frame(self, frame: object) -> None:
        try:
            plan: PlanReads = CLIENTS.get("frame_reads")(frame)
        except ExpressionError as error:
            self.gathering.problem(str(error), "a DataFrame")
            return
        text = shown_reads(plan.reads)
        if plan.reads.tables:
            self.gathering.reads(plan.reads, text)
        for reason in plan.untold or (() if plan.reads.tables else (_NO_TABLE,)):
            self.gathering.problem(reason, text)

    def _condition(self, query: object) -> None:
        from metaindex.expressions import engine_of

        if not isinstance(query, Predicate | bool) and engine_of(query) is None:
            kind = type(query)
            raise ArgumentError(f"{_WORDS}; got {kind.__module__}.{kind.__qualname__}")
        try:
            reads = bare(condition(query, self.time_zone))
        except MetaIndexError as error:
            self.gathering.problem(str(error), str(query))
        else:
            self.gathering.reads(reads, str(query))

    def _file(self, path: Path) -> None:
        if (store := _STORE.match(str(path))) is not None and not path.exists():
            place = clean(_STORE.sub(rf"{store[1]}://", str(path)))
            raise UnsupportedFeatureError(
                f"a workload is read from files of this machine; {place} is on a store; copy it here first (aws s3 cp"
                " --recursive, gcloud storage cp -r, hdfs dfs -get) and name the copy"
            )
        if not path.exists():
            raise ObjectNotFoundError(f"a workload is read from a file that is there; {path} is not; mend the path")
        from .eventlog.events import is_event_log, read_event_logs  # which no other workload needs

        try:
            if is_event_log(path):
                read_event_logs(path, self.gathering, self.time_zone)
            elif path.is_dir():
                raise ArgumentError(f"a folder of a workload holds event logs of Spark; {path} does not; name a file")
            elif any(suffix.lower() == ".sql" for suffix in path.suffixes):
                self.texts(statements(pieces(path)), ())
            else:
                every = (part for line in lines(path) for part in (statements([line]) if line is not None else [None]))
                self.texts(every, ())
        except OSError as error:
            raise StorageError(f"a workload is read from a file; {path} cannot be read: {error}; mend it") from None


def from_query_log(rows: pa.Table) -> Workload:
    """A workload of rows of a query log: `predicate` (SQL), and where they are there `table` (its path), `engine`,
    `columns`, `join_keys`, `group_keys`, `order`, `limit`, `milliseconds`, `at`. Nothing is raised of a row that
    cannot be read."""
    if not isinstance(rows, pa.Table) or "predicate" not in rows.column_names:
        raise ArgumentError("a query log is an Arrow table with a column predicate; this is none; give one")
    from metaindex.query import is_masked  # which loads a parser

    gathering = Gathering()
    names = [name for name in _LOGGED if name in rows.column_names]
    for batch in rows.select(names).to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            _logged(gathering, row, is_masked)
    return replace(gathering.workload(), days=_days(rows))


def _days(rows: pa.Table) -> float | None:
    """Return the days from the first to the last; None for less than an hour, too short for a daily rate."""
    if "at" not in rows.column_names or not pa.types.is_timestamp(rows.schema.field("at").type):
        return None
    ends = pc.min_max(rows.column("at").cast(pa.timestamp("us")).cast(pa.int64())).as_py()
    if ends["min"] is None:
        return None
    days = (ends["max"] - ends["min"]) / _DAY_US
    return days if days * 24 >= 1 else None


_LOGGED: Final = (
    *("table", "engine", "predicate", "columns"),
    *("join_keys", "group_keys", "order", "limit", "milliseconds"),
)


def _logged(gathering: Gathering, row: dict[str, Any], is_masked: Callable[[Predicate], bool]) -> None:
    text = row["predicate"] if row["predicate"] is not None else "TRUE"
    table = str(row.get("table") or "")
    try:
        predicate = normalize(_condition(text))
    except MetaIndexError as error:
        gathering.problem(str(error), str(text))
        return
    if is_masked(predicate):
        gathering.problem(_MASKED, str(text))
        return
    named = tuple(str(name) for name in row.get("columns") or ())
    grouped = tuple(str(name) for name in row.get("group_keys") or ())
    order = tuple(str(name) for name in row.get("order") or ())
    wanted = named or tuple(ref.name for ref in predicate.columns)
    # Who asked for files alone may read any column of them.
    unknown = not named or row.get("engine") == "prune"
    read = TableRead(table, predicate, wanted, grouped, order, every_column=unknown)
    joins = tuple(JoinKey(table, str(name), "", "") for name in row.get("join_keys") or ())
    limit, spent = row.get("limit"), row.get("milliseconds")
    seconds = float(spent) / 1000 if isinstance(spent, int | float) else None
    reads = StatementReads((read,), joins, limit if isinstance(limit, int) else None)
    gathering.reads(reads, text, seconds=seconds)


def _condition(text: object) -> Predicate:
    if not isinstance(text, str):
        raise ExpressionError(f"a predicate of a query log is SQL text; got {type(text).__name__}; read the log anew")
    return condition(text)
