"""A Delta table that goes on after its index was built: part of its rows appended, part deleted; fresh, stale and plain in turns."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi

from .lake import BUCKETS, Lake
from .measured import Measured, measured
from .queries import NEEDLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPENDED = (0.0, 0.01, 0.10, 0.50)  # of the rows that the index has
DELETED = (0.0, 0.001, 0.10)

_KINDS = {
    "lineitem": mi.Covering(indexed=["l_orderkey"], included=["l_quantity"], buckets=BUCKETS),
    "orders": mi.Covering(indexed=["o_orderkey"], included=["o_totalprice"], buckets=BUCKETS),
}


def hybrid(spark: SparkSession, lake: Lake, turns: int) -> list[dict[str, object]]:
    """The join of both tables for each share appended and deleted."""
    from . import enabled, median, same_rows

    sql = NEEDLES["lineitem-orders"]
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.databricks.delta.properties.defaults.enableDeletionVectors", "true")
    out: list[dict[str, object]] = []
    try:
        for appended in APPENDED:
            for deleted in DELETED:
                folder = lake.folder / "hybrid"
                _make(spark, lake, folder, appended, deleted)
                found: dict[str, list[Measured]] = {}
                for _ in range(turns + 1):
                    found.setdefault("plain", []).append(measured(spark, sql))
                    with enabled(spark):
                        found.setdefault("metaindex", []).append(measured(spark, sql))
                same_rows(f"hybrid {appended:g} {deleted:g}", found)
                plain, ours = (median([one.task_cpu for one in found[peer][1:]]) for peer in ("plain", "metaindex"))
                last = found["metaindex"][-1]
                out.append(
                    {
                        "appended": f"{appended:.0%}",
                        "deleted": f"{deleted:.1%}",
                        "plain task CPU s": plain,
                        "with": ours,
                        "x plain": plain / ours,
                        "exchanges": last.exchanges,
                        "sorts": last.sorts,
                        "MB shuffled": last.shuffled / 1e6,
                        "indexes": last.plan.count("<metaindex "),
                    }
                )
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        spark.conf.unset("spark.databricks.delta.properties.defaults.enableDeletionVectors")
    lake.views(spark)
    return out


def _make(spark: SparkSession, lake: Lake, folder: Path, appended: float, deleted: float) -> None:
    """Both tables without the rows to be appended, indexed; then those rows, and the deletes."""
    shutil.rmtree(folder, ignore_errors=True)
    spark.catalog.clearCache()
    for name, kind in _KINDS.items():
        path = str(folder / name)
        key = "l_orderkey" if name == "lineitem" else "o_orderkey"
        rows = lake.frame(spark, name)
        late = f"pmod(hash({key}, 7), 1000) < {round(1000 * appended / (1 + appended))}"
        rows.where(f"NOT ({late})").write.format("delta").save(path)
        mi.open_table(path, spark=spark).create_index("join", kind, builder="spark")
        if appended:
            rows.where(late).write.format("delta").mode("append").save(path)
        if deleted and name == "lineitem":
            spark.sql(f"DELETE FROM delta.`{path}` WHERE pmod(hash({key}, 11), 1000) < {round(1000 * deleted)}")
        spark.read.format("delta").load(path).createOrReplaceTempView(name)
