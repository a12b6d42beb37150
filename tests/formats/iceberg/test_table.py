"""Finding a table, resolving versions, refs and times, inheritance, and moved tables."""

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from obstore.store import MemoryStore

from metaindex.core import CorruptTableError, NotATableError, UnsupportedFeatureError, VersionNotFoundError
from metaindex.formats.format import At, TableRef
from metaindex.formats.iceberg.table import IcebergFormat
from metaindex.formats.registry import detect
from tests.formats.iceberg.handmade import FORMAT, UUID, HandManifest, HandTable, entry, open_now, table_ref
from tests.storage.counting import Replacing


@pytest.fixture
def table(tmp_path: Path) -> HandTable:
    return HandTable(tmp_path / "t")


def appended(table: HandTable, name: str, parent: int | None = None) -> int:
    number = len(table.snapshots) + 1
    old = [
        HandManifest([entry(table.path(f"data/{n}"))], sequence=k, added_snapshot=k)
        for k, n in enumerate(table.__dict__.setdefault("names", []), 1)
    ]
    table.__dict__["names"].append(name)
    return table.commit(
        [*old, HandManifest([entry(table.path(f"data/{name}"))], sequence=number, added_snapshot=number)], parent=parent
    )


def paths(ref: Any, at: At) -> list[str]:
    return [one.path for one in FORMAT.snapshot(ref, at).files.entries()]


def test_a_table_without_snapshots_is_empty(table: HandTable) -> None:
    snapshot = table.snapshot()
    assert (snapshot.version.id, len(snapshot.files), snapshot.schema.names) == ("none", 0, ["id", "s"])
    assert snapshot.properties["table_uuid"] == UUID
    ref = table_ref(table.root)
    assert FORMAT.resolve(ref, At()) == FORMAT.resolve(ref, At(version="none")) == snapshot.version
    assert snapshot.details.log_bounds(snapshot.schema.leaves()[0]) is None
    assert snapshot.details.partition_bounds(snapshot.schema.leaves()[0]) is None
    assert FORMAT.versions(ref) == []


def test_versions_are_found_by_id_branch_tag_and_time(table: HandTable) -> None:
    first = appended(table, "a")
    second = appended(table, "b", first)
    refs = {
        "main": {"snapshot-id": second, "type": "branch"},
        "audit": {"snapshot-id": first, "type": "branch"},
        "v1": {"snapshot-id": first, "type": "tag"},
    }
    ref = table_ref(table.write(refs=refs))
    assert [v.id for v in FORMAT.versions(ref)] == ["1", "2"]
    old, new = ["data/a"], ["data/a", "data/b"]
    for at in (At(version=1), At(version="1"), At(version="audit"), At(version="v1"), At(timestamp_ms=1999)):
        assert paths(ref, at) == old
        assert FORMAT.resolve(ref, at) == FORMAT.snapshot(ref, at).version
    for at in (At(), At(version=2), At(version="main"), At(timestamp_ms=2000), At(timestamp_ms=10**15)):
        assert paths(ref, at) == new
    for at in (At(version=3), At(version="nope"), At(timestamp_ms=999)):
        with pytest.raises(VersionNotFoundError):
            FORMAT.resolve(ref, at)
    with pytest.raises(VersionNotFoundError, match="not both"):
        FORMAT.resolve(ref, At(version=1, timestamp_ms=1))


def test_a_time_after_a_rollback_means_what_main_was_then(table: HandTable) -> None:
    appended(table, "b", appended(table, "a"))
    log = [{"timestamp-ms": ms, "snapshot-id": one} for ms, one in ((1000, 1), (2000, 2), (3000, 1))]
    ref = table_ref(table.write(**{"snapshot-log": log, "current-snapshot-id": 1, "refs": {}}))
    assert [FORMAT.resolve(ref, At(timestamp_ms=ms)).id for ms in (1500, 2500, 3500)] == ["1", "2", "1"]


def test_a_time_whose_snapshot_expired_is_an_error(table: HandTable) -> None:
    appended(table, "a")
    log = [{"timestamp-ms": 500, "snapshot-id": 77}, {"timestamp-ms": 1000, "snapshot-id": 1}]
    ref = table_ref(table.write(**{"snapshot-log": log}))
    with pytest.raises(VersionNotFoundError, match="expired"):
        FORMAT.resolve(ref, At(timestamp_ms=700))


