"""Who builds where nobody says: this process what is small, a session that there is what is not, and no JVM unasked."""

import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import ArgumentError
from tests.processes import python
from tests.tables import settle, settled


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = settled(
        tmp_path / "lake", {f"{number}.parquet": pa.table({"a": [number, number + 1]}) for number in range(3)}
    )
    return root


def built_by(outcome: object) -> list[str]:
    return [run.builder for run in outcome.entry.content.runs]


@pytest.mark.slow
def test_no_java_is_started_for_what_this_process_can_build(folder: Path) -> None:
    """With pyspark installed, and told of no session."""
    text = """
import sys
import metaindex as mi
table = mi.open_table(sys.argv[1], config=mi.Config(local_bytes=0))  # every table is large
outcome = table.create_index("i", mi.ColumnStats(), mi.Values("a"))
print([run.builder for run in outcome.entry.content.runs], "pyspark" in sys.modules)
"""
    assert python("-c", text, folder).strip() == "['local'] False"


def test_the_command_line_builds_here(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from metaindex.cli import main

    assert main(["create", str(folder), "i"]) == 0
    assert "starting Spark" not in capsys.readouterr().err
    assert main(["refresh", str(folder), "i", "--mode", "full"]) == 0
    assert "starting Spark" not in capsys.readouterr().err


def test_a_word_that_names_no_builder_is_refused(folder: Path) -> None:
    table = mi.open_table(folder)
    with pytest.raises(ArgumentError, match="not 'cluster'"):
        table.create_index("i", mi.ColumnStats(), builder="cluster")
    with pytest.raises(ArgumentError, match="local_bytes"):
        mi.Config(local_bytes=-1)


@pytest.mark.spark
def test_a_session_builds_what_is_large(folder: Path, spark: SparkSession) -> None:
    size = sum(file.stat().st_size for file in folder.iterdir())
    small = mi.open_table(folder, spark=spark, config=mi.Config(local_bytes=size))
    assert built_by(small.create_index("small", mi.ColumnStats(), mi.Values("a"))) == ["local"]
    large = mi.open_table(folder, spark=spark, config=mi.Config(local_bytes=size - 1))
    assert built_by(large.create_index("large", mi.ColumnStats(), mi.Values("a"))) == ["spark"]
    pq.write_table(pa.table({"a": [7]}), folder / "new.parquet")  # what is read decides, not what there is
    settle(folder)
    assert built_by(large.reopened().refresh_index("large")) == ["spark", "local"]
    with_none_given = mi.open_table(folder, config=mi.Config(local_bytes=0))
    assert built_by(with_none_given.create_index("running", mi.ColumnStats())) == ["spark"]


@pytest.mark.spark
def test_what_only_spark_builds_uses_the_session_that_runs(
    folder: Path, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "metaindex"):
        outcome = mi.open_table(folder).create_index("copy", mi.Covering(["a"], buckets=2))
    assert built_by(outcome) == ["spark"]
    assert "a Spark is started" not in caplog.text
