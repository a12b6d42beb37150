"""Spark uses the indexes by itself: `enable(spark)`, and existing SQL and DataFrame code reads fewer files.

A rule of Spark's optimizer, in Java source that the Janino inside Spark compiles (no jar, no build step, executors
never see it), asks this process once a plan: these scans, with these filters, at these versions of their tables; which
files hold no matching row? All logic of indexes stays in Python (`skipping`). A query never fails or changes its answer
because of the rule: what goes wrong, takes too long or is in doubt leaves the plan as it was, is counted and logged.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from metaindex.config import Config
from metaindex.expressions.errors import ArgumentError, UnsupportedFeatureError, first_line
from metaindex.expressions.records import dataclass
from metaindex.pruning.ranking import CORES
from metaindex.readers.jvm import gateway_of, jvm_of
from metaindex.readers.spark_jobs import setting
from metaindex.spark import callbacks
from metaindex.spark.releases import release_of, scala_of
from metaindex.spark.running import check_running
from metaindex.spark.sources import session_sources, source_loader

from .looking import looking
from .parsing import SessionParser, installed
from .reading import read_survey
from .reasons import Reason
from .request import Survey
from .settings import HINT, RuleConfig
from .skipping import Skipping

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SORTED_BUCKETS: Final = "spark.sql.legacy.bucketedTableScan.outputOrdering"
"""Where it is true and a bucket is one file, Spark does not sort what is sorted: the buckets of an optimized covering
index are. The session's own setting stands, where it has one; where it has none, other tables are planned as without it
(`Unsorted.java`)."""
_WITHOUT: Final = {
    "merging": "joins sort the rows of an index again, where they are read beside files that it lacks",
    "grouping": "groups by the keys of an index are hashed",
    "few": "a task is made for each bucket of an index, also for those that are left out",
}
logger = logging.getLogger("metaindex")
_LOCK = threading.Lock()
_LOADERS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""By gateway: py4j remembers methods by the name of their class, so a class is compiled once a JVM."""
_ENABLED: dict[tuple[int, int], Enabled] = {}


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """What the rule of one session did since it was enabled."""

    plans: int  # seen
    asked: int  # plans of which metaindex was asked
    rewritten: int  # scans that leave files out
    failed: int  # in Spark or in metaindex; the plan was left as it was
    timed_out: int  # of plans, and of answers of metaindex; the plan was left as it was
    bad_settings: int  # values in the session's configuration that could not be read
    seconds: float  # in the optimizer, metaindex's answers included
    last_error: str


@dataclass(frozen=True, slots=True)
class Enabled:
    """The rule in one session."""

    rule: Any
    strategies: tuple[Any, ...]
    skipping: Skipping
    callback: Any  # held, as py4j holds it by its number
    sorted_buckets: bool = False  # was told to Spark, and is taken back
    parser: SessionParser | None = None  # that takes statements about indexes
    missing: tuple[str, ...] = ()  # what cannot be had in this Spark, and how it plans without

    def planned(self, query: DataFrame, *, rewritten: bool) -> tuple[Any, Reason | None]:
        """A query execution of Spark's with, or without, the rule; it is planned and not run. And what went wrong, for
        which the rule left it as it was."""
        state = query.sparkSession._jsparkSession.sessionState()
        execution = state.executePlan(query._jdf.queryExecution().logical(), getattr(state, "executePlan$default$2")())
        left = str(self.rule.plan(execution, rewritten))
        return execution, Reason[left] if left else None

    def survey(self, execution: Any) -> Survey:
        """What the rule asks about an optimized plan (`MetaIndexRule.survey`)."""
        return read_survey(str(self.rule.survey(execution.optimizedPlan())))

    def settings(self) -> RuleConfig:
        """As a query is planned with now."""
        return self.skipping.settings(json.loads(str(self.rule.settings())))


