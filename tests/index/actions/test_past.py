"""`create_index(history=True)`: older versions are pruned by files that were removed before the index was made, as far
as they are there, and answer as the format's own reader does."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.cli import main
from metaindex.formats import At, Format, TableRef
from metaindex.index.actions.target import Target
from tests.storage.counting import in_memory
from tests.tables import catalog_in, parquet_lake

KINDS: dict[str, tuple[Any, ...]] = {
    "statistics": (mi.ColumnStats(),),
    "values": (mi.Values("id"),),
    "bloom": (mi.Bloom("id"),),
    "value list": (mi.ValueList("id"),),
    "together": (mi.ColumnStats("id"), mi.Values("name"), mi.Bloom("id")),
}
NO_STATISTICS = {"delta.dataSkippingNumIndexedCols": "0"}
"""The tables' own logs say nothing of values: what is left out, an index proves."""

FEW = bool(os.environ.get("METAINDEX_FAST"))
Rows = Callable[[str], pa.Table]


def rows(first: int) -> pa.Table:
    ids = range(first, first + 5)
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i % 7}" for i in ids]})


def delta(folder: Path, steps: str = "aaacadar") -> tuple[str, Rows]:
    """a: appended, c: compacted, d: rows deleted, r: a column renamed to what came after it."""
    path = str(folder / "delta")
    for n, step in enumerate(steps):
        if step == "a" or n == 0:
            deltalake.write_deltalake(path, rows(n * 10), mode="append", configuration=None if n else NO_STATISTICS)
            continue
        table = deltalake.DeltaTable(path)
        match step:
            case "c":
                table.optimize.compact()
            case "d":
                table.delete(f"id < {n * 5}")
            case _:
                deltalake.write_deltalake(path, rows(n * 10), mode="overwrite")
    return path, lambda version: deltalake.DeltaTable(path, version=int(version)).to_pyarrow_table()


def iceberg(folder: Path, steps: str = "aaacadar") -> tuple[str, Rows]:
    """The same of Iceberg, which compacts by writing all rows anew; with rows deleted, files are written anew, too."""
    catalog = catalog_in(folder)
    table: Any = catalog.create_table("db.t", rows(0).schema, properties={"write.metadata.metrics.default": "none"})
    for n, step in enumerate(steps):
        if step == "a" or n == 0:
            table.append(rows(n * 10))
        elif step == "d":
            table.delete(f"id < {n * 5 - 2}")
        else:
            table.overwrite(table.scan().to_arrow() if step == "c" else rows(n * 10))
    return f"{folder}/warehouse/db/t", lambda version: table.scan(snapshot_id=int(version)).to_arrow()


TABLES: dict[str, Callable[..., tuple[str, Rows]]] = {"delta": delta, "iceberg": iceberg}


QUICK = {("delta", "statistics"), ("iceberg", "together")}


def check(table: mi.Table, own: Rows, *, most: int | None = 1, gone: tuple[str, ...] = ()) -> int:
    """At every version: the rows of the format's own reader, and of the files at most so many. How many versions had
    files to leave out."""
    pruned = 0
    for version in table.versions():
        if version.id in gone:
            continue
        held = own(version.id)
        total = len(table.snapshot(version).files)
        for low in (0, 12, 24, 43, 500):
            found = table.scan(f"id = {low}", version=version.id)
            assert found.to_arrow().num_rows == held.filter(pc.equal(held["id"], low)).num_rows, (version, low)
            result = table.prune(f"id = {low}", version=version.id)
            assert result.total_files == total
            if most is not None:
                assert result.kept_files <= most
                pruned += result.kept_files < total
    return pruned


@pytest.mark.exhaustive(but="delta-values")
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.parametrize(
    ("table_format", "kinds"),
    [
        pytest.param(form, kinds, id=f"{form}-{kinds}", marks=() if (form, kinds) in QUICK else pytest.mark.slow)
        for form in TABLES
        for kinds in KINDS
    ],
)
def test_every_older_version_is_pruned(tmp_path: Path, table_format: str, kinds: str) -> None:
    path, own = TABLES[table_format](tmp_path)
    table = mi.open_table(path)
    outcome = table.create_index("found", *KINDS[kinds], builder="local", history=True)
    assert "older versions indexed, too" in str(outcome)
    assert check(table, own) > 10
    assert table.verify_index("found", files=None, versions="all").sound
    table.optimize_index("found", "full", builder="local")
    assert check(table, own) > 10
    (info,) = table.indexes()
    assert info.newest_version == table.versions()[-1].id


@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=2 if FEW else 6)
@given(st.sampled_from(list(TABLES)), st.text("aaacdr", min_size=2, max_size=7), st.integers(0, 5))
@pytest.mark.filterwarnings("ignore:Delete operation did not match")
def test_any_history(tmp_path_factory: pytest.TempPathFactory, table_format: str, steps: str, more: int) -> None:
    """Of any steps, refreshed by whatever comes later: the answers are the format's own."""
    path, own = TABLES[table_format](tmp_path_factory.mktemp("any"), steps)
    table = mi.open_table(path)
    table.create_index("found", mi.ColumnStats(), mi.Values("id"), builder="local", history=True)
    check(table, own)
    if more and table_format == "delta":
        deltalake.write_deltalake(path, rows(43), mode="append")
        deltalake.DeltaTable(path).restore(0)
        table.refresh_index("found", builder="local")
        check(table, own, most=2)


