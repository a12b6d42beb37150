"""Reads of queries in a live session, as Spark has analysed and optimized them. None is run, and nothing is noted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaindex.advisor import PlanReads
from metaindex.core import ExpressionError, SparkDriver, UnsupportedFeatureError, first_line, interrupts_first
from metaindex.expressions import ColumnRef, JoinKey, StatementReads, TableRead, without_said

from .enabling import surveyor
from .reasons import Reason
from .request import Group, JoinSide, PlanScans, SparkScan, read_surveys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_reads(frame: DataFrame) -> PlanReads:
    """Return the reads of a DataFrame. Raises ExpressionError, and UnsupportedFeatureError for Spark Connect."""
    if not hasattr(frame, "_jdf"):
        raise UnsupportedFeatureError(
            "a DataFrame of a workload is read from Spark's own plan; a Spark Connect session has no way to it; give"
            " the query as SQL"
        )
    spark = frame.sparkSession
    SparkDriver(spark).check_running()
    return _reads(spark, lambda: frame._jdf.queryExecution().logical())


def text_reads(text: str, spark: SparkSession) -> PlanReads:
    """Return the reads of a statement. Raises ExpressionError if Spark cannot analyse it. A command is not run."""
    if "pyspark.sql.connect" in type(spark).__module__:
        raise UnsupportedFeatureError(
            "the texts of a workload are analysed by the session's JVM; a Spark Connect session has none on this side;"
            " leave spark= out"
        )
    SparkDriver(spark).check_running()
    return _reads(spark, lambda: spark._jsparkSession.sessionState().sqlParser().parsePlan(text))


def _reads(spark: SparkSession, logical: Any) -> PlanReads:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    mode = SparkDriver(spark).jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    try:
        with interrupts_first():
            execution = spark._jsparkSession.sessionState().executePlan(logical(), mode)
            told = str(surveyor(spark).asked(execution))
    except (PySparkException, Py4JJavaError) as error:
        said = first_line(error)[:300].rstrip(" .;")
        raise ExpressionError(
            f"a query of a workload is one that Spark can analyse; it says: {said}; mend it"
        ) from None
    return PlanReads.merged([_of_survey(survey) for survey in read_surveys(told)])


def _of_survey(survey: PlanScans) -> PlanReads:
    if survey.refused is not None:
        return PlanReads(StatementReads(()), (_untold(survey.refused),))
    untold = tuple(_untold(passed.why) for passed in survey.passed if passed.why != Reason.NO_FILTER.name)
    tables = tuple(_table_read(scan) for scan in survey.scans)
    return PlanReads(StatementReads(tables, tuple(_joins(survey)), survey.limit), untold)


def _untold(reason: str) -> str:
    return f"a query of a workload reads tables that could have an index; {Reason[reason].value}"


def _table_read(scan: SparkScan) -> TableRead:
    predicate = without_said(scan.conditions)
    needs = (ColumnRef(need.path).name for need in scan.needs)
    named = (*needs, *(ref.name for ref in predicate.columns))
    groups = (key for want in scan.wants if isinstance(want, Group) for key in want.keys)
    return TableRead(scan.root, predicate, tuple(dict.fromkeys(named)), tuple(dict.fromkeys(groups)), scan.order)


def _joins(survey: PlanScans) -> list[JoinKey]:
    sides: dict[tuple[int, int], tuple[SparkScan, JoinSide]] = {}
    for scan in survey.scans:
        sides |= {(want.join, want.side): (scan, want) for want in scan.wants if isinstance(want, JoinSide)}
    joins = []
    for (join, side), (left, keys) in sides.items():
        if side == 0 and (join, 1) in sides:
            right, others = sides[join, 1]
            joins += [JoinKey(left.root, a, right.root, b) for a, b in zip(keys.keys, others.keys, strict=False)]
    return joins
