"""TPC-H through Spark's own SQL: plain, with covering indexes by the rule, and beside what a careful person makes by
hand (bucketed and sorted tables, Delta in Z-order). In turns, in one session.

bounds    the queries that the indexes are for, beside the tables made by hand: CPU of the tasks, and of everything with
          planning and the rule; wall time, bytes read, exchanges and sorts that are left
z-order   in these bounds Delta in Z-order too
queries   all 22 queries with the rule on and off: equal answers, times, bytes
hybrid    a Delta table of which 0, 1, 10, 50% are appended after the index was built, and 0, 0.1, 10% of the rows are
          deleted
deleted   look-ups over Delta (deletion vectors) and Iceberg (position deletes) before and after 10% of the rows are
          deleted
predicted bytes that the ranker expects of the indexes that it takes, and those read
overhead  what the rule adds to a query that no index can help

`python -m benchmarks tpch`, or `python -m benchmarks.tpch --scale 10 --format csv --parts bounds`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from benchmarks.processes import cpu_seconds
from metaindex.core import IndexExistsError, SparkDriver

from .deleted import FORMATS, deleted
from .hybrid import hybrid
from .lake import INDEXES, Lake, make_by_hand, make_z_ordered
from .measured import Measured, measured, median, quarters, same_rows
from .predicted import predicted
from .queries import NEEDLES, QUERIES
from .sessions import beside, ordered, session, sorting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Figures = list[dict[str, object]]
Tell = Callable[[Figures], None]

PARTS = ("bounds", "z-order", "queries", "predicted", "hybrid", "deleted", "overhead")

_TABLES_OF_THEIR_OWN = {"hybrid", "deleted"}
_OF_EVERY_INDEX = {"queries", "predicted", "overhead"}
_BOUNDS = {
    "Q6": {"lineitem": "lineitem_by_day"},
    "one week": {"lineitem": "lineitem_by_day"},
    "Q17": {"lineitem": "lineitem_by_part", "part": "part_by_part"},
    "lineitem-orders": {"lineitem": "lineitem_by_order", "orders": "orders_by_order"},
    "one order": {"lineitem": "lineitem_by_order"},
    "orders of a group": {"lineitem": "lineitem_by_order"},
}
"""For each query the tables made by hand that serve it best."""
_BY_HAND = ("made by hand", "by hand, groups in order")
"""As Spark plans them, and with its own setting that counts sorted groups as they come: the better of the two is the
bound."""


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder, 0.01 if quick else 1.0, "parquet", 2 if quick else 5, PARTS)


def measure(
    folder: Path,
    scale: float,
    table_format: str,
    turns: int,
    parts: Sequence[str],
    only: Sequence[str] = (),
    tell: Tell = lambda some: None,
) -> Figures:
    """The figures of the parts asked; `only`: of these queries, or of all; `tell` gets them as they come."""
    lake = Lake(folder / f"tpch-{scale:g}-{table_format}", scale, table_format)
    lake.prepare()
    found: Figures = []

    def add(some: Figures) -> None:
        found.extend(some)
        tell(some)

    with session(lake.folder) as spark:
        if set(parts) - _TABLES_OF_THEIR_OWN:
            alone = only if "bounds" in parts and not set(parts) & _OF_EVERY_INDEX else ()
            add(_index(spark, lake, _by_hand_for(alone)))
        lake.views(spark)
        if "bounds" in parts:
            for some in _bounds(spark, lake, turns, only, with_z_order="z-order" in parts):
                add(some)
        if "queries" in parts:
            add(_queries(spark, lake, turns, only))
        if "predicted" in parts:
            add(predicted(spark, lake))
        if "overhead" in parts:
            add(_overhead(spark, lake, turns))
        if "hybrid" in parts:
            add(hybrid(spark, lake, turns))
        if "deleted" in parts:
            for one in FORMATS:
                for some in deleted(spark, lake, one, turns):
                    add(some)
    return found


def _by_hand_for(only: Sequence[str]) -> set[str]:
    """The tables made by hand, and so the indexes beside them, for some queries, or (none is named) for all."""
    return {table for name, tables in _BOUNDS.items() if not only or name in only for table in tables.values()}


def _index(spark: SparkSession, lake: Lake, wanted: set[str]) -> Figures:
    """Builds what is not there; its cost beside a scan of the columns."""
    out: Figures = []
    for name, indexes in INDEXES.items():
        table = lake.open(spark, name)
        for index, kind in indexes.items():
            if f"{name}_{index}" not in wanted:
                continue
            cpu, started = cpu_seconds(), time.perf_counter()
            try:
                outcome = table.create_index(index, kind, builder="spark")
            except IndexExistsError:
                continue
            cpu, wall = cpu_seconds() - cpu, time.perf_counter() - started
            size = sum(run.size_bytes for run in outcome.entry.content.runs)
            out.append({"index": f"{name}.{index}", "MB": size / 1e6, "CPU s": cpu, "wall s": wall})
    return out


def _bounds(
    spark: SparkSession, lake: Lake, turns: int, only: Sequence[str], *, with_z_order: bool
) -> Iterator[Figures]:
    """Query by query."""
    make_by_hand(spark, lake, _by_hand_for(only))
    z_ordered = make_z_ordered(spark, lake) if with_z_order else ""
    with beside(spark) as ours, sorting(spark, ours):
        lake.views(ours)
        for name, tables in _BOUNDS.items():
            if only and name not in only:
                continue
            sql = {**QUERIES, **NEEDLES}[name]

            def plain(sql: str = sql, times: int = 1) -> Measured:
                lake.views(spark)
                return measured(spark, sql, times)

            def indexed(sql: str = sql, times: int = 1) -> Measured:
                return measured(ours, sql, times)

            def by_hand(sql: str = sql, tables: Mapping[str, str] = tables, times: int = 1) -> Measured:
                lake.views(spark, tables)
                with ordered(spark):
                    return measured(spark, sql, times)

            def in_z_order(sql: str = sql, times: int = 1) -> Measured:
                lake.views(spark, {"lineitem": z_ordered})
                return measured(spark, sql, times)

            def groups_in_order(sql: str = sql, tables: Mapping[str, str] = tables, times: int = 1) -> Measured:
                with SparkDriver(spark).setting("spark.sql.execution.replaceHashWithSortAgg", "true"):
                    return by_hand(sql, tables, times)

            peers = {"plain": plain, "metaindex": indexed, _BY_HAND[0]: by_hand}
            peers |= {_BY_HAND[1]: groups_in_order}
            peers |= {"Delta, Z-order": in_z_order} if with_z_order else {}
            found = {peer: [run()] for peer, run in peers.items()}  # warms up
            times = {peer: _times(run()) for peer, run in peers.items()}
            times |= dict.fromkeys(("metaindex", *_BY_HAND), times["metaindex"])
            for turn in range(turns):
                each = list(peers.items())
                for peer, run in each if turn % 2 else reversed(each):  # none always runs behind the same other one
                    found[peer].append(run(times=times[peer]))
            lake.views(spark)
            same_rows(name, found)
            yield _compared(name, found)


def _times(one: Measured) -> int:
    """How often a query is run for a figure: a quarter of a second of CPU, or fifty times."""
    return max(1, min(50, round(0.25 / max(one.task_cpu, 1e-3))))


def _compared(name: str, found: dict[str, list[Measured]]) -> Figures:
    """A line for each peer: medians, and how it compares with the better table made by hand turn by turn: turns of a
    shared machine differ more than peers."""
    seen = {peer: some[1:] for peer, some in found.items()}
    plain = median([one.task_cpu for one in seen["plain"]])
    by_hand = seen[min(_BY_HAND, key=lambda peer: median([one.task_cpu for one in seen[peer]]))]
    out: Figures = []
    for peer, some in seen.items():
        tasks = [theirs.task_cpu / max(ours.task_cpu, 1e-9) for ours, theirs in zip(some, by_hand, strict=True)]
        walls = [theirs.wall / ours.wall for ours, theirs in zip(some, by_hand, strict=True)]
        cpu = median([one.task_cpu for one in some])
        out.append(
            {
                "query": name,
                "peer": peer,
                "task CPU ms": cpu * 1000,
                "quarters": quarters([one.task_cpu * 1000 for one in some]),
                "x plain": plain / max(cpu, 1e-9),
                "of by hand": median(tasks),
                "its quarters": quarters(tasks),
                "all CPU ms": median([one.cpu for one in some]) * 1000,
                "wall ms": median([one.wall for one in some]) * 1000,
                "wall of by hand": median(walls),
                "and quarters": quarters(walls),
                "MB read": some[-1].read / 1e6,
                "exchanges": some[-1].exchanges,
                "sorts": some[-1].sorts,
            }
        )
    return out


def _queries(spark: SparkSession, lake: Lake, turns: int, only: Sequence[str]) -> Figures:
    out: Figures = []
    with beside(spark) as ours:
        lake.views(ours)
        for name, sql in QUERIES.items():
            if only and name not in only:
                continue
            found: dict[str, list[Measured]] = {"plain": [], "metaindex": []}
            for turn in range(turns + 1):
                pair = [("plain", spark), ("metaindex", ours)]
                for peer, session_of in pair if turn % 2 else reversed(pair):
                    found[peer].append(measured(session_of, sql))
            same_rows(name, found)
            plain, with_ = ([one.cpu for one in found[peer][1:]] for peer in found)
            walls = [median([one.wall for one in found[peer][1:]]) for peer in found]
            ratios = [one / other for one, other in zip(with_, plain, strict=True)]
            out.append(
                {
                    "query": name,
                    "plain CPU s": median(plain),
                    "with CPU s": median(with_),
                    "CPU ratio": median(ratios),
                    "least": min(ratios),
                    "most": max(ratios),
                    "wall ratio": walls[1] / walls[0],
                    "plain MB": found["plain"][-1].read / 1e6,
                    "with MB": found["metaindex"][-1].read / 1e6,
                    "indexes": found["metaindex"][-1].plan.count("<metaindex "),
                }
            )
    return out


def _overhead(spark: SparkSession, lake: Lake, turns: int) -> Figures:
    """Planning alone, of a query over tables without an index and over one whose indexes do not help."""
    queries = {
        "no index": "SELECT count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey WHERE c_acctbal > 9999",
        "indexes that do not help": "SELECT l_comment FROM lineitem WHERE l_tax > 0.07 AND l_comment LIKE '%sleep%'",
    }
    out: Figures = []
    with beside(spark) as ours:
        lake.views(ours)
        for name, sql in queries.items():
            for _ in range(20):  # opens the tables, and lets the JVM compile
                _planned(spark, sql)
                _planned(ours, sql)
            off, on = [], []
            before = mi.spark.counts(ours).seconds
            for _ in range(turns * 20):
                off.append(_planned(spark, sql))
                on.append(_planned(ours, sql))
            inside = (mi.spark.counts(ours).seconds - before) / len(on)
            least, most = (sorted(b - a for a, b in zip(off, on, strict=True))[len(on) * part // 10] for part in (1, 9))
            out.append(
                {
                    "planning": name,
                    "off ms": median(off) * 1000,
                    "on ms": median(on) * 1000,
                    "rule ms": (median(on) - median(off)) * 1000,
                    "10% ms": least * 1000,
                    "90% ms": most * 1000,
                    "by its own clock ms": inside * 1000,
                }
            )
    return out


def _planned(spark: SparkSession, sql: str) -> float:
    started = time.perf_counter()
    spark.sql(sql)._jdf.queryExecution().executedPlan()
    return time.perf_counter() - started
