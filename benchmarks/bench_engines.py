"""The WHERE of an engine's own query over a scan of 2,000,000 rows in 100 Delta files: pushed to the indexes, held back
(as it was before filters were pushed), and by the engine's own scan of the files; and the sum of one column, where
nothing can be left out. Medians of interleaved rounds, warm."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import deltalake
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

import metaindex as mi

FILES = 100


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    rows = 100_000 if quick else 2_000_000
    root = str(folder / f"engines-{rows}")
    if not Path(root).exists():
        _write(root, rows)
    table = mi.open_table(root)
    wanted = rows // 2
    found: list[dict[str, object]] = []
    with duckdb.connect() as con:
        con.execute("SET threads = 2")
        questions = _questions(con, table, f"{root}/*.parquet", wanted)
        answers = {name: {who: ask() for who, ask in ways.items()} for name, ways in questions.items()}
        for name, ways in questions.items():
            assert len({round(float(answer), 3) for answer in answers[name].values()}) == 1, answers[name]
            times: dict[str, list[float]] = {who: [] for who in ways}
            for _ in range(3 if quick else 9):
                for who, ask in ways.items():
                    started = time.perf_counter()
                    ask()
                    times[who].append(1000 * (time.perf_counter() - started))
            for who, taken in times.items():
                found.append(
                    {
                        "query": name,
                        "by": who,
                        "ms (median)": statistics.median(taken),
                        "min": min(taken),
                        "max": max(taken),
                    }
                )
    return found


def _write(root: str, rows: int) -> None:
    random = np.random.default_rng(7)
    users = random.permutation(rows)
    whole = pa.table({"user": users, "score": random.random(rows), "name": [f"name {i}" for i in users]})
    each = rows // FILES
    for file in range(FILES):
        deltalake.write_deltalake(root, whole.slice(file * each, each), mode="append")
    mi.open_table(root).create_index("find", mi.ColumnStats(), mi.Values("user"), builder="local")


def _questions(
    con: duckdb.DuckDBPyConnection, table: mi.Table, files: str, wanted: int
) -> dict[str, dict[str, Callable[[], float]]]:
    scan = table.scan()
    scan.to_duckdb(con).create_view("pushed")
    con.from_arrow(scan).create_view("held_back")  # a stream takes no filters
    con.read_parquet(files).create_view("own")
    lake, own = scan.to_polars(), pl.scan_parquet(files)
    dataset, own_dataset = scan.to_dataset(), ds.dataset(table.prune(True).paths)

    def sql(text: str, view: str) -> Callable[[], float]:
        return lambda: float(con.sql(text.format(view)).fetchall()[0][0])

    def lazy(frame: pl.LazyFrame, expression: pl.Expr, where: pl.Expr | None) -> Callable[[], float]:
        return lambda: float((frame if where is None else frame.filter(where)).select(expression).collect().item())

    one = f'SELECT sum(score) FROM {{}} WHERE "user" = {wanted}'
    every = "SELECT sum(score) FROM {}"
    score, mine = pl.col("score").sum(), pl.col("user") == wanted
    condition = pc.field("user") == wanted

    def summed(of: ds.Dataset) -> Callable[[], float]:
        return lambda: float(pc.sum(of.to_table(columns=["score"], filter=condition)["score"]).as_py())

    return {
        "one user, DuckDB": {
            "filter pushed": sql(one, "pushed"),
            "held back": sql(one, "held_back"),
            "own scan": sql(one, "own"),
        },
        "one user, Polars": {"filter pushed": lazy(lake, score, mine), "own scan": lazy(own, score, mine)},
        "one user, pyarrow": {"filter pushed": summed(dataset), "own scan": summed(own_dataset)},
        "all of a column, DuckDB": {
            "columns pushed": sql(every, "pushed"),
            "held back": sql(every, "held_back"),
            "own scan": sql(every, "own"),
        },
        "all of a column, Polars": {"columns pushed": lazy(lake, score, None), "own scan": lazy(own, score, None)},
    }  # fmt: skip
