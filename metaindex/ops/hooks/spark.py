"""Spark tells of its writes: a QueryExecutionListener, and a StreamingQueryListener for micro-batches, in Java source
that Spark compiles (no jar); each calls back over py4j, and nothing is done without its token (any process of the host
could call listeners that Python implements).

    mi.hooks.enable(spark)                        # in the background
    mi.hooks.enable(spark, mode="synchronous")    # inside Spark's own call to its listeners
    new = mi.hooks.enable(spark.newSession())     # each session that writes
    mi.hooks.disable(spark)

Spark calls its listeners on a thread of its own, behind the back of the write: in either mode `df.write.save(...)`
returns when the table is written. `hooks.flush(spark=spark)` waits for the indexes too. In synchronous mode Spark's
shutdown waits for the refreshes as it does for its listeners.

A listener hears of the session that it was enabled on and of sessions that Spark clones from it (streaming queries,
`foreachBatch`), not of `newSession()`: enable that, too. Commits of Iceberg tables, CALL procedures among them, are
heard of from every session of the JVM once one is enabled (`listen`). What names no table that can be found
(JDBC) is not followed: say `after_commit(table)`, or watch the table.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from metaindex.core import ArgumentError, Config, ExpressionError, MissingDependencyError, SparkDriver
from metaindex.expressions import column_sql, parse_path
from metaindex.table import config_of

from . import worker
from .after_commit import Mode, after_commit, check_options
from .keep import Kept

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def listener(spark: SparkSession, name: str, *arguments: object) -> Any:
    """A new one of the class of `java/<name>.java`. Raises Py4JJavaError if this Spark lacks what it is built upon."""
    return SparkDriver(spark).room_classes(__package__).new(name, *arguments)


def _heard(tell: Callable[[str], None]) -> Callable[[str], str]:
    """Return what Java calls: a hook never fails the writer, nor disturbs the listeners behind it."""

    def hear(said: str) -> str:
        try:
            with SparkDriver.interrupts_first():
                tell(said)
        except Exception as error:  # noqa: BLE001 - as above
            worker.WORKER.failed(error)
        return ""

    return hear


_heard_by: list[tuple[object, object]] = []
"""The JVM (its gateway), and the listener that it has: Iceberg forgets none, so each JVM gets one."""


def listen(spark: SparkSession, tell: Callable[[str], None]) -> None:
    """Call `tell` with the name of each Iceberg table to which a snapshot is committed, as long as the JVM lives. Does
    nothing without Iceberg.

    `org.apache.iceberg.events.Listeners` of the driver's JVM hears of every snapshot, whatever made it: CALL
    procedures, which Spark does not tell its listeners of, and sessions of `newSession()`. It calls in the thread that
    commits, after the commit, so that nothing is done there but to name the table. What moves a table to an existing
    snapshot (rollback, fast_forward, publish_changes) makes none, and is not heard of."""
    from py4j.protocol import Py4JError

    gateway = SparkDriver(spark).gateway
    if any(heard is gateway for heard, _ in _heard_by):
        return
    jvm = SparkDriver(spark).jvm

    token, function = SparkDriver.java_function(_heard(tell))
    try:
        with SparkDriver.interrupts_first():
            commits = listener(spark, "Commits", function, token)
            loader = jvm.Thread.currentThread().getContextClassLoader()
            event = jvm.java.lang.Class.forName("org.apache.iceberg.events.CreateSnapshotEvent", True, loader)
            jvm.org.apache.iceberg.events.Listeners.register(commits, event)
    except (Py4JError, TypeError) as error:  # no such class: no such tables
        logger.debug("Iceberg's own events are not heard: %s", error)
        return
    _heard_by.append((gateway, commits))


logger = logging.getLogger("metaindex.hooks")

WRITES = frozenset({"command", "append", "overwrite", "overwritePartitions", "create", "replace", "createOrReplace"})
"""What Spark calls executions that may change a table; everything else it tells of is passed over without a look at its
plan."""

_EXIT_SECONDS = 5.0
_MOST_WORDS = 6
"""Between dots, of a name that is read in more than one way."""

_SINK = re.compile(r"(?:DeltaSink|FileSink)\[(.+)\]\Z")
_PARTITION_FOLDER = re.compile(r"/[^/=]+=[^/]*\Z")

_enabled: dict[str, _Hook] = {}


def enable(spark: SparkSession, mode: Mode = "background", **options: Any) -> SparkSession:
    """Refresh indexes after every successful write of this session, batch or streaming, to a table that has indexes.
    Enabling again changes the mode. Returns the session.

    Other options are those of `after_commit` and of `open_table`, but for options of readers: a table's index knows
    with which it was built. Without `config` Spark's configuration may say where indexes lie, as for
    `metaindex.enable`. Raises TypeError for a Spark Connect session, which has no listeners in
    this process.
    """
    if mode not in ("background", "synchronous"):
        raise ArgumentError(f"a hook runs 'background' or 'synchronous', not {mode!r}")
    if not hasattr(spark, "_jsparkSession"):
        raise ArgumentError(
            "Spark calls hooks in the driver's process; a Spark Connect session has no driver here; call"
            " after_commit(table), or run metaindex watch"
        )
    SparkDriver(spark).check_running()
    check_options(options)
    if "config" not in options and (config := config_of(spark)) != Config():
        options = {**options, "config": config}
    disable(spark)
    _enabled[_key(spark)] = _Hook(spark, mode, options)
    worker.at_exit(lambda: worker.told(spark, _EXIT_SECONDS))
    return spark


def disable(spark: SparkSession) -> None:
    """Stop following writes of this session. What was triggered is still done. Does nothing if nothing was enabled."""
    enabled = _enabled.pop(_key(spark), None)
    if enabled is not None:
        enabled.remove()


def _key(spark: SparkSession) -> str:
    return str(spark._jsparkSession.sessionUUID())


class _Hook:
    """The two listeners of one session, and how to take them out again."""

    def __init__(self, spark: SparkSession, mode: Mode, options: dict[str, Any]) -> None:
        try:
            from pyspark.java_gateway import ensure_callback_server_started
        except ImportError as error:
            raise MissingDependencyError.lacking("a hook of Spark", "pyspark") from error
        self._spark, self._mode, self._options = spark, mode, options
        self._locations: dict[str, str] = {}
        ensure_callback_server_started(SparkDriver(spark).gateway)
        names = SparkDriver(spark).jvm.java.util.ArrayList()
        for name in WRITES:
            names.add(name)
        token, executed = SparkDriver.java_function(_heard(self.executed))
        self._queries = listener(spark, "Executions", executed, token, names)
        spark._jsparkSession.listenerManager().register(self._queries)
        listen(spark, _committed)
        token, progressed = SparkDriver.java_function(_heard(self.progressed))
        self._streams = listener(spark, "Batches", progressed, token)
        spark._jsparkSession.streams().addListener(self._streams)

    def remove(self) -> None:
        from py4j.protocol import Py4JError

        try:
            with SparkDriver.interrupts_first():
                self._spark._jsparkSession.listenerManager().unregister(self._queries)
                self._spark._jsparkSession.streams().removeListener(self._streams)
        except (Py4JError, OSError) as error:  # the session is gone, and its listeners with it
            logger.debug("listeners were not removed: %s", error)

    def executed(self, number: str) -> None:
        """An execution that may have changed a table succeeded."""
        for root in dict.fromkeys(_roots(self._queries.execution(number).analyzed())):
            self._tell(root)

    def progressed(self, sink: str) -> None:
        """A micro-batch was committed."""
        if match := _SINK.match(sink):
            self._tell(_path(match[1]))
        elif "." in sink:
            if sink not in self._locations:
                self._locations[sink] = self._location(sink)
            self._tell(self._locations[sink])

    def committed(self, name: str) -> None:
        """Queue a commit to an Iceberg table: Iceberg waits for this call, so the location is looked up later."""

        def job() -> list[Kept]:
            self._tell(self._location(name), "background")
            return []

        worker.WORKER.submit(f"iceberg {name}", job, commits=0)

    def _location(self, name: str) -> str:
        """Return the location of a catalog's table; "" if it has none. An Iceberg table of no catalog is named by its
        location."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        if "/" in name:
            return _path(name)
        missing: PySparkException | None = None
        for parts in _readings(name):
            try:
                with SparkDriver.interrupts_first():
                    plan = self._spark._jsparkSession.table(column_sql(parts)).queryExecution().analyzed()
                    return next(iter(_roots(plan.collectLeaves().head())), "")
            except PySparkException as error:
                missing = missing or error
            except Py4JError as error:
                logger.debug("%s was written to, and is no table that can be found: %s", name, error)
                return ""
        if missing is not None:
            raise missing
        return ""

    def _tell(self, root: str, mode: Mode | None = None) -> None:
        elsewhere = getattr(self._options.get("config"), "index_location", None) is not None
        if root and (elsewhere or _has_indexes(root)):
            after_commit(root, mode=mode or self._mode, **{"spark": self._session, **self._options})

    def _session(self) -> SparkSession:
        """Return the session that builds covering indexes, called when there is one."""
        return self._spark


