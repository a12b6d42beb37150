"""Spark's writes are followed: batch, SQL, DML and micro-batches, Delta, Iceberg and plain folders; reads and failures
are not, and the session is as it was after `disable`."""

import logging
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.formats import At
from metaindex.ops import hooks
from metaindex.ops.hooks import worker
from metaindex.ops.hooks.spark import _readings
from metaindex.table import handle_of

pytestmark = pytest.mark.uncompiled


@pytest.fixture
def hooked(spark: SparkSession) -> Iterator[SparkSession]:
    hooks.enable(spark)
    yield spark
    hooks.disable(spark)


def index(path: str, **options: Any) -> mi.Table:
    table = mi.open_table(path, **options)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


def followed(spark: SparkSession, table: mi.Table, write: Callable[[], object]) -> None:
    """After the write the index stands at the table's version, which is another than before."""
    before = handle_of(table).table_format.resolve(handle_of(table).ref, At())
    write()
    assert hooks.flush(600, spark=spark)
    assert handle_of(table).table_format.resolve(handle_of(table).ref, At()) != before
    (info,) = table.indexes()
    assert info.fresh, hooks.counts()


def test_every_way_to_write_a_delta_table_is_followed(hooked: SparkSession, tmp_path: Path) -> None:
    from delta.tables import DeltaTable

    path = str(tmp_path / "sp ace%20")
    spark = hooked
    spark.range(10).write.format("delta").save(path)
    assert hooks.flush(600, spark=spark)
    table = index(path)
    name = f"delta.`{path}`"
    writes: list[Callable[[], object]] = [
        lambda: spark.range(10, 20).write.format("delta").mode("append").save(path),
        lambda: spark.sql(f"DELETE FROM {name} WHERE id = 3"),
        lambda: spark.sql(f"UPDATE {name} SET id = 100 WHERE id = 4"),
        lambda: spark.sql(
            f"MERGE INTO {name} t USING (SELECT 5L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED"
            " THEN INSERT *"
        ),
        lambda: spark.sql(f"INSERT INTO {name} VALUES (77)"),
        lambda: spark.sql(f"RESTORE {name} TO VERSION AS OF 1"),
        lambda: DeltaTable.forPath(spark, path).delete("id = 12"),
    ]
    for write in writes:
        followed(spark, table, write)
    assert table.scan("id >= 0").to_arrow().num_rows == spark.read.format("delta").load(path).count()


def test_in_synchronous_mode_the_refresh_is_done_when_the_listeners_were_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "d")
    spark.range(10).write.format("delta").save(path)
    table = index(path)
    hooks.enable(spark, mode="synchronous")
    try:
        spark.range(10, 20).write.format("delta").mode("append").save(path)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        assert table.indexes()[0].fresh
    finally:
        hooks.disable(spark)


def test_iceberg_and_named_tables_are_followed(hooked: SparkSession) -> None:
    spark = hooked
    name = f"iceberg.hooks.t{hooks.counts().told}"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg")
    spark.range(5).writeTo(name).append()
    described = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Location'").first()
    assert hooks.flush(600, spark=spark)
    table = index(described["data_type"])
    writes: list[Callable[[], object]] = [
        lambda: spark.range(5, 9).writeTo(name).append(),
        lambda: spark.sql(f"DELETE FROM {name} WHERE id = 3"),
        lambda: spark.sql(f"INSERT INTO {name} VALUES (30)"),
        lambda: spark.sql(f"MERGE INTO {name} t USING (SELECT 5L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"),
        lambda: spark.range(3).write.format("iceberg").mode("append").save(name),
    ]
    for write in writes:
        followed(spark, table, write)


