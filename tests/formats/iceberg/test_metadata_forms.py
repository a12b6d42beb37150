"""Metadata of every form that public tables have: old ones that leave things out, packed ones, copied ones; and those
that no reader may accept."""

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metaindex.core import CorruptTableError, MetaIndexError
from metaindex.formats.format import At
from tests.formats.iceberg.handmade import (
    FORMAT,
    HandManifest,
    HandTable,
    avro,
    entry,
    entry_schema,
    open_now,
    optional,
    table_ref,
)

PARTITION = [{"name": "s", "type": optional("string"), "field-id": 1000}]
BY_S = [{"name": "s", "field-id": 1000, "source-id": 2, "transform": "identity"}]


def paths(root: Path, at: At | None = None) -> list[str]:
    return [one.path for one in FORMAT.snapshot(table_ref(root), at or At()).files.entries()]


def old(root: Path, header: dict[str, str], specs: list[Any]) -> HandTable:
    """A V1 table whose snapshot names its manifests itself."""
    table = HandTable(root / "t", format_version=1, specs=specs)
    entries = [entry(table.path("data/a"), partition={"s": "x"}, sequence=None)]
    schema = entry_schema(PARTITION)
    schema["fields"] = [f for f in schema["fields"] if "sequence" not in f["name"]]
    (data_file,) = (f["type"] for f in schema["fields"] if f["name"] == "data_file")
    kept = ("file_path", "file_format", "partition", "record_count", "file_size_in_bytes")
    data_file["fields"] = [f for f in data_file["fields"] if f["name"] in kept]
    table.commit([HandManifest(entries, data=avro(schema, entries, header=header))])
    (snapshot,) = table.snapshots
    for key in ("manifest-list", "sequence-number", "schema-id", "summary"):
        del snapshot[key]
    snapshot["manifests"] = [table.path("metadata/m1.avro")]
    return table


OTHER = {"spec-id": 3, "fields": [{"name": "id", "field-id": 1001, "source-id": 1, "transform": "bucket[4]"}]}


@pytest.mark.parametrize(
    "header",
    [
        {"partition-spec-id": "7", "partition-spec": json.dumps(BY_S)},
        {"partition-spec": json.dumps(BY_S)},
        {"partition-spec": json.dumps([{k: v for k, v in BY_S[0].items() if k != "field-id"}])},
    ],
    ids=["by id", "by fields", "without field ids"],
)
def test_the_manifests_of_an_old_snapshot_say_their_spec(tmp_path: Path, header: dict[str, str]) -> None:
    table = old(tmp_path, header, [{"spec-id": 0, "fields": []}, OTHER, {"spec-id": 7, "fields": BY_S}])
    snapshot = table.snapshot(**{"current-snapshot-id": 1})
    assert [one.partition for one in snapshot.files.entries()] == ["7%3As=x"]
    assert snapshot.files.table.column("iceberg_sequence_number").to_pylist() == [0]


def test_a_manifest_of_a_spec_that_the_table_lacks_is_damage(tmp_path: Path) -> None:
    table = old(tmp_path, {"partition-spec": json.dumps(BY_S)}, [OTHER])
    with pytest.raises(CorruptTableError, match=r"m1\.avro is of a partition spec of \['s'\].*v1\.metadata\.json"):
        table.snapshot(**{"current-snapshot-id": 1})


def test_an_old_table_with_one_unnumbered_spec_and_schema(tmp_path: Path) -> None:
    table = old(tmp_path, {}, [{"spec-id": 0, "fields": BY_S}])
    content = table.metadata(**{"current-snapshot-id": 1})
    content["schema"] = {k: v for k, v in content.pop("schemas")[0].items() if k != "schema-id"}
    content["partition-spec"] = [{k: v for k, v in BY_S[0].items() if k != "field-id"}]
    for key in ("partition-specs", "current-schema-id", "default-spec-id", "table-uuid", "refs", "snapshot-log"):
        del content[key]
    table.write()
    (table.root / "metadata/v1.metadata.json").write_text(json.dumps(content))
    assert [one.partition for one in open_now(table.root).files.entries()] == ["s=x"]
    assert FORMAT.resolve(table_ref(table.root), At(timestamp_ms=5000)).id == "1"


@pytest.mark.parametrize("key", ["schemas", "partition-specs", "current-schema-id", "location", "format-version"])
@pytest.mark.parametrize("version", [2, 3])
def test_what_newer_formats_must_say_is_not_made_up(tmp_path: Path, key: str, version: int) -> None:
    table = HandTable(tmp_path / "t", format_version=version)
    table.commit([HandManifest([entry(table.path("data/a"))])])
    content = table.metadata(schema=table.schemas[0], **{"partition-spec": []})
    del content[key]
    table.write()
    (table.root / "metadata/v1.metadata.json").write_text(json.dumps(content))
    with pytest.raises(CorruptTableError, match=rf"v1\.metadata\.json.*{key}"):
        open_now(table.root)


