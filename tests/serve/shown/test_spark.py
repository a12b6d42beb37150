"""Shown tables in Spark with Iceberg's own catalog, and no jar of ours: every row as Delta's reader, or metaindex, has
it, although each plan keeps every file."""

import datetime as dt
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.serve.shown.columns import Column
from metaindex.serve.shown.partitions import Constants, Specs
from tests.each_spark import needs
from tests.serve.shown.careless import Careless, served
from tests.tables import settled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, needs("iceberg")]
_NAMES = iter(range(1000))
_VECTORS = "'delta.enableDeletionVectors' = 'true'"


@contextmanager
def catalog(spark: "SparkSession", **paths: Path) -> Iterator[tuple[str, Careless]]:
    """Serve tables to a catalog of its own; the namespace's name in Spark, and the server."""
    with served(**paths) as (address, careless):
        yield namespace(spark, address), careless


def namespace(spark: "SparkSession", address: str) -> str:
    """Make a catalog of a server; the name of its namespace `lake` in Spark."""
    name = f"shown{next(_NAMES)}"
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": address}
    for key, value in {**settings, ".cache-enabled": "false"}.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    return f"{name}.lake"


def plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return sorted((str(key), plain(inner)) for key, inner in value.items())
    if isinstance(value, list):
        pairs = bool(value) and all(type(inner) is tuple for inner in value)  # a map, as Arrow has it
        return sorted((str(k), plain(v)) for k, v in value) if pairs else [plain(inner) for inner in value]
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return bytes(value) if isinstance(value, bytearray) else value


def rows_of(spark: "SparkSession", sql: str) -> list[str]:
    return sorted(repr([*map(plain, row)]) for row in spark.sql(sql).collect())


def as_delta(spark: "SparkSession", lake: str, path: Path, *conditions: str) -> None:
    """Rows and counts are those of Delta's own reader, at each version too."""
    for condition in ("true", *conditions):
        want = rows_of(spark, f"SELECT * FROM delta.`{path}` WHERE {condition}")
        assert rows_of(spark, f"SELECT * FROM {lake}.{path.name} WHERE {condition}") == want, condition
        (count,) = spark.sql(f"SELECT count(*) FROM {lake}.{path.name} WHERE {condition}").collect()
        assert count[0] == len(want), condition


def at_each_version(spark: "SparkSession", lake: str, path: Path) -> None:
    for version in mi.open_table(path).versions():
        number = int(version.id)
        want = rows_of(spark, f"SELECT * FROM delta.`{path}` VERSION AS OF {number}")
        assert rows_of(spark, f"SELECT * FROM {lake}.{path.name} VERSION AS OF {number + 1}") == want, number


def same_extremes(spark: "SparkSession", lake: str, path: Path, *columns: str) -> None:
    """What counts and bounds of tasks may answer."""
    asked = ", ".join(f"min({name}), max({name}), count({name})" for name in columns)
    assert rows_of(spark, f"SELECT {asked} FROM {lake}.{path.name}") == rows_of(
        spark, f"SELECT {asked} FROM delta.`{path}`"
    )


def refusal(spark: "SparkSession", sql: str) -> str:
    with pytest.raises(Exception, match="metaindex itself") as raised:
        spark.sql(sql).collect()
    return str(raised.value)


def test_deleted_rows_by_vectors_in_deltas_own_files(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta TBLPROPERTIES ({_VECTORS}) AS SELECT id FROM range(0, 400, 1, 2)"
    )
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 10 = 3")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 77")
    with catalog(spark, vectors=path) as (lake, careless):
        as_delta(spark, lake, path, "id = 77", "id = 78", "id > 390")
        same_extremes(spark, lake, path, "id")
        at_each_version(spark, lake, path)
        (plan,) = {str(request.get("filter")) for request in careless.plans if "77" in str(request)}
        assert "eq" in plan
    assert not [*tmp_path.rglob("*.puffin")]


_PARTED = """SELECT id, CASE WHEN id % 3 = 0 THEN NULL ELSE concat('a b/', id % 3, '%=é') END p,
    date'2026-03-01' + cast(id % 2 AS int) day, cast(id % 2 AS decimal(10, 2)) d, id % 2 = 0 even,
    timestamp'2026-01-01 10:00:00' + make_interval(0, 0, 0, 0, 0, id % 2) at,
    timestamp_ntz'2026-01-01 10:00:00' clock FROM range(0, 120, 1, 1)"""


