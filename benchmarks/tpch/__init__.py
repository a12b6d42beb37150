"""TPC-H through Spark's own SQL: plain, with covering indexes by the rule, and beside what a careful person makes by hand (bucketed and sorted tables, Delta in Z-order). In turns, in one session.

bounds    the queries that the indexes are for, beside the tables made by hand: CPU, wall time, bytes read, exchanges and sorts that are left
queries   all 22 queries with the rule on and off: equal answers, times, predicted and actual bytes
hybrid    a Delta table of which 0, 1, 10, 50% are appended after the index was built, and 0, 0.1, 10% of the rows are deleted
overhead  what the rule adds to a query that no index can help

`python -m benchmarks tpch`, or `python -m benchmarks.tpch --scale 10 --format csv --parts bounds`.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from benchmarks.processes import cpu_seconds
from metaindex.errors import IndexExistsError

from .lake import INDEXES, Lake, make_by_hand, make_z_ordered
from .measured import Measured, measured
from .queries import NEEDLES, QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Figures = list[dict[str, object]]
Tell = Callable[[Figures], None]

PARTS = ("bounds", "queries", "hybrid", "overhead")

_BOUNDS = {
    "Q6": {"lineitem": "lineitem_by_day"},
    "one week": {"lineitem": "lineitem_by_day"},
    "Q17": {"lineitem": "lineitem_by_part", "part": "part_by_part"},
    "lineitem-orders": {"lineitem": "lineitem_by_order", "orders": "orders_by_order"},
    "one order": {"lineitem": "lineitem_by_order"},
    "orders of a group": {"lineitem": "lineitem_by_order"},
}
"""For each query the tables made by hand that serve it best."""


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder, 0.01 if quick else 1.0, "parquet", 2 if quick else 5, PARTS)


def measure(
    folder: Path, scale: float, table_format: str, turns: int, parts: Sequence[str], tell: Tell = lambda some: None
) -> Figures:
    """The figures of the parts asked; `tell` gets them as they come."""
    from .hybrid import hybrid

    lake = Lake(folder / f"tpch-{scale:g}-{table_format}", scale, table_format)
    lake.prepare()
    found: Figures = []

    def add(some: Figures) -> None:
        found.extend(some)
        tell(some)

    with session(lake.folder) as spark:
        add(_index(spark, lake))
        lake.views(spark)
        if "bounds" in parts:
            add(_bounds(spark, lake, turns))
        if "queries" in parts:
            add(_queries(spark, turns))
        if "overhead" in parts:
            add(_overhead(spark, turns))
        if "hybrid" in parts:
            add(hybrid(spark, lake, turns))
    return found


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Two cores, quiet; joins of any size by sorting, so that exchanges tell something at scale factor 1."""
    from metaindex.spark import spark_session

    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "6g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    spark = spark_session("tpch", master="local[2]", conf=conf)
    try:
        yield spark
    finally:
        spark.stop()


def _index(spark: SparkSession, lake: Lake) -> Figures:
    """Builds what is not there; its cost beside a scan of the columns."""
    out: Figures = []
    for name, indexes in INDEXES.items():
        table = lake.open(spark, name)
        for index, kind in indexes.items():
            cpu, started = cpu_seconds(), time.perf_counter()
            try:
                outcome = table.create_index(index, kind, builder="spark")
            except IndexExistsError:
                continue
            cpu, wall = cpu_seconds() - cpu, time.perf_counter() - started
            size = sum(run.size_bytes for run in outcome.entry.content.runs)
            out.append({"index": f"{name}.{index}", "MB": size / 1e6, "CPU s": cpu, "wall s": wall})
    return out


