"""A covering index along a curve stands for a scan whichever of its columns is asked: the same rows as with the rule
off, whatever was deleted, appended or changed in the schema since; and parts are left out by each column."""

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.advisor import ranking
from metaindex.index.kinds.covering import parts
from tests.index.kinds.covering.served import Held
from tests.spark.optimizer.changing_lakes import (
    MAKERS,
    Make,
    asked,
    covered,
    delete_rows,
    rows_of,
    versions_of,
)

pytestmark = [pytest.mark.uncompiled, pytest.mark.usefixtures("sorting")]

CURVE = mi.CoveringCurve(["k", "v", "d"], ["id", "name"])
LEAVES = [
    "k = {n}", "k IN ({n}, 49, 3)", "k < {n}", "k IS NULL", "k <=> NULL", "k BETWEEN {n} AND {n} + 4", "NOT k < {n}",
    "v > {n}", "v = double('NaN')", "v >= 80", "v < 1.5", "v = 0.0", "v IS NOT NULL", "v <> {n}", "isnan(v)",
    "d = date'2024-01-{day}'", "d >= date'2024-01-{day}'", "d < date'2024-01-{day}'", "d IN (date'2024-01-02')",
    "name = 'n{n}'", "id % 7 = 3",
]  # fmt: skip


def conditions(random: Random, count: int) -> list[str]:
    """Leaves, put together at random."""

    def leaf() -> str:
        said = random.choice(LEAVES).format(n=random.randint(-1, 51), day=f"{random.randint(1, 31):02}")
        return f"({said})" if random.random() < 0.8 else f"NOT ({said})"

    return [
        f" {random.choice(['AND', 'AND', 'OR'])} ".join(leaf() for _ in range(random.randint(1, 3)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_rows_whatever_is_asked_and_whatever_became_of_the_table(
    spark: SparkSession, tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "PAGE_ROWS", 5)  # else one page would have all rows
    lake = covered(make(spark, tmp_path), CURVE)
    for column in ("k = 7", "v BETWEEN 3 AND 4", "d = date'2024-01-09'"):
        asked(spark, f"SELECT id, k, v, d FROM {lake.name} WHERE {column}")
    asked(spark, f"SELECT id FROM {lake.name} WHERE name = 'n3'", by=None)  # of no indexed column
    random = Random(f"curve {lake.format}")
    every = conditions(random, 12)

    def compare() -> None:
        for version in versions_of(lake):
            for where in random.sample(every, 4):
                asked(spark, f"SELECT id, k, name, v, d FROM {lake.name}{version} WHERE {where}", by="")

    compare()
    delete_rows(lake, "id % 50 = 8")
    lake.append(rows_of(spark, 10_000, 60, 1))
    compare()
    lake.table().refresh_index("cov")
    if lake.format != "files":
        spark.sql(f"ALTER TABLE {lake.name} ADD COLUMN late INT")
        lake.append(rows_of(spark, 20_000, 40, 1).selectExpr("*", "1 AS late"))
    compare()
    lake.table().refresh_index("cov")
    lake.table().optimize_index("cov", mode="full")
    compare()
    assert lake.table().verify_index("cov", files=None).sound


def test_parts_are_left_out_by_every_column(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several ranges, cut by Spark as they are in Arrow: parts in the order of the curve."""
    monkeypatch.setattr("metaindex.index.kinds.covering.spark._RANGE_BYTES", 1 << 12)
    path = str(tmp_path / "t")
    rows = spark.range(0, 10_000, 1, 4).selectExpr(
        "id", "hash(id) AS a", "CAST(hash(id, 1) / 7 AS double) AS b", "CAST(hash(id, 2) AS string) AS c"
    )
    rows.write.format("delta").save(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("along", mi.CoveringCurve(["a", "b", "c"], ["id"]), builder="spark")
    held = Held.of(table, "along")
    count = len(parts.stored_parts(held.index.reader(held.runs[0]), held.key()))
    assert count >= 16
    held.check(spark)
    for where in ("a BETWEEN 0 AND 30000000", "b BETWEEN 0 AND 5000000", "c LIKE '12%'"):
        text = f"SELECT id, a, b, c FROM delta.`{path}` WHERE {where}"
        asked(spark, text, by="along: covering")
        told = mi.explain(spark.sql(text), run=True)
        assert sum(scan.files or 0 for scan in told.read) <= count * 3 // 4, where
