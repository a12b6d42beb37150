"""Spark gives the first rows of a scan that the Arrow reader gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.answers.lakes import FIVE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

VALUES = [[1.0, None, math.nan], [-0.0, 0.0, 7.5], [None, 9.0, -math.inf], [math.inf, math.nan, 2.0]]


@pytest.mark.parametrize("lake", ["delta", "parquet"])
def test_spark_sorts_and_stops_alike(spark: SparkSession, tmp_path: Path, lake: str) -> None:
    made = FIVE[lake](tmp_path)
    for number, values in enumerate(VALUES):
        ids = pa.array(range(number * 3, number * 3 + 3), pa.int64())
        made.append(pa.table({"f": pa.array(values, pa.float64()), "id": ids}))
    table = made.open()
    sides = [("f", "asc"), ("f", "desc"), ("f", "asc", "nulls last"), ("f", "desc", "nulls first")]
    for key in sides:
        scan = table.scan("id < 11", columns=["id"], order_by=[key, ("id", "desc")], limit=5)
        assert scan.to_spark(spark).toArrow().to_pylist() == scan.to_arrow().to_pylist(), key
    assert table.scan("id >= 3", limit=4).to_spark(spark).count() == 4
