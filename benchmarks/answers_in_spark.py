"""The questions of `answers` through Spark's own SQL: over Parquet, Delta and Iceberg, by a plain session and by one
with `mi.enable`."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import deltalake

import metaindex as mi
from metaindex.spark.optimizer import executed

from .tpch.sessions import beside, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("Parquet", "Delta", "Iceberg")
Ways = dict[str, Callable[[], Any]]


class InSpark:
    """Both sessions. The rows of `ask` are those of DuckDB's for the same text."""

    def __init__(self, plain: SparkSession, ours: SparkSession) -> None:
        self._sessions = {"Spark": plain, "metaindex in Spark": ours}

    def ways(self, sql: str) -> Ways:
        """By each session, of each format."""
        return {
            f"{who}, {kind}": partial(_rows, each, _over(kind, sql))
            for kind in FORMATS
            for who, each in self._sessions.items()
        }

    def opened(self, way: str, sql: str) -> int | None:
        """Files, or where Spark does not count those that were left out, pieces of files, that a way reads of `t`."""
        who, _, kind = way.partition(", ")
        if kind not in FORMATS:
            return None
        each = self._sessions[who]
        query = each.sql(_over(kind, sql))._jdf.queryExecution()
        read, _, _ = executed.run(each, query)
        return sum((one.files if one.splits is None else one.splits) or 0 for one in read)


def _over(kind: str, sql: str) -> str:
    return sql.replace("FROM t", f"FROM t_{kind} AS t", 1)


def _rows(spark: SparkSession, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(sql).collect()]


@contextmanager
def in_spark(delta: str) -> Iterator[InSpark]:
    """Over a Delta table, and copies of it in the other formats, each with the same indexes."""
    folder = Path(delta).parent
    with session(folder) as spark:
        plain = folder / f"{Path(delta).name}-parquet"
        iceberg = "iceberg.answers.t_" + Path(delta).name.replace("-", "_")
        _copied(spark, delta, plain, iceberg)
        with beside(spark) as ours:
            names = {"Parquet": f"parquet.`{plain}`", "Delta": f"delta.`{delta}`", "Iceberg": iceberg}
            for each in (spark, ours):
                for kind, name in names.items():
                    each.sql(f"SELECT * FROM {name}").createOrReplaceTempView(f"t_{kind}")
            yield InSpark(spark, ours)


def _copied(spark: SparkSession, delta: str, plain: Path, iceberg: str) -> None:
    """A file for a file; made where it is not there yet."""
    if not plain.exists():
        draft = plain.with_name(plain.name + ".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for number, uri in enumerate(deltalake.DeltaTable(delta).file_uris()):
            shutil.copy2(uri, draft / f"part-{number:05d}.parquet")
        draft.rename(plain)
    if not spark.catalog.tableExists(iceberg):
        spark.read.parquet(str(plain)).limit(0).writeTo(iceberg).create()
        files = sorted(str(path) for path in plain.glob("*.parquet"))
        spark.sql(
            f"CALL iceberg.system.add_files(table => '{iceberg.removeprefix('iceberg.')}',"
            f" source_table => '`parquet`.`{plain}`')"
        )
        assert len(spark.table(f"{iceberg}.files").collect()) == len(files)
    for table in (mi.open_table(str(plain)), mi.open_table(_location(spark, iceberg))):
        for name, kind in INDEXES.items():
            if name not in [index.name for index in table.indexes()]:
                table.create_index(name, kind, builder="local")


INDEXES = {"stats": mi.ColumnStats(), "ids": mi.Values(["id"])}


def _location(spark: SparkSession, name: str) -> str:
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Location'").collect()
    return str(rows[0].data_type)