def _committed(name: str) -> None:
    """Pass a commit of Iceberg to every enabled hook: which of the JVM's sessions it was cannot be known."""
    for hook in list(_enabled.values()):
        hook.committed(name)


def _roots(plan: Any) -> Iterator[str]:
    """Yield the tables that a command writes, by the values in it that hold a location. The query that feeds it is not
    searched."""
    values = [plan, *(plan.productElement(at) for at in range(plan.productArity()))]
    for value in values:
        root = _root(value)
        if root:
            yield root


def _root(value: Any) -> str:
    """Return the location of the table that a part of a plan names; "" if it names none."""
    kind = value.getClass().getSimpleName() if hasattr(value, "getClass") else ""
    if kind == "Some":
        return _root(value.get())
    if kind in ("DataSourceV2Relation", "ResolvedTable"):
        return _root(value.table())
    if kind in ("DeltaTableV2", "TahoeLogFileIndex", "TahoeBatchFileIndex"):
        return _path(value.path().toString())
    if kind == "DeltaLog":
        return _path(value.dataPath().toString())
    if kind == "Path":
        return _table_of(_path(value.toString()))
    if kind == "CatalogTable":
        location = value.storage().locationUri()
        return _path(unquote(location.get().toString())) if location.isDefined() else ""
    if kind == "CaseInsensitiveMap":  # options of a source that is written by name: its path
        path = value.get("path")
        return _path(path.get()) if path.isDefined() else ""
    if kind in ("SparkTable", "StagedSparkTable"):  # Iceberg
        return _path(str(value.properties().get("location") or ""))
    return ""


