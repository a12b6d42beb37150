"""One outcome, two builders: the rows are the same, whatever the part boundaries."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.spark import SparkBuilder
from tests.index.build.lake import build
from tests.index.build.scenarios import SCENARIOS, scenario

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_builders_write_the_same_rows(name: str, tmp_path: Path, spark: SparkSession) -> None:
    request = scenario(name, tmp_path)
    local = build(LocalBuilder(), request, tmp_path / "local")
    spark_built = build(SparkBuilder(spark, files_per_task=2), request, tmp_path / "spark")
    # The order of rows is part of the outcome: a run is sorted.
    assert spark_built.column_stats.to_pylist() == local.column_stats.to_pylist()
    assert spark_built.partition_stats.to_pylist() == local.partition_stats.to_pylist()
    assert spark_built.report.uncovered_files == local.report.uncovered_files
    assert [path for path, _ in spark_built.report.uncovered] == [path for path, _ in local.report.uncovered]
    assert spark_built.report.files_scanned == local.report.files_scanned