def test_procedures_and_other_sessions_that_commit_to_iceberg_tables_are_followed(
    hooked: SparkSession, tmp_path: Path
) -> None:
    spark = hooked
    short = f"hooks.`called-1.{hooks.counts().told}`"  # Iceberg names it without backticks
    name = f"iceberg.{short}"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg")
    for first in (0, 5, 10):
        spark.range(first, first + 5).coalesce(1).writeTo(name).append()
    described = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Location'").first()
    assert hooks.flush(600, spark=spark)
    table = index(described["data_type"])
    plain = str(tmp_path / "plain")
    spark.range(90, 95).write.parquet(plain)
    all_files = "options => map('rewrite-all', 'true')"
    calls: list[Callable[[], object]] = [
        lambda: spark.sql(f"CALL iceberg.system.rewrite_data_files(table => '{short}', {all_files})"),
        lambda: spark.newSession().sql(f"INSERT INTO {name} VALUES (30)"),
    ]
    for call in calls:
        followed(spark, table, call)
    first = spark.sql(f"SELECT snapshot_id FROM {name}.history ORDER BY made_current_at").collect()[2].snapshot_id
    spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{short}', {first})")
    assert table.indexes()[0].fresh  # it was there when the index was made
    assert table.scan("id >= 0").to_arrow().num_rows == spark.table(name).count() == 15
    followed(spark, table, lambda: spark.sql(f"CALL iceberg.system.add_files('{short}', '`parquet`.`{plain}`')"))
    spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{short}', {first})")
    assert table.scan("id >= 0").to_arrow().num_rows == spark.table(name).count() == 15
    assert hooks.flush(600, spark=spark)
    assert not table.indexes()[0].fresh  # the files that were added gave the table a name mapping: another reading


def test_a_new_session_is_followed_once_it_is_enabled(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "d")
    spark.range(10).write.format("delta").save(path)
    table = index(path)
    new = hooks.enable(spark.newSession())
    try:
        followed(new, table, lambda: new.range(10, 20).write.format("delta").mode("append").save(path))
        spark.range(20, 30).write.format("delta").mode("append").save(path)
        assert hooks.flush(600, spark=spark)
        assert not table.indexes()[0].fresh
    finally:
        hooks.disable(new)


def test_plain_folders_are_followed_also_where_a_partition_is_written(hooked: SparkSession, tmp_path: Path) -> None:
    spark = hooked
    path = str(tmp_path / "plain")
    spark.range(5).selectExpr("id", "id % 2 AS part").write.partitionBy("part").parquet(path)
    assert hooks.flush(600, spark=spark)
    table = index(path)
    followed(
        spark,
        table,
        lambda: spark.range(5).selectExpr("id", "7 AS part").write.mode("append").partitionBy("part").parquet(path),
    )
    followed(spark, table, lambda: spark.range(90, 95).write.parquet(f"{path}/part=8"))


def test_micro_batches_are_followed(hooked: SparkSession, tmp_path: Path) -> None:
    spark = hooked
    source, delta, plain = (str(tmp_path / name) for name in ("source", "delta", "plain"))
    name = f"iceberg.hooks.`s.{hooks.counts().told}`"
    spark.range(10).write.format("delta").save(source)
    spark.range(3).write.format("delta").save(delta)
    spark.range(3).write.parquet(plain)
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg")
    spark.range(3).writeTo(name).append()
    described = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Location'").first()
    assert described is not None
    assert hooks.flush(600, spark=spark)

    def stream(format_: str, number: int) -> Any:
        read = spark.readStream.format("delta").load(source).writeStream
        return (
            read.format(format_).option("checkpointLocation", str(tmp_path / f"c{number}")).trigger(availableNow=True)
        )

    def each(batch: Any, number: int) -> None:
        batch.write.format("delta").mode("append").save(delta)

    followed(spark, index(delta), lambda: stream("delta", 1).start(delta).awaitTermination())
    followed(spark, mi.open_table(delta), lambda: stream("delta", 2).foreachBatch(each).start().awaitTermination())
    followed(spark, index(described["data_type"]), lambda: stream("iceberg", 3).toTable(name).awaitTermination())
    followed(spark, index(plain), lambda: stream("parquet", 4).start(plain).awaitTermination())


