"""The JVM of a session that this process drives, and py4j's gateway to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_here(spark: SparkSession) -> bool:
    """Return whether this process has the session's driver; with Spark Connect another one has."""
    return hasattr(spark, "_jsparkSession")


def jvm_of(spark: SparkSession) -> Any:
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session of this process has a JVM"
    return jvm


def gateway_of(spark: SparkSession) -> Any:
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "a session of this process has a gateway"
    return gateway
