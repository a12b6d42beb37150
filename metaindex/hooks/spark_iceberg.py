"""Iceberg tells of its commits itself: `org.apache.iceberg.events.Listeners` of the driver's JVM hears of every
snapshot, whatever made it: CALL procedures, which Spark does not tell its listeners of, and sessions of `newSession()`.

It calls in the thread that commits, after the commit: nothing is done there but to name the table. The name is looked
up later, by the worker. What moves a table to a snapshot that is there already (rollback, fast_forward,
publish_changes) makes none, and is not heard of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from metaindex.spark import callbacks
from metaindex.spark.gateway import gateway_of, jvm_of
from metaindex.spark.interrupts import interrupts_first

from . import worker
from .listeners import listener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex.hooks")

_heard_by: list[tuple[object, object]] = []
"""The JVM (its gateway), and the listener that it has: Iceberg forgets none, so each JVM gets one."""


def listen(spark: SparkSession, told: Callable[[str], None]) -> None:
    """From now on and as long as the JVM lives, `told` is called with the name of each Iceberg table that a snapshot of
    was committed. Nothing where there is no Iceberg."""
    from py4j.protocol import Py4JError

    gateway = gateway_of(spark)
    if any(heard is gateway for heard, _ in _heard_by):
        return
    jvm = jvm_of(spark)

    def committed(name: str) -> str:
        try:
            with interrupts_first():
                told(name)
        except Exception as error:  # noqa: BLE001 - a hook never fails the writer
            worker.WORKER.failed(error)
        return ""

    token, function = callbacks.function(committed)
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