def enable(
    spark: SparkSession,
    *,
    config: Config | None = None,
    storage_options: Mapping[str, str] | None = None,
    rule: RuleConfig | None = None,
) -> None:
    """Has this session's queries leave out the files that an index proves to hold no matching row: Delta, Iceberg, and
    folders of Parquet, CSV and JSON files that have indexes. Its SQL takes statements about indexes from then on
    (`CREATE INDEX ...`, docs/guides/sql.md).

    Sessions made by `spark.newSession()` and a restarted session are enabled on their own. `config` and
    `storage_options` are those of `open_table`, for all tables. `rule` has the knobs of the rule; what
    `spark.metaindex.*` in the session's configuration says when a query is planned goes before it. Enabling twice takes
    the newer values. UnsupportedFeatureError for Spark Connect, and for a Spark with insides that metaindex does not
    know: the session is as it was then.
    """
    if _is_remote(spark):
        raise UnsupportedFeatureError(
            "a rule of the optimizer needs the session's JVM; a Spark Connect session has none on this side; take the"
            " rows by table.scan(predicate).to_arrow(), or the names of the files by table.prune(predicate).paths"
        )
    check_running(spark)
    from pyspark.java_gateway import ensure_callback_server_started

    release_of(spark.version)
    disable(spark)
    ensure_callback_server_started(gateway_of(spark))
    rule = rule or RuleConfig()
    skipping = Skipping(config or Config(), dict(storage_options or {}), rule, _cores(spark))
    token, callback = callbacks.function(skipping)
    with _LOCK:
        loader = _loader(spark)
        ordered = spark.conf.get(SORTED_BUCKETS, None) is None
        try:
            added, limit = _made(spark, loader, rule, callback, token, ordered)
        except UnsupportedFeatureError:
            skipping.close()
            raise
        planner = spark._jsparkSession.sessionState().planner()
        grouping = _strategy(spark, loader, "metaindex.GroupStrategy", limit, planner.Aggregation(), SORTED_BUCKETS)
        merging = _strategy(spark, loader, "metaindex.MergeStrategy", limit)
        few = _strategy(spark, loader, "metaindex.BucketStrategy", limit)
        made = {"merging": merging, "grouping": grouping, "few": few}
        strategies = tuple(strategy for strategy in made.values() if strategy is not None)
        missing = tuple(_WITHOUT[name] for name, strategy in made.items() if strategy is None)
        _add(spark, "extraOptimizations", added)
        for strategy in strategies:
            _add(spark, "extraStrategies", strategy)
        spark._jsparkSession.listenerManager().register(_get(added, "failures"))
        if ordered:
            spark.conf.set(SORTED_BUCKETS, "true")
        parser = installed(spark, loader, config or Config(), storage_options or {})
        _ENABLED[_key(spark)] = Enabled(added, strategies, skipping, callback, ordered, parser, missing)


def surveyor(spark: SparkSession) -> Any:
    """The rule of the session; where it is not enabled one that is not the session's, and looks at plans alone."""
    enabled = _ENABLED.get(_key(spark))
    if enabled is not None:
        return enabled.rule
    with _LOCK:
        return _made(spark, _loader(spark), RuleConfig(), None, "", False)[0]


def _made(
    spark: SparkSession, loader: Any, rule: RuleConfig, callback: Any, token: str, ordered: bool
) -> tuple[Any, Any]:
    """The rule, and how long its work may take."""
    from py4j.protocol import Py4JJavaError

    conf = spark._jsparkSession.sessionState().conf()
    try:
        scans = _new(spark, loader, "metaindex.Scans")
        limit = _new(spark, loader, "metaindex.Limit", conf, float(rule.timeout_seconds))
        return _new(spark, loader, "metaindex.MetaIndexRule", callback, token, scans, conf, limit, ordered), limit
    except Py4JJavaError as error:
        raise UnsupportedFeatureError(
            "the rule is compiled by the session's Spark, against what that has inside; this one"
            f" ({spark.version}, Scala {scala_of(jvm_of(spark))}) has something else: {_said(error)}; take the rows by"
            " table.scan(predicate).to_arrow(), or the names of the files by table.prune(predicate).paths"
        ) from error


def _cores(spark: SparkSession) -> int:
    """That work on a query. Executors of a cluster may still be on their way, which has some at least."""
    context = spark.sparkContext
    return max(1 if str(context.master).startswith("local") else CORES, int(context.defaultParallelism))


def disable(spark: SparkSession) -> None:
    """Queries of the session are planned as without metaindex. Nothing happens where it is not enabled. ArgumentError
    for what is no session."""
    if _is_remote(spark):
        return
    _check_session(spark)
    with _LOCK:
        enabled = _ENABLED.pop(_key(spark), None)
        if enabled is not None:
            _take(spark, "extraOptimizations", enabled.rule)
            spark._jsparkSession.listenerManager().unregister(_get(enabled.rule, "failures"))
            for strategy in enabled.strategies:
                _take(spark, "extraStrategies", strategy)
            if enabled.sorted_buckets and spark.conf.get(SORTED_BUCKETS, None) == "true":
                spark.conf.unset(SORTED_BUCKETS)
            if enabled.parser is not None:
                enabled.parser.remove(spark)
            enabled.skipping.close()


def is_enabled(spark: SparkSession) -> bool:
    """Do the session's queries use indexes by themselves?"""
    if _is_remote(spark):
        return False
    _check_session(spark)
    return _key(spark) in _ENABLED


