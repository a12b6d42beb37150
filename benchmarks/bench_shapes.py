"""Files of three shapes, as people write them: row groups of 2,500, 122,880 and 1,000,000 rows.

A look-up that finds one row, one that finds a row in some of the files, and a GROUP BY of everything: by each way to
read a scan, by pyarrow, DuckDB and Polars told the right files, and by engines without any index. CPU of this process,
medians of interleaved rounds, warm; ratios to the best of those who are given them and of those without an index.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import metaindex as mi

SHAPES = ((2_500, 25_000, 40), (122_880, 491_520, 8), (1_000_000, 4_000_000, 3))
"""Rows of a row group, rows of a file, files."""
QUICK = ((2_500, 10_000, 4), (20_000, 20_000, 4))

Ask = Callable[[], int]


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    figures: list[dict[str, object]] = []
    for group, rows, files in QUICK if quick else SHAPES:
        root = folder / f"shapes-{group}-{rows}-{files}"
        if not root.exists():
            write_shape(root, group, rows, files)
        table = mi.open_table(str(root))
        sizes = sorted(file.stat().st_size for file in root.glob("*.parquet"))
        shape = f"{files} files of {sizes[-1] / 1e6:.1f} MB, row groups of {group:,}"
        with duckdb.connect() as con:
            con.execute("SET threads = 2")
            for name, ways in _questions(con, table, root, rows).items():
                figures += [{"files": shape, "query": name} | figure for figure in _measured(ways, 3 if quick else 9)]
    return figures


def write_shape(
    root: Path, group: int, rows: int, files: int, write: Callable[[pa.Table, Path, int], None] | None = None
) -> None:
    """Write a folder of such files, by pyarrow if no other writer is given, and index it."""
    root.mkdir(parents=True)
    random = np.random.default_rng(7)
    for file in range(files):
        ids = random.permutation(rows) + file * rows
        seen = random.integers(0, 2 * rows, rows)  # two of five files have one of them
        kinds = np.array(["a", "b", "c", "d"])[random.integers(0, 4, rows)]
        urls = np.char.add("https://example.org/item/", ids.astype(str))
        columns = {"id": ids, "seen": seen, "kind": kinds, "v": random.random(rows), "url": pa.array(urls)}
        path = root / f"{file}.parquet"
        if write is None:
            pq.write_table(pa.table(columns), path, row_group_size=group)
        else:
            write(pa.table(columns), path, group)
    mi.open_table(str(root)).create_index("find", mi.Values("id"), mi.Values("seen"), builder="local")


def _questions(
    con: duckdb.DuckDBPyConnection, table: mi.Table, root: Path, rows: int
) -> dict[str, dict[str, dict[str, Ask]]]:
    every = [str(file) for file in sorted(root.glob("*.parquet"))]
    scan = table.scan()
    scan.to_duckdb(con).create_view(f"view_{rows}")
    frame, dataset = scan.to_polars(), scan.to_dataset()

    def find(column: str, value: int) -> dict[str, dict[str, Ask]]:
        kept = [path.removeprefix("file://") for path in table.prune(f"{column} = {value}").paths]
        text, is_it = f"SELECT * FROM {{}} WHERE {column} = {value}", pl.col(column) == value

        def sql(of: str) -> Ask:
            return lambda: con.sql(text.format(of)).to_arrow_table().num_rows

        def pyarrow(of: list[str]) -> Ask:
            return lambda: ds.dataset(of).to_table(filter=pc.field(column) == value).num_rows

        def polars(of: list[str]) -> Ask:
            return lambda: pl.scan_parquet(of).filter(is_it).collect().height

        return {
            "told the files": {
                "pyarrow": pyarrow(kept),
                "DuckDB": sql(f"read_parquet({kept})"),
                "Polars": polars(kept),
            },
            "without an index": {"DuckDB": sql(f"read_parquet({every})"), "Polars": polars(every)},
            "metaindex": {
                "to_arrow": lambda: table.scan(f"{column} = {value}").to_arrow().num_rows,
                "to_duckdb": sql(f"view_{rows}"),
                "to_polars": lambda: frame.filter(is_it).collect().height,
                "to_dataset": lambda: dataset.to_table(filter=pc.field(column) == value).num_rows,
            },
        }

    grouped = "SELECT kind, count(*), sum(v) FROM {} GROUP BY kind"
    sums = (pl.len(), pl.col("v").sum())
    return {
        "one row": find("id", rows // 3),
        "a row in some of the files": find("seen", 4711),
        "GROUP BY of everything": {
            "without an index": {
                "DuckDB": lambda: len(con.sql(grouped.format(f"read_parquet({every})")).fetchall()),
                "Polars": lambda: pl.scan_parquet(every).group_by("kind").agg(*sums).collect().height,
            },
            "metaindex": {
                "to_duckdb": lambda: len(con.sql(grouped.format(f"view_{rows}")).fetchall()),
                "to_polars": lambda: frame.group_by("kind").agg(*sums).collect().height,
            },
        },
    }


def _measured(ways: dict[str, dict[str, Ask]], rounds: int) -> list[dict[str, object]]:
    asks = {(who, by): ask for who, some in ways.items() for by, ask in some.items()}
    assert len({ask() for ask in asks.values()}) == 1, "all of them have the same rows"
    cpu: dict[tuple[str, str], list[float]] = {way: [] for way in asks}
    for _ in range(rounds):
        for way, ask in asks.items():
            started = time.process_time()
            ask()
            cpu[way].append(1000 * (time.process_time() - started))
    medians = {way: statistics.median(taken) for way, taken in cpu.items()}
    best = {who: min(ms for (of, _), ms in medians.items() if of == who) for who in ways}
    return [
        {
            "by": f"{who}, {by}",
            "CPU ms (median)": ms,
            "min": min(cpu[who, by]),
            "of the best told": ms / best["told the files"] if "told the files" in best else None,
            "of the best without": ms / best["without an index"],
        }
        for (who, by), ms in medians.items()
    ]
