"""Listeners of the JVM for the hooks, in Java source that the Janino inside Spark compiles. A listener that Python
implements could be called by any process of the host; these stand in the JVM, and what they call back does nothing
without their token (`metaindex.spark.callbacks`)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from metaindex.spark.gateway import gateway_of, jvm_of
from metaindex.spark.interrupts import interrupts_first
from metaindex.spark.sources import session_sources, source_loader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex.hooks")

_LOADERS: list[tuple[object, Any]] = []
"""By gateway: py4j remembers methods by the name of their class, so a class is compiled once a JVM."""


def listener(spark: SparkSession, name: str, *arguments: object) -> Any:
    """A new one of the class of `java/<name>.java`. Py4JJavaError where this Spark lacks what it is built upon."""
    gateway = gateway_of(spark)
    classes = next((loader for known, loader in _LOADERS if known is gateway), None)
    if classes is None:
        classes = source_loader(jvm_of(spark), session_sources(spark, __package__))
        _LOADERS.append((gateway, classes))
    values = jvm_of(spark).java.util.ArrayList()
    for argument in arguments:
        values.add(argument)
    return classes.loadClass(f"metaindex.{name}").getConstructors()[0].newInstance(values.toArray())


def told(spark: SparkSession, timeout_seconds: float) -> bool:
    """Waits until Spark has told its listeners of everything so far. False: it had not in time."""
    from py4j.protocol import Py4JError

    context = spark.sparkContext._jsc
    if context is None:  # stopped: it told them before
        return True
    try:
        with interrupts_first():
            context.sc().listenerBus().waitUntilEmpty(int(timeout_seconds * 1000))
    except (Py4JError, OSError) as error:
        logger.debug("Spark's listeners were not told in time: %s", error)
        return False
    return True
