"""Reads of queries in a live session, as Spark has analysed and optimized them. None is run, and nothing is noted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from metaindex.advisor import PlanReads, TableNames
from metaindex.core import ExpressionError, SparkDriver, UnsupportedFeatureError, first_line
from metaindex.expressions import ColumnRef, JoinKey, StatementReads, TableRead, column_sql, without_said
from metaindex.formats import NAMED

from .enabling import surveyor
from .reasons import Reason
from .request import Group, JoinSide, PlanScans, SparkScan, read_surveys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHOLE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")
"""How a path begins that means the same everywhere."""


def frame_reads(frame: DataFrame) -> PlanReads:
    """Return the reads of a DataFrame. Raises ExpressionError, and UnsupportedFeatureError for Spark Connect."""
    if not hasattr(frame, "_jdf"):
        raise UnsupportedFeatureError(
            "a DataFrame of a workload is read from Spark's own plan; a Spark Connect session has no way to it; give"
            " the query as SQL"
        )
    spark = frame.sparkSession
    SparkDriver(spark).check_running()
    reads = _reads(spark, lambda: frame._jdf.queryExecution().logical(), None)
    assert reads is not None, "a DataFrame is analysed already"
    return reads


def text_reads(text: str, spark: SparkSession, named: Sequence[str] | None = None) -> PlanReads | None:
    """Return the reads of a statement. Raises ExpressionError if Spark cannot analyse it. A command is not run.
    `named`: a text of somebody else, which Spark is not given if it names other paths than these (None): to analyse it
    is to list folders and to infer schemas of files there."""
    if "pyspark.sql.connect" in type(spark).__module__:
        raise UnsupportedFeatureError(
            "the texts of a workload are analysed by the session's JVM; a Spark Connect session has none on this side;"
            " leave spark= out"
        )
    SparkDriver(spark).check_running()
    return _reads(spark, lambda: spark._jsparkSession.sessionState().sqlParser().parsePlan(text), named)


def _reads(spark: SparkSession, logical: Callable[[], Any], named: Sequence[str] | None) -> PlanReads | None:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    mode = SparkDriver(spark).jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    try:
        with SparkDriver.interrupts_first():
            plan, rule = logical(), surveyor(spark)
            if named is not None and _reads_elsewhere(json.loads(str(rule.names(plan))), named, spark):
                return None
            told = str(rule.asked(spark._jsparkSession.sessionState().executePlan(plan, mode)))
    except (PySparkException, Py4JJavaError) as error:
        said = first_line(error)[:300].rstrip(" .;")
        raise ExpressionError(
            f"a query of a workload is one that Spark can analyse; it says: {said}; mend it"
        ) from None
    return PlanReads.merged([_of_survey(survey) for survey in read_surveys(told)])


def _reads_elsewhere(names: Sequence[Sequence[str] | None], named: Sequence[str], spark: SparkSession) -> bool:
    """Return whether a parsed plan reads what is neither of a catalog nor at the paths that it may name. A name of two
    parts is a format and a path, if there is no such table; names in Iceberg's catalogs may be paths."""
    for parts in names:
        if parts is None:
            return True
        at_path = any("/" in part or part in (".", "..") for part in parts)
        if not at_path and (len(parts) != 2 or spark.catalog.tableExists(column_sql(parts))):
            continue
        whole = len(parts) == 2 and parts[0].lower() in NAMED and _WHOLE.match(parts[1])
        if not whole or not any(TableNames(path, {}).has(parts[1]) for path in named):
            return True
    return False


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
