"""Tables of each format whose keys lie scattered over their files, a small side that is joined to them, and what a
query of both gives and reads."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.executed import leaves
from tests.each_spark import lacks
from tests.spark.optimizer.lakes import location_of

FILES = 8
ROWS = 50  # a file
SCHEMA = "id bigint, k int, name string, at timestamp, day date, amount decimal(12,2), real double, part int"
NARROWED = "fewer by joins"
FEW = "w IN (8, 100, 211)"


@dataclass(frozen=True)
class Fact:
    """A table whose keys lie scattered over its files, as a view `t`. `counts`: Spark says how many files it read."""

    name: str
    counts: bool = True
    pinned: bool = True


def rows_of(spark: SparkSession, start: int = 0, files: int = FILES) -> DataFrame:
    return spark.range(start, start + files * ROWS, 1, files).selectExpr(
        "id",
        "CAST(IF(id % 29 = 3, NULL, id * 31 % 400) AS int) AS k",
        "IF(id % 23 = 5, NULL, concat('n', id * 31 % 400)) AS name",
        "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id * 31 % 400 AS int)) AS at",
        "date_add(date'2024-01-01', CAST(id * 31 % 400 AS int)) AS day",
        "CAST(id * 31 % 400 AS decimal(12,2)) AS amount",
        "CASE id % 7 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D ELSE id * 31 % 400 * 0.5D END AS real",
        "CAST(id / 100 AS int) AS part",
    )


def dims(spark: SparkSession, folder: Path) -> None:
    """A small side: a row a key of the fact, some NULL, some twice, some nowhere. As files, and as what gives the same
    rows each time: a Delta table, or where there is none the rows themselves."""
    rows = spark.range(0, 420, 1, 2).selectExpr(
        "CAST(IF(id % 37 = 2, NULL, IF(id = 9, 8, id)) AS int) AS k",
        "IF(id % 37 = 2, NULL, concat('n', id)) AS name",
        "timestamp'2024-01-01 00:00:00' + make_interval(0, 0, 0, CAST(id AS int)) AS at",
        "date_add(date'2024-01-01', CAST(id AS int)) AS day",
        "CAST(id AS decimal(12,2)) AS amount",
        "IF(id = 3, double('NaN'), IF(id = 4, 0.0D, id * 0.5D)) AS real",
        "CAST(id AS int) AS w",
        "id",
    )
    rows.write.parquet(str(folder / "plain dim"))
    if not lacks("delta"):
        rows.write.format("delta").save(str(folder / "dim"))
        rows = spark.read.format("delta").load(str(folder / "dim"))
    rows.createOrReplaceTempView("dim")
    spark.read.parquet(str(folder / "plain dim")).createOrReplaceTempView("plain")


def indexed(spark: SparkSession, path: str, **options: object) -> None:
    kinds = [mi.Values(name) for name in ("k", "name", "at", "day", "amount")]
    mi.open_table(path, **options).create_index("find", mi.ColumnStats("id"), *kinds, builder="local")


def parquet(spark: SparkSession, folder: Path) -> Fact:
    path = str(folder / "par quet")
    rows_of(spark).write.parquet(path)
    indexed(spark, path)
    spark.read.parquet(path).createOrReplaceTempView("t")
    return Fact(path, pinned=False)


def parted(spark: SparkSession, folder: Path) -> Fact:
    path = str(folder / "parted")
    rows_of(spark).write.partitionBy("part").parquet(path)
    indexed(spark, path)
    spark.read.parquet(path).createOrReplaceTempView("t")
    return Fact(path, pinned=False)


def csv(spark: SparkSession, folder: Path) -> Fact:
    path = str(folder / "csv")
    rows_of(spark).write.option("header", True).csv(path)
    indexed(spark, path, format="csv", header=True, schema=SCHEMA)
    spark.read.schema(SCHEMA).option("header", True).csv(path).createOrReplaceTempView("t")
    return Fact(path, pinned=False)


def json(spark: SparkSession, folder: Path) -> Fact:
    path = str(folder / "json")
    rows_of(spark).write.json(path)
    indexed(spark, path, format="json", schema=SCHEMA)
    spark.read.schema(SCHEMA).json(path).createOrReplaceTempView("t")
    return Fact(path, pinned=False)


def delta(spark: SparkSession, folder: Path) -> Fact:
    path = str(folder / "de lta%20")
    rows_of(spark).write.format("delta").option("delta.enableDeletionVectors", "true").option(
        "delta.dataSkippingNumIndexedCols", "0"
    ).save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 16 = 3")
    indexed(spark, path)
    spark.sql(f"SELECT * FROM delta.`{path}`").createOrReplaceTempView("t")
    return Fact(f"delta.`{path}`")


def iceberg(spark: SparkSession, folder: Path) -> Fact:
    name = f"iceberg.joins.t{abs(hash(str(folder))) % 10**9}"
    spark.sql(
        f"CREATE TABLE {name} ({SCHEMA}) USING iceberg TBLPROPERTIES ('format-version'='3',"
        " 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none',"
        " 'write.metadata.metrics.default'='none')"
    )
    rows_of(spark).writeTo(name).append()
    spark.sql(f"DELETE FROM {name} WHERE id % 16 = 3")
    indexed(spark, location_of(spark, name))
    spark.sql(f"SELECT * FROM {name}").createOrReplaceTempView("t")
    return Fact(name, counts=False)


MAKERS = [parquet, parted, csv, json, delta, iceberg]
Make = Callable[[SparkSession, Path], Fact]


def files_of(frame: DataFrame) -> list[int]:
    """Of each scan that joins narrow, how many files it read; of Iceberg by the rows that it gave."""
    found = []
    for leaf in leaves(frame._jdf.queryExecution().executedPlan()):
        if NARROWED in str(leaf.simpleString(100)) or NARROWED in str(leaf.nodeName()):
            metrics = leaf.metrics()
            if metrics.contains("numFiles"):
                found.append(int(metrics.apply("numFiles").value()))
            else:
                found.append(-(-int(metrics.apply("numOutputRows").value()) // ROWS))
    return found


def is_narrowed(spark: SparkSession, text: str) -> bool:
    """Does the plan have a scan that keys may narrow? As it is before it runs: a side that turns out empty takes the
    scan with it, whatever left it empty."""
    return NARROWED in spark.sql(text)._jdf.queryExecution().toString()


def same(spark: SparkSession, text: str) -> tuple[int, list[int]]:
    """The rows are those without the rule; how many, and the files that narrowed scans read."""
    with SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
        right = sorted(map(repr, spark.sql(text).collect()))
    frame = spark.sql(text)
    assert sorted(map(repr, frame.collect())) == right, (text, frame._jdf.queryExecution().toString())
    counts = rule.counts(spark)
    assert (counts.failed, counts.timed_out) == (0, 0), (text, counts.last_error)
    return len(right), files_of(frame)
