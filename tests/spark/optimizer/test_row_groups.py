"""Of files that Spark reads in parts, it reads the row groups alone that keys leave: in every format, with rows
deleted, and however the parts are cut, with the rows of a session without the rule."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from tests.spark.optimizer.lakes import location_of, ruled
from tests.spark.optimizer.test_replaced_files import alike

pytestmark = pytest.mark.spark
LAYOUT = [[40, 200, 10, 250], [500], [90, 90, 320]]
"""Rows of each row group of each file."""
Name = Callable[[SparkSession, Path, list[list[int]]], str]


@pytest.fixture(autouse=True, scope="module")
def of_any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metaindex.query.readers.row_groups.SMALL_BYTES", 0)
        yield


def write(folder: Path, layout: list[list[int]]) -> Path:
    """Files with keys in no order, each in one row group of all, but for `many`, which is in every file."""
    folder.mkdir()
    ids = list(range(sum(map(sum, layout))))
    Random(len(ids)).shuffle(ids)
    for number, sizes in enumerate(layout):
        schema = pa.schema({"id": pa.int64(), "many": pa.int64(), "s": pa.string(), "p": pa.int32()})
        with pq.ParquetWriter(folder / f"{number}.parquet", schema) as out:
            for size in sizes:
                some, ids = ids[:size], ids[size:]
                columns = {"id": some, "many": [i % 97 for i in some], "s": [f"{i:>40}" for i in some]}
                out.write_table(pa.table({**columns, "p": [number] * size}, schema), row_group_size=size)
    return folder


def find(path: str) -> mi.Table:
    table = mi.open_table(path)
    table.create_index("find", mi.Values("id"), mi.Values("many"), builder="local")
    return table


def parquet(spark: SparkSession, folder: Path, layout: list[list[int]]) -> str:
    path = write(folder / "parquet", layout)
    find(str(path))
    return f"parquet.`{path}`"


def delta(spark: SparkSession, folder: Path, layout: list[list[int]]) -> str:
    path = write(folder / "delta", layout)
    deltalake.convert_to_deltalake(str(path))
    find(str(path))
    return f"delta.`{path}`"


def vectors(spark: SparkSession, folder: Path, layout: list[list[int]]) -> str:
    path = write(folder / "vectors", layout)
    deltalake.convert_to_deltalake(str(path))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 7 = 3")
    find(str(path))
    return f"delta.`{path}`"


def iceberg(spark: SparkSession, folder: Path, layout: list[list[int]], version: int = 3) -> str:
    """Iceberg's own files: their row groups are as many as there is room for."""
    path = write(folder / f"iceberg{version}", layout)
    name = f"iceberg.groups.t{abs(hash(str(path))) % 10**9}"
    spark.read.parquet(str(path)).limit(0).writeTo(name).tableProperty("format-version", str(version)).create()
    sizes = "'write.parquet.row-group-size-bytes' = '9000', 'write.parquet.row-group-check-min-record-count' = '50'"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({sizes}, 'write.delete.mode' = 'merge-on-read')")
    spark.read.parquet(str(path)).coalesce(2).writeTo(name).append()
    spark.sql(f"DELETE FROM {name} WHERE id % 7 = 3")
    find(location_of(spark, name))
    return name


def position_deletes(spark: SparkSession, folder: Path, layout: list[list[int]]) -> str:
    return iceberg(spark, folder, layout, 2)


CONDITIONS = ["id = {0}", "id IN ({0}, {1}, {2})", "many = 5", "id = {0} AND many = {1} % 97", "id = -1 OR id = {2}"]
ALONE = {"id = {0}", "id IN ({0}, {1}, {2})", "id = -1 OR id = {2}"}
"""Those that leave row groups out of all tables."""


def read_rows(query: DataFrame) -> int:
    leaves = query._jdf.queryExecution().executedPlan().collectLeaves()
    return sum(int(leaves.apply(at).metrics().apply("numOutputRows").value()) for at in range(leaves.size()))


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    found.conf.set("spark.sql.files.openCostInBytes", "0")
    with ruled(found):
        yield found


def asked(spark: SparkSession, name: str, where: str) -> DataFrame:
    return alike(spark, lambda: spark.sql(f"SELECT * FROM {name} WHERE {where}"))[1]


@pytest.mark.parametrize("make", [delta, vectors, iceberg, position_deletes])
def test_row_groups_without_the_keys_are_not_read(session: SparkSession, tmp_path: Path, make: Name) -> None:
    name = make(session, tmp_path, LAYOUT)
    every = read_rows(asked(session, name, "id >= 0"))
    for part, vectorized in (("128m", "true"), ("7000", "true"), ("701", "false")):
        session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorized)
        session.conf.set("spark.sql.files.maxPartitionBytes", part)
        for text in CONDITIONS:
            query = asked(session, name, text.format(17, 1200, 801))
            if text in ALONE:
                assert make in (iceberg, position_deletes) or " row group" in plan_of(query), plan_of(query)
                assert read_rows(query) < every, (text, part)


@settings(max_examples=max(2, settings.default.max_examples // 10))
@given(
    layout=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=8), min_size=1, max_size=3),
    part=st.integers(50, 6000),
    keys=st.lists(st.integers(0, 200), min_size=1, max_size=3),
)
def test_no_row_is_lost_or_doubled_however_files_are_cut(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, layout: list[list[int]], part: int, keys: list[int]
) -> None:
    name = delta(session, tmp_path_factory.mktemp("t"), layout)
    session.conf.set("spark.sql.files.maxPartitionBytes", str(part))
    asked(session, name, f"id IN ({', '.join(map(str, keys))})")
    asked(session, name, f"many = {keys[0]}")


def test_scans_of_the_same_files_read_their_own_row_groups(session: SparkSession, tmp_path: Path) -> None:
    name = delta(session, tmp_path, [[100, 100, 100, 100]])
    one, other = (f"SELECT sum(id) AS n FROM {name} WHERE id = {key}" for key in (17, 301))

    def both(text: str) -> DataFrame:
        return alike(session, lambda: session.sql(text))[1]

    query = both(f"{one} UNION ALL {other} UNION ALL {one}")
    assert plan_of(query).count(" row group") >= 2
    both(f"SELECT ({one}) + ({other}) AS n")
    both(f"SELECT a.s, b.s FROM {name} a JOIN {name} b ON a.p = b.p WHERE a.id = 17 AND b.id = 301")


def test_plain_files_are_read_whole(session: SparkSession, tmp_path: Path) -> None:
    """A task opens what is there then: of a file that was replaced it would read the places of another."""
    query = asked(session, parquet(session, tmp_path, LAYOUT), "id = 17")
    assert "1/3 files>" in plan_of(query)
    assert " row group" not in plan_of(query)


def plan_of(query: DataFrame) -> str:
    return str(query._jdf.queryExecution().executedPlan())
