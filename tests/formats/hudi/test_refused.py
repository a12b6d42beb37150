"""What is not read with certainty is refused, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import CorruptTableError, FormatError, NotATableError, UnsupportedFeatureError
from metaindex.formats import At
from tests.formats.encrypted import write_encrypted
from tests.formats.hudi.written import HUDI, HudiTable, avro_file, rows


@pytest.fixture(params=[6, 8])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> HudiTable:
    made = HudiTable(tmp_path / "t", request.param)
    made.commit([("day=a", "g-0", rows(0)), ("day=b", "h-0", rows(10, day="b"))])
    made.commit([("day=a", "g-0", rows(0, 5))])
    return made


def refused(table: HudiTable, match: str, error: type[FormatError] = UnsupportedFeatureError) -> None:
    for ask in (lambda: mi.open_table(table.root).scan().to_arrow(), table.snapshot, lambda: HUDI.versions(table.ref)):
        with pytest.raises(error, match=match):
            ask()


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("hoodie.table.type", "MERGE_ON_READ", "MERGE_ON_READ"),
        ("hoodie.table.version", "5", "version '5'"),
        ("hoodie.table.version", "9", "version '9'"),
        ("hoodie.table.version", "", "version ''"),
        ("hoodie.table.base.file.format", "ORC", "ORC"),
        ("hoodie.table.multiple.base.file.formats.enable", "true", "several formats"),
        ("hoodie.bootstrap.base.path", "/elsewhere", "bootstrap"),
        ("hoodie.timeline.layout.version", "0", "layout '0'"),
        ("hoodie.timeline.path", "elsewhere", "usual folder"),
        ("hoodie.archivelog.folder", "../x", "beside its timeline"),
        ("hoodie.table.format", "iceberg", "another format"),
        ("hoodie.table.keygenerator.type", "TIMESTAMP", "key generator 'TIMESTAMP'"),
        ("hoodie.table.keygenerator.type", "CUSTOM", "key generator 'CUSTOM'"),
        ("hoodie.table.partition.fields", "nowhere", "no 'nowhere'"),
        ("hoodie.table.partition.fields", "day,id", "2 partition columns"),
        ("hoodie.table.partition.fields", "", "no partition columns"),
        ("hoodie.datasource.write.hive_style_partitioning", "false", "holds a '='"),
    ],
)
def test_a_property_that_makes_it_another_table(table: HudiTable, key: str, value: str, match: str) -> None:
    table.properties(**{key: value})
    if match in ("no 'nowhere'", "2 partition columns", "no partition columns", "holds a '='"):  # of its commits
        with pytest.raises(UnsupportedFeatureError, match=match):
            table.snapshot()
    else:
        refused(table, match)


def test_properties_that_are_lost_or_half_written(table: HudiTable) -> None:
    path = table.root / ".hoodie" / "hoodie.properties"
    text = path.read_text()
    path.rename(path.with_name("hoodie.properties.backup"))  # while they are written anew
    assert len(table.paths()) == 2
    (table.root / ".hoodie" / "hoodie.properties.backup").unlink()
    refused(table, "has none", NotATableError)
    assert HUDI.detect(table.ref)
    path.write_text("\n".join(line for line in text.splitlines() if "checksum" not in line))
    refused(table, "checksum", CorruptTableError)
    path.write_text(text.replace("hoodie.table.name=t", "hoodie.table.name=u"))
    refused(table, "checksum", CorruptTableError)
    path.write_bytes(b"#" * (5 << 20))
    refused(table, "at most", CorruptTableError)
    path.write_text(text + "hoodie.table.type=MERGE_ON_READ\n")
    refused(table, "each key once", CorruptTableError)


@pytest.mark.parametrize("name", ["{}.deltacommit", "{}.compaction.requested", "{}.logcompaction.inflight"])
def test_a_timeline_of_logs(table: HudiTable, name: str) -> None:
    (table.timeline / name.format(table.tick())).write_bytes(b"x")
    refused(table, "merge-on-read")


@pytest.mark.parametrize(
    "name", ["{}.truncate", "{}.commit.paused", "{}0.commit", "{}", "{}.clustering", "{0}_{0}.commit.requested", "1"]
)
def test_a_file_that_nobody_knows(table: HudiTable, name: str) -> None:
    (table.timeline / name.format(table.tick())).write_bytes(b"x")
    refused(table, "known by its name")


def test_an_instant_of_the_other_layout(table: HudiTable) -> None:
    name = "{0}_{0}.commit" if table.version < 8 else "{0}.commit"
    (table.timeline / name.format(table.tick())).write_bytes(b"x")
    refused(table, "known by its name")


def test_an_upgrade_that_was_not_finished(tmp_path: Path) -> None:
    table = HudiTable(tmp_path / "t", 8)
    table.commit([("day=a", None, rows(0))])
    (table.root / ".hoodie" / f"{table.tick()}.commit").write_bytes(b"x")
    refused(table, "upgrade was not finished")


def test_a_restore_under_way(table: HudiTable) -> None:
    instant = table.begin("restore")
    refused(table, "being restored")
    done = f"{instant}.restore" if table.version < 8 else f"{instant}_{table.tick()}.restore"
    (table.timeline / done).write_bytes(b"x")
    assert len(table.paths()) == 2


def test_a_bootstrap_instant(table: HudiTable) -> None:
    done = "00000000000001.commit" if table.version < 8 else "00000000000001_00000000000002.commit"
    (table.timeline / done).write_bytes(b"x")
    refused(table, "bootstrap")


def test_log_files_with_rows_and_those_of_changes(table: HudiTable) -> None:
    (table.root / "day=a" / ".g-0_20240101000001000.log.1_0-1-2.cdc").write_bytes(b"x")
    assert len(table.paths()) == 2
    (table.root / "day=a" / ".g-0_20240101000001000.log.1_0-1-2").write_bytes(b"x")
    refused(table, "log files")


def test_a_completed_instant_without_a_byte(table: HudiTable) -> None:
    table.completed(max(table.live)).write_bytes(b"")
    refused(table, "is empty", CorruptTableError)


@pytest.mark.slow
def test_a_commit_of_more_values_than_memory_is_for(table: HudiTable) -> None:
    table.completed(max(table.live)).write_bytes(b"[" + b"[]," * 10_000_000 + b"[]]")
    refused(table, "at most 10,000,000 values", CorruptTableError)


def _stat(said: dict) -> dict:
    return said["partitionToWriteStats"]["day=a"][0]


CHANGES: dict[str, Callable[[dict], object]] = {
    "the path of another group": lambda said: _stat(said).update(fileId="x-0"),
    "a path elsewhere": lambda said: _stat(said).update(path="day=b/g-0_0-1-2_20240101000003000.parquet"),
    "a path above": lambda said: said["partitionToWriteStats"].update({"../x": [_stat(said)]}),
    "a path in the timeline": lambda said: said["partitionToWriteStats"].update({".hoodie/x": [_stat(said)]}),
    "no path": lambda said: _stat(said).update(path=None),
    "another size": lambda said: _stat(said).update(fileSizeInBytes=7),
    "a negative size": lambda said: _stat(said).update(fileSizeInBytes=-7),
    "a lost instant before": lambda said: _stat(said).update(prevCommit="20230101000003000"),
    "a group that begins again": lambda said: _stat(said).update(prevCommit="null"),
    "no statistics": lambda said: said.update(partitionToWriteStats={}),
    "no columns": lambda said: said["extraMetadata"].update(schema="x"),
    "ids of columns": lambda said: said["extraMetadata"].update(latest_schema="{}"),
    "a group twice": lambda said: said["partitionToWriteStats"]["day=a"].append(
        {**_stat(said), "path": _stat(said)["path"].replace("0-1-2", "0-1-3")}
    ),
    "a replaced group in a commit": lambda said: said.update(partitionToReplaceFileIds={"day=b": ["h-0"]}),
    "another kind of file": lambda said: _stat(said).update(path=_stat(said)["path"].replace("parquet", "orc")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_commit_that_contradicts_itself_or_the_files(table: HudiTable, change: str) -> None:
    newest = max(table.live)
    said = table.metadata[newest]
    CHANGES[change](said)
    table.completed(newest).write_bytes(json.dumps(said).encode() if table.version < 8 else avro_file(said))
    with pytest.raises((CorruptTableError, UnsupportedFeatureError)) as refused:
        table.snapshot()
    assert "\n" not in str(refused.value)
    assert str(table.root) in str(refused.value)


def test_a_replaced_group_that_is_written_again(table: HudiTable) -> None:
    table.commit([("day=a", None, rows(50))], [("day=a", "g-0")], operation="INSERT_OVERWRITE")
    table.commit([("day=a", "g-0", rows(60))])
    refused(table, "not written again")


def test_a_replacecommit_of_a_group_that_never_was(table: HudiTable) -> None:
    table.commit([("day=a", None, rows(50))], [("day=a", "never-0")], operation="INSERT_OVERWRITE")
    refused(table, "'never-0', which was not", CorruptTableError)


def test_files_that_no_instant_names(table: HudiTable) -> None:
    first, newest = sorted(table.live)
    for instant, said in ((newest, "does not name it"), ("20230101000000000", "not in the timeline")):
        path = table.root / table.base_file("day=a", "left-0", instant, rows(70))
        refused(table, said, CorruptTableError)
        path.unlink()
    pending = table.begin()
    table.base_file("day=a", "left-0", pending, rows(70))
    table.base_file("day=a", "left-0", "20990101000000000", rows(70))  # of a writer that began a moment ago
    (table.root / "day=a" / "notes.parquet").write_bytes(b"x")
    assert table.paths() == sorted(table.live[newest].values())
    assert [version.id for version in HUDI.versions(table.ref)] == [first, newest]


def test_a_lost_file_is_damage_of_the_newest_version(table: HudiTable) -> None:
    (table.root / table.now["day=b", "h-0"]).unlink()
    with pytest.raises(CorruptTableError, match="is not there"):
        table.snapshot()
    with pytest.raises(mi.VersionNotFoundError, match="cleaner"):
        table.snapshot(min(table.live))


@pytest.mark.parametrize(
    ("before", "after"),
    [(pa.float32(), pa.float64()), (pa.int64(), pa.string()), (pa.int64(), pa.float64()), (pa.int64(), pa.int32())],
)
def test_a_column_that_was_widened_as_hudi_alone_reads_it(
    table: HudiTable, before: pa.DataType, after: pa.DataType
) -> None:
    """Hudi reads a float that became a double through its text."""
    for type_ in (before, after):
        data = rows(80).append_column("n", pa.array([1, 2, 3]).cast(type_))
        table.commit([("day=c", None, data)], schema=data.schema)
    with pytest.raises(UnsupportedFeatureError, match="one type in all files"):
        table.snapshot()
    with pytest.raises(UnsupportedFeatureError, match="one type in all files"):
        table.snapshot(sorted(table.live)[-2])  # Spark shows it with the newest columns


@pytest.mark.parametrize("after", [pa.int64(), pa.float64()])
def test_an_int_that_was_widened_is_read(table: HudiTable, after: pa.DataType) -> None:
    for type_ in (pa.int32(), after):
        data = rows(80).append_column("n", pa.array([1, 2, 3]).cast(type_))
        table.commit([("day=c", None, data)], schema=data.schema)
    read = mi.open_table(table.root).scan("n = 2").to_arrow()
    assert read.column("n").to_pylist() == [2, 2]
    assert read.schema.field("n").type == after


def test_an_encrypted_file_is_refused_when_it_is_read(table: HudiTable) -> None:
    newest = table.begin()
    path = table.root / f"day=a/e-0_0-1-2_{newest}.parquet"
    write_encrypted(path, rows(0), "word")
    stat = {"fileId": "e-0", "path": f"day=a/{path.name}", "prevCommit": None, "partitionPath": "day=a"}
    stat["fileSizeInBytes"] = path.stat().st_size
    said = {**table.metadata[max(table.live)], "partitionToWriteStats": {"day=a": [stat]}}
    table.complete(newest, "commit", said)
    with pytest.raises(mi.MetaIndexError):
        mi.open_table(table.root).scan().to_arrow()


def test_it_is_no_folder_of_plain_files(table: HudiTable) -> None:
    with pytest.raises(UnsupportedFeatureError, match="hudi"):
        mi.open_table(table.root, format="parquet")
    assert mi.open_table(table.root, format="hudi").snapshot(At().version).format == "hudi"


def test_damaged_archives(table: HudiTable) -> None:
    for first in range(100, 130, 10):
        table.commit([("day=a", None, rows(first))])
    whole = table.paths()
    path = table.archive(sorted(table.live)[:2])
    assert table.paths() == whole
    data = path.read_bytes()
    for change in (data[:-1], data[: len(data) // 2], b"", data + b"x", data.replace(b"g-0", b"q-0")):
        path.write_bytes(change)
        with pytest.raises(CorruptTableError):
            table.snapshot()
    path.write_bytes(data)
    assert table.paths() == whole


@pytest.mark.parametrize(("length", "count"), [(1 << 20, 200), (1, 6_000_000)])
def test_an_archive_of_few_bytes_is_read_in_little_memory(tmp_path: Path, length: int, count: int) -> None:
    """The same text in every row, which is once in the file."""
    table = HudiTable(tmp_path / "t", 8)
    for first in range(2):
        table.commit([("day=a", "g-0", rows(first))])
    path = table.archive(sorted(table.live)[:1])
    archived = pq.read_table(path)
    (row,) = archived.to_pylist()
    same = pa.Table.from_pylist([row | {"action": "clean", "metadata": b"x" * length}], archived.schema)
    pq.write_table(pa.concat_tables([archived, same.take([0] * count)]), path, dictionary_pagesize_limit=1 << 30)
    (path.parent / "manifest_1").write_text(
        json.dumps({"files": [{"fileName": path.name, "fileLen": path.stat().st_size}]})
    )
    counted, before = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(counted)
    try:
        if count > 1_000_000:
            with pytest.raises(CorruptTableError, match="unpack to more than"):
                table.snapshot()
        else:
            assert len(table.paths()) == 1
    finally:
        pa.set_memory_pool(before)
    assert counted.max_memory() < 100 << 20
