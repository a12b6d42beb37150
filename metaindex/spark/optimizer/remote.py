"""Sessions of Spark Connect: their plans are made in the server, which Spark's configuration gives metaindex
(`metaindex/spark/extension`). Of the client it takes the session's settings alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from metaindex.core import UnsupportedFeatureError, first_line
from metaindex.spark.extension_jar import EXTENSION

from .settings import ENABLED, STATE, put_back

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def enable(spark: SparkSession) -> None:
    """Enable the session. Raises UnsupportedFeatureError, and leaves the session as it was, if its server is not
    configured for that, or its Python does not answer."""
    before, is_known = None, False
    try:
        before, is_known = spark.conf.get(ENABLED, None), True
        spark.conf.set(ENABLED, "true")
        state = _asked_state(spark)
        if state != "on":
            put_back(spark, ENABLED, before)
    except BaseException as error:  # whatever it is, of the many of grpc, is told
        # A server that answers by an error has a class of its own for each; of one that is gone the next question takes
        # minutes of tries.
        if is_known and type(error).__name__ != "SparkConnectGrpcException":
            with suppress(Exception):  # the first one is told
                put_back(spark, ENABLED, before)
        if not isinstance(error, Exception):
            raise
        raise UnsupportedFeatureError(
            "metaindex asks the server of a Spark Connect session whether it has metaindex; this one answers"
            f" {first_line(error)}; look whether it runs, or take the rows by table.scan(predicate).to_arrow()"
        ) from error
    if state is None:
        raise UnsupportedFeatureError(
            "queries of Spark Connect use indexes where the server is configured for it; there is nothing of metaindex"
            " in this one; start it with spark.jars=metaindex-spark.jar (python -m metaindex.spark extension -o"
            f" metaindex-spark.jar) and spark.sql.extensions={EXTENSION}, or take the rows by"
            " table.scan(predicate).to_arrow()"
        )
    if state != "on":
        raise UnsupportedFeatureError(
            "queries of Spark Connect use indexes where the server's Python has metaindex, and answers; this one says"
            f" {state}"
        )


def _asked_state(spark: SparkSession) -> str | None:
    """Return the state of metaindex in the session; None if the server knows nothing of it. The server puts it there
    before it answers; it waits `spark.metaindex.startSeconds` for its Python, and as long for the session, and once
    more for the next Python if that one ends meanwhile."""
    spark.sql(f"SET {STATE}").collect()  # nothing that is only read from the session's settings waits for that
    state: str | None = spark.conf.get(STATE, None)
    return state


def disable(spark: SparkSession) -> None:
    """They do not, from now on: also where the server has yet to put metaindex into the session."""
    if hasattr(spark, "conf"):
        spark.conf.set(ENABLED, "false")


def is_enabled(spark: SparkSession) -> bool:
    """Return whether the session's queries use indexes."""
    if not hasattr(spark, "conf"):
        return False
    return spark.conf.get(STATE, None) == "on" and str(spark.conf.get(ENABLED, "true")).lower() != "false"
