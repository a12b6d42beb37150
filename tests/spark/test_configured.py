"""Spark's own configuration says where indexes lie: `spark.metaindex.indexLocation`, `.namespace`, `.confine`."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.table import PLACES, configured


def test_each_setting_is_a_field() -> None:
    said = {
        "spark.metaindex.indexLocation": "s3://indexes/of us",
        "spark.metaindex.namespace": "team-a",
        "spark.metaindex.confine": "TRUE",
    }
    assert configured(said.get) == mi.Config(index_location="s3://indexes/of us", namespace="team-a", confine=True)
    assert set(said) == set(PLACES)


@pytest.mark.parametrize("said", [{}, dict.fromkeys(PLACES, ""), dict.fromkeys(PLACES, None)])
def test_what_nobody_says_is_as_it_is_by_default(said: dict[str, str | None]) -> None:
    assert configured(said.get) == mi.Config()


@pytest.mark.parametrize(
    ("setting", "text"),
    [("confine", "yes"), ("namespace", "../other"), ("namespace", "a/b"), ("indexLocation", "a\0b")],
)
def test_an_error_names_the_setting(setting: str, text: str) -> None:
    with pytest.raises(mi.MetaIndexError, match=rf"^spark\.metaindex\.{setting}\b.*; .+"):
        configured({f"spark.metaindex.{setting}": text}.get)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    folder = tmp_path / "lake" / "events"
    folder.mkdir(parents=True)
    for number in range(4):
        pq.write_table(pa.table({"id": range(number * 100, number * 100 + 100)}), folder / f"{number}.parquet")
    return folder


@pytest.fixture
def placed(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    session = spark.newSession()
    session.conf.set("spark.metaindex.indexLocation", str(tmp_path / "indexes"))
    session.conf.set("spark.metaindex.namespace", "team-a")
    yield session
    mi.hooks.disable(session)
    mi.disable(session)


def test_a_session_finds_its_indexes_there(placed: SparkSession, events: Path, tmp_path: Path) -> None:
    mi.enable(placed)
    placed.sql(f"CREATE INDEX days ON parquet.`{events}` (id)")
    assert [entry.name for entry in (tmp_path / "lake").iterdir()] == ["events"], "nothing is written beside the table"
    assert [row["name"] for row in placed.sql(f"SHOW INDEXES ON parquet.`{events}`").collect()] == ["days"]
    config = mi.Config(index_location=tmp_path / "indexes", namespace="team-a")
    assert [index.name for index in mi.open_table(events, config=config).indexes()] == ["days"]
    query = placed.sql(f"SELECT id FROM parquet.`{events}` WHERE id = 210")
    assert [row["id"] for row in query.collect()] == [210]
    assert "<metaindex days: 1/4 files>" in query._jdf.queryExecution().executedPlan().toString()
    assert mi.RuleConfig().with_conf(dict.fromkeys(PLACES, "x")) == (mi.RuleConfig(), [])


def test_what_a_call_says_goes_before_it(placed: SparkSession, events: Path, tmp_path: Path) -> None:
    mi.enable(placed, config=mi.Config())
    placed.sql(f"CREATE INDEX days ON parquet.`{events}` (id)")
    assert [index.name for index in mi.open_table(events).indexes()] == ["days"]
    assert not (tmp_path / "indexes").exists()


def test_hooks_go_there(placed: SparkSession, events: Path, tmp_path: Path) -> None:
    config = mi.Config(index_location=tmp_path / "indexes", namespace="team-a")
    mi.open_table(events, config=config).create_index("days", mi.ColumnStats("id"))
    mi.hooks.enable(placed, mode="synchronous")
    placed.range(1000, 1010).write.mode("append").parquet(str(events))
    mi.hooks.flush(spark=placed)
    table = mi.open_table(events, config=config)
    assert [index.fresh for index in table.indexes()] == [True]


def test_a_setting_that_is_none_leaves_the_session_as_it_was(placed: SparkSession) -> None:
    mi.enable(placed)
    placed.conf.set("spark.metaindex.confine", "perhaps")
    with pytest.raises(mi.MetaIndexError, match=r"spark\.metaindex\.confine is true or false; got 'perhaps'"):
        mi.enable(placed)
    assert mi.is_enabled(placed)
