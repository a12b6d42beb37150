"""Tables written by Spark with Iceberg: files, deleted positions, rows and diffs as Spark itself sees them, at every
version."""

from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from metaindex.core import SparkDriver
from metaindex.formats.format import At, TableRef
from metaindex.formats.model import Snapshot
from tests.formats.iceberg.handmade import FORMAT, agreed, check_bounds, open_now, table_ref

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

COLUMNS = """id bigint, b boolean, i int, f float, d double, dec decimal(10,2), wide decimal(30,5), s string,
    bin binary, day date,
    ts timestamp, local timestamp_ntz, st struct<x:int,y:string>, l array<int>, m map<string,int>"""
X = "'x'"  # SQL's
ROWS = """id, id%2=0, cast(id as int), cast(if(id%50=7, 'NaN', id/3) as float), id/7.0, cast(id as decimal(10,2)),
    cast(id*1000000000000 as decimal(30,5)),
    concat(array('é','日本','😀','zz','aa')[id%5], repeat('q',20), id), cast(cast(id as string) as binary),
    date'1969-12-30'+cast(id%3 as int),
    timestamp'1969-12-31 00:00:00'+make_interval(0,0,0,cast(id%3 as int),0,0,id), timestamp_ntz'2020-01-01 00:00:00',
    named_struct('x', cast(id as int), 'y', cast(id as string)), array(1,2), map('a',1)"""


def location(spark: SparkSession, table: str) -> str:
    rows = spark.sql(f"describe table extended {table}").where("col_name = 'Location'").collect()
    return str(rows[0]["data_type"]).removeprefix("file:")


def selected(spark: SparkSession, table: str, **given: str) -> str:
    """A row of these columns, NULL in the others: named all, for Spark 3.5 fills in none."""
    return "select " + ", ".join(given.get(column, "null") for column in spark.table(table).columns)


def insert(spark: SparkSession, table: str, branch: str = "", **given: str) -> str:
    return f"insert into {table}{branch} {selected(spark, table, **given)}"


def live(spark: SparkSession, table: str, version: int) -> dict[str, list[int]]:
    """Live positions of each file, by Spark."""
    query = f"select _file f, collect_list(_pos) p from {table} version as of {version} group by _file"
    return {row["f"].removeprefix("file:"): sorted(row["p"]) for row in spark.sql(query).collect()}


