"""Answers with few files opened: 2,000,000 rows in 500 files clustered by time, each question by metaindex, by DuckDB
and Polars over the same files, and by Spark over Parquet, Delta and Iceberg without and with `mi.enable`, in
interleaved rounds, warm. Processor time is of all threads, of Spark's JVM too, which is told to a hundredth of a
second."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import metaindex as mi
from metaindex.core import IndexExistsError
from tests.query.aggregates.lakes import opened_files

from .answers_in_spark import INDEXES, InSpark, Ways, in_spark
from .processes import cpu_seconds
from .tpch.measured import quarters

Rows = list[tuple[Any, ...]]
FILES = 500


ROUNDS = 9


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    rows = 50_000 if quick else 2_000_000
    root = str(folder / f"answers-{rows}")
    if not Path(root).exists():
        _write(root, rows)
    table = mi.open_table(root)
    for name, kind in INDEXES.items():
        with suppress(IndexExistsError):
            table.create_index(name, kind, builder="local")
    told: list[dict[str, object]] = []
    with duckdb.connect() as con, in_spark(root) as spark:
        con.execute("SET threads = 2")
        con.read_parquet(f"{root}/*.parquet").create_view("t")
        for name, one in _questions(con, table, root, rows).items():
            told += _asked(name, one, spark, 3 if quick else ROUNDS)
    return told


@dataclass(frozen=True)
class Question:
    """`ways` without Spark. `free`: any of many answers is right, and only their number is compared."""

    sql: str
    opened: int  # files, by metaindex
    ways: Ways
    free: bool = False


def _asked(name: str, one: Question, spark: InSpark, rounds: int) -> list[dict[str, object]]:
    ways = {**one.ways, **spark.ways(one.sql)}
    answers = {who: ask() for who, ask in ways.items()}
    seen = {str(len(answer) if one.free else answer) for answer in answers.values()}
    assert len(seen) == 1, (name, answers)
    taken: dict[str, list[tuple[float, float]]] = {who: [] for who in ways}
    for turn in range(rounds):
        for who, ask in list(ways.items())[:: 1 if turn % 2 else -1]:
            wall, cpu = time.perf_counter(), cpu_seconds()
            ask()
            taken[who].append((time.perf_counter() - wall, cpu_seconds() - cpu))
    return [
        {
            "question": name,
            "by": who,
            "CPU ms (median)": 1000 * statistics.median(cpu for _, cpu in pairs),
            "quarters": quarters([1000 * cpu for _, cpu in pairs]),
            "ms (median)": 1000 * statistics.median(wall for wall, _ in pairs),
            # Spark counts files that it may open, and of a LIMIT stops before it has opened all.
            "files opened": one.opened if who == "metaindex" else None if one.free else spark.opened(who, one.sql),
        }
        for who, pairs in taken.items()
    ]


def _write(root: str, rows: int) -> None:
    random = np.random.default_rng(7)
    each = rows // FILES
    scattered = random.permutation(rows)
    for file in range(FILES):
        some = range(file * each, (file + 1) * each)
        deltalake.write_deltalake(
            root,
            pa.table(
                {
                    "ts": pa.array(some, pa.int64()),
                    "day": pa.array([file // 5] * each, pa.int32()),
                    "id": scattered[file * each : (file + 1) * each],
                    "text": [f"event {i} of {file}" for i in some],
                }
            ),
            mode="append",
        )


def _questions(con: duckdb.DuckDBPyConnection, table: mi.Table, root: str, rows: int) -> dict[str, Question]:
    lake = pl.scan_parquet(f"{root}/*.parquet")
    low, high = rows // 10 + 7, rows // 2 + 7
    between = f"ts >= {low} AND ts < {high}"
    inside = (pl.col("ts") >= low) & (pl.col("ts") < high)

    def top(column: str) -> Question:
        def mine() -> Rows:
            return _tuples(table.scan(columns=[column], order_by=[(column, "desc")], limit=10).to_arrow())

        sql = f"SELECT {column} FROM t ORDER BY {column} DESC LIMIT 10"
        frame = lake.select(column).top_k(10, by=column).sort(column, descending=True)
        opened = len(table.scan(order_by=[(column, "desc")], limit=10).file_rows)
        return Question(sql, opened, peers(sql, mine, frame))

    def asked(how: dict[str, Any], sql: str, frame: pl.LazyFrame) -> Question:
        def mine() -> Rows:
            return _tuples(table.aggregate(**how).table)

        return Question(sql, table.aggregate(**how).opened, peers(sql, mine, frame))

    def joined(keys: int) -> Question:
        some = random.choice(rows, keys, replace=False)
        brought = pa.table({"id": pa.array(some, pa.int64())})
        sql = (
            f"SELECT count(*), sum(t.ts) FROM t JOIN (SELECT * FROM VALUES {', '.join(f'({key})' for key in some)}"
            " AS given(id)) AS keys ON t.id = keys.id"
        )
        frame = lake.join(pl.DataFrame(brought).lazy(), on="id", how="semi").select(pl.len(), pl.col("ts").sum())

        def mine() -> Rows:
            found = table.scan(columns=["ts"], keys=brought, on=["id"]).to_arrow()
            return [(found.num_rows, pc.sum(found.column("ts")).as_py())]

        con.register(f"keys_{keys}", brought)
        for_duckdb = f"SELECT count(*), sum(t.ts) FROM t JOIN keys_{keys} AS keys ON t.id = keys.id"
        opened = len(table.scan(keys=brought, on=["id"]).file_rows)
        return Question(sql, opened, {**peers(for_duckdb, mine, frame)})

    def peers(sql: str, mine: Callable[[], Rows], frame: pl.LazyFrame) -> Ways:
        return {
            "metaindex": mine,
            "DuckDB": lambda: con.sql(sql).fetchall(),
            "Polars": lambda: frame.collect().rows(),
        }

    def some(where: str) -> Question:
        sql = f"SELECT * FROM t WHERE {where} LIMIT 10"
        with opened_files(table) as opened:
            table.scan(where, limit=10).to_arrow()
        ways = peers(sql, lambda: _tuples(table.scan(where, limit=10).to_arrow()), lake.filter(inside).head(10))
        return Question(sql, len(opened), ways, free=True)

    random = np.random.default_rng(11)
    grouped = lake.filter(inside).group_by("day").len().sort("day")
    extremes = lake.select(pl.col("ts").min().alias("a"), pl.col("id").max().alias("b"))
    counted = lake.filter(inside).select(pl.len())
    by_day = f"SELECT day, count(*) FROM t WHERE {between} GROUP BY day ORDER BY day"
    return {
        "the 10 latest": top("ts"),
        "the 10 greatest of a scattered column": top("id"),
        "any 10 rows of a range": some(between),
        "count of a range": asked(
            {"count": True, "where": between}, f"SELECT count(*) FROM t WHERE {between}", counted
        ),
        "count by day of a range": asked({"count": True, "where": between, "group_by": ["day"]}, by_day, grouped),
        "min and max": asked({"min": ["ts"], "max": ["id"]}, "SELECT min(ts), max(id) FROM t", extremes),
        **{f"join with {keys} keys": joined(keys) for keys in (1, 10, 100)},
    }


def _tuples(table: pa.Table) -> Rows:
    return [tuple(row.values()) for row in table.to_pylist()]
