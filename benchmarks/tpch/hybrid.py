"""A Delta table that goes on after its index was built: part of its rows appended, part deleted; fresh, stale and plain
in turns."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi

from .lake import BUCKETS, Lake
from .measured import Measured, measured, median, same_rows
from .queries import NEEDLES
from .sessions import beside, sorting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPENDED = (0.0, 0.01, 0.10, 0.50)  # of the rows that the index has
DELETED = (0.0, 0.001, 0.10)

_KEYS = {"lineitem": "l_orderkey", "orders": "o_orderkey"}
_KINDS = {
    "lineitem": mi.Covering(indexed=["l_orderkey"], included=["l_quantity"], buckets=BUCKETS),
    "orders": mi.Covering(indexed=["o_orderkey"], included=["o_totalprice"], buckets=BUCKETS),
}


def hybrid(spark: SparkSession, lake: Lake, turns: int) -> list[dict[str, object]]:
    """The join of both tables for each share appended and deleted."""
    sql = NEEDLES["lineitem-orders"]
    spark.conf.set("spark.databricks.delta.properties.defaults.enableDeletionVectors", "true")
    out: list[dict[str, object]] = []
    folder = lake.folder / "hybrid"
    try:
        with beside(spark) as ours, sorting(spark, ours):
            for appended in APPENDED:
                _make(spark, lake, folder, appended)
                for deleted in DELETED:  # more of the same rows each time
                    _delete(spark, folder, deleted)
                    for session in (spark, ours):
                        for name in _KINDS:
                            session.read.format("delta").load(str(folder / name)).createOrReplaceTempView(name)
                    found: dict[str, list[Measured]] = {}
                    for _ in range(turns + 1):
                        found.setdefault("plain", []).append(measured(spark, sql))
                        found.setdefault("metaindex", []).append(measured(ours, sql))
                    same_rows(f"hybrid {appended:g} {deleted:g}", found)
                    out.append(_line(appended, deleted, found))
    finally:
        spark.conf.unset("spark.databricks.delta.properties.defaults.enableDeletionVectors")
    lake.views(spark)
    return out


def _line(appended: float, deleted: float, found: dict[str, list[Measured]]) -> dict[str, object]:
    plain, ours = ([one.task_cpu for one in found[peer][1:]] for peer in ("plain", "metaindex"))
    ratios = [one / other for one, other in zip(plain, ours, strict=True)]
    last = found["metaindex"][-1]
    return {
        "appended": f"{appended:.0%}",
        "deleted": f"{deleted:.1%}",
        "plain task CPU s": median(plain),
        "with": median(ours),
        "x plain": median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "exchanges": last.exchanges,
        "sorts": last.sorts,
        "MB shuffled": last.shuffled / 1e6,
        "indexes": last.plan.count("<metaindex "),
    }


def _make(spark: SparkSession, lake: Lake, folder: Path, appended: float) -> None:
    """Both tables without the rows to be appended, indexed; then those rows."""
    shutil.rmtree(folder, ignore_errors=True)
    spark.catalog.clearCache()
    for name, kind in _KINDS.items():
        path = str(folder / name)
        rows = lake.frame(spark, name)
        late = f"pmod(hash({_KEYS[name]}, 7), 1000) < {round(1000 * appended / (1 + appended))}"
        rows.where(f"NOT ({late})").write.format("delta").save(path)
        mi.open_table(path, spark=spark).create_index("join", kind, builder="spark")
        if appended:
            rows.where(late).write.format("delta").mode("append").save(path)


def _delete(spark: SparkSession, folder: Path, deleted: float) -> None:
    """This share of lineitem's rows, all over its files."""
    if deleted:
        path, key = folder / "lineitem", _KEYS["lineitem"]
        spark.sql(f"DELETE FROM delta.`{path}` WHERE pmod(hash({key}, 11), 1000) < {round(1000 * deleted)}")
