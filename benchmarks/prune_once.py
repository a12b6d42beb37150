"""One cold reader and its warm successors, in a process of its own: `python -m benchmarks.prune_once ours|duckdb FOLDER
FILES COLUMNS PARTITIONS QUESTION`."""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from .synthetic import Shape, synthetic_table

WARM, OPENED = 15, 9
Ways: TypeAlias = tuple[Callable[[], int], Callable[[], dict[str, float]], Callable[[], float]]
"""A question, what it read, and the CPU ms of the question by a table or connection that is opened for it."""


def main() -> None:
    who, folder, files, columns, partitions, question = sys.argv[1:]
    shape = Shape(int(files), int(columns), int(partitions))
    ask, facts, anew = (_ours if who == "ours" else _duckdb)(folder, shape, question)
    times, cpu = [], []
    kept = 0
    for _ in range(WARM + 1):
        started, used = time.perf_counter(), time.process_time()
        kept = ask()
        times.append((time.perf_counter() - started) * 1000)
        cpu.append((time.process_time() - used) * 1000)
        if len(times) == 1:
            first = facts()
    peak = _peak_mb()
    opened = [anew() for _ in range(OPENED)]
    print(
        json.dumps(
            {
                "kept": kept,
                "cold_ms": times[0],
                "cold_cpu_ms": cpu[0],
                "warm_ms": statistics.median(times[1:]),
                "opened_cpu_ms": statistics.median(opened),
                "peak_mb": peak,
                **first,
            }
        )
    )


def _peak_mb() -> float:
    """The most memory that this process held; `ru_maxrss` would begin with what the process held that started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) / 1000 if found else float("nan")


def _ours(folder: str, shape: Shape, question: str) -> Ways:
    from metaindex.expressions import to_predicate

    from .bench_prune import QUESTIONS

    predicate = to_predicate(QUESTIONS[question][0])
    table = synthetic_table(folder, shape)
    last = []
    first: dict[str, float] = {}

    def ask() -> int:
        last[:] = [table.prune(predicate, version=7)]
        return last[0].kept_files

    def facts() -> dict[str, float]:
        first.update(reads=last[0].indexes[0].reads, bytes=last[0].indexes[0].bytes_read)
        return first

    def anew() -> float:
        opened = synthetic_table(folder, shape)
        used = time.process_time()
        found = opened.prune(predicate, version=7)
        taken = (time.process_time() - used) * 1000
        assert found.indexes[0].reads == first["reads"], "something was read before"
        return taken

    return ask, facts, anew


def _duckdb(folder: str, shape: Shape, question: str) -> Ways:
    import duckdb

    from metaindex.index.keys import column_id

    from .bench_prune import QUESTIONS

    text, names = QUESTIONS[question]
    index = Path(folder) / "_metaindex" / "stats"
    (statistics_,) = index.glob("column_stats/*")
    (files,) = index.glob("files/*")
    conditions = {name: _condition(name, text, shape) for name in names}
    parts = [
        f"SELECT ordinal FROM read_parquet('{statistics_}/*.mix')"
        f" WHERE column_id = {column_id(name)} AND (state = 0 OR ({condition}))"
        for name, condition in conditions.items()
    ]
    query = f"SELECT path, size_bytes FROM read_parquet('{files}/*.mix') WHERE ordinal IN ({' INTERSECT '.join(parts)})"

    def connected() -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute("SET enable_object_cache = true")
        return connection

    def anew() -> float:
        used = time.process_time()
        connected().execute(query).fetchall()
        return (time.process_time() - used) * 1000

    connection = connected()
    return lambda: len(connection.execute(query).fetchall()), dict, anew


def _condition(name: str, text: str, shape: Shape) -> str:
    """The bounds test that the question means for one column, by hand."""
    type_ = str(shape.schema.arrow().field(name).type)
    low, high = {"int64": ("lower_int", "upper_int"), "double": ("lower_double", "upper_double")}.get(
        type_, ("lower_bytes", "upper_bytes")
    )
    tests = []
    for conjunct in text.split(" AND "):
        column, op, value = conjunct.split(" ")
        if column != name:
            continue
        if type_ == "string":
            value = f"{value}::BLOB"
        tests += {
            "=": [f"{low} <= {value}", f"{high} >= {value}"],
            ">=": [f"{high} >= {value}"],
            "<": [f"{low} < {value}"],
        }[op]
    return " AND ".join(tests)


if __name__ == "__main__":
    main()
