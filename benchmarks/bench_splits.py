"""One row of files with large row groups, through Spark's own SQL: plain, told the right file, told the row group (a
file of its own), and by a session with `mi.enable`; over a folder of Parquet, Delta and Iceberg. CPU of tasks and wall
time, medians of interleaved turns, warm, and megabytes that the tasks read (Iceberg's readers do not count theirs)."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi

from .tpch.measured import Measured, measured
from .tpch.sessions import beside, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPES = ((122_880, 1_966_080), (1_000_000, 4_000_000), (4_000_000, 8_000_000))
"""Rows of a row group and of a file, of which there are two: row groups of 3, 22 and 87 MB."""
QUICK = ((30_000, 120_000),)
TURNS, WARM = 7, 2
BYTES = 26  # of a row, about


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    with session(folder) as spark, beside(spark) as ours:
        for group, rows in QUICK if quick else SHAPES:
            root = folder / f"splits-{group}-{rows}"
            if not root.exists():
                _write(spark, root, group, rows)
            found += _asked(spark, ours, root, group, 3 if quick else TURNS)
    return found


def _write(spark: SparkSession, root: Path, group: int, rows: int) -> None:
    draft = root.with_suffix(".draft")
    shutil.rmtree(draft, ignore_errors=True)
    random = np.random.default_rng(7)
    for file in range(2):
        ids = random.permutation(rows) * 2 + file
        kinds = np.array(["a", "b", "c", "d"])[random.integers(0, 4, rows)]
        urls = pa.array(np.char.add("https://example.org/item/", ids.astype(str)))
        columns = pa.table({"id": ids, "kind": kinds, "v": random.random(rows), "url": urls})
        for where in ("parquet", "delta"):
            (draft / where).mkdir(parents=True, exist_ok=True)
            pq.write_table(columns, draft / where / f"{file}.parquet", row_group_size=group)
        if file == 0:
            (draft / "alone").mkdir()
            pq.write_table(columns.slice(rows // group // 2 * group, group), draft / "alone" / "0.parquet")
    deltalake.convert_to_deltalake(str(draft / "delta"))
    spark.sql(f"DROP TABLE IF EXISTS {_iceberg(group)}")
    made = spark.read.parquet(str(draft / "parquet")).coalesce(2).writeTo(_iceberg(group))
    made.tableProperty("write.parquet.row-group-size-bytes", str(group * BYTES)).create()
    draft.rename(root)
    where = spark.sql(f"DESCRIBE TABLE EXTENDED {_iceberg(group)}").where("col_name = 'Location'").head()
    for path in (root / "parquet", root / "delta", where.data_type):
        mi.open_table(str(path)).create_index("find", mi.Values("id"), builder="local")


def _iceberg(group: int) -> str:
    return f"iceberg.splits.of_{group}"


def _asked(spark: SparkSession, ours: SparkSession, root: Path, group: int, turns: int) -> list[dict[str, object]]:
    file = root / "parquet" / "0.parquet"
    ids = pq.ParquetFile(root / "alone" / "0.parquet").read(["id"]).column(0).to_pylist()
    tables = {"Parquet": f"parquet.`{root / 'parquet'}`", "Delta": f"delta.`{root / 'delta'}`"}
    tables["Iceberg"] = _iceberg(group)
    ways = {"told the file": (spark, f"parquet.`{file}`"), "told the row group": (spark, f"parquet.`{root / 'alone'}`")}
    for kind, name in tables.items():
        ways |= {f"Spark, {kind}": (spark, name), f"metaindex in Spark, {kind}": (ours, name)}
    for way, (by, name) in ways.items():  # opened once, its files listed
        by.sql(f"SELECT * FROM {name}").createOrReplaceTempView(_view(way))
    taken: dict[str, list[Measured]] = {way: [] for way in ways}
    for turn in range(WARM + turns):
        for way, (by, _) in list(ways.items())[:: 1 if turn % 2 else -1]:
            asked = f"SELECT * FROM {_view(way)} WHERE id = {ids[turn * 7919 % len(ids)]}"
            found = measured(by, asked, each_task=True)
            assert len(found.rows) == 1, way
            taken[way] += [found] if turn >= WARM else []
    shape = f"{file.stat().st_size / 1e6:.0f} MB, row groups of {group:,}"
    return [
        {
            "files": shape,
            "by": way,
            "scan CPU ms (median)": 1000 * statistics.median(sum(one.tasks[-1]) for one in some),
            "task CPU ms (median)": 1000 * statistics.median(one.task_cpu for one in some),
            "ms (median)": 1000 * statistics.median(one.wall for one in some),
            "MB": statistics.median(one.read for one in some) / 1e6,
        }
        for way, some in taken.items()
    ]


def _view(way: str) -> str:
    return "v_" + way.replace(" ", "_").replace(",", "")