def test_versions_read_with_their_schema_and_branches_with_the_current(table: HandTable) -> None:
    first = appended(table, "a")
    fields: Any = table.schemas[0]["fields"]
    table.schemas.append({"type": "struct", "schema-id": 1, "fields": [{**fields[0], "name": "renamed"}]})
    refs = {"main": {"snapshot-id": first, "type": "branch"}, "t": {"snapshot-id": first, "type": "tag"}}
    ref = table_ref(table.write(refs=refs))
    for at, names in (
        (At(), ["renamed"]),
        (At(version="main"), ["renamed"]),
        (At(version="t"), ["id", "s"]),
        (At(version=1), ["id", "s"]),
    ):
        assert FORMAT.snapshot(ref, at).schema.names == names


@pytest.mark.parametrize(
    ("files", "hint", "expected"),
    [
        (["v1.metadata.json", "v2.metadata.json"], "1", "v2"),  # the hint may lag behind
        (["v1.metadata.json", "v3.metadata.json"], "1", "v1"),  # v3 without v2 belongs to nobody
        (["v2.metadata.json", "v10.metadata.json"], None, "v10"),
        (["00002-aa.metadata.json", "00010-bb.metadata.json"], None, "00010-bb"),
        (["00002-aa.metadata.json", "00003-bb.metadata.json"], "00002-aa", "00002-aa"),
        (["00002-aa.metadata.json"], "00002-aa.metadata.json", "00002-aa"),
        (["v1.gz.metadata.json"], "1", "v1.gz"),
        (["v1.metadata.json.gz"], None, "v1"),
    ],
)
def test_the_current_metadata_file_is_found(
    table: HandTable, files: list[str], hint: str | None, expected: str
) -> None:
    folder = table.root / "metadata"
    folder.mkdir(parents=True)
    for name in files:
        text = json.dumps(table.metadata(properties={"from": name})).encode()
        (folder / name).write_bytes(gzip.compress(text) if "gz" in name else text)
    if hint is not None:
        (folder / "version-hint.text").write_text(hint + "\n")
    ref = table_ref(table.root)
    assert FORMAT.detect(ref)
    assert FORMAT.snapshot(ref, At()).properties["from"].startswith(expected + ".")


def test_of_two_files_with_one_number_the_younger_is_taken(table: HandTable) -> None:
    folder = table.root / "metadata"
    folder.mkdir(parents=True)
    for name, when in (("00001-a", 9), ("00001-b", 5)):
        (folder / f"{name}.metadata.json").write_text(
            json.dumps(table.metadata(**{"last-updated-ms": when, "properties": {"from": name}}))
        )
    assert open_now(table.root).properties["from"] == "00001-a"


def test_what_is_left_beside_metadata_files_is_none(table: HandTable) -> None:
    folder = table.root / "metadata"
    folder.mkdir(parents=True)
    (folder / "00002-a.metadata.json").write_text(json.dumps(table.metadata(properties={"from": "current"})))
    for name in (
        "00009-b.metadata.json.bak",
        "00009-b.metadata.json.tmp",
        "00009-b.metadata.json#1",
        "00009-metadata.json",
    ):
        (folder / name).write_text(json.dumps(table.metadata(properties={"from": name}))[:-9])
    assert open_now(table.root).properties["from"] == "current"


def test_a_metadata_file_names_its_table(table: HandTable) -> None:
    appended(table, "a")
    table.write()
    ref = table_ref(table.path("metadata/v1.metadata.json"))
    assert FORMAT.detect(ref)
    snapshot = FORMAT.snapshot(ref, At())
    assert (snapshot.table, [one.path for one in snapshot.files.entries()]) == (str(table.root), ["data/a"])


