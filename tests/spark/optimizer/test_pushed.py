"""What Spark pushes into the scan of a table it pushes into the scan that stands in its place: conditions on fields of
structs and on columns whose names are no plain words, which Iceberg's ids are not. Spark decides by the printed name of
the relation, so a relation that says what metaindex did must not lose it."""

import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from tests.spark.optimizer.lakes import location_of

pytestmark = pytest.mark.uncompiled

COLUMNS = ("id", "id AS `day:1`", "named_struct('n', id, 's', concat('n', id)) AS st", "uuid() AS noise")
ROWS = 60_000


def _pushed(frame: DataFrame) -> list[set[str]]:
    frame.collect()
    plan = str(frame._jdf.queryExecution().executedPlan().toString())
    return [set(re.split(r", (?=[A-Z])", found)) for found in re.findall(r"PushedFilters: \[(.*?)\], ReadSchema", plan)]


@pytest.mark.parametrize("form", ["parquet", "delta"])
@pytest.mark.parametrize("condition", ["st.n = 7", "st.s = 'n9'", "`day:1` BETWEEN 5 AND 9", "id = 11 AND st.n < 40"])
def test_fewer_files_are_asked_as_all_are(sorting: SparkSession, tmp_path: Path, form: str, condition: str) -> None:
    path = str(tmp_path / "t")
    rows = sorting.range(0, 400, 1, 4).selectExpr(*COLUMNS)
    rows.write.format(form).option("delta.dataSkippingNumIndexedCols", "0").save(path)
    mi.open_table(path).create_index("stats", mi.ColumnStats(), builder="local")
    text = f"SELECT id FROM {form}.`{path}` WHERE {condition}"
    ours = sorting.sql(text)
    with_rule = _pushed(ours)
    assert "<metaindex " in str(ours._jdf.queryExecution().executedPlan().toString()), "files were left out"
    rule.disable(sorting)
    assert with_rule == _pushed(sorting.sql(text))
    assert len(with_rule[0]) > 1, "there is something to push"


def test_pages_of_an_index_of_iceberg_are_left_out(sorting: SparkSession, tmp_path: Path) -> None:
    """A column is called by its id there."""
    name = f"iceberg.covering.pushed{abs(hash(str(tmp_path))) % 10**9}"
    sorting.sql(f"CREATE TABLE {name} (id BIGINT, day BIGINT, noise STRING) USING iceberg")
    sorting.range(0, ROWS, 1, 4).selectExpr("id", "id % 1000 AS day", "uuid() AS noise").writeTo(name).append()
    table = mi.open_table(location_of(sorting, name), spark=sorting)
    table.create_index("by_day", mi.CoveringRange(["day"], ["id", "noise"]), builder="spark")
    told = mi.explain(sorting.sql(f"SELECT id, noise FROM {name} WHERE day = 500"), run=True)
    (read,) = told.read
    assert read.rows < ROWS, "pages of 20,000 rows, which are in order"
    assert told.read_bytes < read.size_bytes / 2


def test_fields_of_structs_leave_pages_of_an_index_out(sorting: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    sorting.range(0, ROWS, 1, 4).selectExpr(
        "named_struct('day', id % 1000, 'x', id) AS st", "uuid() AS noise"
    ).write.format("delta").save(path)
    table = mi.open_table(path, spark=sorting)
    table.create_index("by_day", mi.CoveringRange(["st.day"], ["noise"]), builder="spark")
    told = mi.explain(sorting.sql(f"SELECT noise FROM delta.`{path}` WHERE st.day = 500"), run=True)
    (read,) = told.read
    assert read.rows < ROWS
    assert told.read_bytes < read.size_bytes / 2
