"""A table of which half the rows have one key, joined and grouped by it through a covering index of the default number
of buckets; plain and by the rule in turns. `at 8 cores` is the least that stages take there: the longest task of each,
or an eighth of all. `forced`: the index whatever the ranker thinks of its hot bucket."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from metaindex.advisor import Offer
from metaindex.spark.optimizer import candidates

from .spark import quiet_session
from .telling import add_options, folder_of, teller
from .tpch.measured import Measured, measured, median, quarters, same_rows
from .tpch.sessions import beside, sorting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 6_000_000
QUERIES = {
    "group": "SELECT count(*) AS n, sum(s) AS s FROM (SELECT k, sum(v) AS s, max(d) AS d FROM facts GROUP BY k)",
    "join": "SELECT sum(v + w) AS s, count(*) AS n FROM facts JOIN names ON facts.k = names.k",
    "group of a join": """
        SELECT count(*) AS n, sum(s) AS s
        FROM (SELECT facts.k, sum(v + w) AS s FROM facts JOIN names ON facts.k = names.k GROUP BY facts.k)""",
    "the hot key": "SELECT sum(v + w) AS s, count(*) AS n FROM facts JOIN names ON facts.k = names.k WHERE facts.k = 7",
    "another key": "SELECT sum(v + w) AS s, count(*) AS n FROM facts JOIN names ON facts.k = names.k WHERE facts.k = 9",
}


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    return measure(folder, 20_000 if quick else ROWS, 2 if quick else 7)


def measure(
    folder: Path,
    rows: int,
    turns: int,
    forced: bool = False,
    only: str = "",
    tell: Callable[[list[dict[str, object]]], None] = lambda some: None,
) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    with quiet_session("hot", {"spark.driver.memory": "6g"}) as spark:
        paths = _tables(spark, folder / f"hot-{rows}", rows)
        with beside(spark) as ours, sorting(spark, ours):
            for session in (spark, ours):
                for name, path in paths.items():
                    session.read.parquet(path).createOrReplaceTempView(name)
            for name in only.split(",") if only else QUERIES:
                out.append(_in_turns(spark, ours, name, rows, turns, forced))
                tell(out[-1:])
    return out


def _tables(spark: SparkSession, folder: Path, rows: int) -> dict[str, str]:
    keys = max(1, rows // 30)
    key = f"CASE WHEN id % 2 = 0 THEN 7L ELSE id % {keys} END AS k"
    frames = {
        "facts": spark.range(0, rows, 1, 16).selectExpr(
            key, "CAST(hash(id) AS bigint) AS v", "CAST(id * 7 AS double) / 13 AS d"
        ),
        "names": spark.range(0, keys, 1, 4).selectExpr("id AS k", "CAST(hash(id) AS bigint) AS w"),
    }
    included = {"facts": ["v", "d"], "names": ["w"]}
    paths = {name: str(folder / name) for name in frames}
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for name, frame in frames.items():
            frame.write.parquet(paths[name])
            mi.open_table(paths[name], spark=spark).create_index(
                "by_key", mi.Covering(["k"], included[name]), builder="spark"
            )
        (folder / "made").touch()
    return paths


@contextmanager
def _taken_for_even() -> Iterator[None]:
    """The ranker takes buckets for as large as each other."""
    as_it_is = candidates.unevenness
    candidates.unevenness = lambda *given: 0.0
    try:
        yield
    finally:
        candidates.unevenness = as_it_is


def _in_turns(
    spark: SparkSession, ours: SparkSession, name: str, rows: int, turns: int, forced: bool
) -> dict[str, object]:
    found: dict[str, list[Measured]] = {"plain": [], "metaindex": []}
    with _taken_for_even() if forced else nullcontext():
        for turn in range(turns + 1):
            pair = [("plain", spark), ("metaindex", ours)]
            for peer, session in pair if turn % 2 else reversed(pair):
                found[peer].append(measured(session, QUERIES[name], each_task=True))
    same_rows(name, found)
    plain, with_ = found["plain"][1:], found["metaindex"][1:]
    pairs = list(zip(plain, with_, strict=True))
    wall, cpu = ([getattr(one, what) / getattr(two, what) for one, two in pairs] for what in ("wall", "task_cpu"))
    on_eight = [one.on_cores(Offer.CORES) / two.on_cores(Offer.CORES) for one, two in pairs]
    return {
        "hot": f"{name}, {rows:,} rows" + (", forced" if forced else ""),
        "plain wall ms": median([one.wall for one in plain]) * 1000,
        "with": median([one.wall for one in with_]) * 1000,
        "x plain": median(wall),
        "quarters": quarters(wall),
        "task CPU x plain": median(cpu),
        "CPU quarters": quarters(cpu),
        "at 8 cores x plain": median(on_eight),
        "their quarters": quarters(on_eight),
        "tasks, plain": sum(len(stage) for stage in plain[-1].tasks),
        "tasks": sum(len(stage) for stage in with_[-1].tasks),
        "indexes": with_[-1].plan.count("<metaindex "),
        "exchanges": with_[-1].exchanges,
    }


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.bench_hot", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--forced", action="store_true", help="the hot bucket costs the ranker nothing")
    parser.add_argument("--queries", default="", help=f"of {', '.join(QUERIES)}")
    add_options(parser)
    arguments = parser.parse_args()
    tell = teller("hot", arguments)
    measure(folder_of(arguments), arguments.rows, arguments.turns, arguments.forced, arguments.queries, tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
