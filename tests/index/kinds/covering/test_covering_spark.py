"""Covering indexes against Spark: rows, buckets and order are its own, for every format; and stay so through deletes,
refreshes, merges, erasure and damage."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import DamagedIndexError, SparkDriver, StorageError, UnsupportedFeatureError
from metaindex.spark.frames import table_of
from tests.hostile.changes import turn
from tests.tables import settle, settled

from .arrow_builder import ArrowBuilder
from .awkward import ALL, awkward, grow, parquet_folder
from .served import Held, index_folder, objects, of_frame

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]


def test_every_type_as_spark_reads_it_in_its_own_buckets(spark: SparkSession, tmp_path: Path) -> None:
    root = parquet_folder(tmp_path / "lake")
    table = mi.open_table(str(root), spark=spark)
    others = [one for one in ALL if one not in ("k", "s")]
    table.create_index("wide", mi.ColumnStats(), mi.Covering(["k", "st.x", "s"], others, buckets=5))
    held = Held.of(table, "wide")
    held.check(spark)
    lake = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(str(root))  # not Spark 3.5's default
    assert held.physical() == of_frame(lake.selectExpr("k", "st.x AS nx", "s", *others))
    assert held.served()[1] == 0
    # Each type as the indexed column.
    hashed = [mi.Covering(one, buckets=3 if one != "o" else 1) for one in ("f", "g", "s", "d", "t", "m9", "m38", "o")]
    kinds = (*hashed, mi.CoveringRange(["f"], ["st.x"]), mi.CoveringRange(["s", "d"]))
    table.create_index("each", *kinds)
    each = Held.of(table, "each")
    assert table.verify_index("each", files=None).sound  # buckets too
    for place, kind in enumerate(hashed):
        assert each.physical(place) == of_frame(lake.select(*kind.indexed))
    assert each.physical(8) == of_frame(lake.selectExpr("f", "st.x"))
    assert each.physical(9) == of_frame(lake.select("s", "d"))
    # Without a JVM, by this project's own hash and order: the same rows in the same places.
    table.create_index("own", *kinds, builder=ArrowBuilder())
    own = Held.of(table, "own")
    for key in each.keys(each.runs[0]):
        theirs, ours = each.stored(each.runs[0], key.key_id), own.stored(own.runs[0], key.key_id)
        assert list(map(repr, theirs.to_pylist())) == list(map(repr, ours.to_pylist())), key.columns
    assert table.prune("k = 3").paths  # the covering key is no key to look up


@pytest.mark.parametrize("vectorized", ["true", "false"])
def test_rows_amid_pages_of_differences_are_found(spark: SparkSession, tmp_path: Path, vectorized: str) -> None:
    """Keys that hardly repeat are stored as differences: pages before the asked one are passed over, rows of it
    skipped."""
    count = 150_000
    numbers = np.random.default_rng(3).permutation(count)
    whole = pa.table(
        {
            "k64": pa.array(numbers * 7 - 500_000),
            "k32": pa.array((numbers - 70_000).astype("int32")),
            "day": pa.array((numbers // 2 - 30_000).astype("int32"), pa.date32()),
            "at": pa.array(numbers * 86_399_000_001 - 10**15, pa.timestamp("us", "UTC")),
            "price": pa.array(numbers / 7),
        }
    )
    root = tmp_path / "lake"
    root.mkdir()
    pq.write_table(whole, root / "one.parquet")
    table = mi.open_table(str(root), spark=spark)
    keys = ("k64", "k32", "day", "at")
    table.create_index("each", *(mi.Covering(key, ["price"], buckets=1) for key in keys), builder="spark")
    plain = spark.read.parquet(str(root))
    with SparkDriver(spark).setting("spark.sql.parquet.enableVectorizedReader", vectorized):
        parts = sorted((index_folder(table, "each") / "covering").rglob("*.mix"))
        assert len(parts) == len(keys)
        for key, part in zip(keys, parts, strict=True):
            assert "DELTA_BINARY_PACKED" in pq.read_metadata(part).row_group(0).column(0).encodings, key
            stored = spark.read.parquet(str(part)).select(key, "price")
            for place in (0, 1, 74_999, count - 1):
                value = whole[key].take([place])[0]
                asked = f"{key} = {value.as_py()!r}" if key[0] == "k" else f"{key} = '{value.cast(pa.string())}'"
                assert of_frame(stored.where(asked)) == of_frame(plain.select(key, "price").where(asked)), asked
                assert stored.where(asked).count() > 0
            span = f"{key} BETWEEN (SELECT min({key}) + 1000 FROM stored) AND 1" if key[0] == "k" else "price < 9"
            stored.createOrReplaceTempView("stored")
            assert of_frame(stored.where(span)) == of_frame(plain.select(key, "price").where(span)), span


def test_the_table_behind_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    lake, delta, texts = tmp_path / "lake", tmp_path / "delta", tmp_path / "csv"
    rows = spark.range(0, 20, 1, 1).selectExpr("id", "id % 3 AS k", "concat('é ', id) AS s")
    rows.write.parquet(str(lake))
    rows.write.format("delta").save(str(delta))
    rows.write.option("header", True).csv(str(texts))
    spark.sql("CREATE NAMESPACE IF NOT EXISTS iceberg.frames")
    rows.writeTo("iceberg.frames.t").using("iceberg").create()
    for folder in (lake, texts):
        settle(folder)
    frames = [
        spark.read.parquet(str(lake)),
        spark.read.format("delta").load(str(delta)).select("s", "k"),
        spark.read.option("header", True).schema("id BIGINT, k BIGINT, s STRING").csv(str(texts)),
        spark.table("iceberg.frames.t"),
    ]
    for frame in frames:
        mi.create_index(frame, "c", mi.Covering(["k"], ["s"], buckets=2))
        held = Held.of(table_of(frame), "c")
        assert held.served() == (of_frame(frame.select("k", "s")), 0)
    spark.sql("DELETE FROM iceberg.frames.t WHERE id = 0")
    first = spark.sql("SELECT min_by(snapshot_id, committed_at) AS id FROM iceberg.frames.t.snapshots").head()["id"]
    for refused in (
        frames[0].filter("k = 1"),
        frames[0].selectExpr("k + 1 AS k"),
        frames[0].join(frames[2], "id"),
        spark.range(3),
        spark.read.format("delta").option("versionAsOf", 0).load(str(delta)),
        spark.sql(f"SELECT * FROM iceberg.frames.t VERSION AS OF {first}"),
    ):
        with pytest.raises(UnsupportedFeatureError, match="one table as it is now"):
            table_of(refused)


def test_files_in_doubt_are_left_to_the_table_before_and_behind_their_first_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = parquet_folder(tmp_path / "lake", 4)
    (root / "f0.parquet").write_bytes(b"PAR1 no such thing PAR1")
    data = bytearray((root / "f1.parquet").read_bytes())
    file = pq.ParquetFile(root / "f1.parquet")
    last = file.metadata.row_group(file.num_row_groups - 1).column(0)
    start = last.dictionary_page_offset or last.data_page_offset
    data[start : start + 8] = b"\xff" * 8  # the last row group: rows were given before
    settled(root, {"f1.parquet": bytes(data)})
    table = mi.open_table(str(root), spark=spark, schema=awkward(0).schema)
    outcome = table.create_index("c", mi.Covering("k", ["s"], buckets=2))
    held = Held.of(table, "c")
    rows, left = held.served()
    assert left == held.key().unkeyed_files == 2
    whole = spark.read.parquet(str(root / "f2.parquet"), str(root / "f3.parquet")).select("k", "s")
    assert rows == held.physical() == of_frame(whole)
    assert "f0.parquet" in str(outcome.notes)
    held.check_buckets(spark)
    named = {part.path for part in held.index.reader(held.runs[0]).parts("covering")}
    assert objects(held.index) == named  # nothing is left of the first try


def test_delta_deletes_versions_refresh_and_merge(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "delta"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id BIGINT, day DATE, v STRING, p STRING) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.enableDeletionVectors'='true', 'delta.columnMapping.mode'='name')"
    )

    def insert(start: int, day: str) -> None:
        spark.sql(
            f"INSERT INTO delta.`{path}` SELECT id, date'{day}', concat('v', id), IF(id % 3 = 0, NULL, concat('a b', id"
            f" % 3)) FROM range({start}, {start + 60}, 1, 2)"
        )

    def at(version: int) -> object:
        return of_frame(
            spark.read.format("delta").option("versionAsOf", version).load(str(path)).selectExpr("id", "day", "v", "p")
        )

    insert(0, "0003-02-01")
    table = mi.open_table(str(path), spark=spark)
    table.create_index("c", mi.Covering("id", ["day", "v", "p"], buckets=3), mi.CoveringRange(["p", "id"], ["v"]))
    table.refresh_index("c")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 7 = 0")  # deletion vectors
    table.refresh_index("c")
    insert(100, "2020-01-01")
    table.refresh_index("c")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN v TO w")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN w TO v")
    insert(200, "2020-01-02")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE p IS NULL AND id >= 200")  # whole files, of the partition
    table.refresh_index("c")
    held = Held.of(table, "c")
    held.check(spark)
    versions = [int(found.version.id) for found, _ in held.index.versions.all()]
    assert len(versions) >= 3
    assert len(held.runs) == 3
    now = {version: at(version) for version in versions}
    for version, rows in now.items():
        assert held.served(str(version)) == (rows, 0), version
    assert sum(held.physical().values()) == 160  # deletes lose no physical rows
    before = held.physical(), held.physical(1)
    table.optimize_index("c", mode="full")
    merged = Held.of(table, "c")
    assert len(merged.runs) == 1
    assert (merged.physical(), merged.physical(1)) == before
    merged.check(spark)
    for version, rows in now.items():
        assert merged.served(str(version)) == (rows, 0), version
    table.refresh_index("c", mode="full")
    assert Held.of(table, "c").served()[0] == now[versions[-1]]
    # Erasure: what no retained version holds is in no byte.
    spark.sql(f"DELETE FROM delta.`{path}` WHERE p = 'a b1' AND id >= 200")  # whole files
    table.refresh_index("c")
    with SparkDriver(spark).setting("spark.databricks.delta.retentionDurationCheck.enabled", "false"):
        spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")  # older versions are not retained any more
    table.erase_index("c")
    erased = Held.of(table, "c")
    assert any("'v202'" in row for row in before[0])
    assert not any("'v202'" in row for row in erased.physical())
    assert sum(erased.physical().values()) > 50
    erased.check(spark)
    # Quick: files are named, and served by nobody.
    insert(300, "2020-01-03")
    table.refresh_index("c", mode="quick")
    rows, left = Held.of(table, "c").served()
    assert left > 0
    table.refresh_index("c")
    assert Held.of(table, "c").served()[1] <= left
    table.drop_index("c")
    table.restore_index("c")
    Held.of(table, "c").check(spark)


def test_iceberg_with_deletes_renames_and_partitions_that_changed(spark: SparkSession, tmp_path: Path) -> None:
    name = "iceberg.covering.t"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS iceberg.covering")
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, payload STRUCT<user: STRING, n: INT>, day DATE, u DOUBLE) USING iceberg"
        " PARTITIONED BY (day) "
        "TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')"
    )
    values = (
        "SELECT id, named_struct('user', concat('u', id), 'n', IF(id % 5 = 0, NULL, CAST(id AS INT))),"
        " date_add(date'1500-01-01', CAST(id % 2 AS INT)), IF(id = 3, double('NaN'), -0.0D)"
    )
    spark.sql(f"INSERT INTO {name} {values} FROM range(0, 40, 1, 1)")
    location = str(spark.sql(f"DESCRIBE FORMATTED {name}").filter("col_name = 'Location'").head()["data_type"])
    table = mi.open_table(location.removeprefix("file:"), spark=spark)
    table.create_index("c", mi.Covering(["payload.user", "day"], ["id", "payload", "u"], buckets=4))
    spark.sql(f"DELETE FROM {name} WHERE id IN (4, 5, 6)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN u TO w")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN w TO u")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN late INT")
    spark.sql(f"ALTER TABLE {name} REPLACE PARTITION FIELD day WITH bucket(4, id)")
    spark.sql(f"INSERT INTO {name} {values}, 1 FROM range(40, 60, 1, 1)")
    table = mi.open_table(location.removeprefix("file:"), spark=spark)
    table.refresh_index("c")
    held = Held.of(table, "c")
    held.check(spark)
    rows = of_frame(spark.sql(f"SELECT payload.user AS a, day, id, payload, u FROM {name}"))
    assert held.served() == (rows, 0)
    assert len(held.runs) == 2
    assert sum(held.physical().values()) == 60
    table.optimize_index("c", mode="full")
    assert Held.of(table, "c").served() == (rows, 0)
    Held.of(table, "c").check(spark)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_texts_are_what_spark_reads(spark: SparkSession, tmp_path: Path, form: str) -> None:
    root = tmp_path / "tëxt lake"
    schema = "id INT, x DOUBLE, s STRING, at TIMESTAMP, p STRING"
    frame = spark.range(0, 50, 1, 2).selectExpr(
        "CAST(id AS INT) AS id", "IF(id = 7, double('NaN'), id / 4) AS x",
        "IF(id % 5 = 0, NULL, concat('é\"', id)) AS s",
        "timestamp_micros(id * 1000001 - 14000000000000000) AS at", "concat('a%b ', id % 2) AS p",
    )  # fmt: skip
    frame.write.partitionBy("p").option("header", True).format(form).save(str(root))
    bad = root / "p=a%25b 0" / f"bad%20one.{form}"
    bad.write_text(
        "id,x,s,at\nno number,1.5,t,2020-01-01T00:00:00.000Z\n" if form == "csv" else '{"id": "no number"}\n'
    )
    settle(root)
    options = {"header": True} if form == "csv" else {}
    types = {"id": pa.int32(), "x": pa.float64(), "s": pa.string(), "at": pa.timestamp("us", "UTC"), "p": pa.string()}
    table = mi.open_table(str(root), format=form, spark=spark, schema=pa.schema(types), **options)
    table.create_index("c", mi.Covering(["s"], ["id", "x", "at", "p"], buckets=3), mi.CoveringRange("x", "p"))
    held = Held.of(table, "c")
    rows, left = held.served()
    assert left == held.key().unkeyed_files == 1  # the one that does not parse
    there = spark.read.format(form).schema(schema).options(**options).option("pathGlobFilter", f"part-*.{form}")
    read = there.load(str(root))
    assert rows == of_frame(read.select("s", "id", "x", "at", "p")) == held.physical()
    every = spark.read.format(form).schema(schema).options(**options).load(str(root))
    assert held.physical(1) == of_frame(every.select("x", "p"))  # of these columns all of it parses
    held.check(spark)
    table.optimize_index("c", mode="full")
    with pytest.raises(UnsupportedFeatureError, match="with mode 'permissive'; the table has 'DROPMALFORMED'"):
        mi.open_table(str(root), format=form, spark=spark, mode="DROPMALFORMED", **options).create_index(
            "d", mi.Covering("id")
        )


def test_damage_is_found_and_repaired_and_a_failed_build_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    root = parquet_folder(tmp_path / "lake", 2)
    table = mi.open_table(str(root), spark=spark, schema=awkward(0).schema)
    kind = mi.Covering("k", ["s", "f"], buckets=2)
    table.create_index("c", kind)
    held = Held.of(table, "c")
    part = index_folder(table, "c") / sorted(objects(held.index))[0]
    part.chmod(0o644)
    turn(part, 40, 0xFF)
    report = table.verify_index("c")
    assert report.damaged_runs == {held.runs[0].run}
    grow(root, 7)
    table.refresh_index("c")
    with pytest.raises(DamagedIndexError):
        table.optimize_index("c", mode="full")
    table.repair_index("c")
    assert Held.of(table, "c").physical() == of_frame(spark.read.parquet(str(root)).select("k", "s", "f"))
    assert table.verify_index("c", files=None).sound
    settled(root, {"f9.parquet": b"PAR1 nothing PAR1"})
    folder = index_folder(table, "c").with_name("d")
    folder.mkdir()
    (folder / "unkeyed").touch()  # where a folder should be: the last part but those of files cannot be written
    with pytest.raises(StorageError, match="unkeyed"):
        table.create_index("d", kind)
    assert [info.name for info in table.indexes()] == ["c"]
    assert not list(folder.rglob("*.mix"))
