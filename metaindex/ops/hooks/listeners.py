"""Listeners of the JVM for the hooks, in Java source that the Janino inside Spark compiles. A listener that Python
implements could be called by any process of the host; these stand in the JVM, and what they call back does nothing
without their token (`metaindex.core.jvm.callbacks`).

Iceberg tells of its commits itself: `org.apache.iceberg.events.Listeners` of the driver's JVM hears of every snapshot,
whatever made it: CALL procedures, which Spark does not tell its listeners of, and sessions of `newSession()`. It calls
in the thread that commits, after the commit: nothing is done there but to name the table. The name is looked up later,
by the worker. What moves a table to a snapshot that is there already (rollback, fast_forward, publish_changes) makes
none, and is not heard of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from metaindex.core import SparkDriver, interrupts_first

from . import worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


logger = logging.getLogger("metaindex.hooks")


def listener(spark: SparkSession, name: str, *arguments: object) -> Any:
    """A new one of the class of `java/<name>.java`. Raises Py4JJavaError if this Spark lacks what it is built upon."""
    return SparkDriver(spark).room_classes(__package__).new(name, *arguments)


def told(spark: SparkSession, timeout_seconds: float) -> bool:
    """Wait until Spark has told its listeners of everything so far. False: it had not in time."""
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


_heard_by: list[tuple[object, object]] = []
"""The JVM (its gateway), and the listener that it has: Iceberg forgets none, so each JVM gets one."""


def listen(spark: SparkSession, tell: Callable[[str], None]) -> None:
    """Call `tell` with the name of each Iceberg table to which a snapshot is committed, as long as the JVM lives. Does
    nothing without Iceberg."""
    from py4j.protocol import Py4JError

    gateway = SparkDriver(spark).gateway
    if any(heard is gateway for heard, _ in _heard_by):
        return
    jvm = SparkDriver(spark).jvm

    def committed(name: str) -> str:
        try:
            with interrupts_first():
                tell(name)
        except Exception as error:  # noqa: BLE001 - a hook never fails the writer
            worker.WORKER.failed(error)
        return ""

    token, function = SparkDriver.java_function(committed)
    try:
        with interrupts_first():
            commits = listener(spark, "Commits", function, token)
            loader = jvm.Thread.currentThread().getContextClassLoader()
            event = jvm.java.lang.Class.forName("org.apache.iceberg.events.CreateSnapshotEvent", True, loader)
            jvm.org.apache.iceberg.events.Listeners.register(commits, event)
    except (Py4JError, TypeError) as error:  # no such class: no such tables
        logger.debug("Iceberg's own events are not heard: %s", error)
        return
    _heard_by.append((gateway, commits))
