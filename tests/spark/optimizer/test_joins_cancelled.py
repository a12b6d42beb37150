"""Who cancels, interrupts or outwaits a query while the keys of its join are read ends it as without the rule: by the
same error, with no job left that runs, and the next query is right."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from pyspark import SparkContext
from pyspark.sql import SparkSession

from metaindex.core import SparkDriver
from tests.patience import LONGEST, until
from tests.spark.optimizer.joined_lakes import FEW, parquet, same

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

ENDLESS = "(SELECT CAST(max(id) AS int) AS k FROM range(100000000000000))"
"""One row, as Spark's statistics have it, that takes days."""
LEFT = f"SELECT d.k, t.id FROM {ENDLESS} d LEFT JOIN t ON t.k = d.k"
NEXT = f"SELECT d.w, t.id FROM (SELECT * FROM dim WHERE {FEW}) d LEFT JOIN t ON t.k = d.k"
OURS = "metaindex-keys-"
ADDED_UP = "[STAGE_MATERIALIZATION_MULTIPLE_FAILURES]"


class Asked(threading.Thread):
    """A query in a thread of its own, whose jobs have a group."""

    def __init__(self, spark: SparkSession, text: str, group: str) -> None:
        super().__init__(name=group, daemon=True)
        self.spark, self.text, self.group = spark, text, group
        self.thread: JavaObject | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        self.spark.sparkContext.setJobGroup(self.group, self.group)
        self.thread = self.spark._jvm.java.lang.Thread.currentThread()
        try:
            self.spark.sql(self.text).collect()
        except Exception as error:  # noqa: BLE001  of whatever kind, the test looks at it
            self.error = error

    def jobs(self) -> set[int]:
        return set(self.spark.sparkContext.statusTracker().getJobIdsForGroup(self.group))

    def said(self) -> str:
        """What kind of error it was, and its words without numbers."""
        cause = self._thrown()
        return _said(cause) if cause is not None else f"{type(self.error).__name__} {self.error}"

    def each_said(self) -> list[str]:
        """The same of each error that Spark adds up where several stages of an adaptive plan end at once."""
        cause = self._thrown()
        if cause is None or ADDED_UP not in str(cause.getMessage()):
            return [self.said()]
        return [_said(each) for each in (cause.getCause(), *cause.getSuppressed())]

    def _thrown(self) -> Any:
        """The error of the JVM, where it is one."""
        return getattr(self.error, "java_exception", None) or getattr(self.error, "_origin", None)


def _said(thrown: Any) -> str:
    words = re.sub(r"\d+", "N", str(thrown.getMessage()).split("\n")[0])
    return f"{thrown.getClass().getName()} {words}"


def running(context: SparkContext) -> list[tuple[int, str]]:
    """Jobs that run now, with their tags."""
    store = context._jsc.sc().statusStore()
    return [(job, str(store.job(job).jobTags())) for job in context.statusTracker().getActiveJobsIds()]


def ended(asked: Asked, end: Callable[[Asked], None], ours: bool) -> str:
    """The query, ended once a job of its runs (`ours`: one for keys). It begins no other job afterwards."""
    context = asked.spark.sparkContext
    asked.start()
    try:
        until(lambda: any(not ours or OURS in tags for _, tags in running(context)) or not asked.is_alive())
        assert asked.is_alive(), asked.error
        before = asked.jobs()
        end(asked)
        until(lambda: not asked.is_alive() or asked.jobs() != before)
        assert asked.jobs() == before, "it went on"
        assert asked.error is not None
        if ours:
            until(lambda: running(context) == [])
        return asked.said()
    finally:
        while asked.is_alive():
            context.cancelAllJobs()
            asked.join(0.2)
        context.cancelAllJobs()
        until(lambda: running(context) == [])


def cancel(asked: Asked) -> None:
    asked.spark.sparkContext.cancelJobGroup(asked.group)


def interrupt(asked: Asked) -> None:
    asked.thread.interrupt()


@pytest.mark.parametrize(("end", "adaptive"), [(cancel, "false"), (cancel, "true"), (interrupt, "false")])
def test_who_ends_a_query_ends_it_while_its_keys_are_read(
    narrowing: SparkSession, tmp_path: Path, end: Callable[[Asked], None], adaptive: str
) -> None:
    spark, fact = narrowing, parquet(narrowing, tmp_path)
    assert fact.name
    with (
        SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"),
        SparkDriver(spark).setting("spark.sql.adaptive.enabled", adaptive),
    ):
        asked = Asked(spark, LEFT, tmp_path.name)
        said = ended(asked, end, ours=True)
        if adaptive == "false":  # an adaptive plan has jobs of several sides, and may tell of any of them
            with SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
                assert said == ended(Asked(spark, LEFT, tmp_path.name), end, ours=False)
        else:
            assert [each for each in asked.each_said() if "cancelled" not in each] == []
        _, read = same(spark, NEXT)  # which looks for what went wrong, too
        assert len(read) == 1
        assert read[0] <= 3


def test_a_broadcast_that_waits_for_keys_waits_no_longer_than_its_own_limit(
    narrowing: SparkSession, tmp_path: Path
) -> None:
    spark, fact = narrowing, parquet(narrowing, tmp_path)
    assert fact.name
    side = LEFT.replace("d.k", "d.k AS m, t.k", 1)
    text = f"SELECT /*+ BROADCAST(x) */ p.w, x.id FROM plain p JOIN ({side}) x ON p.k = x.k"
    with (
        SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"),
        SparkDriver(spark).setting(
            "spark.sql.adaptive.enabled", "false"
        ),  # an adaptive plan reads keys before it broadcasts
    ):
        with SparkDriver(spark).setting("spark.sql.broadcastTimeout", "1"):
            said = ended(Asked(spark, text, tmp_path.name), lambda asked: asked.join(LONGEST), ours=True)
        assert "broadcast in N secs" in said
        _, read = same(spark, NEXT)
        assert len(read) == 1


@pytest.mark.parametrize("seconds", ["0.001", "0.5"])  # before the first of its jobs begins, and after
def test_keys_that_nobody_waits_for_are_read_no_further(narrowing: SparkSession, tmp_path: Path, seconds: str) -> None:
    spark, fact = narrowing, parquet(narrowing, tmp_path)
    assert fact.name
    context = spark.sparkContext

    def own() -> list[int]:
        return [job for job, tags in running(context) if OURS not in tags]

    with (
        SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"),
        SparkDriver(spark).setting("spark.metaindex.joins.timeoutSeconds", seconds),
    ):
        asked = Asked(spark, LEFT, tmp_path.name)
        asked.start()
        try:
            until(own)  # the query goes on without keys
            until(lambda: len(running(context)) == len(own()) > 0)
            cancel(asked)
            asked.join(LONGEST)
            until(lambda: running(context) == [])
        finally:
            context.cancelAllJobs()
        same(spark, NEXT)
