"""Plain files as a table: the contract for each kind, what is listed, and how a folder is told from other tables."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import NotATableError, UnsupportedFeatureError
from metaindex.formats.format import At, TableRef
from metaindex.formats.registry import detect, open_ref
from metaindex.storage import ObjectInfo
from tests.contract.format_contract import FormatContract, MadeTable
from tests.storage.counting import CountingStorage, in_memory
from tests.tables import settled

from .folders import FORMAT, ONE, now, put, ref


def made(path: Path, suffix: str, data: bytes | pa.Table) -> MadeTable:
    put(path / f"p=1/0{suffix}", data)
    put(path / f"p=2/0{suffix}", data)
    return MadeTable(FORMAT, ref(path), lambda: put(path / f"p=3/1{suffix}", data) and None, 4)


class TestParquetFolder(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        return made(tmp_path / "table", ".parquet", ONE)


class TestCsvFolder(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        return made(tmp_path / "table", ".csv", b"a,b\n1,x\n2,\n")


class TestJsonFolder(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        return made(tmp_path / "table", ".jsonl", b'{"a":1,"b":"x"}\n{"a":2}\n')


class TestObjectStoreFolder(FormatContract):
    @pytest.fixture
    def made(self) -> MadeTable:
        storage = in_memory("s3://lake", "table")
        storage.put("p=1/0.csv", b"a\n1\n")
        storage.put("p=1/_hidden.csv", b"a\n1\n")
        storage.put("_x/0.csv", b"a\n1\n")
        return MadeTable(FORMAT, TableRef(storage, storage.root), lambda: storage.put("p=2/1.csv", b"a\n2\n"), 2)


def test_hidden_files_are_those_that_spark_hides(tmp_path: Path) -> None:
    shown = ["0.parquet", "sub/1.parquet", "_p=1.parquet", "_metadata_x/2.parquet"]
    hidden = [
        "_SUCCESS",
        "_metadata",
        "_common_metadata",
        ".0.parquet.crc",
        "_temporary/0/3.parquet",
        ".hidden/4.parquet",
        "_delta/5.parquet",
        "6.parquet._COPYING_",
        "sub/_7.parquet",
    ]
    for name in shown + hidden:
        put(tmp_path / "t" / name, ONE)
    put(tmp_path / "t" / "empty.parquet", b"")
    assert now(tmp_path / "t").files.paths.to_pylist() == sorted(shown)


def test_a_partition_folder_may_begin_with_an_underscore(tmp_path: Path) -> None:
    put(tmp_path / "_p=1" / "0.parquet", ONE)
    snapshot = now(tmp_path)
    assert snapshot.partition_columns == ("_p",)
    assert len(snapshot.files) == 1


def test_partition_values_types_and_bounds(tmp_path: Path) -> None:
    for day in ("2024-01-01", "2024-01-02", "__HIVE_DEFAULT_PARTITION__"):
        put(tmp_path / f"day={day}" / "city=New%20York%2FUS" / "0.parquet", ONE)
    snapshot = now(tmp_path)
    assert snapshot.schema.names == ["a", "b", "day", "city"]
    assert [f.partition for f in snapshot.schema] == [False, False, True, True]
    _, _, day, city = snapshot.schema.leaves()
    bounds = snapshot.details.partition_bounds(day)
    assert bounds.type == pa.date32()
    assert bounds.lower == bounds.upper == pa.array([19723, 19724, None], pa.int64())
    assert bounds.null_count.to_pylist() == [0, 0, None]
    assert bounds.lower_exact.to_pylist() == [True, True, False]
    assert set(snapshot.details.partition_bounds(city).lower.to_pylist()) == {b"New York/US"}
    assert snapshot.files.table.column("partition")[0].as_py() == "day=2024-01-01/city=New%20York%2FUS"
    assert snapshot.details.partition_bounds(snapshot.schema.leaves()[0]) is None


def test_a_timestamp_partition_is_a_day_wide_as_its_zone_is_not_said(tmp_path: Path) -> None:
    put(tmp_path / "t=2024-01-01 00%3A00%3A00" / "0.parquet", ONE)
    snapshot = now(tmp_path)
    bounds = snapshot.details.partition_bounds(snapshot.schema.leaves()[2])
    assert bounds.lower_exact.to_pylist() == [False]
    assert bounds.upper[0].as_py() - bounds.lower[0].as_py() == 2 * 86_400_000_000


def test_a_partition_column_that_the_data_holds_too_is_the_partitions(tmp_path: Path) -> None:
    put(tmp_path / "A=7" / "0.parquet", ONE)
    snapshot = now(tmp_path)
    assert snapshot.schema.names == ["a", "b"]
    assert (snapshot.schema.fields[0].partition, snapshot.schema.fields[0].type) == (True, pa.int32())
    assert snapshot.partition_columns == ("a",)
    assert snapshot.details.partition_bounds(snapshot.schema.leaves()[0]).lower.to_pylist() == [7]


def test_a_single_file_is_a_table(tmp_path: Path) -> None:
    path = put(tmp_path / "p=1" / "one.parquet", ONE)
    snapshot = now(path)
    assert snapshot.files.paths.to_pylist() == [str(path)]
    assert snapshot.uri(snapshot.files.paths[0].as_py()) == str(path)
    assert snapshot.partition_columns == ()
    assert snapshot.schema.names == ["a", "b"]


def test_nested_folders_are_read_unless_recursive_lookup_says_otherwise(tmp_path: Path) -> None:
    for name in ("0.parquet", "x/1.parquet", "x/y/2.parquet"):
        put(tmp_path / "plain" / name, ONE)
    assert len(now(tmp_path / "plain").files) == len(now(tmp_path / "plain", recursiveFileLookup=True).files) == 3
    assert now(tmp_path / "plain", recursiveFileLookup=False).files.paths.to_pylist() == ["0.parquet"]
    put(tmp_path / "hive" / "p=1" / "x" / "0.parquet", ONE)
    assert now(tmp_path / "hive", recursiveFileLookup=True).partition_columns == ()
    assert now(tmp_path / "hive", recursiveFileLookup=False).partition_columns == ("p",)


def test_zero_files_is_no_table_and_zero_rows_is_one(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    put(tmp_path / "hidden" / "_x.parquet", ONE)
    for name in ("none", "hidden", "missing"):
        with pytest.raises(NotATableError, match="check the path"):
            now(tmp_path / name)
        assert not FORMAT.detect(ref(tmp_path / name))
    put(tmp_path / "zero" / "0.parquet", ONE.slice(0, 0))
    assert now(tmp_path / "zero").schema.names == ["a", "b"]


class _Listed(CountingStorage):
    """Counts the listings of everything below the root."""

    def list(self, prefix: str, *, recursive: bool = True, start_after: str = "") -> Iterator[ObjectInfo]:
        if not prefix:
            self._count("list all")
        return super().list(prefix, recursive=recursive, start_after=start_after)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "does not exist; check the path"),
        (["a.txt", "_b/c.parquet", "_d.parquet"], "is empty or holds no data files; check the path"),
        (["z.txt", "x=1/b.csv", "x=1/a.csv", "_b/a.csv"], "holds data files without a byte, such as 'x=1/a.csv'"),
    ],
)
def test_a_store_that_holds_no_table_is_listed_once(names: list[str], said: str) -> None:
    storage = _Listed(in_memory("memory://"))
    for name in names:
        storage.put(name, b"")
    with pytest.raises(NotATableError, match="or Parquet, CSV, JSON files; 'memory://'") as none:
        detect(TableRef(storage, "memory://"))
    assert said in str(none.value)
    assert storage.calls["list all"] == 1
    storage.reset()
    with pytest.raises(NotATableError, match="empty files") as empty:
        FORMAT.resolve(TableRef(storage, "memory://", {"format": "csv"}), At())
    assert ("such as 'x=1/a.csv'" in str(empty.value)) == ("such as 'x=1/a.csv'" in said)
    assert storage.calls["list all"] == 1


def test_a_file_without_a_byte_is_told_as_one(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").touch()
    with pytest.raises(NotATableError, match=r"a\.parquet' is a file without a byte"):
        open_ref(tmp_path / "a.parquet")


def test_mixed_formats_are_refused_until_glob_or_format_says(tmp_path: Path) -> None:
    put(tmp_path / "0.parquet", ONE)
    put(tmp_path / "1.csv", b"a,b\n1,x\n")
    with pytest.raises(UnsupportedFeatureError, match=r"glob="):
        now(tmp_path)
    assert now(tmp_path, glob="*.csv").files.paths.to_pylist() == ["1.csv"]
    put(tmp_path / "README.md", b"hello")
    with pytest.raises(UnsupportedFeatureError, match=r"README\.md"):
        now(tmp_path, glob="[!1]*")


def test_files_without_a_suffix_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    put(tmp_path / "part-00000", ONE)
    put(tmp_path / "part-00001", ONE)
    assert now(tmp_path).details.read_options() == {"file_format": "parquet"}
    put(tmp_path / "part-00002", b"a,b\n")
    with pytest.raises(UnsupportedFeatureError):
        now(tmp_path)


@pytest.mark.parametrize("name", ["a.orc", "a.csv.xz", "a.avro"])
def test_other_kinds_of_files_are_refused_by_name(tmp_path: Path, name: str) -> None:
    put(tmp_path / name, b"something")
    with pytest.raises(UnsupportedFeatureError, match=name):
        now(tmp_path)


def test_open_ref_detects_and_names(tmp_path: Path) -> None:
    put(tmp_path / "t" / "0.parquet", ONE)
    found, where = open_ref(str(tmp_path / "t"))
    assert (found.name, where.path) == ("files", str(tmp_path / "t"))
    assert found.snapshot(where, At()).schema.names == ["a", "b"]
    found, where = open_ref(f"file://{tmp_path}/t", format="parquet")
    assert found.snapshot(where, At()).schema.names == ["a", "b"]


def test_open_ref_says_what_it_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NotATableError, match="does not exist"):
        open_ref(str(tmp_path / "missing"))
    put(tmp_path / "t" / "notes.txt", b"hello")
    with pytest.raises(NotATableError, match="no data files"):
        open_ref(str(tmp_path / "t"))
    with pytest.raises(UnsupportedFeatureError, match="delta, iceberg"):
        open_ref(str(tmp_path), format="paimon")
    with pytest.raises(NotATableError, match="format delta"):
        open_ref(str(tmp_path), format="delta")


def test_a_delta_table_is_not_read_as_plain_files(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "t"), ONE)
    assert open_ref(str(tmp_path / "t"))[0].name == "delta"
    with pytest.raises(UnsupportedFeatureError, match="format='delta'"):
        open_ref(str(tmp_path / "t"), format="parquet")


def test_partitions_are_parsed_once_a_folder(tmp_path: Path) -> None:
    for folder in range(20):
        settled(tmp_path / f"p={folder}", {f"{file}.csv": b"a\n1\n" for file in range(50)})
    snapshot = now(tmp_path)
    assert len(snapshot.files) == 1000
    assert len(snapshot.details.parts.raw) == 20