def test_files_that_vacuum_took_are_left_out(tmp_path: Path) -> None:
    path, own = delta(tmp_path, "aaaca")
    deltalake.DeltaTable(path).vacuum(0, dry_run=False, enforce_retention_duration=False)
    table = mi.open_table(path)
    outcome = table.create_index("found", *KINDS["together"], builder="local", history=True)
    assert "not there any more: 3 files of older versions" in str(outcome)
    assert "no older version has files of its own" in str(outcome)
    assert check(table, own, gone=("0", "1", "2")) > 3
    assert table.prune("id = 12", version=2).kept_files == 3  # nobody says that they hold no such row


def test_of_a_version_with_some_files_gone_the_others_are_indexed(tmp_path: Path) -> None:
    path, own = delta(tmp_path, "aaac")
    first, *_ = deltalake.DeltaTable(path, version=0).file_uris()
    Path(first).unlink()
    table = mi.open_table(path)
    outcome = table.create_index("found", mi.ColumnStats(), mi.Values("id"), builder="local", history=True)
    assert "2 files of an older version indexed, too" in str(outcome)
    assert "not there any more: 1 file of older versions" in str(outcome)
    check(table, own, gone=("0", "1", "2"))
    assert table.prune("id = 12", version=2).kept_files == 2  # its own, and the one that is gone


def test_a_version_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path, _ = iceberg(tmp_path, "aac")
    table = mi.open_table(path)
    older = table.versions()[0]
    manifest = next(Path(path, "metadata").glob(f"snap-{older.id}-*.avro"))
    manifest.write_bytes(b"no Avro")
    outcome = table.create_index("found", mi.ColumnStats(), builder="local", history=True)
    assert outcome.changed
    assert table.prune("id = 12").kept_files <= 1


@pytest.mark.slow
def test_iceberg_snapshots_that_expired_are_no_versions(tmp_path: Path) -> None:
    path, own = iceberg(tmp_path, "aaca")
    catalog = catalog_in(tmp_path)
    table: Any = catalog.load_table("db.t")
    table.maintenance.expire_snapshots().by_id(table.snapshots()[0].snapshot_id).commit()
    opened = mi.open_table(path)
    opened.create_index("found", mi.ColumnStats(), builder="local", history=True)
    assert check(opened, own) > 3


def test_a_column_that_came_later_and_one_that_went(tmp_path: Path) -> None:
    """Of a version without a column of the index the other columns are indexed."""
    path = str(tmp_path / "t")
    deltalake.write_deltalake(path, rows(0).select(["id"]), configuration=NO_STATISTICS)
    deltalake.write_deltalake(path, rows(10), mode="append", schema_mode="merge")
    deltalake.write_deltalake(path, rows(20), mode="overwrite")
    table = mi.open_table(path)
    table.create_index("found", mi.ColumnStats("id", "name"), mi.Values("name"), builder="local", history=True)
    assert check(table, lambda version: deltalake.DeltaTable(path, version=int(version)).to_pyarrow_table()) > 5
    assert table.prune("name = 'n3'", version=1).kept_files == 1
    assert table.prune("name IS NOT NULL", version=1).kept_files == 1


def test_plain_files_of_a_kept_listing_that_are_there(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    for n in range(3):
        lake.append(rows(n * 10))
    table = lake.open()
    table.create_index("first", mi.ColumnStats(), builder="local")
    lake.remove(0)
    table.create_index("found", mi.ColumnStats(), builder="local", history=True)
    assert table.prune("id = 12", indexes=["found"]).kept_files == 1


@pytest.mark.slow
def test_without_history_older_versions_are_not_indexed(tmp_path: Path) -> None:
    path, own = delta(tmp_path)
    table = mi.open_table(path)
    table.create_index("found", mi.Values("name"), builder="local")
    check(table, own, most=None)
    assert table.prune("name = 'none'", version=2).kept_files == 3


def test_a_covering_index_has_no_history(tmp_path: Path) -> None:
    path, _ = delta(tmp_path, "a")
    with pytest.raises(mi.ArgumentError, match="history=True is for kinds that prune"):
        mi.open_table(path).create_index("c", mi.Covering(["id"], ["name"]), history=True)
    assert not mi.open_table(path).indexes()


def test_the_command_line_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = delta(tmp_path, "aac")
    assert main(["create", path, "found", "--values", "name", "--builder", "local", "--history"]) == 0
    assert "2 files of an older version indexed, too" in capsys.readouterr().out
    assert mi.open_table(path).prune("name = 'none'", version=1).kept_files == 0


@pytest.mark.spark
def test_spark_builds_it_as_this_process_does(tmp_path: Path, spark: Any) -> None:
    path, own = delta(tmp_path, "aaacda")
    first, *_ = deltalake.DeltaTable(path, version=0).file_uris()
    Path(first).unlink()
    table = mi.open_table(path, spark=spark)
    table.create_index("found", *KINDS["together"], builder="spark", history=True)
    assert check(table, own, gone=("0", "1", "2")) > 3
    assert table.prune("id = 12", version=2).kept_files == 2


def test_the_end_of_a_file_is_held_for_one_listing() -> None:
    """A file is replaced between two versions of which a backfill indexes the files."""
    storage = in_memory("s3://lake", "t")
    storage.put("a.csv", b"a\n1\n")
    files, ref = Format.named("files"), TableRef(storage, storage.root)
    target = Target.of(files, ref, At(), 0)
    with target.reading.storage.open_input("a.csv") as source:
        assert source.read() == b"a\n1\n"
    storage.put("a.csv", b"a\n2\n")
    snapshot = files.snapshot(target.ref, At())
    later = Target(files, target.ref, At(), snapshot.version, _snapshot=snapshot)
    with later.reading.storage.open_input("a.csv") as source:
        assert source.read() == b"a\n2\n"