def test_metadata_are_parsed_once_and_a_file_replaced_in_place_is_seen(table: HandTable) -> None:
    appended(table, "a")
    where, ref = table.write(), table_ref(table.root)
    file, opened = next(where.glob("metadata/v1.metadata.json")), IcebergFormat()
    before, told = opened.current(ref), file.stat()
    assert opened.current(ref) is before
    text = file.read_text()
    file.write_text(text.replace(UUID, UUID[::-1]))
    os.utime(file, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert file.stat().st_size == told.st_size
    assert opened.current(ref).table_uuid == UUID[::-1] != before.table_uuid
    file.write_text(text[:-1])
    with pytest.raises(CorruptTableError):
        opened.current(ref)


def test_other_folders_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata/x.json").write_text("{}")
    assert not FORMAT.detect(table_ref(tmp_path))
    assert not FORMAT.detect(table_ref(tmp_path / "nowhere"))
    (tmp_path / "a.csv").write_text("1")
    assert not FORMAT.detect(table_ref(tmp_path / "a.csv"))
    with pytest.raises(NotATableError):
        open_now(tmp_path)


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}", "file:{}/"])
def test_paths_are_relative_however_the_location_is_spelled(tmp_path: Path, spelling: str) -> None:
    table = HandTable(tmp_path / "t")
    outside = "/elsewhere/f3.parquet"
    entries = [
        entry(f"{table.root}/data/a b%20c/f0.parquet"),
        entry(f"file:{table.root}/data/f1.parquet"),
        entry(f"file://{table.root}/data/f2.parquet"),
        entry(f"file:{outside}"),
        entry(f"{table.root}x/f4.parquet"),
        entry(f"{table.root}/../up/f5.parquet"),
        entry("s3a://bucket/f6.parquet"),
    ]
    table.commit([HandManifest(entries)])
    snapshot = table.snapshot(location=spelling.format(table.root))
    shown = [one.path for one in snapshot.files.entries()]
    assert shown[:4] == ["data/a b%20c/f0.parquet", "data/f1.parquet", "data/f2.parquet", outside]
    assert shown[4:] == [f"{table.root}x/f4.parquet", f"{table.root}/../up/f5.parquet", "s3://bucket/f6.parquet"]
    assert snapshot.uri(shown[1]) == f"{table.root}/data/f1.parquet"


