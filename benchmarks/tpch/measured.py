"""One query of Spark's, measured: wall time, CPU of all processes, the bytes that its tasks read, and the plan that ran."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.processes import cpu_seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NUMBERS = itertools.count()


@dataclass(frozen=True)
class Measured:
    wall: float  # seconds
    cpu: float  # seconds, of this process and the JVM
    task_cpu: float  # seconds, of the tasks alone
    read: int  # bytes
    shuffled: int  # bytes written for exchanges
    plan: str
    rows: list[tuple[object, ...]]

    @property
    def exchanges(self) -> int:
        return self.plan.count("Exchange hashpartitioning")

    @property
    def sorts(self) -> int:
        """Below joins and aggregates; not the ORDER BY of the query, which is a sort of all rows."""
        return self.plan.count("Sort [") - self.plan.count("], true, 0")


def measured(spark: SparkSession, sql: str) -> Measured:
    """Runs it to the end, its rows collected."""
    context = spark.sparkContext
    group = f"measured-{next(_NUMBERS)}"
    context.setJobGroup(group, group)
    cpu, started = cpu_seconds(), time.perf_counter()
    query = spark.sql(sql)
    rows = [tuple(row) for row in query.collect()]
    wall, cpu = time.perf_counter() - started, cpu_seconds() - cpu
    plan = str(query._jdf.queryExecution().executedPlan().toString()).split("== Initial Plan ==")[0]
    store = context._jsc.sc().statusStore()
    task_cpu = read = shuffled = 0
    for job in context.statusTracker().getJobIdsForGroup(group):
        info = context.statusTracker().getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            try:
                last = store.lastStageAttempt(stage)
            except Exception:  # noqa: BLE001 - a stage that was skipped has no attempt
                continue
            task_cpu += last.executorCpuTime()
            read += last.inputBytes()
            shuffled += last.shuffleWriteBytes()
    return Measured(wall, cpu, task_cpu / 1e9, read, shuffled, plan, rows)