def test_a_current_schema_that_is_not_listed_is_damage(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry(table.path("data/a"))])])
    with pytest.raises(CorruptTableError, match=r"v1\.metadata\.json.*no schema 9"):
        table.snapshot(**{"current-schema-id": 9})


@pytest.mark.parametrize("current", [None, -1])
def test_a_table_without_current_snapshot_is_empty(tmp_path: Path, current: int | None) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry(table.path("data/a"))])])
    assert len(table.snapshot(**{"current-snapshot-id": current, "refs": {}, "snapshot-log": []}).files) == 0
    assert paths(table.root, At(version=1)) == ["data/a"]


def zstd(data: bytes) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as out:
        out.write(data)
    return stream.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("v3.gz.metadata.json", gzip.compress),
        ("v3.metadata.json.gz", gzip.compress),
        ("00003-0d0c0ffe.gz.metadata.json", gzip.compress),
        ("v3.zstd.metadata.json", zstd),
        ("v3.metadata.json", gzip.compress),  # whatever the name says
    ],
)
@pytest.mark.parametrize("hint", [None, "3"])
def test_packed_metadata_is_found_and_read(tmp_path: Path, name: str, pack: Any, hint: str | None) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry(table.path("data/a"))])])
    table.write()
    text = (table.root / "metadata/v1.metadata.json").read_bytes()
    (table.root / "metadata" / name).write_bytes(pack(text))
    for other in ("v1.metadata.json", "version-hint.text"):
        (table.root / "metadata" / other).unlink()
    (table.root / "metadata/.v4.metadata.json.crc").write_bytes(b"crc")
    if hint is not None and name.startswith("v"):
        (table.root / "metadata/version-hint.text").write_text(hint)
    assert paths(table.root) == ["data/a"]
    (table.root / "metadata" / name).write_bytes(pack(text)[:-20])
    with pytest.raises(CorruptTableError, match=name):
        open_now(table.root)


def test_a_table_of_relative_locations_is_read_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As test tables are checked in: the location is that seen from a folder nobody else stands in."""
    monkeypatch.chdir(tmp_path)
    table = HandTable(Path("warehouse/t"))
    table.commit([HandManifest([entry(table.path("data/a"))])])
    table.write()
    os.chdir("/")
    assert paths(tmp_path / "warehouse/t") == ["data/a"]
    shutil.move(tmp_path / "warehouse", tmp_path / "elsewhere")
    assert paths(tmp_path / "elsewhere/t") == ["data/a"]


@pytest.mark.parametrize("location", ["../../secret", "data/../../secret", "x/../../t/data/a"])
@pytest.mark.parametrize("what", ["data file", "manifest", "manifest list"])
def test_a_relative_location_may_not_leave_the_table(tmp_path: Path, location: str, what: str) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry(location if what == "data file" else table.path("data/a"))])])
    if what == "manifest list":
        shutil.copy(table.root / "metadata/snap-1.avro", tmp_path / "secret")
        table.snapshots[0]["manifest-list"] = location
    if what == "manifest":
        data = (table.root / "metadata/snap-1.avro").read_bytes()
        import io

        import fastavro

        from tests.formats.iceberg.handmade import MANIFEST_LIST

        rows = [{**row, "manifest_path": location} for row in fastavro.reader(io.BytesIO(data))]
        (table.root / "metadata/snap-1.avro").write_bytes(avro(MANIFEST_LIST, rows))
    with pytest.raises(CorruptTableError, match="lies below the table"):
        table.snapshot()


def test_a_location_in_a_store_that_is_not_the_tables_is_one_error(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    table.commit([HandManifest([entry(table.path("data/a"))])])
    table.snapshots[0]["manifest-list"] = "s3://other/t/metadata/snap-1.avro"
    with pytest.raises(MetaIndexError, match=r"s3://other/t/metadata/snap-1\.avro"):
        table.snapshot()


def test_statistics_files_and_unknown_keys_are_left_alone(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t", format_version=3)
    table.commit([HandManifest([entry(table.path("data/a"))])], **{"first-row-id": 0, "added-rows": 10})
    more = {
        "statistics": [{"snapshot-id": 1, "statistics-path": "gone.puffin", "blob-metadata": []}],
        "partition-statistics": [{"snapshot-id": 1, "statistics-path": "gone.parquet"}],
        "encryption-keys": [],
        "something-new": {"x": [1]},
    }
    assert [one.path for one in table.snapshot(**more).files.entries()] == ["data/a"]
