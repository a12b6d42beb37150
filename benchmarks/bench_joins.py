"""Joins that leave files out: sales of random customers in 500 Delta files, joined with a few customers, found by
name, by plain Spark and under `mi.enable` with and without `spark.metaindex.joins.enabled`, in interleaved rounds,
warm. Two joins can win nothing: one whose keys are in every file, one with sales in a single file. Processor time is
of all threads of both processes; files and bytes are those that the scan of the sales read."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.executed import leaves

from .processes import cpu_seconds
from .spark import quiet_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 500
JOIN = """SELECT count(*) AS n, sum(s.price) AS price FROM delta.`{0}/sales` s JOIN delta.`{0}/customers` c
          ON s.customer = c.id WHERE c.name IN ({1})"""
EVERYWHERE = """SELECT count(*) AS n, sum(s.price) AS price FROM delta.`{0}/sales` s JOIN delta.`{0}/customers` c
                ON s.customer = c.id WHERE c.id % 100 = 7"""
PLAIN = "SELECT count(*) AS n, sum(s.price) AS price FROM delta.`{0}/sales` s WHERE s.price < {1}"


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    rows, rounds = (50_000, 3) if quick else (1_250_000, 5)
    root = folder / f"sales-{rows}"
    out: list[dict[str, object]] = []
    with quiet_session("joins", {"spark.driver.memory": "3g"}) as spark:
        if not root.exists():
            _write(spark, root, rows)
        mi.enable(spark)
        for keys in (1, 10, 100):
            names = ", ".join(f"'c{number * 4_001 % max(rows * 2 // 5, 1)}'" for number in range(1, keys + 1))
            out += _in_turns(spark, f"{keys} customers", JOIN.format(root, names), rounds)
        out += _in_turns(spark, "keys in every file", EVERYWHERE.format(root), rounds)
        one = JOIN.format(root, "'c4001'").replace("/sales`", "/few`").replace("SELECT", "SELECT /*+ BROADCAST(c) */")
        out += _in_turns(spark, "one file of sales", one, 3 * rounds)
        out += _in_turns(spark, "no join", PLAIN.format(root, 5), rounds)
        mi.disable(spark)
    return out


LANES = {
    "plain Spark": {"spark.metaindex.enabled": "false"},
    "as before": {"spark.metaindex.joins.enabled": "false"},
    "leave files out": {"spark.metaindex.joins.enabled": "true"},
}


def _in_turns(spark: SparkSession, what: str, text: str, rounds: int) -> list[dict[str, object]]:
    taken: dict[str, list[tuple[float, float]]] = {lane: [] for lane in LANES}
    read: dict[str, tuple[int, int]] = {}
    answers = set()
    for turn in range(rounds + 2):  # the first two warm up
        for lane, times in taken.items():
            with ExitStack() as stack:
                for name, value in LANES[lane].items():
                    stack.enter_context(SparkDriver(spark).setting(name, value))
                cpu, started = cpu_seconds(), time.perf_counter()
                frame = spark.sql(text)
                answers.add(tuple(frame.collect()[0]))
                if turn > 1:
                    times.append((time.perf_counter() - started, cpu_seconds() - cpu))
                read[lane] = max(_read(leaf) for leaf in leaves(frame._jdf.queryExecution().executedPlan()))
    assert len(answers) == 1, answers
    return [
        {
            "query": what,
            "joins": lane,
            "files": read[lane][0],
            "bytes": read[lane][1],
            "CPU ms (median)": 1000 * statistics.median(cpu for _, cpu in times),
            "ms (median)": 1000 * statistics.median(wall for wall, _ in times),
        }
        for lane, times in taken.items()
    ]


def _read(leaf: object) -> tuple[int, int]:
    """Files and bytes."""
    metrics = leaf.metrics()  # type: ignore[attr-defined]
    found = [int(metrics.apply(name).value()) for name in ("numFiles", "filesSize") if metrics.contains(name)]
    return (found[0], found[1]) if len(found) == 2 else (0, 0)


def _write(spark: SparkSession, root: Path, rows: int) -> None:
    customers = max(rows * 2 // 5, 1)
    spark.range(0, rows, 1, FILES).selectExpr(
        "id", f"pmod(hash(id), {customers}) AS customer", "id % 100 AS price", "repeat('x', 20) AS pad"
    ).write.format("delta").save(f"{root}/sales")
    spark.range(0, customers, 1, 2).selectExpr("CAST(id AS int) AS id", "concat('c', id) AS name").write.format(
        "delta"
    ).save(f"{root}/customers")
    spark.sql(f"SELECT * FROM delta.`{root}/sales` WHERE id < 1000").coalesce(1).write.format("delta").save(
        f"{root}/few"
    )
    for name in ("sales", "few"):
        mi.open_table(f"{root}/{name}").create_index("by_customer", mi.Values("customer"))
