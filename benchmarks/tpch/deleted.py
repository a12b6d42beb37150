"""Look-ups by covering indexes where a tenth of the table's rows were deleted since: by deletion vectors of Delta, by
position deletes of Iceberg; plain and by the index in turns."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import metaindex as mi

from .lake import INDEXES, Lake
from .measured import Measured, measured, median, quarters, same_rows
from .queries import NEEDLES, QUERIES
from .sessions import beside, sorting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("delta", "iceberg")
SHARES = (0.0, 0.10)
LOOK_UPS = ("Q6", "one week", "Q17")
_TABLES = {
    "lineitem": (
        "l_orderkey",
        "l_linenumber",
        "l_partkey",
        "l_quantity",
        "l_extendedprice",
        "l_discount",
        "l_shipdate",
    ),
    "part": ("p_partkey", "p_brand", "p_container"),
}
_INDEXES = {"lineitem": ("by_day", "by_part"), "part": ("by_part",)}


def deleted(spark: SparkSession, lake: Lake, table_format: str, turns: int) -> Iterator[list[dict[str, object]]]:
    """Each look-up before and after the rows are deleted."""
    tables = (_delta if table_format == "delta" else _iceberg)(spark, lake)
    with beside(spark) as ours, sorting(spark, ours):
        for share in SHARES:
            if share:
                row = "pmod(hash(l_orderkey, l_linenumber, 11), 1000)"
                spark.sql(f"DELETE FROM {tables['lineitem']} WHERE {row} < {round(1000 * share)}")
            for session in (spark, ours):
                for table in _TABLES:
                    if table_format == "iceberg":  # each session's catalog keeps a table as it was
                        session.sql(f"REFRESH TABLE {tables[table]}")
                    session.table(tables[table]).createOrReplaceTempView(table)
            for query in LOOK_UPS:
                yield [_line(f"{table_format}, {query}", share, _in_turns(spark, ours, query, turns))]
    lake.views(spark)


def _in_turns(spark: SparkSession, ours: SparkSession, query: str, turns: int) -> dict[str, list[Measured]]:
    sql = {**QUERIES, **NEEDLES}[query]
    peers = {"plain": spark, "metaindex": ours}
    found = {peer: [measured(session, sql)] for peer, session in peers.items()}  # warms up
    for turn in range(turns):
        each = list(peers.items())
        for peer, session in each if turn % 2 else reversed(each):
            found[peer].append(measured(session, sql))
    same_rows(query, found)
    return found


def _line(query: str, share: float, found: dict[str, list[Measured]]) -> dict[str, object]:
    plain, ours = (found[peer][1:] for peer in ("plain", "metaindex"))
    cpu = [one.task_cpu / max(other.task_cpu, 1e-9) for one, other in zip(plain, ours, strict=True)]
    wall = [one.wall / other.wall for one, other in zip(plain, ours, strict=True)]
    return {
        "query": query,
        "deleted": f"{share:.0%}",
        "plain task CPU ms": median([one.task_cpu for one in plain]) * 1000,
        "with": median([one.task_cpu for one in ours]) * 1000,
        "x plain": median(cpu),
        "quarters": quarters(cpu),
        "x plain in wall": median(wall),
        "its quarters": quarters(wall),
        "MB read, plain": plain[-1].read / 1e6,
        "MB read": ours[-1].read / 1e6,
        "indexes": ours[-1].plan.count("<metaindex "),
    }


def _delta(spark: SparkSession, lake: Lake) -> dict[str, str]:
    """The tables by their names for SQL, indexed."""
    spark.conf.set("spark.databricks.delta.properties.defaults.enableDeletionVectors", "true")
    names = {}
    try:
        for table, columns in _TABLES.items():
            path = lake.folder / "deleted" / table
            shutil.rmtree(path, ignore_errors=True)
            lake.frame(spark, table).select(*columns).write.format("delta").save(str(path))
            names[table] = f"delta.`{path}`"
            _index(mi.open_table(str(path), spark=spark), table)
    finally:
        spark.conf.unset("spark.databricks.delta.properties.defaults.enableDeletionVectors")
    return names


def _iceberg(spark: SparkSession, lake: Lake) -> dict[str, str]:
    names = {}
    shutil.rmtree(lake.folder / "iceberg", ignore_errors=True)
    for table, columns in _TABLES.items():
        names[table] = f"iceberg.tpch.{table}"
        written = lake.frame(spark, table).select(*columns).writeTo(names[table]).tableProperty("format-version", "2")
        written.tableProperty("write.delete.mode", "merge-on-read").create()
        _index(mi.open_table(str(lake.folder / "iceberg" / "tpch" / table), spark=spark), table)
    return names


def _index(table: mi.Table, name: str) -> None:
    for index in _INDEXES[name]:
        table.create_index(index, INDEXES[name][index], builder="spark")
