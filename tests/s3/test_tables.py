"""Tables and indexes on S3: everything that works on a local disk, through the same calls."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import metaindex as mi
from metaindex.core import CorruptTableError, MetaIndexError, NotATableError, StorageError
from metaindex.storage import storage_for

from .lakes import S3Lake, iceberg_catalog, makers, parquet_bytes
from .server import S3Server

pytestmark = pytest.mark.slow

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("price", pa.float64())])
MAKERS = makers(SCHEMA)


def rows(first: int) -> pa.Table:
    """Ten rows whose ids are one band."""
    ids = list(range(first, first + 10))
    return pa.table([ids, [f"n{i:04}" for i in ids], [i / 4 for i in ids]], schema=SCHEMA)


@pytest.fixture(params=list(MAKERS))
def lake(request: pytest.FixtureRequest, s3: S3Server, bucket: str, tmp_path: Path) -> Iterator[S3Lake]:
    """A table of three data files with ids 0 to 29."""
    making = MAKERS[request.param](s3, bucket, tmp_path)
    one = next(making)
    for first in (0, 10, 20):
        one.append(rows(first))
    yield one
    for _ in making:
        raise AssertionError


def ids(table: mi.Table, predicate: str | None, **at: object) -> list[int]:
    return sorted(table.scan(predicate, columns=["id"], **at).to_arrow().column("id").to_pylist())


def uses(table: mi.Table) -> bool:
    """Does a query use the index `main`?"""
    return any(report.used for report in table.prune("id = 15").indexes if report.name == "main")


def test_a_table_is_indexed_pruned_read_and_refreshed(lake: S3Lake) -> None:
    table = lake.open()
    assert table.path == lake.path
    before = table.snapshot()
    assert len(before.files) == 3
    assert ids(table, None) == list(range(30))
    assert table.create_index("main", mi.ColumnStats()).changed
    result = table.prune("id = 15")
    assert (len(result.files), result.total_files) == (1, 3)
    assert uses(table)
    assert ids(table, "id = 15") == [15]
    lake.append(rows(30))
    stale = lake.open()
    assert len(stale.prune("id = 35").files) == 1
    assert ids(stale, "id >= 25") == list(range(25, 40))
    diff = stale.diff(before.version.id, None) if stale.format != "files" else None
    assert diff is None or (len(diff.appended), len(diff.deleted)) == (1, 0)
    assert stale.refresh_index("main").changed
    assert not stale.refresh_index("main").changed
    assert before.version in stale.versions()
    fresh = lake.open()
    assert len(fresh.prune("price > 9").files) == 1
    assert ids(fresh, "price > 9") == [37, 38, 39]
    assert ids(fresh, "id > 25", version=before.version.id) == list(range(26, 30))
    assert len(fresh.prune("id > 25", version=before.version.id).files) == 1


def test_engines_read_the_same_rows(lake: S3Lake) -> None:
    scan = lake.open().scan("id BETWEEN 8 AND 12")
    expected = scan.to_arrow().sort_by("id")
    assert expected.column("id").to_pylist() == [8, 9, 10, 11, 12]
    with duckdb.connect() as con:
        assert scan.to_duckdb(con).order("id").to_arrow_table().to_pylist() == expected.to_pylist()
    assert scan.to_polars().sort("id").collect().to_dicts() == expected.to_pylist()


@pytest.mark.parametrize("where", ["s3", "local"])
def test_indexes_lie_where_the_location_says(lake: S3Lake, bucket: str, tmp_path: Path, where: str) -> None:
    location = f"s3://{bucket}/elsewhere/indexes" if where == "s3" else str(tmp_path / "indexes")
    config = mi.Config(builder="local", index_location=location)
    lake.open(config).create_index("main", mi.ColumnStats())
    assert len(lake.open(config).prune("id = 15").files) == 1
    assert any(info.path.endswith(".json") for info in storage_for(location)[0].list(""))
    assert not lake.open().indexes()


def test_an_index_of_a_local_table_lies_on_s3(bucket: str, tmp_path: Path) -> None:
    import deltalake

    path = str(tmp_path / "lake")
    for first in (0, 10):
        deltalake.write_deltalake(path, rows(first), mode="append")
    config = mi.Config(builder="local", index_location=f"s3://{bucket}/indexes")
    mi.open_table(path, config=config).create_index("main", mi.ColumnStats())
    assert len(mi.open_table(path, config=config).prune("id = 15").files) == 1


def test_an_iceberg_table_is_opened_by_its_catalog(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    with iceberg_catalog(s3, bucket, tmp_path) as catalog:
        catalog.create_namespace("db")
        made = catalog.create_table("db.t", SCHEMA)
        made.append(rows(0))
        made.append(rows(10))
        table = mi.open_table("db.t", catalog=catalog, config=mi.Config(builder="local"))
        table.create_index("main", mi.ColumnStats())
        assert len(table.prune("id = 15").files) == 1
        assert ids(table, "id = 15") == [15]


def test_what_the_catalog_says_of_the_store_is_enough(
    s3: S3Server, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in s3.environment:
        monkeypatch.delenv(name)
    with iceberg_catalog(s3, bucket, tmp_path) as catalog:
        catalog.create_namespace("db")
        catalog.create_table("db.t", SCHEMA).append(rows(0))
        table = mi.open_table("db.t", catalog=catalog, config=mi.Config(builder="local"))
        table.create_index("main", mi.ColumnStats())
        assert uses(table)
        assert ids(table, "id = 5") == [5]


@pytest.mark.parametrize("named", ["list", "pattern"])
def test_several_folders_are_one_table(s3: S3Server, bucket: str, named: str) -> None:
    paths = [f"s3://{bucket}/years/y{year}" for year in (2023, 2024)]
    for number, path in enumerate(paths):
        replace_rows(path, rows(10 * number))
    replace_rows(f"s3://{bucket}/years/other", rows(50))
    table = mi.open_table(
        paths if named == "list" else f"s3://{bucket}/years/y*",
        config=mi.Config(builder="local"),
    )
    table.create_index("main", mi.ColumnStats())
    assert len(table.prune("id = 15").files) == 1
    assert ids(table, None) == list(range(20))


def test_the_command_line_works_on_s3(s3: S3Server, bucket: str) -> None:
    lake = next(MAKERS["parquet"](s3, bucket, Path()))
    lake.append(rows(0))
    lake.append(rows(10))

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "metaindex", *words], check=False, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
        return done.stdout

    run("create", lake.path, "main", "--builder", "local")
    assert "main" in run("indexes", lake.path)
    assert run("prune", lake.path, "id = 15", "--paths").splitlines() == [f"{lake.path}/f001.parquet"]


def replace_rows(path: str, table: pa.Table) -> None:
    """A folder of one Parquet file."""
    storage_for(path)[0].put("f.parquet", parquet_bytes(table))


def test_credentials_as_storage_options_are_enough(s3: S3Server, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = next(MAKERS["parquet"](s3, bucket, Path()))
    lake.append(rows(0))
    for name in s3.environment:
        monkeypatch.delenv(name)
    table = mi.open_table(
        lake.path.replace("s3:", "s3a:"), storage_options=s3.options, config=mi.Config(builder="local")
    )
    table.create_index("main", mi.ColumnStats())
    assert ids(table, "id = 5") == [5]


def test_a_delta_log_that_names_another_bucket_is_refused_or_read_there_never_here(
    s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    """A shallow clone may name another bucket by its whole URI; the table's own store does not open it."""
    lake = next(MAKERS["delta"](s3, bucket, tmp_path))
    lake.append(rows(0))
    storage, _ = storage_for(f"{lake.path}/_delta_log")
    log = storage.read("00000000000000000000.json").decode()
    path = lake.open().snapshot().files.paths[0].as_py()
    storage.put("00000000000000000000.json", log.replace(path, f"s3://elsewhere/{path}").encode())
    table = lake.open()
    with pytest.raises(StorageError, match="outside the store"):
        table.scan().to_arrow()
    storage.put("00000000000000000000.json", log.replace(path, f"../../{path}").encode())
    with pytest.raises(CorruptTableError, match="climbs out"):
        lake.open().snapshot()


