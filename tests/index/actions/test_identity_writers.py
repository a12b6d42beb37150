"""What deltalake and pyiceberg do to the identity of files, and what an index makes of it: what was only moved about in
a log is not read again, what was written anew is."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

import metaindex as mi
from metaindex.table import handle_of
from tests.index.actions.test_identity import count, data
from tests.tables import catalog_in

LOCAL = mi.Config(builder="local")
VERSIONS = [pytest.param("1", marks=pytest.mark.exhaustive), "2"]
"""Of Iceberg's format."""


def numbers(first: int, rows: int = 10) -> pa.Table:
    return pa.table({"a": pa.array(range(first, first + rows), pa.int64())})


def opened(path: Path, **options: Any) -> mi.Table:
    return mi.open_table(str(path), config=LOCAL, **options)


def refreshed(table: mi.Table) -> int:
    """How many files a refresh reads; the index is right then."""
    before = {run.run for run in handle_of(table).entries()[0].content.runs}
    outcome = table.refresh_index("ix")
    found = table.verify_index("ix", files=None, versions="all")
    assert found.sound, str(found)
    return sum(run.files for run in outcome.entry.content.runs if run.run not in before and run.builder == "local")


@pytest.mark.slow
def test_deltalake_restores_compacts_and_checkpoints(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    path = str(tmp_path)
    for first in (0, 10, 20):
        deltalake.write_deltalake(path, numbers(first), mode="append")
    table = opened(tmp_path)
    table.create_index("ix", mi.ColumnStats(), mi.Values("a"))
    assert refreshed(table) == 0
    deltalake.DeltaTable(path).create_checkpoint()
    deltalake.DeltaTable(path).delete("a = 15")
    assert refreshed(table) == 1  # written anew without the row
    deltalake.DeltaTable(path).restore(2)
    assert refreshed(table) == 0
    assert (count(table, "a = 15"), count(table, "a = 25")) == (1, 1)
    deltalake.DeltaTable(path).optimize.compact()
    assert refreshed(table) == 1
    deltalake.DeltaTable(path).restore(2)
    assert refreshed(table) == 0
    deltalake.write_deltalake(path, numbers(500), mode="overwrite")
    assert refreshed(table) == 1
    assert (count(table, "a = 505"), count(table, "a = 15")) == (1, 0)
    before = table.prune("a = 505").version.table_uuid
    deltalake.DeltaTable.create(path, numbers(0).schema, mode="overwrite")
    deltalake.write_deltalake(path, numbers(700), mode="append")
    assert refreshed(table) == 1
    assert (count(table, "a = 705"), count(table, "a = 505")) == (1, 0)
    assert before == str(deltalake.DeltaTable(path, version=2).metadata().id)
    assert len(table.prune("a = 15", version=2).files) == 1


@pytest.mark.parametrize("format_version", VERSIONS)
@pytest.mark.slow
def test_pyiceberg_adds_a_path_again_and_merges_manifests(tmp_path: Path, format_version: str) -> None:
    catalog = catalog_in(tmp_path)
    merging = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "1"}
    lake = catalog.create_table("db.t", numbers(0).schema, properties={"format-version": format_version, **merging})
    for first in (0, 10, 20):
        lake.append(numbers(first))
    table = opened(Path("db.t"), catalog=catalog)
    table.create_index("ix", mi.ColumnStats(), mi.Values("a"))
    for first in (30, 40):
        lake.append(numbers(first))
        assert refreshed(table) == 1, "files of merged manifests are known"
    beside = tmp_path / "added"
    data(beside, 100)
    lake.add_files([f"file://{beside}/part-0.parquet"])
    assert refreshed(table) == 1
    assert count(table, "a = 105") == 1
    lake.delete("a >= 100")
    data(beside, 200)
    lake.add_files([f"file://{beside}/part-0.parquet"])
    assert (count(table, "a = 205"), count(table, "a = 105"), count(table, "a = 25")) == (1, 0, 1)
    assert table.prune("a < 150 AND a >= 100").certain.paths.to_pylist() == []
    assert table.refresh_index("ix").changed
    assert table.verify_index("ix").sound
    assert (count(table, "a = 205"), count(table, "a = 105"), count(table, "a = 25")) == (1, 0, 1)
    if format_version == "1":
        with lake.transaction() as change:
            change.upgrade_table_version(2)
        lake.append(numbers(900))
        assert refreshed(table) == 1, "an upgrade is no other table"


def written(path: Path, first: int) -> Any:
    """A file of ten numbers with the field id of `a`, as many bytes whatever they are, as a data file of an Iceberg
    table of which its manifest says no bounds."""
    path.parent.mkdir(exist_ok=True)
    field = pa.field("a", pa.int64(), metadata={b"PARQUET:field_id": b"1"})
    table = numbers(first).cast(pa.schema([field]))
    pq.write_table(table, path, compression=None, use_dictionary=False)
    return DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=10,
        file_size_in_bytes=path.stat().st_size,
        spec_id=0,
    )


def append(lake: Any, file: Any) -> None:
    with lake.transaction() as change, change.update_snapshot().fast_append() as snapshot:
        snapshot.append_data_file(file)


@pytest.mark.parametrize("format_version", VERSIONS)
@pytest.mark.slow
def test_an_iceberg_path_that_is_written_anew_is_another_file(tmp_path: Path, format_version: str) -> None:
    lake = catalog_in(tmp_path).create_table("db.t", numbers(0).schema, properties={"format-version": format_version})
    path = tmp_path / "own" / "part-0.parquet"
    append(lake, written(path, 0))
    append(lake, written(tmp_path / "own" / "part-1.parquet", 50))
    table = mi.open_table(lake.location(), config=LOCAL)
    table.create_index("ix", mi.ColumnStats(), mi.Values("a"))
    assert [len(table.prune(f"a = {at}").files) for at in (5, 55, 105)] == [1, 1, 0]
    lake.delete("a < 50")
    size = path.stat().st_size
    append(lake, written(path, 100))
    assert path.stat().st_size == size
    for _ in range(2):
        assert (count(table, "a = 105"), count(table, "a = 5"), count(table, "a = 55")) == (1, 0, 1)
        table.refresh_index("ix")
    assert [len(table.prune(f"a = {at}").files) for at in (5, 55, 105)] == [0, 1, 1]
    found = table.verify_index("ix", files=None, versions="all")
    assert found.sound, str(found)


@pytest.mark.parametrize("format_version", VERSIONS)
def test_an_iceberg_table_that_is_made_anew_is_another_table(tmp_path: Path, format_version: str) -> None:
    catalog = catalog_in(tmp_path)
    config = mi.Config(builder="local", index_location=str(tmp_path / "indexes"))

    def make(first: int) -> mi.Table:
        if catalog.table_exists("db.t"):
            catalog.drop_table("db.t")
        lake = catalog.create_table("db.t", numbers(0).schema, properties={"format-version": format_version})
        append(lake, written(tmp_path / "own" / "part-0.parquet", first))
        return mi.open_table("db.t", config=config, catalog=catalog)

    table = make(0)
    table.create_index("ix", mi.ColumnStats(), mi.Values("a"))
    table = make(100)
    assert (count(table, "a = 105"), count(table, "a = 5")) == (1, 0)
    (report,) = [one for one in table.prune("a = 105").indexes if one.name == "ix"]
    assert "another table" in report.reason
    assert "another table" in str(table.refresh_index("ix"))
    assert (count(table, "a = 105"), len(table.prune("a = 5").files)) == (1, 0)
