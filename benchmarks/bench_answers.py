"""Answers with few files opened: 2,000,000 rows in 500 Delta files clustered by time, each question by metaindex, and
by DuckDB and Polars over the same files, in interleaved rounds, warm. Processor time is of all threads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa

import metaindex as mi

FILES = 500
_DAY = 86_400


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    rows = 50_000 if quick else 2_000_000
    root = str(folder / f"answers-{rows}")
    if not Path(root).exists():
        _write(root, rows)
    table = mi.open_table(root)
    told: list[dict[str, object]] = []
    with duckdb.connect() as con:
        con.execute("SET threads = 2")
        con.read_parquet(f"{root}/*.parquet").create_view("t")
        for name, (opened, ways) in _questions(con, table, root, rows).items():
            answers = {who: ask() for who, ask in ways.items()}
            assert len({str(answer) for answer in answers.values()}) == 1, (name, answers)
            taken: dict[str, list[tuple[float, float]]] = {who: [] for who in ways}
            for _ in range(3 if quick else 9):
                for who, ask in ways.items():
                    wall, cpu = time.perf_counter(), time.process_time()
                    ask()
                    taken[who].append((time.perf_counter() - wall, time.process_time() - cpu))
            for who, pairs in taken.items():
                told.append(
                    {
                        "question": name,
                        "by": who,
                        "CPU ms (median)": 1000 * statistics.median(cpu for _, cpu in pairs),
                        "ms (median)": 1000 * statistics.median(wall for wall, _ in pairs),
                        "files opened": opened if who == "metaindex" else None,
                    }
                )
    return told


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
    mi.open_table(root).create_index("stats", mi.ColumnStats(), builder="local")


Ways = dict[str, Callable[[], Any]]


def _questions(con: duckdb.DuckDBPyConnection, table: mi.Table, root: str, rows: int) -> dict[str, tuple[int, Ways]]:
    lake = pl.scan_parquet(f"{root}/*.parquet")
    low, high = rows // 10 + 7, rows // 2 + 7
    between = f"ts >= {low} AND ts < {high}"
    inside = (pl.col("ts") >= low) & (pl.col("ts") < high)

    def top(column: str) -> tuple[int, Ways]:
        def mine() -> list[int]:
            rows = table.scan(columns=[column], order_by=[(column, "desc")], limit=10).to_arrow()
            return list(rows.column(0).to_pylist())

        sql = f"SELECT {column} FROM t ORDER BY 1 DESC LIMIT 10"
        frame = lake.select(column).top_k(10, by=column)
        return len(table.scan(order_by=[(column, "desc")], limit=10).file_rows), {
            "metaindex": mine,
            "DuckDB": lambda: [row[0] for row in con.sql(sql).fetchall()],
            "Polars": lambda: sorted(frame.collect()[column].to_list(), reverse=True),
        }

    def asked(how: dict[str, Any], sql: str, frame: pl.LazyFrame, width: int) -> tuple[int, Ways]:
        def mine() -> list[tuple[Any, ...]]:
            return [tuple(row.values()) for row in table.aggregate(**how).table.to_pylist()]

        return table.aggregate(**how).opened, {
            "metaindex": mine,
            "DuckDB": lambda: con.sql(sql).fetchall(),
            "Polars": lambda: [row[:width] for row in frame.collect().rows()],
        }

    grouped = lake.filter(inside).group_by("day").len().sort("day")
    extremes = lake.select(pl.col("ts").min().alias("a"), pl.col("id").max().alias("b"))
    return {
        "the 10 latest": top("ts"),
        "the 10 greatest of a scattered column": top("id"),
        "any 10 rows of a range": (
            1,
            {
                "metaindex": lambda: table.scan(between, limit=10).to_arrow().num_rows,
                "DuckDB": lambda: len(con.sql(f"SELECT * FROM t WHERE {between} LIMIT 10").fetchall()),
                "Polars": lambda: lake.filter(inside).head(10).collect().height,
            },
        ),
        "count of a range": asked(
            {"count": True, "where": between},
            f"SELECT count(*) FROM t WHERE {between}",
            lake.filter(inside).select(pl.len()),
            1,
        ),
        "count by day of a range": asked(
            {"count": True, "where": between, "group_by": ["day"]},
            f"SELECT day, count(*) FROM t WHERE {between} GROUP BY 1 ORDER BY 1",
            grouped,
            2,
        ),
        "min and max": asked({"min": ["ts"], "max": ["id"]}, "SELECT min(ts), max(id) FROM t", extremes, 2),
    }
