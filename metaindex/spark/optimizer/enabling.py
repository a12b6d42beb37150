"""Spark uses the indexes by itself: `enable(spark)`, and existing SQL and DataFrame code reads fewer files.

A rule of Spark's optimizer, in Java source that the Janino inside Spark compiles (no jar, no build step, executors
never see it), asks this process once a plan: these scans, with these filters, at these versions of their tables; which
files hold no matching row? All logic of indexes stays in Python (`scan_planner`). A query never fails or changes its
answer because of the rule: what goes wrong, takes too long or is in doubt leaves the plan as it was, is counted and
logged.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from metaindex.core import ArgumentError, Config, SparkDriver, SparkRelease, UnsupportedFeatureError, dataclass
from metaindex.table import config_of

from . import remote
from .parsing import ANSWERS, Handed
from .placing import Placed, is_on_class_path, is_own, made, place, placed_in, take_out, value_of
from .reasons import Reason, Unasked
from .request_handler import RequestHandler
from .settings import ENABLED, HINT, RuleConfig, put_back

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .request import PlanScans

logger = logging.getLogger("metaindex")
_LOCK = threading.Lock()
_ENABLED: dict[tuple[int, int], Enabled] = {}
_SWITCHED_OFF: Final[dict[tuple[int, int], str | None]] = {}
"""Sessions that `disable` has told to stay without what Spark's configuration gives them, and the setting that they
had."""
_SERVING: Final[list[RequestHandler]] = []
"""One, in a process that answers for sessions which are not in `_ENABLED`."""
_CLUSTER: Final = 8  # cores at least


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """Counts of what the rule of one session did since it was enabled."""

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
    """The rule in one session, and what answers it."""

    session: SparkSession
    placed: Placed
    handler: RequestHandler

    @property
    def rule(self) -> Any:
        return self.placed.rule

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what this Spark lacks, and how it plans without."""
        return self.placed.missing

    def planned(self, query: DataFrame, *, rewritten: bool) -> tuple[Any, Reason | None]:
        """A query execution of Spark's with, or without, the rule; it is planned and not run. And what went wrong, for
        which the rule left it as it was."""
        state = query.sparkSession._jsparkSession.sessionState()
        execution = state.executePlan(query._jdf.queryExecution().logical(), getattr(state, "executePlan$default$2")())
        left = str(self.rule.plan(execution, rewritten))
        return execution, Reason[left] if left else None

    def unasked(self) -> dict[tuple[str, str], Unasked]:
        """Return, for the query planned last, the join keys that skip no files, by root and column."""
        told = json.loads(str(self.rule.unasked()))
        return {(each["root"], each["column"]): Unasked[each["why"]] for each in told}

    def survey(self, execution: Any) -> PlanScans:
        """Return what the rule would ask about an optimized plan (`MetaIndexRule.survey`)."""
        from .request import read_survey

        return read_survey(str(self.rule.survey(execution.optimizedPlan())))

    def settings(self) -> RuleConfig:
        """Return the settings with which a query is planned now."""
        return self.handler.settings(json.loads(str(self.rule.settings())))


def enable(
    spark: SparkSession,
    *,
    config: Config | None = None,
    storage_options: Mapping[str, str] | None = None,
    rule: RuleConfig | None = None,
) -> None:
    """Make this session's queries skip the files that an index proves to hold no matching row: Delta, Iceberg, and
    folders of Parquet, CSV and JSON files that have indexes. Its SQL takes statements about indexes from then on
    (`CREATE INDEX ...`, docs/guides/sql.md). If Spark's configuration switches metaindex on (docs/spark.md)
    this is not needed, and takes the session over. Example: `mi.enable(spark)`.

    Sessions made by `spark.newSession()` and a restarted session are enabled on their own. `config` and
    `storage_options` are those of `open_table`, for all tables; without `config` Spark's configuration may say where
    indexes lie (`spark.metaindex.indexLocation`, `.namespace`, `.confine`; docs/spark.md). `rule` has the
    rule's settings; `spark.metaindex.*` in the session's configuration overrides them at the time of a query. Enabling
    twice takes the newer values. Raises UnsupportedFeatureError, and leaves the session as it was, for a Spark Connect
    server that is not configured for metaindex, and for a Spark with internals that metaindex does not know. A Spark
    newer than those skips files, and nothing else, if a tiny table shows that it reads them as expected.
    """
    if _is_remote(spark):
        if config is not None or storage_options is not None or rule is not None:
            raise ArgumentError(
                "a Spark Connect server is configured by itself; config, storage_options and rule are not sent to it;"
                " leave them out, and set spark.metaindex.* in the session"
            )
        remote.enable(spark)
        return
    SparkDriver(spark).check_running()
    from pyspark.java_gateway import ensure_callback_server_started

    release = SparkRelease.skipping(spark.version)
    config, storage_options = config or config_of(spark), dict(storage_options or {})
    ensure_callback_server_started(SparkDriver(spark).gateway)
    if not release.tried:
        from .trial import tried_out

        tried_out(spark, release)
        logger.warning(
            "Spark %s is newer than what is known; files are skipped, all else is left to Spark", release.name
        )
    _disable(spark)
    if _key(spark) in _SWITCHED_OFF:
        put_back(spark, ENABLED, _SWITCHED_OFF.pop(_key(spark)))
    rule = rule or RuleConfig()
    handler = RequestHandler(config, storage_options, rule, cores_of(spark), skips_only=not release.tried)
    with _LOCK:
        for key in [key for key, enabled in _ENABLED.items() if enabled.session.sparkContext._jsc is None]:
            _ENABLED.pop(key).handler.close()  # its session was stopped
        try:
            stated = ANSWERS[0](lambda: spark, config, storage_options)
            placed = place(
                spark,
                rule,
                SparkDriver.java_function(handler, in_pieces=True),
                SparkDriver.java_function(stated, in_pieces=True),
                release,
            )
        except UnsupportedFeatureError:
            handler.close()
            raise
        _ENABLED[_key(spark)] = Enabled(spark, placed, handler)