def test_a_table_created_again_is_told_from_the_old_one(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    appended(table, "a")
    base = table.snapshot()
    table.snapshots[0]["timestamp-ms"] = 77
    ref = table_ref(table.write())
    assert FORMAT.resolve(ref, At()) != base.version
    assert FORMAT.diff(ref, base, At()) is None


def test_a_moved_table_is_read_where_it_is(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "old")
    appended(table, "a")
    table.write()
    shutil.move(tmp_path / "old", tmp_path / "new")
    snapshot = open_now(tmp_path / "new")
    assert (snapshot.table, snapshot.files.entry(0).path) == (str(tmp_path / "new"), "data/a")


def test_metadata_kept_apart_from_the_table_leads_to_it(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    appended(table, "a")
    table.write()
    apart = tmp_path / "other/metadata"
    apart.mkdir(parents=True)
    shutil.move(table.root / "metadata/v1.metadata.json", apart / "v1.metadata.json")
    snapshot = open_now(tmp_path / "other")
    assert (snapshot.table, snapshot.files.entry(0).path) == (str(table.root), "data/a")


def test_added_entries_inherit_sequence_number_snapshot_and_row_ids(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t", format_version=3)
    entries = [
        entry("a", record_count=5),
        entry("b", record_count=7, status=0, sequence=2, first_row_id=40),
        entry("gone", record_count=100, status=2, sequence=1),
        entry("c", record_count=1, sequence=4),
    ]
    table.commit([HandManifest(entries, sequence=9, first_row_id=1000)])
    files = table.snapshot().files.table
    assert files.column("path").to_pylist() == ["a", "b", "c"]
    assert files.column("iceberg_sequence_number").to_pylist() == [9, 2, 4]
    assert files.column("iceberg_first_row_id").to_pylist() == [1000, 40, 1005]


def test_files_in_other_formats_are_listed_with_their_format(table: HandTable) -> None:
    table.commit([HandManifest([entry("a", file_format="ORC"), entry("b", file_format="parquet")])])
    assert table.snapshot().files.table.column("iceberg_file_format").to_pylist() == ["orc", "parquet"]


def test_v1_tables_with_a_single_schema_and_manifests_in_the_snapshot_are_read(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t", format_version=1)
    table.commit([HandManifest([entry(table.path("data/a"), sequence=None)])])
    (snapshot,) = table.snapshots
    del snapshot["manifest-list"], snapshot["sequence-number"], snapshot["schema-id"]
    snapshot["manifests"] = [table.path("metadata/m1.avro")]
    content = table.metadata(**{"current-snapshot-id": 1})
    content["schema"] = content.pop("schemas")[0]
    content["partition-spec"] = content.pop("partition-specs")[0]["fields"]
    for key in ("current-schema-id", "default-spec-id", "table-uuid", "refs"):
        del content[key]
    table.write()
    (table.root / "metadata/v1.metadata.json").write_text(json.dumps(content))
    read = open_now(table.root)
    assert [one.path for one in read.files.entries()] == ["data/a"]
    assert read.files.table.column("iceberg_sequence_number").to_pylist() == [0]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_manifests_of_any_codec_are_read(table: HandTable, codec: str) -> None:
    table.commit([HandManifest([entry(f"f{n}") for n in range(5000)], codec=codec)])
    assert len(table.snapshot().files) == 5000


@pytest.mark.parametrize(
    ("entries", "snapshot", "metadata", "said"),
    [
        ([entry("a"), entry("a")], {}, {}, "twice"),
        ([entry("a", key_metadata=b"k")], {}, {}, "encrypted"),
        ([entry("a")], {"key-id": "k1"}, {}, "encrypted"),
        ([], {}, {"format-version": 4}, "format 4"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(
    tmp_path: Path, entries: list[Any], snapshot: dict[str, Any], metadata: dict[str, Any], said: str
) -> None:
    table = HandTable(tmp_path / "t", format_version=3)
    table.commit([HandManifest(entries)], **snapshot)
    with pytest.raises(UnsupportedFeatureError, match=said):
        table.snapshot(**metadata)


def test_schemas_keep_ids_defaults_and_opaque_types(tmp_path: Path) -> None:
    fields = [
        {"id": 1, "name": "n", "required": False, "type": "int", "initial-default": 7},
        {"id": 2, "name": "d", "required": True, "type": "decimal(9,2)", "initial-default": "1.50"},
        {"id": 3, "name": "r", "required": True, "type": "string"},
        {"id": 4, "name": "v", "required": False, "type": "variant"},
        {"id": 5, "name": "g", "required": False, "type": "geometry(OGC:CRS84)"},
        {"id": 6, "name": "u", "required": False, "type": "unknown"},
        {
            "id": 7,
            "name": "st",
            "required": False,
            "type": {
                "type": "struct",
                "fields": [
                    {"id": 8, "name": "x y", "required": False, "type": "timestamptz_ns", "initial-default": None}
                ],
            },
        },
        {
            "id": 9,
            "name": "l",
            "required": False,
            "type": {"type": "list", "element-id": 10, "element": "string", "element-required": True},
        },
        {
            "id": 11,
            "name": "m",
            "required": False,
            "type": {
                "type": "map",
                "key-id": 12,
                "key": "string",
                "value-id": 13,
                "value": "fixed[4]",
                "value-required": False,
            },
        },
        {
            "id": 14,
            "name": "ts",
            "required": False,
            "type": "timestamptz",
            "initial-default": "2020-01-01T00:00:00.000001+00:00",
        },
    ]
    table = HandTable(tmp_path / "t", format_version=3, schemas=[{"type": "struct", "schema-id": 0, "fields": fields}])
    schema = table.snapshot().schema
    assert [(leaf.parts, leaf.stable) for leaf in schema.leaves()] == [
        (("n",), "id:1"),
        (("d",), "id:2"),
        (("r",), "id:3"),
        (("st", "x y"), "id:8"),
        (("ts",), "id:14"),
    ]
    by_name = {one.name: one for one in schema}
    assert by_name["n"].default == 7
    assert str(by_name["d"].default) == "1.50"
    assert not by_name["r"].default_known
    assert str(by_name["ts"].default) == "2020-01-01 00:00:00.000001+00:00"
    assert schema.leaves()[3].source == ("st", "x_x20y")
    assert schema.leaves()[3].type == pa.timestamp("ns", "UTC")
    assert by_name["m"].type == pa.map_(pa.string(), pa.binary(4))


def metadata(uuid: str) -> bytes:
    said = {"format-version": 2, "table-uuid": uuid, "location": "s3://lake/t", "last-updated-ms": 1}
    schema = {"type": "struct", "schema-id": 0, "fields": []}
    return json.dumps({**said, "schemas": [schema], "current-schema-id": 0, "partition-specs": []}).encode()


def test_an_iceberg_table_made_anew_while_it_is_opened_is_seen() -> None:
    at = "metadata/v1.metadata.json"
    storage = Replacing(MemoryStore(), "s3://lake", "t", at=at, by=metadata("second"))
    storage.put(at, metadata("first"))
    ref = TableRef(storage, storage.root)
    table = detect(ref)
    table.resolve(ref, At())
    assert storage.done.is_set()
    assert table.resolve(ref, At()).table_uuid == "second"
