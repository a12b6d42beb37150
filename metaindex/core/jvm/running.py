"""Checks that an argument is a running Spark session before Java is called, so that the error is ours."""

from __future__ import annotations

from typing import Any

from metaindex.core.expression_errors import ArgumentError


def check_running(spark: Any) -> None:
    """ArgumentError for what is no session, or one that was stopped. A session of Spark Connect passes: what it cannot
    do, the verbs say."""
    if "pyspark.sql.connect" in type(spark).__module__:
        return
    if not hasattr(spark, "_jsparkSession"):
        raise ArgumentError(
            f"Spark is given as a SparkSession; got {_told(spark)}; give the session, as in"
            " metaindex.spark.spark_session()"
        )
    context = spark.sparkContext._jsc
    if context is None or context.sc().isStopped():
        raise ArgumentError("Spark works in a session that runs; the one that was given was stopped; give a new one")


def _told(given: object) -> str:
    return "None" if given is None else f"a {type(given).__name__}"
