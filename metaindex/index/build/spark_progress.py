"""Reports the progress of Spark's tasks while a call waits for them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from metaindex.core import SparkDriver

from .protocol import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 0.5
"""Between two looks."""


@contextmanager
def tasks_told(spark: SparkSession, progress: Progress, what: str, total: int | None = None) -> Iterator[None]:
    """Report from another thread, now and then, how many tasks of the jobs started inside are done, and of how many
    known ones; at the end, that all are. `total`: the number of things that all tasks together do, reported instead. A
    failing report does not fail the build."""
    over = threading.Event()
    said = [0, total or 0]

    def tell(done: int, tasks: int) -> None:
        now = [done, tasks] if total is None else [total * done // tasks, total]
        if now != said:
            said[:] = now
            progress(what, *now)

    def watch(tag: str) -> None:
        while not over.wait(_SECONDS):
            try:
                done, tasks = _tasks(spark, tag)
            except Exception:  # noqa: BLE001 - the session may end, or a newer Spark may tell it otherwise
                return
            if tasks:
                tell(done, tasks)

    progress(what, *said)
    driver = SparkDriver(spark)
    with driver.tagged() as tag:
        thread = driver.thread(lambda: watch(tag), tag)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
    if said[1]:
        tell(said[1], said[1])


def _tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Return finished tasks and all tasks of the started stages of the tag's jobs. Stages that never start are skipped
    ones, done by an earlier job."""
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in SparkDriver(spark).stage_ids(tag)]
    begun = [stage for stage in infos if stage is not None and (stage.numActiveTasks or stage.numCompletedTasks)]
    known = sum(stage.numTasks for stage in begun)
    return min(sum(stage.numCompletedTasks for stage in begun), known), known
