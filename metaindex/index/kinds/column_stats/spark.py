"""The aggregates of statistics by Spark: the rules of `rows.aggregates` in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaindex.index.kinds.facts import COUNTS
from metaindex.index.kinds.states import StatState

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def aggregated(rows: DataFrame) -> DataFrame:
    """Aggregate rows of files to those of partitions."""
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    def whole_sum(name: str) -> Column:
        return F.when(F.count(name) == F.count("*"), F.sum(name)).alias(name)

    def bound(name: str) -> Column:
        """The extreme with, among equal ones, an exact one first."""
        side = name.split("_")[0]
        exact = F.col(f"{side}_exact")
        pair = F.struct(F.col(name).alias("value"), (~exact if side == "lower" else exact).alias("mark"))
        known = F.when(F.col(name).isNotNull(), pair)
        return (F.min(known) if side == "lower" else F.max(known)).alias(name)

    bounds = [f"{side}_{domain}" for domain in ("int", "double", "bytes") for side in ("lower", "upper")]
    grouped = rows.groupBy("column_id", "partition_ord", "partition_id").agg(
        F.max(F.col("state") == int(StatState.UNKNOWN)).alias("unknown"),
        F.max(F.col("state") == int(StatState.VALUES)).alias("values"),
        *(bound(name) for name in bounds),
        *(whole_sum(name) for name in COUNTS),
        F.min("trust").alias("trust"),
        F.count("*").cast("int").alias("file_count"),
    )
    known = ~F.col("unknown")

    def exact(side: str) -> Column:
        marks = [F.col(f"{side}_{domain}.mark") for domain in ("int", "double", "bytes")]
        mark = F.coalesce(*marks)
        return F.coalesce(known & (~mark if side == "lower" else mark), F.lit(False)).alias(f"{side}_exact")

    state = F.when(F.col("unknown"), int(StatState.UNKNOWN)).when(F.col("values"), int(StatState.VALUES))
    return grouped.select(
        "column_id",
        "partition_ord",
        state.otherwise(int(StatState.ALL_NULL)).cast("byte").alias("state"),
        *(F.when(known, F.col(f"{name}.value")).alias(name) for name in bounds),
        *(name for name in COUNTS[:3]),
        exact("lower"),
        exact("upper"),
        "trust",
        *(name for name in COUNTS[3:]),
        "file_count",
        "partition_id",
    )
