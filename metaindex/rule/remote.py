"""Sessions of Spark Connect: their plans are made in the server, which Spark's configuration gives metaindex
(`metaindex/spark/extension`). Of the client it takes the session's settings alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaindex.expressions.errors import UnsupportedFeatureError, first_line
from metaindex.spark.extension_jar import EXTENSION

from .settings import ENABLED, STATE, put_back

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def enable(spark: SparkSession) -> None:
    """The session's queries use indexes. UnsupportedFeatureError where its server is not configured for that."""
    before = state = None
    try:
        before = spark.conf.get(ENABLED, None)
        spark.conf.set(ENABLED, "true")
        spark.range(0).schema  # noqa: B018 - the server analyses a plan, and puts metaindex into the session before
        state = spark.conf.get(STATE, None)
        if state != "on":
            put_back(spark, ENABLED, before)
    except Exception as error:  # noqa: BLE001 - whatever it is, of the many of grpc, is told
        state = first_line(error)
    if state != "on":
        said = "there is nothing of metaindex in this one" if state is None else f"this one says {state}"
        raise UnsupportedFeatureError(
            f"queries of Spark Connect use indexes where the server is configured for it; {said}; start it with"
            " spark.jars=metaindex-spark.jar (python -m metaindex.spark extension -o metaindex-spark.jar) and"
            f" spark.sql.extensions={EXTENSION}, or take the rows by table.scan(predicate).to_arrow()"
        )


def disable(spark: SparkSession) -> None:
    """They do not, from now on."""
    if is_enabled(spark):
        spark.conf.set(ENABLED, "false")


def is_enabled(spark: SparkSession) -> bool:
    """Do they?"""
    if not hasattr(spark, "conf"):
        return False
    return spark.conf.get(STATE, None) == "on" and str(spark.conf.get(ENABLED, "true")).lower() != "false"
