"""Hybrid scans under joins: rows of files that the index lacks are merged into its order, and nothing else is
sorted."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.index.actions.optimize import MergePolicy
from metaindex.spark.optimizer.placing import _strategy
from tests.compiling import uncompiled
from tests.spark.optimizer.changing_lakes import Lake, asked, plan_of

ROWS = 3000
NEW = 300
KEYS = {
    "int": "CAST(id * 17 % 400 - 200 AS int)",
    "bigint": "id * 17 % 400 * 4000000000 - 200",
    "string": "concat(repeat('x', CAST(id % 3 AS int)), id % 130)",
    "decimal": "CAST((id * 17 % 400 - 200) / 3 AS decimal(20, 3))",
    "date": "date_add(DATE'1969-12-01', CAST(id * 17 % 400 AS int))",
    "timestamp": "timestamp_seconds(id * 17 % 400 * 100000 - 1000)",
    "boolean": "id % 3 = 0",
    "binary": "CAST(concat('b', id % 130) AS binary)",
}
"""By type: of the row's number, in no order, with many equal ones. Spark joins floats by an expression of them, which
no index has."""
JOINS = [
    "SELECT a.id, b.id FROM {a} a JOIN {b} b ON a.k = b.k",
    "SELECT a.id, b.v FROM {a} a LEFT JOIN {b} b ON a.k = b.k AND b.v < 300",
    "SELECT a.v, b.id FROM {a} a RIGHT JOIN {b} b ON a.k = b.k AND a.id > 2900",
    "SELECT a.id, b.id FROM {a} a FULL JOIN {b} b ON a.k = b.k AND a.id < b.id",
    "SELECT a.id FROM {a} a LEFT SEMI JOIN {b} b ON a.k = b.k",
    "SELECT a.id FROM {a} a LEFT ANTI JOIN {b} b ON a.k = b.k",
]
ABOVE = [
    "SELECT a.v, count(*), max(b.id) FROM {a} a JOIN {b} b ON a.k = b.k GROUP BY a.v",
    "SELECT a.k, sum(b.v) FROM {a} a JOIN {b} b ON a.k = b.k GROUP BY a.k",
    "SELECT a.id, row_number() OVER (PARTITION BY a.k ORDER BY a.id, b.id) FROM {a} a JOIN {b} b ON a.k = b.k",
    "SELECT a.id, b.id FROM {a} a JOIN {b} b ON a.k = b.k ORDER BY b.v DESC, a.id, b.id LIMIT 50",
    "SELECT DISTINCT c.v FROM {a} a JOIN {b} b ON a.k = b.k JOIN {a} c ON c.k = a.k",
    "SELECT a.id FROM {a} a JOIN {b} b ON a.k = b.k WHERE a.v > (SELECT avg(v) FROM {b}) AND a.id % 2 = 0",
]
"""Aggregates and sorts send themselves to executors with what stands below them."""


def _rows(key: str, start: int, count: int) -> str:
    return (
        f"SELECT id, CASE WHEN id % 31 = 0 THEN NULL ELSE {key} END AS k, id * 7 % 500 AS v, repeat('p', 300) AS pad"
        f" FROM range({start}, {start + count}, 1, 2)"
    )


def _sides(spark: SparkSession, folder: Path, key: str) -> dict[str, str]:
    """Two tables of Delta, both behind: the one more than the other."""
    made = {}
    for side, (count, new) in {"a": (ROWS, NEW), "b": (ROWS // 10, 20)}.items():
        path = str(folder / side)
        kind = mi.Covering(indexed=["k"], included=["id", "v"], buckets=4)
        with uncompiled(spark):
            rows = spark.sql(_rows(key, 0, count))
            rows.write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
            mi.open_table(path, spark=spark).create_index("cov", kind)
            spark.sql(_rows(key, 10_000, new)).write.format("delta").mode("append").save(path)
        made[side] = f"delta.`{path}`"
    return made


def _merged(spark: SparkSession, text: str) -> str:
    """What is sorted are the few rows of files that the index lacks."""
    plan = asked(spark, text, by="cov: covering, and files that it lacks")
    shuffled = plan.count("REPARTITION_BY_NUM")
    assert 1 <= plan.count("Exchange hashpartitioning") == shuffled <= plan.count("MergeSorted"), plan
    return plan


@pytest.mark.parametrize("type_", KEYS)
def test_keys_of_every_type(sorting: SparkSession, tmp_path: Path, type_: str) -> None:
    sides = _sides(sorting, tmp_path, KEYS[type_])
    if type_ == "boolean":  # two keys leave most buckets empty: no index is taken, and the rows are the same
        plan = asked(sorting, JOINS[0].format(**sides), by="")
        assert "cov: covering, and files that it lacks" not in plan, plan
        return
    for text in JOINS if type_ == "bigint" else JOINS[:1]:
        plan = _merged(sorting, text.format(**sides))
        assert plan.count("Sort [") == plan.count("MergeSorted") == 2, plan


@pytest.mark.parametrize(
    "conf",
    [
        {},
        {"spark.sql.adaptive.enabled": "false"},
        {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"},
        {"spark.sql.unionOutputPartitioning": "false"},
        {"spark.sql.shuffle.partitions": "3", "spark.sql.adaptive.coalescePartitions.enabled": "false"},
    ],
    ids=["default", "not_adaptive", "interpreted", "union_of_no_order", "other_partitions"],
)
def test_what_stands_above_a_join(sorting: SparkSession, tmp_path: Path, conf: dict[str, str]) -> None:
    sides = _sides(sorting, tmp_path, KEYS["int"])
    for name, value in conf.items():
        sorting.conf.set(name, value)
    try:
        for text in ABOVE if not conf else ABOVE[:3]:
            asked(sorting, text.format(**sides), by="MergeSorted" if "(SELECT avg" not in text else "")
    finally:
        for name in conf:
            sorting.conf.unset(name)


def test_columns_are_chosen_below_a_scan_that_no_filter_asks(sorting: SparkSession, tmp_path: Path) -> None:
    """A projection above is a pass of its own over every row."""
    sides = _sides(sorting, tmp_path, KEYS["int"])
    plan = asked(sorting, "SELECT a.v, b.v FROM {a} a FULL JOIN {b} b ON a.k = b.k".format(**sides), by="MergeSorted")
    lines = plan.splitlines()
    above = [lines[at - 1] for at, line in enumerate(lines) if "MergeSorted" in line]
    assert len(above) == 2, plan
    assert not any("Project" in line for line in above), plan


def test_runs_are_merged_before_they_are_made_one(sorting: SparkSession, tmp_path: Path) -> None:
    """After refreshes: nothing is shuffled, nothing sorted; deleted rows and files that came since as ever."""
    sides = _sides(sorting, tmp_path, KEYS["int"])
    paths = [str(tmp_path / side) for side in "ab"]
    for path in paths:
        mi.open_table(path, spark=sorting).refresh_index("cov")
    for text in (JOINS[0], JOINS[3], *ABOVE[:2]):
        plan = asked(sorting, text.format(**sides), by="MergeSorted")
        assert plan.count("cov: covering>") == 4, plan
        assert "Exchange hashpartitioning" not in plan.replace("hashpartitioning(v#", ""), plan
        assert "Sort [" not in plan, plan
    sorting.sql(f"DELETE FROM {sides['a']} WHERE id % 100 = 7")
    sorting.sql(_rows(KEYS["int"], 20_000, 30)).write.format("delta").mode("append").save(paths[1])
    plan = _merged(sorting, JOINS[0].format(**sides))
    assert (plan.count("MergeSorted"), plan.count("Sort [")) == (3, 1), plan
    for path in paths:
        table = mi.open_table(path, spark=sorting)
        table.refresh_index("cov")
        table.optimize_index("cov", mode="full")
    assert "MergeSorted" not in asked(sorting, JOINS[0].format(**sides), by="cov: covering>")


def test_many_runs_of_many_columns(sorting: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merges stand above each other: what one asks of the one below must not grow with every step. Runs stay apart here
    as large ones do."""
    monkeypatch.setattr("metaindex.index.actions.optimize.ON_REFRESH", MergePolicy(max_files=0, max_bytes=0))
    path, columns = str(tmp_path / "t"), [f"c{i}" for i in range(12)]
    rows = "SELECT CAST(id * 17 % 90 AS int) AS k, {} FROM range({}, {}, 1, 1)"
    named = ", ".join(f"id + {i} AS {name}" for i, name in enumerate(columns))
    kind = mi.Covering(indexed=["k"], included=columns, buckets=2)
    for start in range(7):
        sorting.sql(rows.format(named, start * 500, start * 500 + 500 - start * 60)).write.format("delta").mode(
            "append"
        ).save(path)
        table = mi.open_table(path, spark=sorting)
        table.refresh_index("cov") if start else table.create_index("cov", kind)
    sorting.sql(rows.format(named, 10_000, 10_020)).write.format("delta").mode("append").save(path)
    both = ", ".join(f"sum(a.{name} - b.{name})" for name in columns)
    plan = _merged(sorting, f"SELECT {both} FROM delta.`{path}` a JOIN delta.`{path}` b ON a.k = b.k")
    assert plan.count("MergeSorted") == 14, plan


