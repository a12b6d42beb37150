"""A MERGE of Spark's over Delta and Iceberg, with the condition and without it: the same rows."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver

pytestmark = pytest.mark.spark

_COLUMNS = "id BIGINT, s STRING, d DECIMAL(12, 2), t TIMESTAMP, y DATE, f DOUBLE, n INT"
_AT = dt.datetime(2024, 2, 29, 23, 30)
_ROWS = [
    (i, f"it's \\{i}\n", Decimal(i) / 4, _AT + dt.timedelta(hours=i), dt.date(2024, 1, 1 + i), float(i), 0)
    for i in range(8)
] + [(None, None, None, None, None, float("nan"), 0), (-1, "", Decimal("-9.99"), _AT, dt.date(1969, 1, 1), -0.0, 0)]


@pytest.mark.parametrize("format_", ["delta", "iceberg"])
@pytest.mark.parametrize("keys", [["id"], ["s"], ["d", "y"], ["t"], ["f"]], ids="-".join)
def test_spark_merges_alike(spark: SparkSession, tmp_path: Path, format_: str, keys: list[str]) -> None:
    changes = [_ROWS[2], _ROWS[5], _ROWS[8], (99, "new", Decimal(99), _AT, dt.date(2030, 1, 1), 0.0, 0)]
    source = spark.createDataFrame([(*row[:-1], 1) for row in changes], _COLUMNS)
    source.createOrReplaceTempView("changes")
    outcomes = []
    for narrow in (False, True):
        name = (
            f"iceberg.db.merged_{'_'.join(keys)}_{narrow}" if format_ == "iceberg" else f"delta.`{tmp_path}/{narrow}`"
        )
        spark.createDataFrame(_ROWS, _COLUMNS).coalesce(1).writeTo(name).using(format_).createOrReplace()
        equal = " AND ".join(f"target.{key} = source.{key}" for key in keys)
        if narrow:
            equal += f" AND {mi.narrowed(source, keys, most_values=2 if len(keys) > 1 else 1000).sql}"
        spark.sql(
            f"MERGE INTO {name} target USING changes source ON {equal} WHEN MATCHED THEN UPDATE SET n = source.n"
            " WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE AND target.n = 0 THEN UPDATE SET n = 7"
        )
        outcomes.append(sorted(map(str, spark.table(name).collect())))
    assert outcomes[0] == outcomes[1]
    assert any("n=1" in row for row in outcomes[0])


@pytest.mark.parametrize("as_they_are", ["false", "true"])
def test_texts_mean_themselves_to_every_session(spark: SparkSession, as_they_are: str) -> None:
    texts = [
        "${spark.app.name}",
        "${env:HOME}",
        "${system:user.name}",
        "a\\b",
        "it's",
        "q\n\r",
        "\x00",
        "\x1a",
        '"x"',
        "`",
    ]
    spark.createDataFrame([(text,) for text in texts], "v STRING").createOrReplaceTempView("texts")
    with SparkDriver(spark).setting("spark.sql.parser.escapedStringLiterals", as_they_are):
        for text in texts:
            narrowed = mi.narrowed(pa.table({"v": [text]}), "v", target=None).sql
            found = spark.sql(f"SELECT v FROM texts WHERE {narrowed}").collect()
            assert [row[0] for row in found] == [text], narrowed