def serve(
    spark: SparkSession, handler: RequestHandler, asked: Handed, stated: Handed, has_ended: Callable[[Any], bool]
) -> None:
    """Enable a session for a process that answers for every session of an application (`sidecar`): nothing of the
    session is held, so that it ends when nobody else holds it. One that somebody has enabled stays as it is; what a
    cloned session has from its original is replaced, and so is a rule that nobody answers any more (`has_ended`)."""
    _SERVING[:] = [handler]
    with _LOCK:
        placed = placed_in(spark)
        if placed is not None and (not is_own(spark, placed) or has_ended(placed.rule)):
            take_out(spark, placed)
            placed = None
        if placed is None:
            place(spark, handler.rule, asked, stated, SparkRelease.of(spark.version))


def surveyor(spark: SparkSession) -> Any:
    """Return the session's rule; if it is not enabled, a rule that only looks at plans."""
    enabled = _ENABLED.get(_key(spark))
    if enabled is not None:
        return enabled.rule
    with _LOCK:
        return made(spark, RuleConfig(), None, "", False)[0]


def cores_of(spark: SparkSession) -> int:
    """Return how many cores work on a query. Executors of a cluster may still be starting; it has some at least."""
    context = spark.sparkContext
    return max(1 if str(context.master).startswith("local") else _CLUSTER, int(context.defaultParallelism))


def disable(spark: SparkSession) -> None:
    """Plan queries of the session without metaindex, whoever enabled it. Does nothing if it is not enabled. Raises
    ArgumentError for what is no session. Example: `mi.disable(spark)`."""
    if _is_remote(spark):
        remote.disable(spark)
        return
    _check_session(spark)
    if not _disable(spark) and _key(spark) not in _SWITCHED_OFF and is_on_class_path(spark):
        # The configuration has not come to this session yet, and would with its first query.
        _SWITCHED_OFF[_key(spark)] = spark.conf.get(ENABLED, None)
        spark.conf.set(ENABLED, "false")


def _disable(spark: SparkSession) -> bool:
    """Take everything out, and return whether there was anything."""
    with _LOCK:
        enabled = _ENABLED.pop(_key(spark), None)
        placed = placed_in(spark) if enabled is None else enabled.placed
        if placed is not None:
            take_out(spark, placed)
        if enabled is not None:
            enabled.handler.close()
    return placed is not None


def is_enabled(spark: SparkSession) -> bool:
    """Return whether the session's queries use indexes automatically."""
    if _is_remote(spark):
        return remote.is_enabled(spark)
    _check_session(spark)
    return _key(spark) in _ENABLED or placed_in(spark) is not None


@contextmanager
def hint(spark: SparkSession, *indexes: str) -> Iterator[None]:
    """Restrict the session's queries planned inside, in any thread, to these indexes: `with mi.hint(spark, "find"):`. A
    query is planned by the action on it (`collect`, `count`), not where it is written.

    Raises ArgumentError if none is named. It is the setting `spark.metaindex.hint`, which has its old value again
    afterwards.
    """
    if not indexes:
        raise ArgumentError(
            "a hint names indexes; none was given; name one, or set spark.metaindex.enabled=false to use none"
        )
    RuleConfig(hint=indexes)  # says what is wrong with a name
    with SparkDriver(spark).setting(HINT, ",".join(indexes)):
        yield


def counts(spark: SparkSession) -> RuleCounts:
    """Return what the rule did in this session. Raises ArgumentError if it is not enabled."""
    enabled = rule_of(spark)
    java = {name: value_of(enabled.rule, name) for name in ("plans", "asked", "rewritten", "nanos")}
    ours, every = enabled.handler.counts, (enabled.rule, *enabled.placed.strategies)
    failed, late = (sum(int(value_of(part, name)) for part in every) for name in ("failed", "late"))
    error = next((said for said in (str(value_of(part, "lastError")) for part in every) if said), "")
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
    """Return the rule of a session. One that Spark's configuration has enabled (`sidecar`) becomes this process's, as
    what answers it cannot be seen from here. Raises ArgumentError if it is not enabled."""
    if not _is_remote(spark) and _is_session(spark):
        if (enabled := _ENABLED.get(_key(spark))) is not None:
            return enabled
        if (placed := placed_in(spark)) is not None and _SERVING:
            return Enabled(spark, placed, _SERVING[0])
        if placed is not None:
            enable(spark)
            return _ENABLED[_key(spark)]
    raise ArgumentError(
        "metaindex tells of sessions that it is enabled for; this one is not; call metaindex.enable(spark)"
    )


def _is_remote(spark: object) -> bool:
    return "pyspark.sql.connect" in type(spark).__module__


def _is_session(spark: object) -> bool:
    return hasattr(spark, "_jsparkSession")


def _check_session(spark: object) -> None:
    if not _is_session(spark):
        raise ArgumentError(f"the rule is of a SparkSession; got {spark!r}; give the session")


def _key(spark: SparkSession) -> tuple[int, int]:
    return id(SparkDriver(spark).gateway), int(
        SparkDriver(spark).jvm.java.lang.System.identityHashCode(spark._jsparkSession)
    )