def check_versions(spark: SparkSession, table: str, ref: TableRef) -> list[Snapshot]:
    versions = [row["snapshot_id"] for row in spark.sql(f"select snapshot_id from {table}.snapshots").collect()]
    assert {v.id for v in FORMAT.versions(ref)} == {str(one) for one in versions}
    snapshots = []
    for version in versions:
        snapshot = FORMAT.snapshot(ref, At(version=version))
        snapshots.append(snapshot)
        seen = live(spark, table, version)
        ours = {}
        for row, one in enumerate(snapshot.files.entries()):
            deleted = snapshot.details.deletes(row).positions if one.deletes is not None else frozenset()
            assert one.record_count is not None
            counted = snapshot.files.table.column("deleted_count")[row].as_py()
            assert counted is None or counted == len(deleted)
            positions = [n for n in range(one.record_count) if n not in deleted]
            if positions:
                ours[snapshot.uri(one.path)] = positions
        assert ours == seen
    for base, target in product(snapshots, repeat=2):
        agreed(ref, base, target)
    return snapshots


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_history_reads_as_spark_reads_it(spark: SparkSession, version: int) -> None:
    t = f"iceberg.formats.history{version}"
    modes = ", ".join(f"'write.{verb}.mode'='merge-on-read'" for verb in ("delete", "update", "merge") if version > 1)
    properties = f"'format-version'='{version}'" + (f", {modes}" if modes else "")
    spark.sql(
        f"create table {t} ({COLUMNS}) using iceberg partitioned by (days(ts), truncate(1, s)) tblproperties"
        f" ({properties})"
    )
    steps: tuple[str | Callable[[], str], ...] = (
        f"insert into {t} select {ROWS} from range(60)",
        lambda: f"{insert(spark, t, id='1000')} union all {selected(spark, t, id='1001', s=X)}",
        f"delete from {t} where id % 10 = 3",
        f"alter table {t} create branch audit",
        f"alter table {t} create tag v1",
        f"alter table {t} add column fresh int",
        f"alter table {t} alter column i type bigint",
        f"alter table {t} rename column d to dd",
        f"update {t} set fresh = 5, b = false where id % 10 = 4",
        f"alter table {t} drop partition field days(ts)",
        f"alter table {t} add partition field bucket(4, id)",
        lambda: insert(
            spark, t, id="2000", s="'new'", ts="timestamp'2021-01-01 00:00:00'", fresh="9", dd="double('NaN')"
        ),
        lambda: insert(spark, t, branch=".branch_audit", id="777", s="'branch'"),
        f"merge into {t} t using (select id from range(5, 15)) u on t.id = u.id when matched and u.id % 2 = 0 then"
        " delete when matched then update set fresh = 77",
        f"call iceberg.system.rewrite_manifests('formats.history{version}')",
        f"call iceberg.system.rewrite_data_files(table => 'formats.history{version}', options => map('rewrite-all',"
        " 'true'))",
        f"delete from {t} where id = 5",
    )
    for step in steps:
        spark.sql(step if isinstance(step, str) else step())
    ref = table_ref(location(spark, t))
    snapshots = check_versions(spark, t, ref)
    by_id = {s.version.id: s for s in snapshots}
    names = {row["name"]: row["snapshot_id"] for row in spark.sql(f"select name, snapshot_id from {t}.refs").collect()}
    for name, snapshot_id in names.items():
        assert FORMAT.resolve(ref, At(version=name)) == by_id[str(snapshot_id)].version
    assert check_bounds(snapshots[0]) > 300
    assert check_bounds(FORMAT.snapshot(ref, At())) > 20
    main = [
        row["snapshot_id"]
        for row in spark.sql(f"select snapshot_id from {t}.history where is_current_ancestor").collect()
    ]
    known = [FORMAT.diff(ref, by_id[str(base)], At(version=target)) is not None for base, target in pairwise(main)]
    assert all(known[:1]), "commits tell what was appended; of a delete they may say no file"
    assert version > 1 or all(known), "and all where there are no deletes"
    for when in spark.sql(
        f"select cast(unix_millis(made_current_at) as bigint) ms, snapshot_id from {t}.history"
    ).collect():
        assert FORMAT.resolve(ref, At(timestamp_ms=when["ms"])).id == str(when["snapshot_id"])

    spark.sql(f"call iceberg.system.rollback_to_snapshot('formats.history{version}', {main[2]})")
    assert FORMAT.resolve(ref, At()).id == str(main[2])
    spark.sql(
        f"call iceberg.system.expire_snapshots(table => 'formats.history{version}',"
        " older_than => timestamp'2100-01-01 00:00:00', retain_last => 1)"
    )
    check_versions(spark, t, ref)
    spark.sql(f"drop table {t} purge")


def test_imported_millisecond_timestamps_give_no_bounds(spark: SparkSession, tmp_path: Path) -> None:
    with SparkDriver(spark).setting("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS"):
        spark.range(10).selectExpr(
            "timestamp'2020-01-01 00:00:00.123' ts", "id", "cast(id % 2 as int) p"
        ).write.partitionBy("p").parquet(f"{tmp_path}/files")
    spark.sql("create table iceberg.formats.imported (ts timestamp, id bigint, p int) using iceberg partitioned by (p)")
    spark.sql(
        f"call iceberg.system.add_files(table => 'formats.imported', source_table => '`parquet`.`{tmp_path}/files`')"
    )
    snapshot = open_now(location(spark, "iceberg.formats.imported"))
    ts, number, part = snapshot.schema.leaves()
    bounds: Any = snapshot.details.log_bounds(ts)
    assert (bounds.lower, bounds.upper) == (None, None)
    assert snapshot.details.log_bounds(number) is not None
    assert snapshot.partition_columns == ("p",)
    partitions: Any = snapshot.details.partition_bounds(part)
    assert sorted(set(partitions.lower.to_pylist())) == [0, 1]
    assert all(one.path.startswith(f"{tmp_path}/files/") for one in snapshot.files.entries())
    spark.sql("drop table iceberg.formats.imported")
