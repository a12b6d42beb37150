"""Folders that belong to somebody are refused however their files are named; the output of a stream of Spark is read as
Spark reads it."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import CorruptTableError, MetaIndexError, NotATableError, UnsupportedFeatureError
from metaindex.formats.files.owners import SINK_LOG, refuse_owned
from metaindex.formats.files.walk import list_files
from metaindex.storage import Storage
from tests.storage.counting import in_memory

MARKS = {
    "Delta table": "_delta_log/00000000000000000000.json",
    "Hudi table": ".hoodie/hoodie.properties",
    "folder of a Hudi table": "p=1/.hoodie_partition_metadata",
    "Iceberg table": "metadata/v1.metadata.json",
    "manifest": "_symlink_format_manifest/manifest",
    "stream of Spark": f"{SINK_LOG}/0",
}
FILES = ("p=1/a.parquet", "b.parquet")
WAYS = ["t", "t/p=1", "t/p=1/a.parquet", "t/*/*.parquet", "t/p=*", "*", ".", "t/p=1,o", "link"]
"""A path below the lake; with commas, a list of them."""


def ways(what: str, path: str) -> list[object]:
    """The ways to name something, except the whole output of a stream, which is read."""
    return [] if (what, path) == ("stream of Spark", "t") else [pytest.param(what, path, id=f"{what}-{path}")]


@pytest.mark.parametrize("format_", [None, "parquet", "files"])
@pytest.mark.parametrize(("what", "path"), [each for what in MARKS for path in WAYS for each in ways(what, path)])
def test_a_folder_of_somebody_is_refused_by_name(tmp_path: Path, what: str, path: str, format_: str | None) -> None:
    for name in (*(f"t/{file}" for file in FILES), "o/c.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)
    mark = tmp_path / "t" / MARKS[what]
    mark.parent.mkdir(exist_ok=True)
    mark.write_text("v1")
    if path == "t" and format_ is None and what not in ("manifest", "folder of a Hudi table"):
        return  # a table of that format
    if path == "link":
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "l=1").symlink_to(tmp_path / "t" / "p=1")
    named = [str(tmp_path / ("elsewhere" if part == "link" else part)) for part in path.split(",")]
    with pytest.raises(UnsupportedFeatureError, match=what):
        mi.open_table(named if len(named) > 1 else named[0], format=format_).count()


@pytest.mark.parametrize(("what", "path"), [(what, path) for what in MARKS for path in ("", "t", "t/p=1", "o/t/p=1")])
def test_a_store_is_looked_at_as_a_disk_is(what: str, path: str) -> None:
    storage = in_memory("s3://lake")
    for name in (*FILES, MARKS[what]):
        storage.put(f"t/{name}", b"x")
        storage.put(f"o/t/_old/{name}", b"x")  # hidden
        storage.put(f"o/t/p=1/{name.rpartition('/')[2]}" if name in FILES else "o/t/c.csv", b"x")
    root: Storage = in_memory("s3://lake", path)
    object.__setattr__(root, "store", storage.store)  # type: ignore[attr-defined]

    def listed() -> list[str]:
        refuse_owned(root, alone=True)
        return list_files(root).paths

    if path == "o/t/p=1":
        assert listed() == ["a.parquet", "b.parquet"]
        return
    with pytest.raises(CorruptTableError if (what, path) == ("stream of Spark", "t") else UnsupportedFeatureError):
        listed()


def test_ordinary_folders_of_such_names_are_no_marks(tmp_path: Path) -> None:
    for name in ("t/metadata/a.parquet", "t/o/a.parquet"):
        (tmp_path / name).parent.mkdir(parents=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / name)
    assert mi.open_table(tmp_path / "t").count() == 2
    assert mi.open_table(tmp_path / "t" / "metadata").count() == 1


def log(root: Path, batches: dict[str, str]) -> Path:
    """The output of a stream with these files of its log; `{name}` is the entry of a file of one row."""
    (root / SINK_LOG).mkdir(parents=True)
    entries = {}
    for name in "abcd":
        path = root / f"{name}.parquet"
        pq.write_table(pa.table({"n": [name]}), path)
        said = {"path": path.as_uri(), "size": path.stat().st_size, "isDir": False, "action": "add"}
        entries |= {name: json.dumps(said), name.upper(): json.dumps(said | {"action": "delete"})}
    for batch, text in batches.items():
        (root / SINK_LOG / batch).write_text("\n".join([entries.get(line, line) for line in text.split()]))
    return root


@pytest.mark.parametrize(
    ("batches", "live"),
    [
        ({"0": "v1 a", "1": "v1 b"}, "ab"),
        ({"0": "v1", "1": "v1 b a"}, "ab"),
        ({"0": "v1 a", "1": "v1 b", "2.compact": "v1 a c", "3": "v1 d", ".4.crc": "x", ".5.tmp": "v"}, "acd"),
        ({"5.compact": "v1 a"}, "a"),
        ({"1": "v1 d", "2.compact": "v1 a", "5.compact": "v1 a b"}, "ab"),
        ({"0": "v1 a b", "1": "v1 A c"}, "bc"),
    ],
)
def test_the_files_of_a_stream_are_those_that_its_log_names(tmp_path: Path, batches: dict[str, str], live: str) -> None:
    root = log(tmp_path / "a b%20" / "t", batches)
    (tmp_path / "link").symlink_to(root)
    for named in (root, tmp_path / "link"):
        assert sorted(mi.open_table(named).scan().to_arrow()["n"].to_pylist()) == list(live)
    assert mi.open_table(root, glob="[ac]*").count() == len({*live} & {*"ac"})
    table = mi.open_table(root)
    table.create_index("i", mi.ColumnStats(), mi.Values("n"))
    assert [table.count(f"n = '{name}'") for name in "abcd"] == [int(name in live) for name in "abcd"]


@pytest.mark.parametrize(
    ("batches", "error"),
    [
        ({}, NotATableError),
        ({"0": "v1 a", "2": "v1 b"}, CorruptTableError),
        ({"1": "v1 a"}, CorruptTableError),
        ({"2.compact": "v1 a", "4": "v1 b"}, CorruptTableError),
        ({"0": ""}, CorruptTableError),
        ({"0": "v2 a"}, CorruptTableError),
        ({"0": 'v1 {"path":"file:/a'}, CorruptTableError),
        ({"0": 'v1 {"path":"x","size":1,"action":"add"}'}, CorruptTableError),
        ({"0": 'v1 {"path":"file:///elsewhere/a.parquet","size":1,"action":"add"}'}, CorruptTableError),
    ],
)
def test_a_log_that_is_not_whole_is_refused(
    tmp_path: Path, batches: dict[str, str], error: type[MetaIndexError]
) -> None:
    with pytest.raises(error, match="stream of Spark"):
        mi.open_table(log(tmp_path / "t", batches)).count()


def test_a_moved_output_and_a_lost_file_are_refused(tmp_path: Path) -> None:
    root = log(tmp_path / "t", {"0": "v1 a b"})
    shutil.copytree(root, tmp_path / "copy")
    with pytest.raises(CorruptTableError, match="elsewhere"):
        mi.open_table(tmp_path / "copy").count()
    (root / "a.parquet").unlink()
    with pytest.raises(CorruptTableError, match=r"'a.parquet'"):
        mi.open_table(root).count()


def test_a_batch_that_comes_while_the_folder_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from metaindex.formats.files import walk

    root = log(tmp_path / "t", {"0": "v1 a"})
    entry = (root / SINK_LOG / "0").read_text().replace("a.parquet", "e.parquet")

    def later(storage: Storage) -> dict[str, int]:
        pq.write_table(pa.table({"n": ["e"]}), root / "e.parquet")
        (root / SINK_LOG / "1").write_text(entry)
        return live(storage)

    live = walk.live_files
    monkeypatch.setattr(walk, "live_files", later)
    assert sorted(mi.open_table(root).scan().to_arrow()["n"].to_pylist()) == ["a", "e"]


def test_a_stream_of_spark_is_read_as_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """With compacted batches, and one that was run twice, as its first commit was lost."""
    out, source, notes = tmp_path / "o ut", tmp_path / "in", tmp_path / "notes"
    source.mkdir()
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", "3")
    try:
        for batch in range(5):
            pq.write_table(pa.table({"id": [batch, batch + 10], "day": ["a b", "c/d"]}), source / f"{batch}.parquet")
            for _ in range(2 if batch == 4 else 1):
                for place in (out / SINK_LOG, notes / "commits"):
                    (place / "4").unlink(missing_ok=True)
                    (place / ".4.crc").unlink(missing_ok=True)
                read = spark.readStream.schema("id BIGINT, day STRING").parquet(str(source))
                write = read.writeStream.partitionBy("day").format("parquet").trigger(availableNow=True)
                write.option("checkpointLocation", str(notes)).start(str(out)).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.streaming.fileSink.log.compactInterval")
    assert (out / SINK_LOG / "2.compact").exists()
    assert len(list(out.rglob("*.parquet"))) == 12
    table = mi.open_table(out)
    table.create_index("i", mi.ColumnStats(), mi.Values("id"))
    rows = sorted(map(tuple, spark.read.parquet(str(out)).collect()))
    assert len(rows) == 10
    assert sorted(tuple(row.values()) for row in table.scan().to_arrow().to_pylist()) == rows
    assert table.count("id = 4") == table.scan("id = 4").to_spark(spark).count() == 1
    mi.enable(spark)
    try:
        for where in ("id = 4", "id = 3 or day = 'a b'"):
            assert spark.read.parquet(str(out)).where(where).count() == table.count(where)
    finally:
        mi.disable(spark)
