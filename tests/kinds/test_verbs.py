"""Every kind of metaindex that is asked lives through every verb, over every format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from metaindex.kinds.kind import Kind
from tests.contract.verbs import commands, story
from tests.contract.verbs_lake import FORMATS, Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS: dict[str, tuple[Kind, str]] = {
    "column_stats": (mi.ColumnStats(), "column_stats"),
    "values": (mi.Values("user", ("user", "n")), "values"),
    "values by value": (mi.Values("user", ("user", "n"), by="value"), "value_keys"),
    "bloom_filters": (mi.Bloom("user", ("user", "n")), "bloom_filters"),
    "value_lists": (mi.ValueList("user", ("user", "n")), "value_lists"),
}
LEFT_OUT = 20


@pytest.mark.rotating(of=5)
@pytest.mark.slow
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", KINDS)
def test_a_kind_lives_through_every_verb(name: str, format_: str, tmp_path: Path) -> None:
    kind, partition = KINDS[name]
    story(Lake(tmp_path, format_), kind, partition, "local", LEFT_OUT)


@pytest.mark.rotating(of=5)
@pytest.mark.spark
@pytest.mark.parametrize("name", KINDS)
def test_built_by_spark(name: str, spark: SparkSession, tmp_path: Path) -> None:
    kind, partition = KINDS[name]
    story(Lake(tmp_path, "delta"), kind, partition, "spark", LEFT_OUT)


@pytest.mark.slow
def test_the_command_line_takes_it_too(tmp_path: Path) -> None:
    lake = Lake(tmp_path, "delta")
    story(lake, mi.Values("user"), "values", "local", LEFT_OUT)
    commands(lake, "--value-list", ("user", "user,n"), "value_lists(user, n)")