def test_reads_failures_and_tables_without_indexes_trigger_nothing(hooked: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    spark = hooked
    path = str(tmp_path / "d")
    spark.range(10).write.format("delta").save(path)
    assert hooks.flush(600, spark=spark)
    index(path)
    before = hooks.counts()
    assert spark.read.format("delta").load(path).where("id > 3").count() == 6
    with pytest.raises(AnalysisException, match="DELTA_PATH_EXISTS"):
        spark.range(3).write.format("delta").save(path)
    spark.range(3).write.parquet(str(tmp_path / "other"))
    assert hooks.flush(600, spark=spark)
    assert hooks.counts() == before


def test_after_disable_nothing_is_followed(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "d")
    spark.range(10).write.format("delta").save(path)
    table = index(path)
    hooks.enable(spark)
    hooks.enable(spark, mode="synchronous")
    hooks.disable(spark)
    hooks.disable(spark)
    spark.range(10).write.format("delta").mode("append").save(path)
    assert hooks.flush(600, spark=spark)
    assert not table.indexes()[0].fresh
    with pytest.raises(ValueError, match="not 'soon'"):
        hooks.enable(spark, mode="soon")
    with pytest.raises(TypeError, match="Spark Connect"):
        hooks.enable(object())


def test_no_other_process_of_the_host_can_tell_of_a_commit(hooked: SparkSession) -> None:
    gateway: Any = hooked.sparkContext._gateway
    port = gateway.get_callback_server().server_socket.getsockname()[1]
    pool = gateway.gateway_property.pool
    assert hooks.flush(600, spark=hooked)
    before = hooks.counts()
    for number in range(pool.next_id):
        for call in ("onSuccess\nscommand\nsx\ni1", "onQueryProgress\nsx", "notify\nsx", "apply\nsx", "toString"):
            with socket.create_connection(("127.0.0.1", port), timeout=600) as caller:
                caller.sendall(f"c\np{number}\n{call}\ne\n".encode())
                said = caller.recv(100_000).decode()
            assert said.startswith("!x") or (call.startswith("apply") and said == "!ys\n"), (call, said)
    assert hooks.counts() == before


def test_covering_indexes_are_kept_fresh_by_the_session(hooked: SparkSession, tmp_path: Path) -> None:
    """Only Spark builds them: the hook of a session has one, beside an index that this process builds."""
    path = str(tmp_path / "covered")
    hooked.range(10).selectExpr("id", "id % 3 AS part").write.format("delta").save(path)
    table = index(path, spark=hooked)
    table.create_index("rows", mi.Covering(indexed=["id"], included=["part"], buckets=2), builder="spark")
    hooked.range(10, 20).selectExpr("id", "id % 3 AS part").write.format("delta").mode("append").save(path)
    assert hooks.flush(600, spark=hooked)
    assert {info.name: info.fresh for info in table.indexes()} == {"rows": True, "stats": True}, hooks.counts()
    hooked.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    assert hooks.flush(600, spark=hooked)
    assert all(info.fresh for info in table.indexes()), hooks.counts()


def test_a_name_without_backticks_may_have_dots_in_its_parts() -> None:
    assert list(_readings("c.`a.b`.t")) == [("c", "a.b", "t")]
    assert list(_readings("c.a.b.t")) == [("c", "a", "b", "t"), ("c", "a", "b.t"), ("c", "a.b", "t"), ("c", "a.b.t")]
    assert list(_readings("db.t")) == [("db", "t")]
    assert list(_readings("a.b.c.d.e.f.g")) == [tuple("abcdefg")], "there would be too many"


def test_what_java_says_is_told_in_one_line_and_whole_at_debug_level(
    hooked: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    from py4j.protocol import Py4JJavaError

    caplog.set_level(logging.DEBUG, "metaindex.hooks")
    with pytest.raises(Py4JJavaError) as raised:
        hooked._jvm.java.lang.Class.forName("no.such.Name")
    assert "\n\tat " in str(raised.value), "this is what a log would have held"
    worker.WORKER.failed(raised.value)
    said = "java.lang.ClassNotFoundException: no.such.Name"
    (warned,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert warned.getMessage() == f"a commit was not followed, indexes of its table may be stale: {said}"
    assert hooks.counts().last_error == said
    (whole,) = [record for record in caplog.records if record.levelno == logging.DEBUG and record.exc_info]
    assert "\n\tat " in str(whole.exc_info[1])
