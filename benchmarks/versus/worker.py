"""What one checkout does for `benchmarks.versus`: started as a file of its own, with the checkout first on Python's
path, so that it is that checkout's metaindex and that checkout's tables of the other benchmarks. It says its questions,
then answers each that comes in with what it took, in lines of JSON.

Only what both checkouts have may be used here.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

Ask = Callable[[], dict[str, object]]
Asks = Mapping[str, Ask]

WARM = 15
BEFORE = 300
"""Look-ups that a handle which is kept has answered before."""
OF_A_SCAN = ("string in 1 to 5 files", "absent string")


@contextmanager
def planning(folder: Path, quick: bool, scale: float) -> Iterator[Asks]:
    """Which of a million files (as `scale` says) can match: in a new process, and asked again."""
    import metaindex as mi
    from benchmarks.bench_prune import QUESTIONS
    from benchmarks.synthetic import Shape, SyntheticBuilder, synthetic_table

    files, columns = 20_000 if quick else int(1_000_000 * scale), 8
    asks: dict[str, Ask] = {}
    for partitions in (1, files // 10):
        shape = Shape(files, columns, partitions)
        place = folder / f"prune-{files}-{columns}-{partitions}"
        if not (place / "made").exists():
            place.mkdir(parents=True, exist_ok=True)
            synthetic_table(str(place), shape).create_index("stats", mi.ColumnStats(), builder=SyntheticBuilder(shape))
            (place / "made").touch()
        for question in QUESTIONS:
            said = [str(place), str(files), str(columns), str(partitions), question]
            asks[f"{question}, {partitions:,} partitions"] = partial(_in_a_process, said)
    yield asks


def _in_a_process(said: list[str]) -> dict[str, object]:
    words = [sys.executable, "-P", __file__, "once", *said]
    took: dict[str, object] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    return took


def once(place: str, files: str, columns: str, partitions: str, question: str) -> None:
    """Cold is the first question of a process, after imports; warm are others of the same columns, as none is answered
    from what is remembered of one before."""
    from benchmarks.bench_prune import QUESTIONS
    from benchmarks.synthetic import Shape, synthetic_table

    try:
        from metaindex.expressions.engines.sql import parse
    except ImportError:
        from expressions.engines.sql import parse

    text = QUESTIONS[question][0]
    table = synthetic_table(place, Shape(int(files), int(columns), int(partitions)))
    took, kept = [], []
    for number in range(WARM + 1):
        predicate = parse(text.replace("500000000", str(500_000_000 + 1_000_000 * number)))
        cpu, wall = time.process_time(), time.perf_counter()
        kept.append(table.prune(predicate, version=7).kept_files)
        took.append(((time.process_time() - cpu) * 1000, (time.perf_counter() - wall) * 1000))
    cpu_ms, wall_ms = (statistics.median(one[i] for one in took[1:]) for i in (0, 1))
    times = {"CPU ms": took[0][0], "wall ms": took[0][1], "warm CPU ms": cpu_ms, "warm wall ms": wall_ms}
    print(json.dumps({"answer": kept, **times}))


@contextmanager
def needle(folder: Path, quick: bool, scale: float) -> Iterator[Asks]:
    """All columns of the rows of a value, without a JVM and through Spark; beside oracles that have no index."""
    from benchmarks.needle import _index
    from benchmarks.needle.lake import Lake
    from benchmarks.needle.local_peers import local_peers, our_peers
    from benchmarks.needle.spark_peers import our_spark_peers, session, spark_peers

    lake = Lake.of(folder, *((20, 40_000) if quick else (500, int(5_000_000 * scale))))
    lake.prepare()
    _index(lake)
    needles = lake.needles(100 + BEFORE)
    with session() as spark:
        ours = our_peers(lake) + our_spark_peers(lake, spark)
        others = [one for one in local_peers(lake) + spark_peers(lake, spark) if one.oracle]
        for peer in ours:
            for one in needles[OF_A_SCAN[0]][100 : 100 + (BEFORE if peer.held else 20)]:
                peer.find(one)
        yield {
            f"{sort}: {peer.name}": partial(_found, peer, needles[sort][:100], count())
            for sort in needles
            if sort.startswith(("string", "absent"))
            for peer in ours + (others if sort.startswith("string") else [])
        }


def _found(peer: Any, needles: list[Any], asked: Iterator[int]) -> dict[str, object]:
    from benchmarks.processes import children_cpu_seconds

    some = [needles[next(asked) % len(needles)] for _ in range(6 if peer.jvm else 20)]
    before, cpu, wall = children_cpu_seconds() if peer.jvm else 0.0, time.process_time(), time.perf_counter()
    rows = [peer.find(one) for one in some]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    cpu += children_cpu_seconds() - before if peer.jvm else 0.0
    assert rows == [one.rows for one in some], peer.name
    return {"answer": rows, "CPU ms": cpu / len(some) * 1000, "wall ms": wall / len(some) * 1000}


@contextmanager
def refresh(folder: Path, quick: bool, scale: float) -> Iterator[Asks]:
    """A refresh after a commit, of a small table and of a large one."""
    from benchmarks.bench_refresh import Lake

    sizes = (100, 2_000) if quick else (1_000, int(1_000_000 * scale))
    lakes = [Lake(folder / f"refresh-{size}", size) for size in sizes]
    changes: dict[str, Callable[[Any], None]] = {
        "add 10": Lake.add,
        "delete 10": Lake.delete,
        "deletes": Lake.mark,
        "nothing": lambda lake: None,
        "quick 10": Lake.add,
    }

    def changed(lake: Any, what: str) -> dict[str, object]:
        changes[what](lake)
        wall, cpu = lake.refresh("quick" if what == "quick 10" else "incremental")
        if what == "quick 10":
            lake.refresh("incremental")
        return {"CPU ms": cpu, "wall ms": wall}

    yield {f"{what}, {lake.files:,} files": partial(changed, lake, what) for what in changes for lake in lakes}


@contextmanager
def tpch(folder: Path, quick: bool, scale: float) -> Iterator[Asks]:
    """The queries that covering indexes are for, with the rule and plain; planning alone, of two that no index helps,
    too."""
    with _tpch(folder, quick, scale) as (spark, ours):
        yield _bounds(spark, ours) | _plannings(spark, ours)


@contextmanager
def tpch22(folder: Path, quick: bool, scale: float) -> Iterator[Asks]:
    """All 22 queries with the rule."""
    from benchmarks.tpch.queries import QUERIES

    with _tpch(folder, quick, scale) as (_, ours):
        yield {query: partial(_ran, ours, sql, False) for query, sql in QUERIES.items()}


@contextmanager
def _tpch(folder: Path, quick: bool, scale: float) -> Iterator[tuple[Any, Any]]:
    """Plain Spark, and a session with the rule, over indexed tables."""
    import metaindex as mi
    from benchmarks.spark import quiet_session
    from benchmarks.tpch.lake import INDEXES, Lake
    from benchmarks.tpch.sessions import beside

    scale = 0.01 if quick else scale
    lake = Lake(folder / f"tpch-{scale:g}-parquet", scale, "parquet")
    lake.prepare()
    conf = {"spark.driver.memory": "3g", "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false"}
    with ExitStack() as stack:
        spark = stack.enter_context(quiet_session("tpch", conf))
        for name, indexes in INDEXES.items():
            table = lake.open(spark, name)
            for index, kind in indexes.items():
                if index not in [one.name for one in table.indexes()]:
                    table.create_index(index, kind, builder="spark")
        ours = stack.enter_context(beside(spark))
        lake.views(spark)
        lake.views(ours)
        yield spark, ours
        assert not mi.spark.counts(ours).failed, mi.spark.counts(ours).last_error


def _bounds(spark: Any, ours: Any) -> dict[str, Ask]:
    from benchmarks.tpch.queries import NEEDLES, QUERIES

    asks: dict[str, Ask] = {}
    for query in ("Q6", "one week", "Q17", "lineitem-orders", "one order", "orders of a group"):
        sql = {**QUERIES, **NEEDLES}[query]
        asks |= {f"{query}, {who}": partial(_ran, of, sql, True) for who, of in (("rule", ours), ("plain", spark))}
    return asks


def _plannings(spark: Any, ours: Any) -> dict[str, Ask]:
    from benchmarks.tpch.queries import QUERIES

    queries = {
        "no index": "SELECT count(*) FROM customer JOIN nation ON c_nationkey = n_nationkey WHERE c_acctbal > 9999",
        "useless indexes": "SELECT l_comment FROM lineitem WHERE l_tax > 0.07 AND l_comment LIKE '%sleep%'",
        "Q6": QUERIES["Q6"],
        "Q17": QUERIES["Q17"],
    }
    sessions = {"rule": ours, "plain": spark}
    return {
        f"planning of {query}, {who}": partial(_planned, of, sql)
        for query, sql in queries.items()
        for who, of in sessions.items()
    }


def _ran(spark: Any, sql: str, sorting: bool) -> dict[str, object]:
    """Joins by sorting, whatever their sides; short ones several times in a row."""
    from benchmarks.tpch.measured import _rounded, measured
    from metaindex.core import SparkDriver

    with ExitStack() as stack:
        if sorting:
            stack.enter_context(SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"))
        first = measured(spark, sql)
        took = measured(spark, sql, max(1, min(20, round(0.25 / max(first.task_cpu, 1e-3))))) if sorting else first
    rows = repr(sorted(map(_rounded, took.rows), key=repr))
    return {
        "answer": hashlib.sha256(rows.encode()).hexdigest(),
        "task CPU ms": took.task_cpu * 1000,
        "CPU ms": took.cpu * 1000,
        "wall ms": took.wall * 1000,
        "indexes": took.plan.count("<metaindex "),
    }


def _planned(spark: Any, sql: str) -> dict[str, object]:
    from benchmarks.processes import cpu_seconds

    cpu, wall = cpu_seconds(), time.perf_counter()
    for _ in range(20):
        spark.sql(sql)._jdf.queryExecution().executedPlan()
    return {"CPU ms": (cpu_seconds() - cpu) / 20 * 1000, "wall ms": (time.perf_counter() - wall) / 20 * 1000}


PIECES = {"planning": planning, "needle": needle, "refresh": refresh, "tpch": tpch, "tpch22": tpch22}


def main() -> None:
    if sys.argv[1] == "once":
        once(*sys.argv[2:])
        return
    piece, folder, quick, scale = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    with PIECES[piece](Path(folder), quick == "quick", float(scale)) as asks:
        print(json.dumps(list(asks)), file=answers, flush=True)
        for line in sys.stdin:
            print(json.dumps(asks[json.loads(line)]()), file=answers, flush=True)


if __name__ == "__main__":
    main()
