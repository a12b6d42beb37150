"""The four tables: how Spark writes, changes and reads each. metaindex is not used here: this is the world that it
meets, and the answer it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import pyarrow as pa

from metaindex.core import arrow_of

from .data import DDL, SCHEMA
from .questions import DemoQuestion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

CATALOG = "metaindex_demo"


class DemoLake(Protocol):
    """A table of one format, at `path`. `now` and `then` are Spark's own readers."""

    @property
    def title(self) -> str: ...
    @property
    def deletes_rows(self) -> bool: ...
    @property
    def path(self) -> Path: ...
    @property
    def options(self) -> Mapping[str, object]: ...
    def create(self, days: DataFrame) -> None: ...
    def append(self, day: DataFrame) -> None: ...
    def delete(self, condition: str) -> None: ...
    def now(self) -> DataFrame: ...
    def then(self, version: str, paths: list[str]) -> DataFrame:
        """Time travel of Spark's own; for plain folders, which have none, the files that the old listing named."""


@dataclass(frozen=True, slots=True)
class PlainLake:
    """A folder of Parquet or CSV files, Hive-partitioned by month."""

    spark: SparkSession
    folder: Path
    kind: str
    title: str
    deletes_rows: ClassVar[bool] = False

    @property
    def path(self) -> Path:
        return self.folder / self.kind / "flights"

    @property
    def options(self) -> Mapping[str, object]:
        if self.kind == "csv":
            return {"format": "csv", "header": True, "schema": DDL.removesuffix(", month INT")}
        return {}

    def create(self, days: DataFrame) -> None:
        self._write(days, "errorifexists")

    def append(self, day: DataFrame) -> None:
        self._write(day, "append")

    def delete(self, condition: str) -> None:
        raise NotImplementedError("a plain folder deletes no rows")

    def now(self) -> DataFrame:
        return self._reader().load(str(self.path))

    def then(self, version: str, paths: list[str]) -> DataFrame:
        return self._reader().option("basePath", str(self.path)).load(paths)

    def _write(self, frame: DataFrame, mode: str) -> None:
        writer = frame.write.format(self.kind).mode(mode).partitionBy("month")
        if self.kind == "csv":
            writer = writer.option("header", True)
        writer.save(str(self.path))

    def _reader(self) -> DataFrameReader:
        reader = self.spark.read.format(self.kind).schema(DDL)
        return reader.option("header", True) if self.kind == "csv" else reader


@dataclass(frozen=True, slots=True)
class DeltaLake:
    """Written by delta-spark, with deletion vectors on."""

    spark: SparkSession
    folder: Path
    title: str = "Delta"
    deletes_rows: ClassVar[bool] = True
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / "delta" / "flights"

    def create(self, days: DataFrame) -> None:
        writer = days.write.format("delta").partitionBy("month").option("delta.enableDeletionVectors", "true")
        writer.save(str(self.path))

    def append(self, day: DataFrame) -> None:
        day.write.format("delta").mode("append").save(str(self.path))

    def delete(self, condition: str) -> None:
        self.spark.sql(f"DELETE FROM delta.`{self.path}` WHERE {condition}")  # noqa: S608 - our own words

    def now(self) -> DataFrame:
        return self.spark.read.format("delta").load(str(self.path))

    def then(self, version: str, paths: list[str]) -> DataFrame:
        return self.spark.read.format("delta").option("versionAsOf", version).load(str(self.path))


@dataclass(frozen=True, slots=True)
class IcebergLake:
    """Written by iceberg-spark into a catalog that is the folder itself; deletes are merge-on-read."""

    spark: SparkSession
    folder: Path
    title: str = "Iceberg"
    deletes_rows: ClassVar[bool] = True
    options: Mapping[str, object] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.folder / "iceberg" / "flights"

    @property
    def _name(self) -> str:
        return f"{CATALOG}.iceberg.flights"

    def create(self, days: DataFrame) -> None:
        from pyspark.sql.functions import col

        settings = f"spark.sql.catalog.{CATALOG}"
        self.spark.conf.set(settings, "org.apache.iceberg.spark.SparkCatalog")
        self.spark.conf.set(f"{settings}.type", "hadoop")
        self.spark.conf.set(f"{settings}.warehouse", str(self.folder))
        writer = days.writeTo(self._name).using("iceberg").partitionedBy(col("month"))
        # Iceberg would gather each month's rows in one task, and so in one file; the days stay apart.
        writer = writer.tableProperty("write.distribution-mode", "none")
        writer.tableProperty("write.delete.mode", "merge-on-read").create()

    def append(self, day: DataFrame) -> None:
        day.writeTo(self._name).append()

    def delete(self, condition: str) -> None:
        self.spark.sql(f"DELETE FROM {self._name} WHERE {condition}")  # noqa: S608 - our own words

    def now(self) -> DataFrame:
        return self.spark.table(self._name)

    def then(self, version: str, paths: list[str]) -> DataFrame:
        return self.spark.sql(f"SELECT * FROM {self._name} VERSION AS OF {int(version)}")  # noqa: S608 - a number


def lakes(spark: SparkSession, folder: Path) -> list[DemoLake]:
    return [
        PlainLake(spark, folder, "parquet", "Parquet"),
        PlainLake(spark, folder, "csv", "CSV"),
        DeltaLake(spark, folder),
        IcebergLake(spark, folder),
    ]


def spark_answers(frame: DataFrame, questions: Sequence[DemoQuestion]) -> list[pa.Table]:
    """Spark's own answer to each question, from one pass over all rows."""
    from pyspark.sql.functions import expr

    flags = {f"answers_{i}": expr(f"coalesce({question.sql}, false)") for i, question in enumerate(questions)}
    asked = frame.select(*SCHEMA.names, *(flag.alias(name) for name, flag in flags.items()))
    flagged = arrow_of(asked.where(" OR ".join(flags)))
    return [flagged.filter(flagged.column(name)).select(SCHEMA.names) for name in flags]
