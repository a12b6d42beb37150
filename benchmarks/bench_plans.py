"""Planning of large plans under `mi.enable`, in turns with a session without it: CPU of the JVM and of Python from the
text to the physical plan, of one table with statistics and a covering index that is behind it."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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

FILES = 40
TURNS = 5


def unions(size: int) -> str:
    return " UNION ALL ".join(f"SELECT id FROM big WHERE k = {i % 7} AND id >= {i}" for i in range(size))


def members(size: int) -> str:
    return f"SELECT id FROM big WHERE id IN ({', '.join(str(3 * i) for i in range(size))})"


SHAPES: Mapping[str, Callable[[int], str]] = {"unions": unions, "members of an IN": members}
SIZES: Mapping[str, tuple[int, ...]] = {"unions": (250, 500, 1_000), "members of an IN": (100_000, 100_001, 1_000_000)}
"""Of an IN with more than 100,000 members metaindex is not told."""


@dataclass(frozen=True)
class Planned:
    """CPU seconds of planning a query once."""

    jvm: float  # of the whole process: its compiler's and collector's, too
    python: float


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder, 1 if quick else TURNS, 100 if quick else 1)


def measure(
    folder: Path,
    turns: int,
    smaller: int = 1,
    tell: Callable[[Figures], None] = lambda some: None,
    sizes_of: Mapping[str, tuple[int, ...]] = SIZES,
) -> Figures:
    """`smaller`: how many times smaller plans are than they are measured."""
    out: Figures = []
    with quiet_session("plans", {"spark.driver.memory": "6g", "spark.metaindex.timeoutSeconds": "600"}) as spark:
        path = _table(spark, folder / "plans")
        ours = spark.newSession()
        rule.enable(ours, rule=mi.RuleConfig(timeout_seconds=600.0))
        try:
            for session in (spark, ours):
                session.read.format("delta").load(path).createOrReplaceTempView("big")
            for shape, sizes in sizes_of.items():
                text = SHAPES[shape]
                for size in sizes:
                    out.append(_in_turns(spark, ours, shape, text(max(size // smaller, 2)), size // smaller, turns))
                    tell(out[-1:])
            counts = rule.counts(ours)
            assert (counts.failed, counts.timed_out) == (0, 0), counts.last_error
        finally:
            rule.disable(ours)
    return out


def _table(spark: SparkSession, folder: Path) -> str:
    path = str(folder / "big")
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        rows = spark.range(0, FILES * 1_000, 1, FILES).selectExpr("id", "id % 50 AS k", "sha2(string(id), 256) AS pad")
        rows.write.format("delta").save(path)
        table = mi.open_table(path, spark=spark)
        table.create_index("stats", mi.ColumnStats(), builder="local")
        table.create_index("by_key", mi.Covering(["k"], ["id"], buckets=4), builder="spark")
        rows.where("id < 100").coalesce(1).write.format("delta").mode("append").save(path)
        (folder / "made").touch()
    return path


def _in_turns(
    spark: SparkSession, ours: SparkSession, shape: str, text: str, size: int, turns: int
) -> dict[str, object]:
    found: dict[str, list[Planned]] = {"plain": [], "metaindex": []}
    before = rule.counts(ours).rewritten
    for turn in range(turns + 1):  # the first one warms up
        pair = [("plain", spark), ("metaindex", ours)]
        for peer, session in pair if turn % 2 else reversed(pair):
            found[peer].append(_planned(session, text))
            print(f"plans: {size:,} {shape}, {peer}: {found[peer][-1]}", file=sys.stderr, flush=True)
    plain, with_ = found["plain"][1:], found["metaindex"][1:]
    more = [two.jvm + two.python - one.jvm - one.python for one, two in zip(plain, with_, strict=True)]
    return {
        "plan": f"{size:,} {shape}",
        "plain, JVM CPU s": median([one.jvm for one in plain]),
        "plain, Python": median([one.python for one in plain]),
        "JVM": median([one.jvm for one in with_]),
        "Python": median([one.python for one in with_]),
        "more CPU s": median(more),
        "ms more a part": median(more) * 1000 / max(size, 1),
        "rewritten scans": (rule.counts(ours).rewritten - before) // (turns + 1),
    }


def _planned(spark: SparkSession, text: str) -> Planned:
    jvm, python = children_cpu_seconds(), time.process_time()
    spark.sql(text)._jdf.queryExecution().executedPlan()
    return Planned(children_cpu_seconds() - jvm, time.process_time() - python)


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.bench_plans", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--smaller", type=int, default=1, help="plans so many times smaller")
    for shape, sizes in SIZES.items():
        said = ",".join(map(str, sizes))
        parser.add_argument(f"--{shape.split()[0]}", dest=shape, default=said, help=f"how many {shape}: {said}")
    add_options(parser)
    arguments = parser.parse_args()
    sizes_of = {shape: tuple(int(size) for size in getattr(arguments, shape).split(",") if size) for shape in SIZES}
    measure(folder_of(arguments), arguments.turns, arguments.smaller, teller("plans", arguments), sizes_of)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