@contextmanager
def hint(spark: SparkSession, *indexes: str) -> Iterator[None]:
    """Queries of the session that are planned inside, in whatever thread, use no other index than these. A query is
    planned by the action on it (`collect`, `count`), not where it is written.

    ArgumentError where none is named. It is the setting `spark.metaindex.hint`, which has its old value again
    afterwards.
    """
    if not indexes:
        raise ArgumentError(
            "a hint names indexes; none was given; name one, or set spark.metaindex.enabled=false to use none"
        )
    RuleConfig(hint=indexes)  # says what is wrong with a name
    with setting(spark, HINT, ",".join(indexes)):
        yield


def counts(spark: SparkSession) -> RuleCounts:
    """What the rule did in this session. ArgumentError where it is not enabled."""
    enabled = rule_of(spark)
    java = {name: _get(enabled.rule, name) for name in ("plans", "asked", "rewritten", "nanos")}
    ours, every = enabled.skipping.counts, (enabled.rule, *enabled.strategies)
    failed, late = (sum(int(_get(part, name)) for part in every) for name in ("failed", "late"))
    error = next((said for said in (str(_get(part, "lastError")) for part in every) if said), "")
    return RuleCounts(
        int(java["plans"]),
        int(java["asked"]),
        int(java["rewritten"]),
        failed + ours.failed,
        ours.timed_out + late,
        ours.bad_settings,
        int(java["nanos"]) / 1e9,
        ours.last_error or error,
    )


def rule_of(spark: SparkSession) -> Enabled:
    """The rule of a session. ArgumentError where it is not enabled."""
    enabled = _ENABLED.get(_key(spark)) if not _is_remote(spark) and _is_session(spark) else None
    if enabled is None:
        raise ArgumentError(
            "metaindex tells of sessions that it is enabled for; this one is not; call metaindex.enable(spark)"
        )
    return enabled


def _is_remote(spark: object) -> bool:
    return "pyspark.sql.connect" in type(spark).__module__


def _is_session(spark: object) -> bool:
    return hasattr(spark, "_jsparkSession")


def _check_session(spark: object) -> None:
    if not _is_session(spark):
        raise ArgumentError(f"the rule is of a SparkSession; got {spark!r}; give the session")


def _key(spark: SparkSession) -> tuple[int, int]:
    return id(gateway_of(spark)), int(jvm_of(spark).java.lang.System.identityHashCode(spark._jsparkSession))


def _loader(spark: SparkSession) -> Any:
    gateway = gateway_of(spark)
    if gateway not in _LOADERS:
        _LOADERS[gateway] = source_loader(jvm_of(spark), _sources(spark))
    return _LOADERS[gateway]


def _sources(spark: SparkSession) -> dict[str, str]:
    """By the names of their classes, with loops that end in time."""
    return {name: looking(text) for name, text in session_sources(spark, __package__).items()}


def _strategy(spark: SparkSession, loader: Any, name: str, *arguments: Any) -> Any | None:
    """What merges hybrid scans under joins, or groups rows in their order. None where this Spark has other insides than
    those that it is built upon: joins sort such scans then, groups are hashed."""
    from py4j.protocol import Py4JJavaError

    try:
        return _new(spark, loader, name, *arguments)
    except Py4JJavaError as error:
        logger.warning("this Spark has other insides; it plans without %s: %s", name, _said(error))
        return None


def _said(error: Any) -> str:
    """By Java, of what lies at the bottom."""
    thrown = error.java_exception
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    return first_line(Exception(str(thrown)))[:300]


def _new(spark: SparkSession, loader: Any, name: str, *arguments: Any) -> Any:
    """By reflection: py4j's own look-up of classes does not see the loader. A list takes Python's objects, an array
    does not."""
    values = jvm_of(spark).java.util.ArrayList()
    for argument in arguments:
        values.add(argument)
    return loader.loadClass(name).getConstructors()[0].newInstance(values.toArray())


def _add(spark: SparkSession, point: str, part: Any) -> None:
    """`point`: a list of Spark's `experimental`, of rules or of strategies."""
    _set(spark, point, [*_listed(spark, point), part])


def _take(spark: SparkSession, point: str, part: Any) -> None:
    _set(spark, point, [other for other in _listed(spark, point) if not other.equals(part)])


def _listed(spark: SparkSession, point: str) -> list[Any]:
    listed = getattr(spark._jsparkSession.experimental(), point)()
    return [listed.apply(i) for i in range(listed.size())]


def _set(spark: SparkSession, point: str, ones: list[Any]) -> None:
    listed = jvm_of(spark).java.util.ArrayList()
    for part in ones:
        listed.add(part)
    getattr(spark._jsparkSession.experimental(), f"{point}_$eq")(jvm_of(spark).PythonUtils.toSeq(listed))


def _get(rule: Any, name: str) -> Any:
    return rule.getClass().getField(name).get(rule)
