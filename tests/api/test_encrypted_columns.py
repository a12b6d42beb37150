"""A table with a file whose columns are in part encrypted: what cannot be read is not covered, everything else is
indexed and asked as ever."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from metaindex.index import Kind
from tests.formats.delta.hand import add, column, commit, metadata, protocol
from tests.formats.encrypted import write_encrypted
from tests.spark.optimizer.lakes import ruled
from tests.tables import settle

ROWS = 200_000  # more than a megabyte, from where on a scan looks at row groups


@pytest.fixture
def table(tmp_path: Path) -> mi.Table:
    folder = tmp_path / "t"
    folder.mkdir()
    rows = pa.table({"secret": pa.array(range(ROWS), pa.int64()), "open": [float(n) for n in range(ROWS)]})
    write_encrypted(folder / "a.parquet", rows, "secret")
    pq.write_table(rows.slice(0, 10), folder / "b.parquet")
    settle(folder)
    return mi.open_table(str(folder), config=mi.Config(builder="local"))


@pytest.mark.parametrize(
    "kind", [mi.ColumnStats(), mi.Values("secret"), mi.Bloom("secret"), mi.ValueList("secret"),
        mi.Values("secret", by="value")]
)  # fmt: skip
def test_an_encrypted_column_stays_uncovered(table: mi.Table, kind: object) -> None:
    table.create_index("i", kind)
    assert [Path(path).name for path in table.prune("secret = 1000000").paths] == ["a.parquet"]
    assert table.verify_index("i").sound
    assert table.scan("open = 5", columns=["open"]).to_arrow().num_rows == 2
    assert table.prune("secret IS NULL").kept_files >= 1
    assert table.locate("secret = 1000000").table.column("row_group").to_pylist() == [0]


def test_the_other_columns_are_indexed(table: mi.Table) -> None:
    table.create_index("i", mi.ColumnStats(), mi.Values("open"))
    assert table.prune("open = -1").kept_files == 0
    assert [Path(path).name for path in table.prune("open = 12").paths] == ["a.parquet"]


@pytest.mark.parametrize(
    "kind", [mi.ColumnStats(), mi.Bloom("open"), mi.Covering("open", ["secret"]), mi.Values("open")]
)
def test_what_if_asks_nothing_of_it(table: mi.Table, kind: Kind) -> None:
    assert len(table.what_if(["open = 5", "secret = 5"], kind).candidates) == 1


def test_reading_the_column_is_refused_by_name(table: mi.Table) -> None:
    named = r"a\.parquet.*'secret' encrypted.*decrypt"
    for columns in (None, ["open"]):
        with pytest.raises(mi.MetaIndexError, match=named):
            table.scan("secret = 5", columns=columns).to_arrow()
    with pytest.raises(mi.MetaIndexError, match=named):
        table.scan("open = 5").to_arrow()
    with pytest.raises(mi.MetaIndexError, match=named):
        table.scan().to_dataset().to_table(filter=pc.field("secret") == 5)


@pytest.fixture
def as_delta(tmp_path: Path) -> str:
    """The file with the hidden column, and one without, as a Delta table."""
    rows = pa.table({"secret": pa.array(range(100), pa.int64()), "open": pa.array(range(100), pa.int64())})
    root = tmp_path / "d"
    (root / "_delta_log").mkdir(parents=True)
    write_encrypted(root / "a.parquet", rows, "secret")
    pq.write_table(rows.slice(0, 10), root / "b.parquet")
    columns = column("secret", "long"), column("open", "long")
    added = (add(name, size=(root / name).stat().st_size) for name in ("a.parquet", "b.parquet"))
    commit(root, 0, protocol(), metadata(*columns), *added)
    return str(root)


@pytest.mark.parametrize("where", [None, "open = 5", "secret = 5"])
def test_a_dataset_on_which_pyarrow_would_end_the_process_is_refused(as_delta: str, where: str | None) -> None:
    with pytest.raises(mi.MetaIndexError, match=r"a\.parquet.*'secret' encrypted.*to_dataset"):
        mi.open_table(as_delta).scan(where).to_deltalake()


def test_columns_in_the_open_are_read_of_a_delta_table(as_delta: str) -> None:
    table = mi.open_table(as_delta)
    found = table.scan(columns=["open"]).to_dataset().to_table(filter=pc.field("open") == 5)
    assert found.to_pylist() == [{"open": 5}] * 2
    with pytest.raises(mi.MetaIndexError, match=r"a\.parquet.*'secret' encrypted"):
        table.scan("secret = 5").to_arrow()


def answer(frame: DataFrame) -> tuple[str, list[object]]:
    """Its rows, or what Spark says is wrong."""
    try:
        return "rows", sorted(map(tuple, frame.collect()))
    except Exception as error:  # noqa: BLE001 - whatever Spark raises is its answer
        return "error", sorted(set(re.findall(r"\[[A-Z_.]+\]|[A-Za-z]*[Cc]rypt\w+", str(error))))


@pytest.mark.spark
def test_spark_builds_and_answers_as_without_an_index(table: mi.Table, spark: SparkSession) -> None:
    asked = ["open = 5", "open = -1", "secret = 5", "secret = -1", "secret IS NULL", "open = 5 AND secret = 5"]

    def answers() -> list[tuple[str, list[object]]]:
        plain = spark.read.parquet(str(table.path))
        return [answer(frame.where(where)) for where in asked for frame in (plain, plain.select("open"))]

    before = answers()
    table.create_index("i", mi.ColumnStats(), mi.Values("open"), mi.Bloom("secret"), builder="spark")
    assert table.verify_index("i").sound
    assert [Path(path).name for path in table.prune("secret = 1000000").paths] == ["a.parquet"]
    assert table.prune("open = -1").kept_files == 0
    with ruled(spark):
        found = answers()
    proved_out = asked.index("open = -1") * 2
    assert ("error", []) not in before
    assert before[0][0] == before[asked.index("secret = 5") * 2][0] == "error"
    assert found[proved_out : proved_out + 2] == [("rows", [])] * 2  # neither file is read
    assert found[:proved_out] == before[:proved_out]
    assert found[proved_out + 2 :] == before[proved_out + 2 :]
