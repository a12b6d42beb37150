"""One query of Spark's, measured: wall time, CPU of all processes, the bytes that its tasks read, and the plan that
ran."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.processes import compiler_seconds, cpu_seconds
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.executed import stages

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Measured:
    wall: float  # seconds
    cpu: float  # seconds, of this process and the JVM
    task_cpu: float  # seconds, of the tasks alone
    compiling: float  # seconds of CPU that the JVM took to compile what it runs often
    read: int  # bytes
    shuffled: int  # bytes written for exchanges
    plan: str
    rows: list[tuple[object, ...]]
    tasks: list[list[float]]  # CPU seconds of each, stage by stage

    def on_cores(self, cores: int) -> float:
        """Seconds of CPU that so many cores take at least: as long as the longest task of each stage."""
        return sum(max(max(stage, default=0.0), sum(stage) / cores) for stage in self.tasks)

    @property
    def exchanges(self) -> int:
        return self.plan.count("Exchange hashpartitioning")

    @property
    def sorts(self) -> int:
        """Below joins and aggregates; not the ORDER BY of the query, which is a sort of all rows."""
        return self.plan.count("Sort [") - self.plan.count("], true, 0")


def measured(spark: SparkSession, sql: str, times: int = 1, *, each_task: bool = False) -> Measured:
    """Runs it to the end, its rows collected. `times`: so often in a row, and the mean of them: what takes few
    milliseconds is below what clocks tell. `each_task`: notes what each took."""
    context = spark.sparkContext
    with SparkDriver(spark).tagged() as tag:
        compiling, cpu, started = compiler_seconds(), cpu_seconds(), time.perf_counter()
        for _ in range(times):
            query = spark.sql(sql)
            rows = [tuple(row) for row in query.collect()]
        wall, cpu = time.perf_counter() - started, cpu_seconds() - cpu
        compiling = compiler_seconds() - compiling
    plan = str(query._jdf.queryExecution().executedPlan().toString()).split("== Initial Plan ==")[0]
    task_cpu = read = shuffled = 0
    tasks: list[list[float]] = []
    for stage in stages(spark, tag):
        if each_task:
            tasks.append(_tasks(context, stage))
        task_cpu += stage.executorCpuTime()
        read += stage.inputBytes()
        shuffled += stage.shuffleWriteBytes()
    return Measured(
        wall / times,
        cpu / times,
        task_cpu / 1e9 / times,
        compiling / times,
        read // times,
        shuffled // times,
        plan,
        rows,
        tasks,
    )


def _tasks(context: SparkContext, stage: Any) -> list[float]:
    """CPU seconds of each task."""
    every = context._jsc.sc().statusStore().taskList(stage.stageId(), stage.attemptId(), stage.numTasks())
    metrics = [every.apply(number).taskMetrics() for number in range(every.size())]
    return [one.get().executorCpuTime() / 1e9 for one in metrics if one.isDefined()]


def same_rows(name: str, found: dict[str, list[Measured]]) -> None:
    """Every peer's rows are the plain ones, doubles to the last digits that sums in another order leave."""
    wanted = sorted(map(_rounded, found["plain"][0].rows), key=repr)
    for peer, some in found.items():
        for one in some:
            assert sorted(map(_rounded, one.rows), key=repr) == wanted, f"{name}: {peer} gives other rows"


def _rounded(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(
        round(value, 9 - int(math.log10(abs(value) or 1))) if isinstance(value, float) else value for value in row
    )


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def quarters(values: Sequence[float]) -> str:
    """Between which numbers the middle half lies; of one value that."""
    least, _, most = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return f"{least:,.2f} to {most:,.2f}"
