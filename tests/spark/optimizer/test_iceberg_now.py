"""Queries of an Iceberg table as it is now are answered for the snapshot whose files Spark has listed, whatever is
committed meanwhile. Iceberg for Spark 4.1 pins a scan; for 3.5 and 4.0 it lists the files of what the table's handle
has at that time, and other queries refresh the handle."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.optimizer.enabling import rule_of
from metaindex.spark.optimizer.request import Iceberg
from tests.figures import count
from tests.spark.optimizer.lakes import location_of

pytestmark = pytest.mark.uncompiled

FILES, ROWS = 6, 60
ALL = FILES * ROWS
PINS = "4.1"
"""From this Spark on Iceberg pins what a table is now."""


def make_table(spark: SparkSession, folder: Path, *kinds: Any) -> str:
    """id and k 0..359 in six files of neighbours, v 1; indexed."""
    name = f"iceberg.now.t{abs(hash(str(folder))) % 10**9}"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, k INT, v BIGINT) USING iceberg TBLPROPERTIES ('format-version'='2',"
        " 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.distribution-mode'='none')"
    )
    spark.range(0, ALL, 1, FILES).selectExpr("id", "CAST(id AS int) AS k", "1L AS v").writeTo(name).append()
    table = mi.open_table(location_of(spark, name))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    if kinds:
        table.create_index("copy", *kinds, builder="spark")
    return name


def current(spark: SparkSession, name: str) -> str:
    return str(spark.sql(f"SELECT snapshot_id FROM {name}.refs WHERE name = 'main'").head()[0])


def asked(spark: SparkSession, frame: DataFrame) -> list[str | None]:
    """The versions that the rule would ask about for a query, which is planned without it, once."""
    execution = frame._jdf.queryExecution()
    rule_of(spark).rule.plan(execution, False)
    sources = [scan.source for scan in rule_of(spark).survey(execution).scans]
    return [source.version for source in sources if isinstance(source, Iceberg)]


def test_the_version_is_that_of_the_files_that_are_listed(enabled: SparkSession, tmp_path: Path) -> None:
    spark, name = enabled, make_table(enabled, tmp_path)
    pins = spark.version.startswith(PINS)

    def ask(**options: str) -> DataFrame:
        return spark.read.format("iceberg").options(**options).load(name).where("k = 7")

    first, before = current(spark, name), ask()
    assert asked(spark, before) == [first]
    spark.sql(f"ALTER TABLE {name} CREATE TAG kept")
    spark.sql(f"ALTER TABLE {name} CREATE BRANCH aside")
    assert asked(spark, before) == [first], "the handle is refreshed, and the snapshot is still the same"
    spark.sql(f"INSERT INTO {name} VALUES (7, 7, 5)")
    second = current(spark, name)
    assert asked(spark, ask()) == [second]
    assert asked(spark, before) == [first if pins else None], "what its files are of is not proved any more"
    made = spark.sql(f"SELECT CAST(committed_at AS STRING) FROM {name}.snapshots ORDER BY committed_at").head()
    for then in (
        f"VERSION AS OF {first}",
        "VERSION AS OF 'kept'",
        "VERSION AS OF 'aside'",
        f"TIMESTAMP AS OF '{made[0]}'",
    ):
        assert asked(spark, spark.sql(f"SELECT * FROM {name} {then} WHERE k = 7")) == [first], then
    for option, value in {"snapshot-id": first, "tag": "kept", "branch": "aside"}.items() if not pins else ():
        assert asked(spark, ask(**{option: value})) == [first], option
    between = ask(**{"start-snapshot-id": first, "end-snapshot-id": second})
    assert asked(spark, between) in ([], [None]), "what was appended is of no one version"
    assert [row.v for row in between.collect()] == [5]

    spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{name.removeprefix('iceberg.')}', {first})")
    assert asked(spark, ask()) == [first if pins else None], "the handle may have had the second in between"
    assert [row.v for row in ask().collect()] == [1]
    spark.sql(f"INSERT INTO {name} VALUES (7, 7, 6)")
    assert asked(spark, ask()) == [current(spark, name)]
    assert sorted(row.v for row in ask().collect()) == [1, 6]


def test_a_table_without_a_snapshot_has_no_version(enabled: SparkSession, tmp_path: Path) -> None:
    name = f"iceberg.now.e{abs(hash(str(tmp_path))) % 10**9}"
    enabled.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg")
    assert asked(enabled, enabled.table(name).where("id = 1")) in ([], [None])
    assert enabled.table(name).where("id = 1").collect() == []


QUERIES = (
    "SELECT id, k, v FROM {t} WHERE k = 77",
    "SELECT id, k FROM {t} WHERE id BETWEEN 50 AND 70",
    "SELECT count(*), min(k), max(k) FROM {t}",
    "SELECT count(*), sum(v) FROM {t} WHERE k >= 60",
    "SELECT k FROM {t} ORDER BY k DESC LIMIT 3",
    "SELECT k, count(*), sum(v) FROM {t} GROUP BY k",
)


@pytest.mark.parametrize("first", ["planned", "planned and a query of another"])
def test_what_is_committed_between_planning_and_running_changes_no_row(
    enabled: SparkSession, tmp_path: Path, first: str
) -> None:
    spark = enabled
    name = make_table(spark, tmp_path, mi.Covering(["k"], ["id", "v"], buckets=4))
    rows = {text: sorted(map(tuple, spark.sql(text.format(t=name)).collect())) for text in QUERIES}
    rewritten = rule.counts(spark).rewritten
    frames = {text: spark.sql(text.format(t=name)) for text in QUERIES}
    for frame in frames.values():
        frame._jdf.queryExecution().optimizedPlan()
    assert rule.counts(spark).rewritten >= rewritten + len(QUERIES) - 1, "counts and extremes need no index's rows"
    short = name.removeprefix("iceberg.")
    for change in (
        f"INSERT INTO {name} VALUES (77, 77, 100), (999, 999, 1)",
        f"DELETE FROM {name} WHERE k IN (55, 77, 359)",
        f"UPDATE {name} SET v = v + 1 WHERE k > 300",
        f"CALL iceberg.system.rewrite_data_files(table => '{short}', options => map('rewrite-all', 'true'))",
    ):
        spark.sql(change)
    if first != "planned":
        mi.open_table(location_of(spark, name)).refresh_index("copy", builder="spark")
        spark.sql(f"SELECT count(*) FROM {name} WHERE k = 77").collect()  # the handle is refreshed
    for text, frame in frames.items():
        assert sorted(map(tuple, frame.collect())) == rows[text], text
    rule.disable(spark)
    now = {text: sorted(map(tuple, spark.sql(text.format(t=name)).collect())) for text in QUERIES}
    rule.enable(spark)
    for text in QUERIES:
        assert sorted(map(tuple, spark.sql(text.format(t=name)).collect())) == now[text] != rows[text], text


def test_each_query_sees_one_version_while_others_commit(enabled: SparkSession, tmp_path: Path) -> None:
    """In every version each key has one row, and all values together are the same; a query that read files of one
    version and rows of another would see two rows of a key, none, or another sum."""
    spark, commits = enabled, 12
    name = make_table(spark, tmp_path, mi.Covering(["k"], ["id", "v"], buckets=4))
    short, table = name.removeprefix("iceberg."), mi.open_table(location_of(spark, name))
    over, wrong, queries = threading.Event(), [], 0

    def until_over(act: Callable[[Random, int], None], seed: int) -> Callable[[], None]:
        def run() -> None:
            random = Random(seed)
            try:
                for step in itertools.count():
                    if over.is_set():
                        break
                    act(random, step)
            except Exception as error:  # noqa: BLE001 - told below, by the test's own thread
                wrong.append(repr(error)[:500])
                over.set()

        return run

    def commit(random: Random, step: int) -> None:
        a, b = random.sample(range(ALL), 2)
        match step % 6:
            case 0:
                options = "map('rewrite-all', 'true')"
                spark.sql(f"CALL iceberg.system.rewrite_data_files(table => '{short}', options => {options})")
            case 1:
                snapshots = spark.sql(f"SELECT snapshot_id FROM {name}.history WHERE is_current_ancestor").collect()
                back = snapshots[-random.randrange(1, 1 + min(2, len(snapshots)))][0]
                spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{short}', {back})")
            case 3:
                table.refresh_index("stats", builder="local")
                table.refresh_index("copy", builder="spark")
            case _:
                change = f"v + CASE k WHEN {a} THEN 1 ELSE -1 END"
                spark.sql(f"UPDATE {name} SET v = {change} WHERE k IN ({a}, {b})")
        if step == commits:
            over.set()

    def query(random: Random, step: int) -> None:
        nonlocal queries
        key = random.randrange(ALL)
        for text, expected in (
            (f"SELECT k FROM {name} WHERE k = {key}", [(key,)]),
            (f"SELECT count(*), min(k), max(k) FROM {name}", [(ALL, 0, ALL - 1)]),
            (f"SELECT count(*), sum(v) FROM {name} WHERE k >= 0", [(ALL, ALL)]),
            (f"SELECT count(*), sum(n) FROM (SELECT count(v) n FROM {name} GROUP BY k)", [(ALL, ALL)]),
        ):
            found = [tuple(row) for row in spark.sql(text).collect()]
            queries += 1
            if found != expected:
                wrong.append(f"{text}: {found}")
                over.set()

    threads = [threading.Thread(target=until_over(act, seed)) for seed, act in enumerate((commit, query, query))]
    before = rule.counts(spark).rewritten
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert rule.counts(spark).rewritten > before
    count("queries of an Iceberg table as it is now, while others commit", queries)
