"""Plain files as a table: the contract for each kind, listings as versions, and layouts that are refused."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from expressions.errors import (
    CorruptTableError,
    FormatError,
    NotATableError,
    StorageError,
    StoragePermissionError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)
from formats.diff import compare
from formats.files.history import remember, remembered
from formats.files.table import FilesFormat
from formats.files.walk import list_files
from formats.model import Snapshot
from formats.protocol import At, TableRef
from formats.registry import open_ref
from formats.storage import storage_for
from formats.storage_object import ObjectStorage
from tests.contract.format_contract import FormatContract, MadeTable

FORMAT = FilesFormat()


def ref(path: Path, **options: object) -> TableRef:
    storage, root = storage_for(path)
    return TableRef(storage, root, options)


def now(path: Path, **options: object) -> Snapshot:
    return FORMAT.snapshot(ref(path, **options), At())


def put(path: Path, data: bytes | pa.Table) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        pq.write_table(data, path)
    return path


ONE = pa.table({"a": [1, 2], "b": ["x", None]})


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
        from obstore.store import MemoryStore

        storage = ObjectStorage(MemoryStore(), "s3://lake", "table")
        storage.put("p=1/0.csv", b"a\n1\n")
        storage.put("p=1/_hidden.csv", b"a\n1\n")
        storage.put("_x/0.csv", b"a\n1\n")
        return MadeTable(FORMAT, TableRef(storage, storage.root), lambda: storage.put("p=2/1.csv", b"a\n2\n"), 2)


# What is listed
# -----------------------------------------------------------------------------------------------------------


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
    assert bounds is not None
    assert bounds.type == pa.date32()
    assert bounds.lower == bounds.upper == pa.array([19723, 19724, None], pa.int64())
    assert bounds.null_count.to_pylist() == [0, 0, None]  # type: ignore[union-attr]
    assert bounds.lower_exact.to_pylist() == [True, True, False]  # type: ignore[union-attr]
    cities = snapshot.details.partition_bounds(city)
    assert cities is not None
    assert set(cities.lower.to_pylist()) == {b"New York/US"}  # type: ignore[union-attr]
    assert snapshot.files.table.column("partition")[0].as_py() == "day=2024-01-01/city=New%20York%2FUS"
    assert snapshot.details.partition_bounds(snapshot.schema.leaves()[0]) is None


def test_a_timestamp_partition_is_a_day_wide_as_its_zone_is_not_said(tmp_path: Path) -> None:
    put(tmp_path / "t=2024-01-01 00%3A00%3A00" / "0.parquet", ONE)
    snapshot = now(tmp_path)
    bounds = snapshot.details.partition_bounds(snapshot.schema.leaves()[2])
    assert bounds is not None
    assert bounds.lower_exact.to_pylist() == [False]  # type: ignore[union-attr]
    assert bounds.upper[0].as_py() - bounds.lower[0].as_py() == 2 * 86_400_000_000  # type: ignore[index]


def test_a_partition_column_that_the_data_holds_too_is_the_partitions(tmp_path: Path) -> None:
    put(tmp_path / "A=7" / "0.parquet", ONE)
    snapshot = now(tmp_path)
    assert snapshot.schema.names == ["a", "b"]
    assert (snapshot.schema.fields[0].partition, snapshot.schema.fields[0].type) == (True, pa.int32())
    assert snapshot.partition_columns == ("a",)
    bounds = snapshot.details.partition_bounds(snapshot.schema.leaves()[0])
    assert bounds is not None
    assert bounds.lower.to_pylist() == [7]  # type: ignore[union-attr]


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


# Versions
# -----------------------------------------------------------------------------------------------------------------


def age(path: Path, seconds: float = 100) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_a_fresh_file_is_racy_and_an_old_one_is_not(tmp_path: Path) -> None:
    age(put(tmp_path / "old.parquet", ONE))
    put(tmp_path / "young.parquet", ONE)
    assert now(tmp_path).files.table.column("files_racy").to_pylist() == [False, True]


def test_a_time_in_the_future_is_not_what_makes_a_file_racy(tmp_path: Path) -> None:
    age(put(tmp_path / "odd.parquet", ONE), -3600)
    listing = list_files(ref(tmp_path).storage)
    assert listing.racy().to_pylist() == [True]  # it was changed just now
    listing.changed_ns[0] -= 10_000_000_000
    assert listing.racy().to_pylist() == [False]


def test_the_id_of_a_listing_is_a_hash_of_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(7):
        put(tmp_path / f"p={number}" / "ü.csv", b"a\n1\n")
    listing = list_files(ref(tmp_path).storage)
    signs = listing.etag().to_pylist()
    lines = [
        f"{p}\0{s}\0{m}\0{e}"
        for p, s, m, e in zip(listing.paths, listing.sizes, listing.modified_ns, signs, strict=True)
    ]
    assert listing.fingerprint() == xxhash.xxh3_128_hexdigest("\n".join(lines).encode())
    for stretch in (1, 2, 3, 7, 8):
        for module in ("listing", "columns"):
            monkeypatch.setattr(f"formats.files.{module}.STRETCH", stretch)
        assert listing.fingerprint() == now(tmp_path).version.id
        assert now(tmp_path).files.paths.to_pylist() == listing.paths
        assert listing.etag().to_pylist() == signs


@pytest.mark.parametrize(
    "change",
    [
        lambda f: os.utime(f, ns=(f.stat().st_atime_ns, f.stat().st_mtime_ns + 1)),
        lambda f: f.write_bytes(f.read_bytes()[:-5] + b"xxxxx"),
        lambda f: f.rename(f.with_name("other.parquet")),
        lambda f: f.unlink(),
    ],
    ids=["touched", "replaced in place", "moved", "gone"],
)
def test_any_change_of_a_file_is_another_version(tmp_path: Path, change: Callable[[Path], object]) -> None:
    put(tmp_path / "a.parquet", ONE)
    file = put(tmp_path / "b.parquet", ONE)
    before = now(tmp_path)
    assert now(tmp_path).version == before.version
    change(file)
    after = FORMAT.resolve(ref(tmp_path), At())
    assert after != before.version


def test_replaced_in_place_with_the_same_size_and_time_is_told_by_its_etag(tmp_path: Path) -> None:
    file = put(tmp_path / "b.csv", b"a\n1\n")
    put(tmp_path / "a.csv", b"a\n5\n")
    stat = file.stat()
    before = now(tmp_path)
    file.write_bytes(b"a\n2\n")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    diff = compare(before, now(tmp_path))
    assert diff.appended.paths.to_pylist() == diff.deleted.paths.to_pylist() == ["b.csv"]


def test_remembered_listings_are_versions(tmp_path: Path) -> None:
    table = tmp_path / "lake" / "t"
    put(table / "p=1" / "0.parquet", ONE)
    first = now(table)
    remember(ref(table), first)
    remember(ref(table), first)  # nothing new
    assert len(remembered(ref(table))) == 1
    put(table / "p=2" / "1.parquet", ONE)
    second = now(table)
    assert [v.id for v in FORMAT.versions(ref(table))] == [first.version.id, second.version.id]
    remember(ref(table), second)
    (table / "p=1" / "0.parquet").unlink()

    again = FORMAT.snapshot(ref(table), At(version=first.version.id))
    assert again.version == first.version
    assert again.schema == first.schema
    assert again.files.table.equals(first.files.table)
    assert again.partition_columns == ("p",)
    assert FORMAT.snapshot(ref(table), At(timestamp_ms=second.timestamp_ms)).version == second.version
    assert FORMAT.resolve(ref(table), At(timestamp_ms=first.timestamp_ms)) == first.version
    third = now(table)
    later = third.timestamp_ms + 1000
    assert FORMAT.resolve(ref(table), At(timestamp_ms=later)) == third.version
    assert compare(again, second).appended.paths.to_pylist() == ["p=2/1.parquet"]
    assert compare(second, third).deleted.paths.to_pylist() == ["p=1/0.parquet"]
    with pytest.raises(VersionNotFoundError, match="2 are kept"):
        FORMAT.snapshot(ref(table), At(version="0" * 32))
    with pytest.raises(VersionNotFoundError):
        FORMAT.snapshot(ref(table), At(timestamp_ms=first.timestamp_ms - 1))


def test_an_emptied_folder_keeps_its_history(tmp_path: Path) -> None:
    file = put(tmp_path / "t" / "0.parquet", ONE)
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    file.unlink()
    assert FORMAT.versions(ref(tmp_path / "t")) == [first.version]
    assert FORMAT.snapshot(ref(tmp_path / "t"), At(version=first.version.id)).schema == first.schema


def test_a_version_that_came_back_is_two_moments_of_one_version(tmp_path: Path) -> None:
    table = tmp_path / "t"
    put(table / "0.parquet", ONE)
    first = now(table)
    remember(ref(table), first)
    extra = put(table / "1.parquet", ONE)
    remember(ref(table), now(table))
    extra.unlink()
    remember(ref(table), now(table))
    assert [k.id == first.version.id for k in remembered(ref(table))] == [True, False, True]


def test_a_kept_version_is_read_without_looking_into_the_folder(tmp_path: Path) -> None:
    put(tmp_path / "t" / "p=1" / "0.csv", b"a,b\n1,2\n")
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    (tmp_path / "t").rename(tmp_path / "gone")
    again = FORMAT.snapshot(ref(tmp_path / "t"), At(version=first.version.id))
    assert (again.schema, again.files.table) == (first.schema, first.files.table)


def test_a_kept_version_under_other_options_has_their_columns(tmp_path: Path) -> None:
    put(tmp_path / "t" / "0.csv", b"1,2\n3,4\n")
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    assert first.schema.names == ["1", "2"]
    other = FORMAT.snapshot(ref(tmp_path / "t", header=False), At(version=first.version.id))
    assert other.schema == now(tmp_path / "t", header=False).schema
    assert other.schema.names == ["_c0", "_c1"]


def test_versions_of_several_roots_are_kept_apart_from_their_folders(tmp_path: Path) -> None:
    for name in ("a/p=1/0.csv", "b/0.csv"):
        put(tmp_path / "t" / name, b"n\n1\n")
    one, several = ref(tmp_path / "t" / "a"), open_ref(f"{tmp_path}/t/[a]")[1]
    assert several.patterns == ("[a]",)
    snapshot = FORMAT.snapshot(several, At())
    assert snapshot.partition_columns == ("p",)
    remember(several, snapshot)
    assert remembered(one) == remembered(ref(tmp_path / "t")) == []
    again = FORMAT.snapshot(several, At(version=snapshot.version.id))
    assert (again.schema, again.files.table, again.partition_columns) == (snapshot.schema, snapshot.files.table, ("p",))
    assert again.details.read_options() == snapshot.details.read_options()


def test_a_damaged_listing_is_an_error_that_names_it(tmp_path: Path) -> None:
    put(tmp_path / "t" / "0.parquet", ONE)
    first = now(tmp_path / "t")
    remember(ref(tmp_path / "t"), first)
    put(tmp_path / "t" / "1.parquet", ONE)
    kept = Path(remembered(ref(tmp_path / "t"))[0].path)
    kept.write_bytes(kept.read_bytes()[:-100])
    with pytest.raises(CorruptTableError, match="listing"):
        FORMAT.snapshot(ref(tmp_path / "t"), At(version=first.version.id))


# Schemas
# ------------------------------------------------------------------------------------------------------------------


def test_a_parquet_schema_is_the_first_files_and_what_the_newest_has_besides(tmp_path: Path) -> None:
    age(put(tmp_path / "a.parquet", pa.table({"x": [1], "s": [{"i": 1}]})), 300)
    age(put(tmp_path / "c.parquet", pa.table({"old": [1]})), 200)
    age(put(tmp_path / "b.parquet", pa.table({"X": ["not this"], "added": [1.5]})), 100)
    schema = now(tmp_path).schema
    assert schema.names == ["x", "s", "added"]
    assert [".".join(leaf.parts) for leaf in schema.leaves()] == ["x", "s.i", "added"]
    assert schema.fields[0].type == pa.int64()


def test_a_file_that_is_no_parquet_is_an_error_that_names_it(tmp_path: Path) -> None:
    put(tmp_path / "a.parquet", b"nonsense that is long enough")
    with pytest.raises(CorruptTableError, match=r"a\.parquet"):
        now(tmp_path)


CSV = b"""i,l,d,f,day,t,flag,s,none,mixed
1,1,12345678901234567890,1.5,2024-01-01,2024-01-01 10:00:00,true,x,,1
-2,3000000000,1,2,2024-12-31,2024-01-02T10:00:00.5Z,FALSE,"a,b",,x
,,,,,,,,,
"""


def test_csv_columns_have_the_types_that_their_values_have(tmp_path: Path) -> None:
    put(tmp_path / "a.csv", CSV)
    assert now(tmp_path).schema.arrow() == pa.schema(
        [
            ("i", pa.int32()),
            ("l", pa.int64()),
            ("d", pa.decimal128(20, 0)),
            ("f", pa.float64()),
            ("day", pa.date32()),
            ("t", pa.timestamp("us", "UTC")),
            ("flag", pa.bool_()),
            ("s", pa.string()),
            ("none", pa.string()),
            ("mixed", pa.string()),
        ]
    )


def test_csv_options_and_compression(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.csv.gz", gzip.compress(b"x;'y;z'\n1;'2'\n"))
    snapshot = now(tmp_path / "a", delimiter=";", quote="'")
    assert snapshot.schema.arrow() == pa.schema([("x", pa.int32()), ("y;z", pa.int32())])
    assert snapshot.details.read_options() == {"file_format": "csv", "header": "true", "sep": ";", "quote": "'"}
    put(tmp_path / "b" / "0.csv", b"1,a\n2,b\n")
    assert now(tmp_path / "b", header=False).schema.names == ["_c0", "_c1"]
    put(tmp_path / "c" / "0.tsv", b"p\tq\n1\t2\n")
    assert now(tmp_path / "c").schema.names == ["p", "q"]
    assert now(tmp_path / "c").details.read_options()["sep"] == "\t"
    put(tmp_path / "d" / "0.csv", "nämé\né\n".encode("latin-1"))
    assert now(tmp_path / "d", encoding="latin-1").schema.names == ["nämé"]


def test_schemas_of_files_that_are_not_split_by_lines(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.json", b'[{"i": 1, "s": "x"},\n {"i": 2.5,\n "l": [1]}]')
    json = now(tmp_path / "a", multiLine=True).schema.arrow()
    assert json == pa.schema([("i", pa.float64()), ("s", pa.string()), ("l", pa.list_(pa.int64()))])
    put(tmp_path / "b" / "0.csv", b'i,"s\nt"\n1,"x\ny"\n2,z\n')
    assert now(tmp_path / "b", multiLine=True).schema.arrow() == pa.schema([("i", pa.int32()), ("s\nt", pa.string())])
    put(tmp_path / "c" / "0.csv", "i,é\n1,ü\n".encode("utf-16"))
    assert now(tmp_path / "c", multiLine=True, encoding="UTF-16").schema.names == ["i", "é"]
    put(tmp_path / "d" / "0.csv", b"i|s;1|x;")
    assert now(tmp_path / "d", sep="|", lineSep=";").schema.names == ["i", "s"]
    for bad in (b"[{]", b"[1, 2]"):
        put(tmp_path / "e" / "0.json", bad)
        with pytest.raises(CorruptTableError, match=r"0\.json"):
            now(tmp_path / "e", multiLine=True)


def test_patterns_of_dates_and_times_say_which_columns_are_some(tmp_path: Path) -> None:
    put(tmp_path / "0.csv", b"d,t,other\n31.12.2024,31/12/2024 10:11,2024-12-31\n")
    types = now(tmp_path, dateFormat="dd.MM.yyyy", timestampFormat="dd/MM/yyyy HH:mm").schema.arrow().types
    assert types == [pa.date32(), pa.timestamp("us", "UTC"), pa.string()]
    assert now(tmp_path, dateFormat="EEE", timestampFormat="a").schema.arrow().types == [pa.string()] * 3


def test_merge_schema_takes_the_columns_of_all_files(tmp_path: Path) -> None:
    decimal = [pa.decimal128(p, 2) for p in (5, 9)]
    put(tmp_path / "a.parquet", pa.table({"a": [1], "s": [{"x": 1}], "d": pa.array([1], decimal[0])}))
    put(tmp_path / "b.parquet", pa.table({"b": ["x"], "s": [{"y": 1.5}]}))
    put(tmp_path / "c.parquet", pa.table({"A": [2], "d": pa.array([1], decimal[1])}))
    schema = now(tmp_path, mergeSchema=True).schema.arrow()
    struct = pa.struct([("x", pa.int64()), ("y", pa.float64())])
    assert schema == pa.schema([("a", pa.int64()), ("s", struct), ("d", decimal[1]), ("b", pa.string())])
    put(tmp_path / "d.parquet", pa.table({"a": ["text"]}))
    with pytest.raises(FormatError, match=r"a\.parquet.*d\.parquet"):
        now(tmp_path, mergeSchema=True)


def test_a_given_schema_wins(tmp_path: Path) -> None:
    put(tmp_path / "p=1" / "0.csv", b"a,b\n1,2\n")
    snapshot = now(tmp_path, schema="a STRING, b DECIMAL(10, 2), p BIGINT")
    assert snapshot.schema.arrow() == pa.schema([("a", pa.string()), ("b", pa.decimal128(10, 2)), ("p", pa.int64())])
    assert [f.partition for f in snapshot.schema] == [False, False, True]
    assert now(tmp_path, schema=pa.schema([("z", pa.int8())])).schema.names == ["z", "p"]
    for bad in ("a", "a STRUCT<b: INT>", "a INT b INT", 7):
        with pytest.raises(UnsupportedFeatureError, match="schema"):
            now(tmp_path, schema=bad)


def test_json_lines_have_the_types_that_spark_gives(tmp_path: Path) -> None:
    put(
        tmp_path / "a.json", b'{"i":1,"t":"2024-01-01T00:00:00Z","s":{"x":1.5,"n":null},"l":[1]}\n{"i":2,"late":true}\n'
    )
    put(tmp_path / "b.json", b'{"i":2.5,"more":"x"}\n')
    age(tmp_path / "a.json")
    schema = now(tmp_path).schema.arrow()
    assert schema == pa.schema(
        [
            ("i", pa.float64()),
            ("t", pa.string()),
            ("s", pa.struct([("x", pa.float64()), ("n", pa.string())])),
            ("l", pa.list_(pa.int64())),
            ("late", pa.bool_()),
            ("more", pa.string()),
        ]
    )


def test_text_that_cannot_be_read_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    put(tmp_path / "a" / "0.json", b"[1, 2]\nnonsense\n")
    put(tmp_path / "b" / "0.csv.gz", b"not gzip")
    for name in ("a", "b"):
        with pytest.raises(CorruptTableError, match="0\\."):
            now(tmp_path / name)


def test_two_names_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "0.parquet", pa.table({"a": [1], "A": [2]}))
    with pytest.raises(FormatError, match="case"):
        now(tmp_path)


# Bad input
# -----------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    put(tmp_path / "t" / "0.parquet", ONE)
    locked = tmp_path / "t" / "locked"
    locked.mkdir(mode=0)
    try:
        with pytest.raises(StoragePermissionError, match="locked"):
            now(tmp_path / "t")
    finally:
        locked.chmod(0o700)


@pytest.mark.parametrize("target", [".", "..", "loop"])
def test_links_in_a_circle_are_errors_that_name_them(tmp_path: Path, target: str) -> None:
    put(tmp_path / "t" / "sub" / "0.parquet", ONE)
    (tmp_path / "t" / "sub" / "loop").symlink_to(target)
    with pytest.raises(StorageError, match="sub/loop"):
        now(tmp_path / "t")


def test_a_link_to_a_folder_beside_is_followed_and_one_to_nothing_is_not(tmp_path: Path) -> None:
    put(tmp_path / "other" / "1.parquet", ONE)
    put(tmp_path / "t" / "0.parquet", ONE)
    (tmp_path / "t" / "link").symlink_to(tmp_path / "other")
    (tmp_path / "t" / "nothing.parquet").symlink_to(tmp_path / "missing.parquet")
    assert now(tmp_path / "t").files.paths.to_pylist() == ["0.parquet", "link/1.parquet"]


ODD = ["new\nline", "quo'te\"s", "ünï😀", "100%41", "a b", "[x]", "back\\slash", "#?;&", "*"]


def test_odd_names_are_names(tmp_path: Path) -> None:
    for name in ODD:
        put(tmp_path / name / f"{name}.parquet", ONE)
    snapshot = now(tmp_path)
    assert sorted(snapshot.files.paths.to_pylist()) == sorted(f"{name}/{name}.parquet" for name in ODD)
    for path in snapshot.files.paths.to_pylist():
        with open(snapshot.uri(path), "rb") as file:
            assert pq.read_table(file).num_rows == 2


def test_a_name_that_is_no_text_is_an_error_that_shows_it(tmp_path: Path) -> None:
    put(tmp_path / "0.csv", b"a\n1\n")
    with open(os.fsencode(tmp_path) + b"/\xff.csv", "wb") as file:
        file.write(b"a\n1\n")
    with pytest.raises(StorageError, match=r"xff\.csv"):
        now(tmp_path)


def test_a_file_that_vanishes_before_its_schema_is_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = put(tmp_path / "0.parquet", ONE)
    resolved = FORMAT.resolved(ref(tmp_path), At())
    file.unlink()
    with pytest.raises(StorageError, match=r"0\.parquet"):
        resolved.load()


def test_many_names_of_no_known_kind_are_refused_at_once(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path / f"log.{number}", b"x")
    with pytest.raises(UnsupportedFeatureError, match=r"log\.0"):
        now(tmp_path)


# Registry
# -----------------------------------------------------------------------------------------------------------------


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
        open_ref(str(tmp_path), format="hudi")
    with pytest.raises(NotATableError, match="format delta"):
        open_ref(str(tmp_path), format="delta")


def test_a_delta_table_is_not_read_as_plain_files(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path / "t"), ONE)
    assert open_ref(str(tmp_path / "t"))[0].name == "delta"
    with pytest.raises(UnsupportedFeatureError, match="format='delta'"):
        open_ref(str(tmp_path / "t"), format="parquet")


def test_a_hundred_thousand_files_take_moderate_work(tmp_path: Path) -> None:
    """Work is bounded by counting, not by the clock: one entry a file, partitions parsed once a folder."""
    for folder in range(20):
        where = tmp_path / f"p={folder}"
        where.mkdir()
        for file in range(50):
            (where / f"{file}.csv").write_bytes(b"a\n1\n")
    snapshot = now(tmp_path)
    assert len(snapshot.files) == 1000
    assert len(snapshot.details.parts.raw) == 20  # type: ignore[attr-defined]
