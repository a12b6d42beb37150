"""What `mi.enable` adds to the planning of a plain query, in turns with a session without it: from the text to the
physical plan, of small tables in each format that have no index, statistics, or a covering index, by a filter and by a
join. On whatever Spark is installed, over the formats that are published for it:
`.venv-spark35/bin/python -m benchmarks.bench_planning` has another."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
import metaindex.spark as rule

from .spark import quiet_session
from .telling import Figures, add_options, folder_of, teller
from .tpch.measured import median

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("parquet", "delta", "iceberg")
INDEXES = ("none", "statistics", "covering")
FILES, ROWS, TURNS = 20, 20_000, 60
QUERIES = {
    "filter": "SELECT id, v FROM {0} WHERE k = 7",
    "join": "SELECT t.id, t.v FROM {0} t JOIN VALUES (7), (12) AS d(k) ON t.k = d.k",  # it may leave files out
}


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder, 3 if quick else TURNS)


def measure(
    folder: Path,
    turns: int,
    tell: Callable[[Figures], None] = lambda some: None,
    indexes: Sequence[str] = INDEXES,
) -> Figures:
    out: Figures = []
    catalog = {
        "spark.sql.catalog.planning": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.planning.type": "hadoop",
        "spark.sql.catalog.planning.warehouse": str(folder / "planning"),
        "spark.metaindex.timeoutSeconds": "600",
    }
    with quiet_session("planning", catalog) as spark:
        plain, ours = spark.newSession(), spark.newSession()
        there = spark.conf.get("spark.sql.extensions", "").lower()
        formats = [kind for kind in FORMATS if kind == "parquet" or kind in there]
        cases = [
            (f"{kind}, {index}, {what}", text.format(_table(spark, folder, kind, index)))
            for kind in formats
            for index in indexes
            for what, text in QUERIES.items()
        ]
        rule.enable(ours)
        found = {told: _Case() for told, _ in cases}
        try:
            for turn in range(turns + (warm := max(turns // 4, 1))):
                print(f"planning: turn {turn + 1} of {turns + warm}", file=sys.stderr, flush=True)
                for told, text in cases:
                    found[told].take(plain, ours, text, turn, turn >= warm)
            counts = rule.counts(ours)
            assert (counts.failed, counts.timed_out) == (0, 0), counts.last_error
        finally:
            rule.disable(ours)
        out = [{"Spark": spark.version, "table, index, query": told, **case.row()} for told, case in found.items()]
        every = {name: [row[name] for row in out] for name in found[cases[0][0]].row()}
        out.append(
            {"Spark": spark.version, "table, index, query": "median", **{n: median(v) for n, v in every.items()}}
        )
    tell(out)
    return out


def _table(spark: SparkSession, folder: Path, kind: str, index: str) -> str:
    """Its name in SQL. Made anew for each Spark, which has other releases of the formats."""
    short = f"{kind}_{index}_{spark.version.replace('.', '_')}"
    path, made = folder / "planning" / "t" / short, folder / "planning" / f"made_{short}"
    name = f"planning.t.{short}" if kind == "iceberg" else f"{kind}.`{path}`"
    if not made.exists():
        shutil.rmtree(path, ignore_errors=True)
        rows = spark.range(0, ROWS, 1, FILES).selectExpr("id", "CAST(id * 20 DIV 20000 AS int) AS k", "id * 0.5D AS v")
        if kind == "iceberg":
            spark.sql(f"CREATE TABLE {name} (id BIGINT, k INT, v DOUBLE) USING iceberg")
            rows.writeTo(name).append()
        else:
            rows.write.format(kind).save(str(path))
        table = mi.open_table(str(path), spark=spark)
        if index == "statistics":
            table.create_index("stats", mi.ColumnStats(), builder="local")
        elif index == "covering":
            table.create_index("by_k", mi.Covering(["k"], ["id", "v"], buckets=4), builder="spark")
        made.touch()
    return name


@dataclass
class _Case:
    """A query in turns in both sessions: seconds and CPU seconds of each plan, and what the rule counted."""

    plain: list[tuple[float, float]] = field(default_factory=list)
    ours: list[tuple[float, float]] = field(default_factory=list)
    in_rule: list[float] = field(default_factory=list)
    asked: int = 0
    rewritten: int = 0

    def take(self, plain: SparkSession, ours: SparkSession, text: str, turn: int, counted: bool) -> None:
        before = rule.counts(ours)
        pair = [_planned(session, text) for session in ((plain, ours) if turn % 2 else (ours, plain))]
        after = rule.counts(ours)
        if counted:
            one, two = pair if turn % 2 else reversed(pair)
            self.plain.append(one)
            self.ours.append(two)
            self.in_rule.append(after.seconds - before.seconds)
            self.asked += after.asked - before.asked
            self.rewritten += after.rewritten - before.rewritten

    def row(self) -> dict[str, float]:
        both = list(zip(self.plain, self.ours, strict=True))
        least = min(wall for wall, _ in self.plain)
        return {
            "plain ms": median([wall for wall, _ in self.plain]) * 1000,
            "more ms": median([b - a for (a, _), (b, _) in both]) * 1000,
            "plain, least ms": least * 1000,
            "more, least ms": (min(wall for wall, _ in self.ours) - least) * 1000,
            "plain CPU ms": median([cpu for _, cpu in self.plain]) * 1000,
            "more CPU ms": median([b - a for (_, a), (_, b) in both]) * 1000,
            "in the rule, ms a plan": median(self.in_rule) * 1000,
            "asked a plan": self.asked / len(both),
            "rewritten": self.rewritten / len(both),
        }


def _planned(spark: SparkSession, text: str) -> tuple[float, float]:
    """Seconds, and CPU seconds of Python and of the JVM's thread that plans: its compilers and collector run beside."""
    cpu, since = _cpu(spark), time.perf_counter()
    spark.sql(text)._jdf.queryExecution().executedPlan()
    wall = time.perf_counter() - since
    return wall, _cpu(spark) - cpu


def _cpu(spark: SparkSession) -> float:
    """Pinned threads: Python's calls of one thread run in one thread of the JVM."""
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    return float(threads.getCurrentThreadCpuTime()) / 1e9 + time.process_time()


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.bench_planning", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--indexes", default=",".join(INDEXES), help=f"of {', '.join(INDEXES)}")
    add_options(parser)
    arguments = parser.parse_args()
    measure(folder_of(arguments), arguments.turns, teller("planning", arguments), arguments.indexes.split(","))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
