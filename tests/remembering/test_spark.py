"""Spark's own queries leave out files by a filter that a scan ran before, where no index knows its columns; the rows
are those of Spark without metaindex."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from tests.remembering.lake import FILES, flushed, remembering, six_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]


def test_sparks_queries_leave_out_what_a_scan_has_read(spark: SparkSession, tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    lake.open().create_index("stats", mi.ColumnStats("id"), builder="local")
    where = "s = 'x6Q5y'"
    frame = spark.read.parquet(lake.path).where(where)
    expected = sorted(map(tuple, frame.collect()))
    assert expected
    remembering(lake).scan(where).to_arrow()
    flushed()
    mi.enable(spark, config=mi.Config(remember_filters=True))
    try:
        frame = spark.read.parquet(lake.path).where(where)
        said = str(mi.explain(frame))
        assert "remembered filters" in said
        assert f"of {FILES}" in said
        assert sorted(map(tuple, frame.collect())) == expected
        other = spark.read.parquet(lake.path).where("s = 'x6Q4y'")
        assert sorted(map(tuple, other.collect())) != expected
    finally:
        mi.disable(spark)
