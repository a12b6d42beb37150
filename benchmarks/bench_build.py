"""Statistics of real Parquet files: 2,000 files of 20 columns.

Three steps of reading footers, in CPU microseconds a file, interleaved: merely opening them, plain pyarrow accessors
over all columns, ours with every check. Then an index built by the local builder and by the Spark pipeline, in CPU
seconds of all processes that work for it (the JVM and its Python workers included), in a warm session.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.formats import Footer
from metaindex.storage import LocalStorage
from metaindex.table import handle_of

from .processes import cpu_seconds

COLUMNS = 20


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    files = 200 if quick else 2_000
    root = folder / f"build-{files}" / "lake"
    if not root.exists():
        _write(root, files)
    figures: list[dict[str, object]] = []
    table = mi.open_table(str(root))
    snapshot = table.snapshot()
    paths = snapshot.files.paths.to_pylist()
    storage = LocalStorage(str(root))
    leaves = snapshot.schema.leaves()
    steps: dict[str, Callable[[], object]] = {
        "open footers": lambda: [pq.read_metadata(root / path) for path in paths],
        "plain accessors": lambda: [_accessors(pq.read_metadata(root / path)) for path in paths],
        "footer statistics, ours": lambda: Footer.of_files(storage, paths, leaves),
    }
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(2 if quick else 5):
        for name, step in steps.items():
            started = time.process_time()
            step()
            found[name].append((time.process_time() - started) * 1e6 / files)
    base = statistics.median(found["open footers"])
    for name, times in found.items():
        figures.append(_figure(name, "CPU us a file", times, statistics.median(times) / base))

    times = [_build(table, root, "local") for _ in range(1 if quick else 3)]
    local = statistics.median(times)
    figures.append(_figure(f"index of {files:,} files, local", "CPU s", times, 1.0))
    from metaindex.spark import spark_session

    session = spark_session(
        "benchmark", master="local[2]", conf={"spark.ui.enabled": "false", "spark.log.level": "ERROR"}
    )
    try:
        table = mi.open_table(str(root), spark=session)
        _build(table, root, "spark")  # a warm JVM and warm workers
        times = [_build(table, root, "spark") for _ in range(1 if quick else 3)]
    finally:
        session.stop()
    figures.append(_figure(f"index of {files:,} files, Spark", "CPU s", times, statistics.median(times) / local))
    return figures


def _figure(name: str, unit: str, times: list[float], ratio: float) -> dict[str, object]:
    return {
        "step": name,
        "unit": unit,
        "median": statistics.median(times),
        "min": min(times),
        "max": max(times),
        "ratio": ratio,
    }


def _write(root: Path, files: int) -> None:
    print(f"writing {files:,} Parquet files", file=sys.stderr)
    root.mkdir(parents=True)
    generator = np.random.default_rng(7)
    rows = 500
    for number in range(files):
        columns: dict[str, pa.Array] = {}
        for column in range(COLUMNS):
            values = generator.integers(number * 1000, number * 1000 + 5000, rows)
            kind = column % 5
            columns[f"c{column:02d}"] = (
                pa.array(values.astype("U"))
                if kind == 0
                else pa.array(values / 7)
                if kind == 1
                else pa.array(values, pa.timestamp("us"))
                if kind == 2
                else pa.array(values)
            )
        pq.write_table(pa.table(columns), root / f"{number:06d}.parquet")
    then = time.time_ns() - 60 * 10**9
    for path in root.iterdir():
        os.utime(path, ns=(then, then))


def _accessors(metadata: pq.FileMetaData) -> list[object]:
    out: list[object] = []
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for column in range(metadata.num_columns):
            found = row_group.column(column).statistics
            if found is not None and found.has_min_max:
                out.append((found.min, found.max, found.null_count))
    return out


def _build(table: mi.Table, root: Path, builder: str) -> float:
    shutil.rmtree(root.parent / "_metaindex", ignore_errors=True)
    started = cpu_seconds()
    mi.open_table(str(root), spark=handle_of(table).spark).create_index("stats", mi.ColumnStats(), builder=builder)
    return cpu_seconds() - started
