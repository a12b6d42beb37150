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
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
import metaindex.spark as rule

from .processes import children_cpu_seconds
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
        names = [(kind, index, _table(spark, folder, kind, index)) for kind in formats for index in indexes]
        rule.enable(ours)
        try:
            for kind, index, name in names:
                for what, text in QUERIES.items():
                    told = f"{kind}, {index}, {what}"
                    out.append(_in_turns(plain, ours, turns, text.format(name), told, spark.version))
                    tell(out[-1:])
            counts = rule.counts(ours)
            assert (counts.failed, counts.timed_out) == (0, 0), counts.last_error
        finally:
            rule.disable(ours)
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


def _in_turns(
    plain: SparkSession, ours: SparkSession, turns: int, text: str, told: str, version: str
) -> dict[str, object]:
    found: dict[str, list[tuple[float, float]]] = {"plain": [], "metaindex": []}
    before = rule.counts(ours)
    warm = max(turns // 4, 1)
    for turn in range(turns + warm):
        if turn == warm:
            before = rule.counts(ours)
        pair = [("plain", plain), ("metaindex", ours)]
        for peer, session in pair if turn % 2 else reversed(pair):
            found[peer].append(_planned(session, text))
    print(f"planning: {told} on Spark {version}", file=sys.stderr, flush=True)
    one, two = found["plain"][warm:], found["metaindex"][warm:]
    after = rule.counts(ours)
    return {
        "Spark": version,
        "table, index, query": told,
        "plain ms": median([wall for wall, _ in one]) * 1000,
        "more ms": median([b - a for (a, _), (b, _) in zip(one, two, strict=True)]) * 1000,
        "plain, least ms": min(wall for wall, _ in one) * 1000,
        "more, least ms": (min(wall for wall, _ in two) - min(wall for wall, _ in one)) * 1000,
        "more CPU ms": median([b - a for (_, a), (_, b) in zip(one, two, strict=True)]) * 1000,
        "in the rule, ms a plan": (after.seconds - before.seconds) / turns * 1000,
        "asked a plan": (after.asked - before.asked) / turns,
        "rewritten": (after.rewritten - before.rewritten) / turns,
    }


def _planned(spark: SparkSession, text: str) -> tuple[float, float]:
    """Seconds, and CPU seconds of the JVM and of Python."""
    cpu, since = children_cpu_seconds() + time.process_time(), time.perf_counter()
    spark.sql(text)._jdf.queryExecution().executedPlan()
    return time.perf_counter() - since, children_cpu_seconds() + time.process_time() - cpu


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
