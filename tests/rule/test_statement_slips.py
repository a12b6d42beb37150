"""What a newcomer writes in statements of a session: what is told can be pasted there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from tests.rule.stated import rows
from tests.rule.stated import sql as sql  # the fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.rotating(family="slips in statements of a session")


def test_an_option_that_nobody_knows_is_refused_by_statements_and_passed_by_queries(
    sql: SparkSession, tmp_path: Path
) -> None:
    """Spark takes any option of a reader."""
    path = tmp_path / "t"
    sql.range(0, 30, 1, 3).write.parquet(str(path))
    for named in (f"parquet.`{path}`", f"'{path}'"):
        with pytest.raises(Exception, match="readers know options by name; 'foo' is none; leave it out"):
            sql.sql(f"SHOW INDEXES ON {named} WITH (foo = 1)")
    frame = sql.read.option("foo", "1").parquet(str(path))
    assert mi.create_index(frame, "i", mi.Values("id")).changed
    assert [row["name"] for row in rows(sql, f"SHOW INDEXES ON '{path}'")] == ["i"]
    query = sql.read.option("anything", "x").parquet(str(path)).where("id = 7")
    assert [row.id for row in query.collect()] == [7]
