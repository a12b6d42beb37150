"""The four tables: how Spark writes, changes and reads each. metaindex is not used here: this is the world that it
meets, and the answer it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from metaindex.core import SparkDriver

from .data import DDL, SCHEMA, DemoQuestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

CATALOG = "metaindex_demo"


@dataclass(frozen=True, slots=True)
class DemoLake:
    """A table of one format, at `path`. `now` and `then` are Spark's own readers."""

    spark: SparkSession
    folder: Path
    kind: str
    title: str
    options: Mapping[str, object] = field(default_factory=dict)
    deletes_rows: ClassVar[bool] = True

    @property
    def path(self) -> Path:
        return self.folder / self.kind / "flights"

    def create(self, days: DataFrame) -> None:
        raise NotImplementedError

    def append(self, day: DataFrame) -> None:
        day.write.format(self.kind).mode("append").save(str(self.path))

    def delete(self, condition: str) -> None:
        raise NotImplementedError

    def now(self) -> DataFrame:
        return self.spark.read.format(self.kind).load(str(self.path))

    def then(self, version: str, paths: list[str]) -> DataFrame:
        """Time travel of Spark's own; for plain folders, which have none, the files that the old listing named."""
        raise NotImplementedError


class PlainLake(DemoLake):
    """A folder of Parquet or CSV files, Hive-partitioned by month."""

    deletes_rows = False

    def create(self, days: DataFrame) -> None:
        self._write(days, "errorifexists")

    def append(self, day: DataFrame) -> None:
        self._write(day, "append")

    def now(self) -> DataFrame:
        return self._reader().load(str(self.path))

    def then(self, version: str, paths: list[str]) -> DataFrame:
        return self._reader().option("basePath", str(self.path)).load(paths)

    def _write(self, frame: DataFrame, mode: str) -> None:
        writer = frame.write.format(self.kind).mode(mode).partitionBy("month")
        (writer.option("header", True) if self.kind == "csv" else writer).save(str(self.path))

    def _reader(self) -> DataFrameReader:
        reader = self.spark.read.format(self.kind).schema(DDL)
        return reader.option("header", True) if self.kind == "csv" else reader


class DeltaLake(DemoLake):
    """Written by delta-spark, with deletion vectors on."""

    def create(self, days: DataFrame) -> None:
        writer = days.write.format("delta").partitionBy("month").option("delta.enableDeletionVectors", "true")
        writer.save(str(self.path))

    def delete(self, condition: str) -> None:
        self.spark.sql(f"DELETE FROM delta.`{self.path}` WHERE {condition}")  # noqa: S608 - our own words

    def then(self, version: str, paths: list[str]) -> DataFrame:
        return self.spark.read.format("delta").option("versionAsOf", version).load(str(self.path))


class IcebergLake(DemoLake):
    """Written by iceberg-spark into a catalog that is the folder itself; deletes are merge-on-read."""

    _NAME: ClassVar[str] = f"{CATALOG}.iceberg.flights"

    def create(self, days: DataFrame) -> None:
        from pyspark.sql.functions import col

        settings = f"spark.sql.catalog.{CATALOG}"
        self.spark.conf.set(settings, "org.apache.iceberg.spark.SparkCatalog")
        self.spark.conf.set(f"{settings}.type", "hadoop")
        self.spark.conf.set(f"{settings}.warehouse", str(self.folder))
        writer = days.writeTo(self._NAME).using("iceberg").partitionedBy(col("month"))
        # Iceberg would gather each month's rows in one task, and so in one file; the days stay apart.
        writer = writer.tableProperty("write.distribution-mode", "none")
        writer.tableProperty("write.delete.mode", "merge-on-read").create()

    def append(self, day: DataFrame) -> None:
        day.writeTo(self._NAME).append()

    def delete(self, condition: str) -> None:
        self.spark.sql(f"DELETE FROM {self._NAME} WHERE {condition}")  # noqa: S608 - our own words

    def now(self) -> DataFrame:
        return self.spark.table(self._NAME)

    def then(self, version: str, paths: list[str]) -> DataFrame:
        return self.spark.sql(f"SELECT * FROM {self._NAME} VERSION AS OF {int(version)}")  # noqa: S608 - a number


def lakes(spark: SparkSession, folder: Path) -> list[DemoLake]:
    of_csv = {"format": "csv", "header": True, "schema": DDL.removesuffix(", month INT")}
    extensions = str(spark.conf.get("spark.sql.extensions", "")).lower()  # of the formats that there are for this Spark
    return [
        PlainLake(spark, folder, "parquet", "Parquet"),
        PlainLake(spark, folder, "csv", "CSV", of_csv),
        *([DeltaLake(spark, folder, "delta", "Delta")] if "delta" in extensions else []),
        *([IcebergLake(spark, folder, "iceberg", "Iceberg")] if "iceberg" in extensions else []),
    ]


def spark_answers(frame: DataFrame, questions: Sequence[DemoQuestion]) -> list[pa.Table]:
    """Spark's own answer to each question, from one pass over all rows."""
    from pyspark.sql.functions import expr

    flags = {f"answers_{i}": expr(f"coalesce({question.sql}, false)") for i, question in enumerate(questions)}
    asked = frame.select(*SCHEMA.names, *(flag.alias(name) for name, flag in flags.items()))
    flagged = SparkDriver.arrow_of(asked.where(" OR ".join(flags)))
    return [flagged.filter(flagged.column(name)).select(SCHEMA.names) for name in flags]
