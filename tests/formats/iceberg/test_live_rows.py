"""The rows of every version, with deletes of every kind: Arrow, DuckDB and Polars as the model has them, and as Spark
reads them."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.formats.diff import Diff
from metaindex.formats.format import At
from metaindex.formats.model import FileTable
from tests.duck import connected
from tests.formats.iceberg.handmade import FORMAT, table_ref
from tests.formats.iceberg.written import Drawn, WrittenHistory, histories
from tests.formats.iceberg.written_rows import plain


def read(history: WrittenHistory) -> dict[int, list[str]]:
    """The rows of each snapshot by the Arrow reader; the two other readers must agree."""
    table = mi.open_table(str(history.root))
    out = {}
    with connected() as con:
        for version in history.expected:
            scan = table.scan(version=version)
            rows = scan.to_arrow().to_pylist()
            out[version] = plain(rows)
            assert plain(scan.to_polars().collect().to_arrow().to_pylist()) == out[version]
            assert scan.to_duckdb(con).aggregate("count(*)").fetchall() == [(len(rows),)]
    return out


@settings(max_examples=settings.default.max_examples * 40 // 100, deadline=None)
@given(histories(8))
def test_live_rows_are_those_of_the_model(drawn: Drawn) -> None:
    with drawn.written() as history:
        found = read(history)
        for version in history.expected:
            assert found[version] == plain(history.shown(version)), version


@settings(max_examples=settings.default.max_examples * 30 // 100, deadline=None)
@given(histories(8))
@pytest.mark.slow
def test_the_log_says_what_a_comparison_of_snapshots_says(drawn: Drawn) -> None:
    with drawn.written() as history:
        ref = table_ref(history.root)
        snapshots = [FORMAT.snapshot(ref, At(version=version)) for version in history.expected]
        for a, base in enumerate(snapshots):
            for b in {max(a - 1, 0), a, min(a + 1, len(snapshots) - 1), len(snapshots) - 1}:
                target = snapshots[b]
                diff = FORMAT.diff(ref, base, At(version=target.version.id))
                deletes = [each.files.table.column("deletes").null_count < len(each.files) for each in (base, target)]
                assert (diff is not None) == (a <= b) or (a < b and any(deletes)), "along the parents the log serves"
                there, back = Diff.between(base, target), Diff.between(target, base)
                assert as_rows(there.appended) == as_rows(back.deleted)
                assert len(there.deletes_changed) == len(back.deletes_changed)
                if diff is not None:
                    for name in ("appended", "deleted", "deletes_changed"):
                        assert as_rows(getattr(diff, name)) == as_rows(getattr(there, name)), (a, b, name)
                    assert diff.schema_changed == there.schema_changed


def as_rows(files: FileTable) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = files.table.to_pylist()
    return sorted(rows, key=str)


@pytest.mark.spark
@pytest.mark.parametrize("format_version", [2, 3])
def test_live_rows_are_those_that_spark_reads(spark: SparkSession, tmp_path: Path, format_version: int) -> None:
    for seed in range(3):
        random = Random(seed * 10 + format_version)
        history = WrittenHistory(tmp_path / f"t{seed}", format_version, random).run(10)
        found = read(history)
        for version in history.expected:
            frame = spark.read.format("iceberg").option("versionAsOf", version).load(str(history.root))
            assert found[version] == plain(SparkDriver.arrow_of(frame).to_pylist()), (seed, version)
