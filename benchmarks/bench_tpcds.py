"""TPC-DS through Spark's own SQL, tables of events by month of their day: all 99 queries by a plain session and by one
with `mi.enable`, where joins leave files out, too, in turns in one Spark. It has the indexes that `mi.recommend` names
for these queries, and statistics of every table, as `create_index` makes them where nobody says which. Rows must be
equal. `compiled ratio`: of CPU without what Java's own compilers took, which sinks as a session goes on.

`python -m benchmarks tpcds`, or `python -m benchmarks.bench_tpcds --scale 1 --turns 3 --only 3,7`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import sqlglot

import metaindex as mi
from metaindex.core import IndexExistsError

from .advise import lakes, tpcds
from .telling import Figures, add_options, folder_of, teller
from .tpch.measured import Measured, measured, median, same_rows
from .tpch.sessions import beside, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LAST_LIMIT = re.compile(r"\bLIMIT\s+\d+\s*;?\s*$", re.IGNORECASE)


def run(folder: Path, quick: bool) -> Figures:
    return measure(folder / "advise", 0.01 if quick else 1.0, 1 if quick else 3, (3, 7, 82) if quick else ())


def measure(
    folder: Path,
    scale: float,
    turns: int,
    only: Sequence[int] = (),
    warm: int = 1,
    tell: Callable[[Figures], None] = lambda some: None,
) -> Figures:
    """A line a query, as they come, and one of all; `only`: of these numbers; `warm`: so many turns are not counted."""
    root = lakes.every(folder, scale, by_month=True)
    texts = dict(enumerate(tpcds.queries(tpcds.made(folder, scale)), 1))
    tables = sorted(path for path in root.iterdir() if path.is_dir() and path.name != "_metaindex")
    out: Figures = []
    with session(folder / "tpcds-spark") as spark:
        made = _index(list(texts.values()), tables)
        tell([{"indexes": len(made), "MB": sum(made.values()) / 1e6, "tables' MB": _size(tables) / 1e6}])
        with beside(spark) as ours:
            for path in tables:
                for each in (spark, ours):
                    each.read.parquet(str(path)).createOrReplaceTempView(path.name)
            for number, text in texts.items():
                if not only or number in only:
                    out.append(
                        _in_turns(spark, ours, number, sqlglot.transpile(text, "duckdb", "spark")[0], turns, warm)
                    )
                    tell(out[-1:])
    ratios = [float(str(line["CPU ratio"])) for line in out]
    compiled = [float(str(line["compiled ratio"])) for line in out]
    whole: dict[str, object] = {
        "queries": len(out),
        "half the CPU or less": sum(ratio <= 0.5 for ratio in ratios),
        "beyond 3% slower": sum(ratio > 1.03 for ratio in ratios),
        "compiled: half": sum(ratio <= 0.5 for ratio in compiled),
        "compiled: beyond": sum(ratio > 1.03 for ratio in compiled),
        "median ratio": median(ratios),
        "CPU s plain": sum(float(str(line["plain CPU s"])) for line in out),
        "CPU s with": sum(float(str(line["with CPU s"])) for line in out),
        "MB plain": sum(float(str(line["plain MB"])) for line in out),
        "MB with": sum(float(str(line["with MB"])) for line in out),
    }
    tell([whole])
    return [*out, whole]


def _index(texts: Sequence[str], tables: Sequence[Path]) -> dict[str, int]:
    """Creates what is recommended, and statistics; the bytes of every index."""
    sizes = {}
    kept = tables[0].parent / "recommended"
    if not kept.exists():
        told = mi.recommend(list(texts), *tables)
        print(told, file=sys.stderr)
        print(told.create(), file=sys.stderr)
        kept.touch()
    for path in tables:
        table = mi.open_table(path)
        with suppress(IndexExistsError):
            table.create_index("all_statistics", mi.ColumnStats(), builder="local")
        sizes.update({f"{path.name}.{index.name}": index.size_bytes for index in table.indexes()})
    return sizes


def _size(tables: Sequence[Path]) -> int:
    return sum(file.stat().st_size for path in tables for file in path.glob("*.parquet"))


def _in_turns(
    spark: SparkSession, ours: SparkSession, number: int, text: str, turns: int, warm: int
) -> dict[str, object]:
    found: dict[str, list[Measured]] = {"plain": [], "metaindex": []}
    for turn in range(turns + warm):
        pair = [("plain", spark), ("metaindex", ours)]
        for peer, of_session in pair if turn % 2 else reversed(pair):
            found[peer].append(measured(of_session, text))
    try:
        same_rows(f"query {number}", found)
    except AssertionError:
        # Of rows that its order does not tell apart a LIMIT takes any: all of them are compared instead.
        whole = _LAST_LIMIT.sub("", text)
        assert whole != text, number
        same_rows(f"query {number}", {"plain": [measured(spark, whole)], "metaindex": [measured(ours, whole)]})
    plain, with_ = ([one.cpu for one in found[peer][warm:]] for peer in found)
    ratios = [one / other for one, other in zip(with_, plain, strict=True)]
    compiled, with_compiled = ([one.cpu - one.compiling for one in found[peer][warm:]] for peer in found)
    return {
        "query": number,
        "plain CPU s": median(plain),
        "with CPU s": median(with_),
        "CPU ratio": median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "compiled ratio": median([one / other for one, other in zip(with_compiled, compiled, strict=True)]),
        "task CPU ratio": median([one.task_cpu for one in found["metaindex"][warm:]])
        / max(median([one.task_cpu for one in found["plain"][warm:]]), 1e-9),
        "wall ratio": median([one.wall for one in found["metaindex"][warm:]])
        / median([one.wall for one in found["plain"][warm:]]),
        "plain MB": found["plain"][-1].read / 1e6,
        "with MB": found["metaindex"][-1].read / 1e6,
        "indexes": found["metaindex"][-1].plan.count("<metaindex "),
        "by joins": found["metaindex"][-1].plan.count("fewer by joins"),
        "rows": len(found["plain"][-1].rows),
    }


def main() -> int:
    parser = argparse.ArgumentParser("python -m benchmarks.bench_tpcds", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--warm", type=int, default=1, help="turns before those that are counted")
    parser.add_argument("--only", default="", help="numbers of queries, as in 3,7")
    add_options(parser)
    arguments = parser.parse_args()
    only = [int(number) for number in arguments.only.split(",") if number]
    tell = teller("tpcds", arguments)
    measure(folder_of(arguments) / "advise", arguments.scale, arguments.turns, only, arguments.warm, tell)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