def _bounds(spark: SparkSession, lake: Lake, turns: int) -> Figures:
    make_by_hand(spark, lake)
    z_ordered = make_z_ordered(spark, lake)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    out: Figures = []
    try:
        for name, tables in _BOUNDS.items():
            sql = {**QUERIES, **NEEDLES}[name]
            found: dict[str, list[Measured]] = {}
            for _ in range(turns + 1):  # the first warms up
                lake.views(spark)
                found.setdefault("plain", []).append(measured(spark, sql))
                with enabled(spark):
                    found.setdefault("metaindex", []).append(measured(spark, sql))
                lake.views(spark, tables)
                with ordered(spark):
                    found.setdefault("made by hand", []).append(measured(spark, sql))
                lake.views(spark, {"lineitem": z_ordered})
                found.setdefault("Delta, Z-order", []).append(measured(spark, sql))
            lake.views(spark)
            same_rows(name, found)
            out += _compared(name, found)
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    return out


def _compared(name: str, found: dict[str, list[Measured]]) -> Figures:
    plain = median([one.task_cpu for one in found["plain"][1:]])
    out: Figures = []
    for peer, some in found.items():
        cpu = [one.task_cpu for one in some[1:]]
        last = some[-1]
        out.append(
            {
                "query": name,
                "peer": peer,
                "task CPU s": median(cpu),
                "least": min(cpu),
                "most": max(cpu),
                "x plain": plain / max(median(cpu), 1e-9),
                "wall s": median([one.wall for one in some[1:]]),
                "MB read": last.read / 1e6,
                "exchanges": last.exchanges,
                "sorts": last.sorts,
            }
        )
    return out


def _queries(spark: SparkSession, turns: int) -> Figures:
    out: Figures = []
    for name, sql in QUERIES.items():
        found: dict[str, list[Measured]] = {}
        for _ in range(turns + 1):
            found.setdefault("plain", []).append(measured(spark, sql))
            with enabled(spark):
                found.setdefault("metaindex", []).append(measured(spark, sql))
        same_rows(name, found)
        plain, ours = ([one.cpu for one in found[peer][1:]] for peer in ("plain", "metaindex"))
        walls = [[one.wall for one in found[peer][1:]] for peer in ("plain", "metaindex")]
        out.append(
            {
                "query": name,
                "plain CPU s": median(plain),
                "with CPU s": median(ours),
                "CPU ratio": median(ours) / median(plain),
                "wall ratio": median(walls[1]) / median(walls[0]),
                "spread": (max(plain) - min(plain)) / median(plain),
                "plain MB": found["plain"][-1].read / 1e6,
                "with MB": found["metaindex"][-1].read / 1e6,
                "indexes": found["metaindex"][-1].plan.count("<metaindex "),
            }
        )
    return out


def _overhead(spark: SparkSession, turns: int) -> Figures:
    """Planning alone, of a query over tables without an index and over one whose indexes do not help."""
    queries = {
        "no index": "SELECT count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey WHERE c_acctbal > 9999",
        "indexes that do not help": "SELECT l_comment FROM lineitem WHERE l_tax > 0.07 AND l_comment LIKE '%sleep%'",
    }
    out: Figures = []
    for name, sql in queries.items():
        seconds: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(turns * 4):
            for on in (False, True):
                if on:
                    with enabled(spark):
                        _planned(spark, sql)  # opens the tables
                        seconds[on].append(_planned(spark, sql))
                else:
                    seconds[on].append(_planned(spark, sql))
        off, on_ = (median(seconds[on]) * 1000 for on in (False, True))
        out.append({"planning": name, "off ms": off, "on ms": on_, "rule ms": on_ - off})
    return out


def _planned(spark: SparkSession, sql: str) -> float:
    started = time.perf_counter()
    spark.sql(sql)._jdf.queryExecution().executedPlan()
    return time.perf_counter() - started


@contextmanager
def enabled(spark: SparkSession) -> Iterator[None]:
    mi.enable(spark)
    try:
        yield
    finally:
        counts = mi.rule.counts(spark)
        mi.disable(spark)
        assert not counts.failed, counts.last_error


@contextmanager
def ordered(spark: SparkSession) -> Iterator[None]:
    """Tables made by hand are known to be sorted too."""
    name = "spark.sql.legacy.bucketedTableScan.outputOrdering"
    spark.conf.set(name, "true")
    try:
        yield
    finally:
        spark.conf.unset(name)


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