def test_an_iceberg_manifest_list_in_another_bucket_is_refused(s3: S3Server, bucket: str, tmp_path: Path) -> None:
    making = MAKERS["iceberg"](s3, bucket, tmp_path)
    lake = next(making)
    lake.append(rows(0))
    storage, _ = storage_for(f"{lake.path}/metadata")
    newest = [info.path for info in storage.list("") if info.path.endswith(".json")][-1]
    text = storage.read(newest).decode()
    storage.put(newest, text.replace(f"s3://{bucket}/warehouse/db/lake/metadata/snap", "s3://elsewhere/snap").encode())
    with pytest.raises(MetaIndexError, match="elsewhere"):
        lake.open().snapshot()
    assert list(making) == []


def test_no_table_says_what_was_looked_for(bucket: str) -> None:
    with pytest.raises(NotATableError, match="does not exist"):
        mi.open_table(f"s3://{bucket}/nothing/here")


def test_a_table_is_a_table_beside_its_likes(s3: S3Server, bucket: str) -> None:
    """`lake` and `lake2` share a prefix of letters, not a folder."""
    lake = next(MAKERS["parquet"](s3, bucket, Path()))
    lake.append(rows(0))
    storage_for(lake.path + "2")[0].put("x.parquet", b"not ours")
    table = replace(lake, path=lake.path + "/").open()
    assert table.snapshot().files.paths.to_pylist() == ["f000.parquet"]
    assert pc.sum(table.scan(columns=["id"]).to_arrow().column("id")).as_py() == 45


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
def test_a_table_is_recognized_behind_more_objects_than_one_request_lists(
    s3: S3Server, bucket_folder: Path, bucket: str, tmp_path: Path, kind: str
) -> None:
    making = MAKERS[kind](s3, bucket, tmp_path)
    lake = next(making)
    lake.append(rows(0))
    lake.append(rows(10))
    lake.open().create_index("main", mi.ColumnStats())
    root = bucket_folder / lake.path.partition(f"{bucket}/")[2]
    for folder in ("A=1", "metadata/0") if kind == "iceberg" else ("A=1",):
        (root / folder).mkdir()
        for number in range(1001):
            (root / folder / f"_{number}").touch()
    table = lake.open()
    assert table.format == ("files" if kind == "parquet" else kind)
    assert ids(table, "id = 15") == [15]
    assert uses(table)
    for _ in making:
        raise AssertionError
