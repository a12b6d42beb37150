"""Names that are used again: Iceberg reads the present snapshot, and branches, by the names of today, and an old one by
those of its time. Filters are of columns, whatever they are called."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from metaindex import rule
from metaindex.expressions.build import col
from metaindex.expressions.errors import UnknownColumnError
from metaindex.expressions.tree import And, Opaque
from metaindex.formats.iceberg.schema import read_schema
from metaindex.formats.model import Schema
from metaindex.pruning.condition import OfSchema
from metaindex.rule.request import Delta, Filters, Iceberg, SparkScan
from metaindex.rule.scans import at_version
from tests.rule.lakes import location_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "iceberg.renamed.t"
FIRST = {
    "schema-id": 0,
    "type": "struct",
    "fields": [
        {"id": 1, "name": "a", "required": False, "type": "long"},
        {"id": 2, "name": "b", "required": False, "type": "long"},
    ],
}


def test_a_condition_is_of_columns_whatever_they_are_called() -> None:
    schema = Schema(tuple(read_schema(FIRST, "t")))
    scan = SparkScan("t", Iceberg("1", ((("x",), 1), (("A",), 2), (("new",), 3))), Filters([]))
    both = And((~(col("a") == 5), col("X").is_null(), Opaque("?", ())))
    found = at_version(both, scan)
    assert isinstance(found, OfSchema)
    assert found.make(schema) == And((~(col("b") == 5), col("a").is_null(), Opaque("?", ())))
    for unknown in ("new", "b"):
        late = at_version(col(unknown) == 1, scan)
        assert isinstance(late, OfSchema)
        with pytest.raises(UnknownColumnError):
            late.make(schema)
    assert at_version(both, replace(scan, source=Delta("1", "id", None, {}))) is both


@pytest.mark.spark
def test_names_that_were_used_before(spark: SparkSession) -> None:
    spark.sql(
        f"CREATE TABLE {NAME} (id BIGINT, a BIGINT, b BIGINT, s STRUCT<x: BIGINT, y: BIGINT>) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
    )
    rows = spark.range(0, 30, 1, 3).selectExpr(
        "id", "id AS a", "1000 + id AS b", "named_struct('x', id, 'y', 5000 + id) AS s"
    )
    rows.writeTo(NAME).append()
    table = mi.open_table(location_of(spark, NAME))
    table.create_index("stats", mi.ColumnStats(), mi.Values("a", "b"), builder="local")
    for before, after in [("a", "z"), ("b", "a"), ("s.x", "w"), ("s.y", "x")]:
        spark.sql(f"ALTER TABLE {NAME} RENAME COLUMN {before} TO {after}")
    for name in ("BRANCH", "TAG"):
        spark.sql(f"ALTER TABLE {NAME} CREATE {name} `{name}`")
    rule.enable(spark)
    try:
        for condition, expected in [
            ("a = 1005", [5]),
            ("A > 1027", [28, 29]),
            ("z = 5", [5]),
            ("s.x = 5012", [12]),
            ("s.w = 12 AND a = 1012", [12]),
        ]:
            for at in ("", " VERSION AS OF 'BRANCH'"):
                before = rule.counts(spark).rewritten
                found = spark.sql(f"SELECT id FROM {NAME}{at} WHERE {condition}").collect()
                assert sorted(row[0] for row in found) == expected, (condition, at)
                assert rule.counts(spark).rewritten > before, (condition, at)
        found = spark.sql(f"SELECT id FROM {NAME} VERSION AS OF 'TAG' WHERE a = 5").collect()
        assert [row[0] for row in found] == [5]
        assert rule.counts(spark).failed == 0
    finally:
        rule.disable(spark)
