"""A Spark that is newer than all that metaindex knows. The one that runs is taken for one."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver, SparkRelease, UnsupportedFeatureError
from metaindex.spark.optimizer import enabling, trial
from metaindex.spark.optimizer.executed import reads
from tests.each_spark import RELEASES
from tests.spark.optimizer.test_held_plans import busy
from tests.spark.optimizer.test_other_sparks import ROOMS, RULE
from tests.spark.test_sources import java_sources

pytestmark = pytest.mark.spark
FILES, ROWS = 6, 60


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> str:
    """With a covering index, which is built before its Spark is newer."""
    path = str(tmp_path / "t")
    spark.range(0, FILES * ROWS, 1, FILES).selectExpr("id", "id % 7 AS k").write.parquet(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("stats", mi.ColumnStats())
    table.create_index("copy", mi.Covering("k", included=["id"], buckets=2))
    return path


@pytest.fixture
def newer(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """The session's Spark is newer than all that are known."""
    older = RELEASES[: RELEASES.index(SparkRelease.of(spark.version))]
    if not older:
        pytest.skip("no Spark is older")
    monkeypatch.setattr("metaindex.core.jvm.releases.RELEASES", older)
    monkeypatch.setattr("metaindex.core.jvm.releases.NEWEST", older[-1])
    monkeypatch.setattr(trial, "_SEEN", type(trial._SEEN)())
    rooms = ROOMS.setdefault(SparkDriver(spark).gateway, {})
    before = rooms.pop(RULE, None)
    yield spark
    rule.disable(spark)
    rooms.pop(RULE, None)
    if before is not None:
        rooms[RULE] = before


def test_files_are_skipped_and_all_else_is_left_to_spark(lake: str, newer: SparkSession) -> None:
    plain = {
        text: newer.sql(text.format(lake)).collect()
        for text in (
            "SELECT id FROM parquet.`{0}` WHERE id = 70",
            "SELECT count(*), max(id) FROM parquet.`{0}`",
            "SELECT count(*) FROM parquet.`{0}` WHERE id < 90",
            "SELECT k, count(*) FROM parquet.`{0}` GROUP BY k ORDER BY k",
            "SELECT id FROM parquet.`{0}` WHERE k = 3 ORDER BY id",
            "SELECT id FROM parquet.`{0}` ORDER BY id DESC LIMIT 3",
            "SELECT a.id FROM parquet.`{0}` a JOIN parquet.`{0}` b ON a.id = b.id WHERE b.id = 70",
        )
    }
    mi.enable(newer, rule=mi.RuleConfig(join_scan_bytes=0, join_queries=True, timeout_seconds=600.0))
    assert any("are hashed" in line for line in enabling.rule_of(newer).missing)
    files = {}
    for text, rows in plain.items():
        frame = newer.sql(text.format(lake))
        assert frame.collect() == rows, text
        read = frame.inputFiles()
        assert all(f"{lake}/part-" in name for name in read), (text, read)
        files[text] = sum(scan.files or 0 for scan in reads(frame._jdf.queryExecution().executedPlan()))
    assert list(files.values()) == [1, FILES, 2, FILES, FILES, FILES, 2]
    assert rule.counts(newer).failed == 0


def test_what_does_not_compile_is_refused_in_a_line(newer: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a class that nothing which is placed there would ask for."""
    sources = java_sources

    def lacking(*asked: Any) -> dict[str, str]:
        found = sources(*asked)
        assert ".toSortAggregate" in found["GroupStrategy"]
        return {**found, "GroupStrategy": found["GroupStrategy"].replace(".toSortAggregate", ".toNothingKnown")}

    monkeypatch.setattr("metaindex.core.jvm.sources.java_sources", lacking)
    with pytest.raises(UnsupportedFeatureError, match=r"has something else: .*table\.scan") as why:
        mi.enable(newer)
    assert "\n" not in str(why.value)
    assert not rule.is_enabled(newer)


def test_one_that_reads_otherwise_than_expected_is_refused_in_a_line(
    newer: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_EXPECTED", {"id = 7": 2})
    for _ in range(2):  # it is not tried again
        with pytest.raises(
            UnsupportedFeatureError, match=r"newer than .* does not: id = 7 reads 1 files, 2 expected; use one of those"
        ) as why:
            mi.enable(newer)
        assert "\n" not in str(why.value)
        assert not rule.is_enabled(newer)
        monkeypatch.setattr(trial, "_EXPECTED", {})
    assert newer.range(3).count() == 3


def test_what_the_application_set_is_not_its_sparks(lake: str, newer: SparkSession) -> None:
    """Sessions begin with the settings of the context; a setting that keeps metaindex off is no reason to refuse."""
    settings = {
        "spark.metaindex.enabled": "false",
        "spark.metaindex.indexes": "none",
        "spark.metaindex.timeoutSeconds": "0.001",
        "spark.sql.caseSensitive": "true",
        "spark.sql.sources.useV1SourceList": "",
    }
    context = newer.sparkContext._jsc.sc().conf()
    for name, value in settings.items():
        context.set(name, value)
    try:
        mi.enable(newer)
    finally:
        for name in settings:
            context.remove(name)
    assert newer.read.parquet(lake).where("id = 70").count() == 1
    assert rule.counts(newer).failed == 0


def test_a_trial_that_fails_changes_nothing_and_is_no_verdict(
    newer: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    mi.enable(newer)
    trial._SEEN.clear()
    with monkeypatch.context() as without:
        without.setattr(tempfile, "tempdir", "/proc")
        with pytest.raises(UnsupportedFeatureError, match=r"does not: \w+: .*/proc") as why:
            mi.enable(newer)
    assert "\n" not in str(why.value)
    assert rule.is_enabled(newer)
    mi.enable(newer)


def test_a_trial_waits_for_cores_only_so_long(
    newer: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jobs of others go on."""
    with busy(newer, tmp_path / "done"), monkeypatch.context() as soon:
        soon.setattr(trial, "_MOST_SECONDS", 0.5)
        with pytest.raises(UnsupportedFeatureError, match=r"does not: TimeoutError: .* 0\.5 s; others"):
            mi.enable(newer)
    assert not rule.is_enabled(newer)
    mi.enable(newer)
