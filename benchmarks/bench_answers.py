"""Answers with few files opened: 2,000,000 rows or more in files of a shape, clustered by time; each question by
metaindex, by DuckDB and Polars over the same files and told the files that metaindex opens, in interleaved rounds,
warm. Over files of 1 MB by Spark, too, on Parquet, Delta and Iceberg without and with `mi.enable`. Processor time is of
all threads, of Spark's JVM too, which is told to a hundredth of a second."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
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
from .shape import SHAPES, Shape
from .tpch.measured import quarters

Rows = list[tuple[Any, ...]]
ByPolars = Callable[[pl.LazyFrame], pl.LazyFrame]
ROWS, ROW_BYTES = 2_000_000, 28
ROUNDS = 9


def run(folder: Path, quick: bool, shape: Shape) -> list[dict[str, object]]:
    files, each = shape.files_of(ROWS, ROW_BYTES, quick)
    rows = files * each
    root = str(folder / f"answers-{shape.group_rows}-{each}-{files}")
    if not Path(root).exists():
        _write(root, files, each, shape.group_rows)
    table = mi.open_table(root)
    for name, kind in INDEXES.items():
        with suppress(IndexExistsError):
            table.create_index(name, kind, builder="local")
    told: list[dict[str, object]] = []
    beside = in_spark(root) if shape == SHAPES["small"] else nullcontext()
    with duckdb.connect() as con, beside as spark:
        con.execute("SET threads = 2")
        con.read_parquet(f"{root}/*.parquet").create_view("t")
        for name, one in _questions(con, table, root, rows).items():
            told += _asked(f"{name}, {files} files", one, spark, 3 if quick else ROUNDS)
    return told


@dataclass(frozen=True)
class Question:
    """`ways` without Spark. `free`: any of many answers is right, and only their number is compared."""

    sql: str
    opened: int  # files, by metaindex
    ways: Ways
    free: bool = False


def _asked(name: str, one: Question, spark: InSpark | None, rounds: int) -> list[dict[str, object]]:
    ways = {**one.ways, **(spark.ways(one.sql) if spark is not None else {})}
    answers = {who: ask() for who, ask in ways.items()}
    seen = {str(len(answer) if one.free else answer) for answer in answers.values()}
    assert len(seen) == 1, (name, answers)
    taken: dict[str, list[tuple[float, float]]] = {who: [] for who in ways}
    used = time.process_time if spark is None else cpu_seconds
    for turn in range(rounds):
        for who, ask in list(ways.items())[:: 1 if turn % 2 else -1]:
            wall, cpu = time.perf_counter(), used()
            ask()
            taken[who].append((time.perf_counter() - wall, used() - cpu))
    return [
        {
            "question": name,
            "by": who,
            "CPU ms (median)": 1000 * statistics.median(cpu for _, cpu in pairs),
            "quarters": quarters([1000 * cpu for _, cpu in pairs]),
            "ms (median)": 1000 * statistics.median(wall for wall, _ in pairs),
            # Spark counts files that it may open, and of a LIMIT stops before it has opened all.
            "files opened": one.opened
            if who == "metaindex"
            else None
            if one.free or spark is None
            else spark.opened(who, one.sql),
        }
        for who, pairs in taken.items()
    ]


def _write(root: str, files: int, each: int, group: int) -> None:
    random = np.random.default_rng(7)
    scattered = random.permutation(files * each)
    how = deltalake.WriterProperties(max_row_group_size=group)
    for file in range(files):
        some = np.arange(file * each, (file + 1) * each)
        columns = {
            "ts": some,
            "day": (some * 100 // (files * each)).astype(np.int32),
            "id": scattered[some],
            "text": np.char.add("event ", some.astype(str)),
        }
        deltalake.write_deltalake(
            root,
            pa.table({name: pa.array(column) for name, column in columns.items()}),
            mode="append",
            writer_properties=how,
            target_file_size=1 << 40,
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
        return told(sql, mine, lambda of: of.select(column).top_k(10, by=column).sort(column, descending=True))

    def asked(how: dict[str, Any], sql: str, by_polars: ByPolars) -> Question:
        def mine() -> Rows:
            return _tuples(table.aggregate(**how).table)

        return Question(sql, table.aggregate(**how).opened, peers(sql, mine, by_polars))

    def joined(keys: int) -> Question:
        some = random.choice(rows, keys, replace=False)
        brought = pa.table({"id": pa.array(some, pa.int64())})
        sql = (
            f"SELECT count(*), sum(t.ts) FROM t JOIN (SELECT * FROM VALUES {', '.join(f'({key})' for key in some)}"
            " AS given(id)) AS keys ON t.id = keys.id"
        )

        def by_polars(of: pl.LazyFrame) -> pl.LazyFrame:
            return of.join(pl.DataFrame(brought).lazy(), on="id", how="semi").select(pl.len(), pl.col("ts").sum())

        def mine() -> Rows:
            found = table.scan(columns=["ts"], keys=brought, on=["id"]).to_arrow()
            return [(found.num_rows, pc.sum(found.column("ts")).as_py())]

        con.register(f"keys_{keys}", brought)
        for_duckdb = f"SELECT count(*), sum(t.ts) FROM t JOIN keys_{keys} AS keys ON t.id = keys.id"
        return replace(told(for_duckdb, mine, by_polars), sql=sql)

    def peers(sql: str, mine: Callable[[], Rows], by_polars: ByPolars, files: list[str] | None = None) -> Ways:
        """Engines over all files, or over some."""
        frame = by_polars(lake if files is None else pl.scan_parquet(files))
        over = sql if files is None else sql.replace("FROM t", f"FROM read_parquet({files}) AS t", 1)
        of = "" if files is None else ", told the files"
        return {
            "metaindex": mine,
            f"DuckDB{of}": lambda: con.sql(over).fetchall(),
            f"Polars{of}": lambda: frame.collect().rows(),
        }

    def told(sql: str, mine: Callable[[], Rows], by_polars: ByPolars, *, free: bool = False) -> Question:
        """A question whose answer is in the files that metaindex opens."""
        with opened_files(table) as opened:
            mine()
        files = [os.path.join(root, path) for path in dict.fromkeys(opened)]
        ways = {**peers(sql, mine, by_polars), **peers(sql, mine, by_polars, files)}
        return Question(sql, len(files), ways, free)

    def some(where: str) -> Question:
        def mine() -> Rows:
            return _tuples(table.scan(where, limit=10).to_arrow())

        return told(f"SELECT * FROM t WHERE {where} LIMIT 10", mine, lambda of: of.filter(inside).head(10), free=True)

    random = np.random.default_rng(11)
    by_day = f"SELECT day, count(*) FROM t WHERE {between} GROUP BY day ORDER BY day"
    return {
        "the 10 latest": top("ts"),
        "the 10 greatest of a scattered column": top("id"),
        "any 10 rows of a range": some(between),
        "count of a range": asked(
            {"count": True, "where": between},
            f"SELECT count(*) FROM t WHERE {between}",
            lambda of: of.filter(inside).select(pl.len()),
        ),
        "count by day of a range": asked(
            {"count": True, "where": between, "group_by": ["day"]},
            by_day,
            lambda of: of.filter(inside).group_by("day").len().sort("day"),
        ),
        "min and max": asked(
            {"min": ["ts"], "max": ["id"]},
            "SELECT min(ts), max(id) FROM t",
            lambda of: of.select(pl.col("ts").min().alias("a"), pl.col("id").max().alias("b")),
        ),
        **{f"join with {keys} keys": joined(keys) for keys in (1, 10, 100)},
    }


def _tuples(table: pa.Table) -> Rows:
    return [tuple(row.values()) for row in table.to_pylist()]