def _readings(name: str) -> Iterator[tuple[str, ...]]:
    """The parts that a table's name may have, the likeliest first. Iceberg tells it without backticks: any dot behind
    the catalog's name may be a letter."""
    if "`" in name:
        with suppress(ExpressionError):  # else it is a letter, too
            yield parse_path(name)
            return
    words = name.split(".")
    dots = range(len(words) - 1, 1, -1) if len(words) <= _MOST_WORDS else ()
    for count in range(len(dots) + 1):
        for letters in combinations(dots, count):
            parts = [words[0]]
            for at, word in enumerate(words[1:], 1):
                parts[-1:] = [f"{parts[-1]}.{word}"] if at in letters else [parts[-1], word]
            yield tuple(parts)


def _path(text: str) -> str:
    """A Hadoop path (nothing in it is escaped) as we name it: local ones without their scheme."""
    if text.startswith("file:"):
        return "/" + text.removeprefix("file:").lstrip("/")
    return "s3://" + text.partition("://")[2] if text.startswith(("s3a://", "s3n://")) else text


def _table_of(path: str) -> str:
    """A write into one partition's folder is a write to the table above it."""
    while match := _PARTITION_FOLDER.search(path.rstrip("/")):
        path = path[: match.start()]
    return path


def _has_indexes(root: str) -> bool:
    """Return whether the table may have indexes: a local one without any, the common case, queues nothing; if that
    takes a request, the refresh finds out."""
    if "://" in root:
        return True
    parent, name = os.path.split(root.rstrip("/"))
    return os.path.isdir(os.path.join(root, "_metaindex")) or os.path.isdir(os.path.join(parent, "_metaindex", name))
