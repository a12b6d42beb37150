"""Builds of confined tables by Spark: every format is indexed as an unconfined one; files outside are refused, named by
a log, by a link, or by a link that came between the check and a task."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from metaindex.core import OutsideTableError
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.build.spark import SparkBuilder
from tests.api.test_confine import TABLES
from tests.index.actions.index_bytes import everything
from tests.spark.optimizer.lakes import location_of
from tests.tables import settle

KINDS = (mi.ColumnStats(), mi.Values("s"), mi.Bloom("a"), mi.Covering("a", included=["s"], buckets=2))
FORMATS = ["delta", "iceberg", "parquet", "csv", "json"]


def rows_of(spark: SparkSession) -> DataFrame:
    return spark.range(0, 40, 1, 2).selectExpr("id AS a", "concat('s', id) AS s")


def made(spark: SparkSession, format_: str, folder: Path) -> tuple[str, dict[str, Any]]:
    """Where a table of the format is, and how it is opened."""
    if format_ == "iceberg":
        name = f"iceberg.confined.t{abs(hash(str(folder))) % 10**9}"
        rows_of(spark).writeTo(name).create()
        return location_of(spark, name), {}
    path = str(folder / "la ke%20")
    rows_of(spark).write.format(format_).option("header", "true").save(path)
    options = {"format": format_, "schema": "a BIGINT, s STRING"} if format_ in ("csv", "json") else {}
    return path, options


@pytest.mark.parametrize("format_", FORMATS)
def test_a_confined_table_is_built_by_spark(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    path, options = made(spark, format_, tmp_path)
    table = mi.open_table(path, config=mi.Config(confine=True), spark=spark, **options)
    table.create_index("ix", *KINDS, builder="spark")
    assert table.verify_index("ix").sound
    assert table.prune("s = 's7'").kept_files == 1
    assert table.scan("a = 7").to_arrow().to_pylist() == [{"a": 7, "s": "s7"}]


@pytest.mark.parametrize("table", TABLES)
def test_spark_builds_refuse_a_file_outside(spark: SparkSession, tmp_path: Path, table: str) -> None:
    secret = tmp_path / "elsewhere/secret.parquet"
    secret.parent.mkdir()
    pq.write_table(pa.table({"a": [7777], "s": ["SECRET-VALUE"]}), secret)
    settle(secret.parent)
    path = TABLES[table](tmp_path / "lake", secret)
    opened = mi.open_table(path, config=mi.Config(confine=True, index_location=str(tmp_path / "ix")), spark=spark)
    with pytest.raises(OutsideTableError, match="lies outside"):
        opened.create_index("ix", *KINDS, builder="spark")
    assert "SECRET" not in everything(tmp_path / "ix")


@dataclass(frozen=True)
class Late(SparkBuilder):
    """Something happens after all names were checked, before Spark is told of them."""

    first: Callable[[], None] = lambda: None

    def facts(self, request: BuildRequest, *rest: Any) -> BuildReport:
        self.first()
        return SparkBuilder.facts(self, request, *rest)

    def keys(self, request: BuildRequest, *rest: Any) -> BuildReport:
        self.first()
        return SparkBuilder.keys(self, request, *rest)

    def rows(self, request: BuildRequest, *rest: Any) -> BuildReport:
        self.first()
        return SparkBuilder.rows(self, request, *rest)


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_nothing_is_read_by_a_link_that_comes_between(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    path, options = made(spark, format_, tmp_path)
    settle(Path(path))
    victim = sorted(Path(path).glob("*." + format_))[0]
    outside = tmp_path / f"outside.{format_}"
    secret = pa.table({"a": range(5), "s": ["SECRET-VALUE"] * 5})
    if format_ == "csv":
        outside.write_text("a,s\n" + "1,SECRET-VALUE\n" * 5)
    else:
        pq.write_table(secret, outside)
    own = victim.read_bytes()

    def swap() -> None:
        victim.unlink()
        victim.symlink_to(outside)

    for number, kind in enumerate(KINDS):
        index = tmp_path / f"ix{number}"
        table = mi.open_table(path, config=mi.Config(confine=True, index_location=str(index)), spark=spark, **options)
        with suppress(OutsideTableError):  # or it is left out, as a file that cannot be read
            table.create_index("ix", kind, builder=Late(spark, first=swap))
        assert victim.is_symlink()
        assert "SECRET" not in everything(index), kind
        victim.unlink()
        victim.write_bytes(own)
        settle(Path(path))
