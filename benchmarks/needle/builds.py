"""What building an index costs, and how large it is: each kind, by the local builder and by Spark, beside scans of the
column that is keyed; a refresh of one new file in a hundred; many keys asked at once."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

import metaindex as mi
from benchmarks.processes import cpu_seconds

from .lake import ACCOUNTS, Lake, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS: dict[str, tuple[str, Any]] = {
    "values of strings, by hash": ("event_id", mi.Values("event_id")),
    "values of unique longs, by hash": ("record_id", mi.Values("record_id")),
    "values of accounts, by hash": ("account_id", mi.Values("account_id")),
    "values of strings, by value": ("event_id", mi.Values("event_id", by="value")),
    "values of unique longs, by value": ("record_id", mi.Values("record_id", by="value")),
    "bloom filters of strings, 1%": ("event_id", mi.Bloom("event_id", fpp=0.01)),
    "bloom filters of strings, 0.1%": ("event_id", mi.Bloom("event_id", fpp=0.001)),
    "value lists of countries": ("country", mi.ValueList("country")),
}
_OF_EVERY_INDEX = ("files", "file_ids", "partitions")
_AT_ONCE = 100_000


def builds(
    lake: Lake, spark: SparkSession | None, times: int, kinds: Sequence[str] = tuple(KINDS)
) -> list[dict[str, object]]:
    """The figures. Builds and scans are taken in turns; each build starts with nothing."""
    steps: dict[str, Callable[[], object]] = {}
    columns = list(dict.fromkeys(KINDS[name][0] for name in kinds))
    for column in columns:
        steps[f"scan of {column}, pyarrow"] = lambda column=column: _scan(lake, column)  # type: ignore[misc]
        if spark is not None:
            steps[f"scan of {column}, Spark"] = lambda column=column: _spark_scan(lake, spark, column)  # type: ignore[misc]
    for name in kinds:
        for builder in ("local", "spark") if spark is not None else ("local",):
            steps[f"{name}, {builder}"] = lambda name=name, builder=builder: _build(lake, spark, name, builder)  # type: ignore[misc]
    if spark is not None:  # a warm JVM and warm workers
        for column in columns:
            _spark_scan(lake, spark, column)
        _build(lake, spark, kinds[0], "spark")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for _ in range(times):
        for name, step in steps.items():
            cpu, wall = cpu_seconds(), time.perf_counter()
            step()
            wall = time.perf_counter() - wall
            found[name].append((cpu_seconds() - cpu, wall))
            print(f"{name}: CPU {found[name][-1][0]:.2f} s, wall {wall:.2f} s", file=sys.stderr)
    out = []
    for name, took in found.items():
        kind, _, builder = name.rpartition(", ")
        figure = _figure(name, took)
        if kind in KINDS:
            figure |= _sizes(lake, kind, builder, took, found)
        out.append(figure)
    return out + _refresh(lake, times) + _many_keys(lake, kinds)


def _figure(name: str, took: Sequence[tuple[float, float]]) -> dict[str, object]:
    cpu, wall = ([one[i] for one in took] for i in (0, 1))
    return {
        "build": name,
        "CPU s": statistics.median(cpu),
        "min": min(cpu),
        "max": max(cpu),
        "wall s": statistics.median(wall),
        "x scan": "",
        "entries": "",
        "CPU us an entry": "",
        "bytes an entry": "",
        "% of data": "",
    }


def _sizes(
    lake: Lake,
    kind: str,
    builder: str,
    took: Sequence[tuple[float, float]],
    found: dict[str, list[tuple[float, float]]],
) -> dict[str, object]:
    column = KINDS[kind][0]
    scan = found[f"scan of {column}, {'Spark' if builder == 'spark' else 'pyarrow'}"]
    cpu = statistics.median(one[0] for one in took)
    size = _bytes(_place(lake) / _name(kind, builder))
    entries = keyed_rows(lake, column)
    return {
        "x scan": cpu / statistics.median(one[0] for one in scan),
        "entries": entries,
        "CPU us an entry": cpu * 1e6 / entries,
        "bytes an entry": size / entries,
        "% of data": 100 * size / lake.size_bytes,
    }


def keyed_rows(lake: Lake, column: str) -> int:
    """Values of a column, each once a row group in which it stands: of 10 countries each is in every row group."""
    match column:
        case "record_id":
            return lake.rows
        case "country":
            return 10 * lake.files
        case _:
            of = lake.events if column == "event_id" else lake.accounts
            return len(np.unique(np.arange(lake.rows) // lake.group_rows * (max(ACCOUNTS, lake.rows) + 1) + of))


def _place(lake: Lake) -> Path:
    return lake.parquet.parent / "_metaindex" / lake.parquet.name


def _name(kind: str, builder: str) -> str:
    return "build-" + "".join(c if c.isalnum() else "-" for c in f"{kind}-{builder}")


def _bytes(index: Path) -> int:
    """Of the rows of keys."""
    kinds = [kind for kind in index.iterdir() if not kind.name.startswith("_") and kind.name not in _OF_EVERY_INDEX]
    return sum(path.stat().st_size for kind in kinds for path in kind.rglob("*") if path.is_file())


def _scan(lake: Lake, column: str) -> None:
    for path in lake.paths(lake.parquet):
        pq.ParquetFile(path).read(columns=[column], use_threads=False)


def _spark_scan(lake: Lake, spark: SparkSession, column: str) -> None:
    spark.read.parquet(str(lake.parquet)).select(column).write.format("noop").mode("overwrite").save()


def _build(lake: Lake, spark: SparkSession | None, kind: str, builder: str) -> None:
    name = _name(kind, builder)
    shutil.rmtree(_place(lake) / name, ignore_errors=True)
    mi.open_table(str(lake.parquet), spark=spark).create_index(name, KINDS[kind][1], builder=builder)  # type: ignore[arg-type]


def _refresh(lake: Lake, times: int) -> list[dict[str, object]]:
    """The inverted index of the three keys: built whole, and refreshed after one file in a hundred came. The files are
    those with bloom filters by other names: a link more or less changes a file's time of change, so that an index which
    is kept over the others would take them for new."""
    folder = lake.folder / "growing"
    root, added = folder / "lake", max(1, lake.files // 100)
    whole, refreshed = [], []
    for _ in range(times):
        shutil.rmtree(folder, ignore_errors=True)
        root.mkdir(parents=True)
        for file in range(lake.files):
            os.link(lake.with_bloom / lake.name(file), root / lake.name(file))
        for step in (whole, refreshed):
            cpu, wall = cpu_seconds(), time.perf_counter()
            table = mi.open_table(str(root))
            if step is whole:
                table.create_index("keys", mi.Values("record_id", "event_id", "account_id"), builder="local")
            else:
                table.refresh_index("keys", builder="local")
            wall = time.perf_counter() - wall
            step.append((cpu_seconds() - cpu, wall))
            if step is whole:
                for file in range(added):
                    os.link(lake.with_bloom / lake.name(file), root / f"new-{file:05d}.parquet")
    out = [
        _figure("three keys by hash, built whole", whole),
        _figure("three keys by hash, refresh of 1% new files", refreshed),
    ]
    out[1]["x scan"] = statistics.median(t[0] for t in refreshed) / statistics.median(t[0] for t in whole)
    return out


def _many_keys(lake: Lake, kinds: Sequence[str]) -> list[dict[str, object]]:
    """Half of the keys are there. Asked in turns: by hash of the index that is kept, by value of those that were built
    here."""
    numbers = np.random.default_rng(17).choice(lake.rows // 6, min(_AT_ONCE, lake.rows // 6) // 2, replace=False)
    strings = texts(numbers, 1).to_pylist() + texts(numbers, 2).to_pylist()
    longs = [*lake.records(numbers), *lake.records(numbers + lake.rows)]
    count = f"{len(strings):,}"
    asked = {f"{count} keys looked up at once": ("event_id", strings, "needle")}
    asked[f"{count} longs looked up at once, by hash"] = ("record_id", longs, "needle")
    for name, values in (("strings", strings), ("unique longs", longs)):
        if (kind := f"values of {name}, by value") in kinds:
            index = _name(kind, "local")
            asked[f"{count} {name} looked up at once, by value"] = (KINDS[kind][0], values, index)
    table = mi.open_table(str(lake.parquet))
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(5):
        for name, (column, values, index) in asked.items():
            cpu, wall = cpu_seconds(), time.perf_counter()
            table.prune(mi.col(column).isin(values), indexes=[index])
            wall = time.perf_counter() - wall
            took[name].append((cpu_seconds() - cpu, wall))
    return [_figure(name, some) for name, some in took.items()]