def test_filters_and_counts_of_partitions(spark: "SparkSession", tmp_path: Path) -> None:
    """Each plan keeps all files: a client that counted its tasks, or dropped its filter, would answer more."""
    path = tmp_path / "parted"
    spark.sql(
        f"CREATE TABLE delta.`{path}` USING delta PARTITIONED BY (p, day, at, d, clock, even)"
        f" TBLPROPERTIES ({_VECTORS}, 'delta.feature.timestampNtz' = 'supported') AS {_PARTED}"
    )
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 25 = 7")
    with catalog(spark, parted=path) as (lake, _):
        as_delta(
            spark, lake, path, "id = 77", "p IS NULL", "p = 'a b/1%=é'", "p <> 'a b/1%=é'", "day = date'2026-03-02'",
            "at > timestamp'2026-01-01 10:00:00'", "d = 1.00 AND NOT even", "p IS NULL OR even",
            "clock = timestamp_ntz'2026-01-01 10:00:00'",
        )  # fmt: skip


def test_without_the_empty_spec_spark_counts_rows_of_files_that_do_not_match(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard is needed: by its specs alone Spark believes that a filter on partitions is the server's business."""
    path = settled(tmp_path / "days", {f"day={day}/a.parquet": pa.table({"id": [1, 2]}) for day in (1, 2)})
    sql = "SELECT count(*) FROM {}.days WHERE day = 1"
    with catalog(spark, days=path) as (lake, _):
        assert [row[0] for row in spark.sql(sql.format(lake)).collect()] == [2]
    whole = Specs.of

    def of(columns: Sequence[Column], now: Constants) -> Specs:
        return Specs(tuple(columns), whole(columns, now).nulls - {(True,)})

    monkeypatch.setattr(Specs, "of", of)
    with catalog(spark, days=path) as (lake, _):
        assert [row[0] for row in spark.sql(sql.format(lake)).collect()] == [4]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_renamed_dropped_and_added_again(spark: "SparkSession", tmp_path: Path, mode: str) -> None:
    path = tmp_path / f"by{mode}"
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} USING delta PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}',"
        f" {_VECTORS}) AS SELECT id, id % 2 p, concat('n', id) name, id / 3 v, named_struct('x', id, 'y',"
        " named_struct('z', id)) s FROM range(60)"
    )
    for change in (
        "ALTER TABLE {} RENAME COLUMN name TO label",
        "ALTER TABLE {} RENAME COLUMN s.x TO xx",
        "INSERT INTO {0} SELECT id + 100, p, label, v, s FROM {0} WHERE id < 10",
        "ALTER TABLE {} DROP COLUMN v",
        "ALTER TABLE {} ADD COLUMN v string",
        "INSERT INTO {} VALUES (500, 1, 'q', named_struct('xx', 5L, 'y', named_struct('z', 6L)), 'new')",
        "DELETE FROM {} WHERE id % 10 = 3",
    ):
        spark.sql(change.format(table))
    with catalog(spark, **{path.name: path}) as (lake, _):
        as_delta(spark, lake, path, "label = 'n7'", "v IS NULL AND p = 1", "v = 'new'", "s.xx = 5", "p = 0")
        at_each_version(spark, lake, path)


def test_columns_mapped_later(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "later"
    table = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {table} USING delta AS SELECT id, concat('n', id) name FROM range(20)")
    mapped = "'delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5'"
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({mapped})")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN name TO label")
    spark.sql(f"INSERT INTO {table} SELECT id + 100, label FROM {table}")
    with catalog(spark, later=path) as (lake, _):
        as_delta(spark, lake, path, "label = 'n7'", "id = 107")
        at_each_version(spark, lake, path)