def test_a_spark_with_other_insides_has_its_own_unions(spark: SparkSession) -> None:
    sources, name = SparkDriver(spark).sources("metaindex.spark.optimizer"), "MergeStrategy"
    broken = sources["MergeSortedExec"].replace(
        "PhysicalVersions.noRows(output()", "PhysicalVersions.noRows(1, output()"
    )
    assert broken != sources["MergeSortedExec"]
    conf = spark._jsparkSession.sessionState().conf()
    for texts, fits in ((sources, True), ({**sources, "MergeSortedExec": broken}, False)):
        classes = SparkDriver(spark).compiled(texts)
        assert (_strategy(spark, classes, name, classes.new("Limit", conf, 1.0)) is not None) == fits


def test_two_keys_and_a_side_without_rows_of_its_own(sorting: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = "SELECT CAST(id % 7 AS int) AS x, concat('y', id % 11) AS y, id FROM range({}, {}, 1, 2)"
    sorting.sql(rows.format(0, 700)).write.format("delta").save(path)
    mi.open_table(path, spark=sorting).create_index("cov", mi.Covering(indexed=["x", "y"], included=["id"], buckets=3))
    sorting.sql(rows.format(1000, 1050)).write.format("delta").mode("append").save(path)
    lake = Lake(sorting, "delta", f"delta.`{path}`", path)
    text = "SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.x = b.x AND a.y = b.y"
    _merged(sorting, text.format(t=lake.name))
    _merged(sorting, text.format(t=lake.name) + " WHERE b.id < 1000 AND b.y <> 'y3'")
    sorting.sql(f"DELETE FROM {lake.name} WHERE id >= 1000 AND id < 1040")
    _merged(sorting, text.format(t=lake.name))


def test_a_frame_that_is_kept_and_one_that_is_written(sorting: SparkSession, tmp_path: Path) -> None:
    text = JOINS[0].format(**_sides(sorting, tmp_path, KEYS["bigint"]))
    with SparkDriver(sorting).setting("spark.metaindex.enabled", "false"):
        wanted = sorted(map(tuple, sorting.sql(text).collect()))
    kept = sorting.sql(text).cache()
    assert sorted(map(tuple, kept.collect())) == wanted
    assert sorted(map(tuple, kept.where("true").collect())) == wanted
    kept.unpersist()
    place = str(tmp_path / "written")
    sorting.sql(text).toDF("one", "other").write.parquet(place)
    assert sorted(map(tuple, sorting.read.parquet(place).collect())) == wanted
    assert "MergeSorted" in plan_of(sorting.sql(text))
    for mode in ("formatted", "cost", "codegen"):
        sorting.sql(text).explain(mode)


def test_disabled_sessions_keep_no_strategy(spark: SparkSession) -> None:
    session = spark.newSession()
    mi.enable(session)
    assert session._jsparkSession.experimental().extraStrategies().size() == 5
    mi.enable(session)
    assert session._jsparkSession.experimental().extraStrategies().size() == 5
    mi.disable(session)
    assert session._jsparkSession.experimental().extraStrategies().size() == 0
