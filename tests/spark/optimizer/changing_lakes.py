"""Tables to be changed, of every format, with a covering index; and queries asked with and without it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.compiling import uncompiled
from tests.spark.optimizer.lakes import location_of

FILES = 6
ROWS = 600
BUCKETS = 4
INDEXED = mi.Covering(indexed=["k"], included=["id", "name", "v", "d"], buckets=BUCKETS)


def rows_of(spark: SparkSession, start: int = 0, count: int = ROWS, files: int = FILES) -> DataFrame:
    """k: 0..49 and some NULL, in no order; `pad` is what no index has."""
    return spark.range(start, start + count, 1, files).selectExpr(
        "id",
        "CAST(CASE WHEN id % 31 = 0 THEN NULL ELSE id * 17 % 50 END AS int) AS k",
        "concat('n', id * 31 % 97) AS name",
        "CAST(CASE id % 13 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' ELSE id / 7 END AS double) AS v",
        "date_add(DATE'2024-01-01', CAST(id % 40 AS int)) AS d",
        "repeat(sha2(CAST(id AS string), 512), 4) AS pad",
        "CAST(id % 3 AS int) AS p",
    )


@dataclass(frozen=True)
class Lake:
    """A table of one of the formats, to be changed. `name`: as SQL names it."""

    spark: SparkSession
    format: str
    name: str
    path: str

    def table(self) -> mi.Table:
        return mi.open_table(self.path, spark=self.spark)

    def append(self, frame: DataFrame) -> None:
        with uncompiled(self.spark):
            if self.format == "iceberg":
                frame.writeTo(self.name).append()
            elif self.format == "delta":
                frame.write.format("delta").mode("append").save(self.path)
            else:
                frame.write.mode("append").partitionBy("p").parquet(self.path)


def make_parquet(spark: SparkSession, folder: Path) -> Lake:
    path = str(folder / "par quet")
    with uncompiled(spark):
        rows_of(spark).write.partitionBy("p").parquet(path)
    return Lake(spark, "files", f"parquet.`{path}`", path)


def make_delta(spark: SparkSession, folder: Path) -> Lake:
    path = str(folder / "de lta%20")
    with uncompiled(spark):
        rows_of(spark).write.format("delta").partitionBy("p").option("delta.enableDeletionVectors", "true").save(path)
    return Lake(spark, "delta", f"delta.`{path}`", path)


def make_iceberg(spark: SparkSession, folder: Path, partitioned: str = "PARTITIONED BY (p)") -> Lake:
    name = f"iceberg.covering.t{abs(hash(str(folder))) % 10**9}"
    columns = ", ".join(f"{one} {type_}" for one, type_ in rows_of(spark).dtypes)
    spark.sql(
        f"CREATE TABLE {name} ({columns}) USING iceberg {partitioned} "
        "TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none',"
        " 'write.spark.fanout.enabled'='true')"
    )
    with uncompiled(spark):
        rows_of(spark).writeTo(name).append()
    return Lake(spark, "iceberg", name, location_of(spark, name))


MAKERS = [make_parquet, make_delta, make_iceberg]
Make = Callable[["SparkSession", Path], Lake]


def covered(lake: Lake, kind: Any = INDEXED) -> Lake:
    with uncompiled(lake.spark):
        lake.table().create_index("cov", kind)
    return lake


def plan_of(frame: DataFrame) -> str:
    """The plan as it was run."""
    return str(frame._jdf.queryExecution().executedPlan().toString()).split("== Initial Plan")[0]


def without_the_rule(spark: SparkSession, text: str) -> list[str]:
    """The rows as the session gives them by itself, as texts in their order. Not compiled, which would take longer than
    to run it over so few rows, and is not what is asked here."""
    with uncompiled(spark), SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
        return sorted(map(repr, spark.sql(text).collect()))


def asked(spark: SparkSession, text: str, *, by: str | None = "cov: covering") -> str:
    """The plan with the rule, whose rows are those without it. `by`: what the plan says; None: nothing of metaindex;
    "": whatever is cheaper."""
    before = rule.counts(spark).failed
    frame = spark.sql(text)
    assert sorted(map(repr, frame.collect())) == without_the_rule(spark, text), text
    plan = plan_of(frame)
    assert rule.counts(spark).failed == before, rule.counts(spark).last_error
    assert (by in plan) if by is not None else ("metaindex" not in plan), (text, plan)
    return plan


def delete_rows(lake: Lake, condition: str) -> None:
    if lake.format != "files":
        with uncompiled(lake.spark):
            lake.spark.sql(f"DELETE FROM {lake.name} WHERE {condition}")
        return
    victim = sorted(one for one in Path(lake.path).rglob("*.parquet") if one.is_file())[0]
    victim.unlink()
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)


def versions_of(lake: Lake) -> list[str]:
    """What stands behind the name for each version."""
    if lake.format == "files":
        return [""]
    return [f" VERSION AS OF {one.id}" for one in lake.table().versions()]