_KINDS = """SELECT id, cast(id AS tinyint) i8, cast(id AS smallint) i16, cast(id AS int) i32, cast(id AS float) f,
    id / 7.0D v, cast(cast(id AS string) AS binary) b, concat('ü', id) t, id % 2 = 0 even,
    date'2026-01-01' + cast(id AS int) day, timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, id) at,
    timestamp_ntz'2026-01-01 10:00:00' clock, cast(id AS decimal(9, 2)) d9, cast(id AS decimal(18, 3)) d18,
    cast(id AS decimal(38, 4)) d38, array(id, NULL) a,
    map('k', id) m, named_struct('x', id, 'y', array(named_struct('z', id))) s, CASE WHEN id % 3 > 0 THEN 'x' END n
    FROM range(0, 60, 1, 2)"""


def test_columns_of_every_type_and_who_may_not_read_them(spark: "SparkSession", tmp_path: Path) -> None:
    kinds, milli, mapped, char = (tmp_path / name for name in ("kinds", "milli", "mapped", "padded"))
    spark.sql(
        f"CREATE TABLE delta.`{kinds}` USING delta TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')"
        f" AS {_KINDS}"
    )
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS")
    try:
        spark.sql(f"CREATE TABLE delta.`{milli}` USING delta AS SELECT timestamp'2026-01-01 10:00:00' t")
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    by_name = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    spark.sql(f"CREATE TABLE delta.`{mapped}` USING delta {by_name} AS SELECT array(id) a FROM range(3)")
    spark.sql(f"CREATE TABLE delta.`{char}` (c char(5)) USING delta")
    with catalog(spark, kinds=kinds, milli=milli, mapped=mapped, padded=char) as (lake, _):
        as_delta(spark, lake, kinds, "id = 7", "d18 = 7", "s.x = 7", "at > timestamp'2026-01-01 00:00:30'", "n IS NULL")
        same_extremes(spark, lake, kinds, "id", "i8", "i32", "day", "at", "clock", "n", "v")
        assert "milliseconds" in refusal(spark, f"SELECT * FROM {lake}.milli")
        assert "under column mapping" in refusal(spark, f"SELECT * FROM {lake}.mapped")
        assert "CHAR" in refusal(spark, f"SELECT * FROM {lake}.padded")


def test_folders(spark: "SparkSession", tmp_path: Path) -> None:
    def content(first: int) -> pa.Table:
        ids = range(first, first + 10)
        columns = {"id": pa.array(ids, pa.int64()), "a b.c": [f"t{n}" for n in ids], "l": [[n] for n in ids]}
        maps = pa.array([[("k", n)] for n in ids], pa.map_(pa.string(), pa.int64()))
        at = pa.array([dt.datetime(2026, 1, 1, 0, 0, n) for n in ids], pa.timestamp("us", "UTC"))
        return pa.table({**columns, "m": maps, "at": at, "s": [{"x": n, "y": [{"z": n}]} for n in ids]})

    files = {
        f"p={p}/n={n}/part 0{n}%41#.parquet": content(n * 10)
        for n, p in enumerate(("eu", "a%2Fb", "__HIVE_DEFAULT_PARTITION__"))
    }
    folder = settled(tmp_path / "hive", files)
    ours = mi.open_table(folder)
    names = ", ".join(f"`{name}`" for name in ours.schema.names)
    with catalog(spark, hive=folder) as (lake, _):
        for condition in ("id >= 0", "id = 17", "p IS NULL", "p = 'a/b'", "n = 2 AND id < 25", "`a b.c` = 't7'"):
            want = sorted(
                repr([*map(plain, row.values())])
                for row in ours.scan(condition).to_arrow().select(ours.schema.names).to_pylist()
            )
            assert rows_of(spark, f"SELECT {names} FROM {lake}.hive WHERE {condition}") == want, condition
            (count,) = spark.sql(f"SELECT count(*) FROM {lake}.hive WHERE {condition}").collect()
            assert count[0] == len(want), condition


def test_a_write_leaves_nothing_behind(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "lake" / "lake"
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta AS SELECT id FROM range(5)")
    before = sorted(os.walk(path))
    with mi.open_server(path.parent) as server:
        lake = namespace(spark, server.uri)
        for change in ("INSERT INTO {} VALUES (7)", "DELETE FROM {} WHERE id = 1", "DROP TABLE {}"):
            with pytest.raises(Exception, match=r"o\d+|support|scheme"):
                spark.sql(change.format(f"{lake}.lake"))
        assert len(rows_of(spark, f"SELECT * FROM {lake}.lake")) == 5
    assert sorted(os.walk(path)) == before
