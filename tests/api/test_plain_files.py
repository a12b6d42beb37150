"""Plain files through the public face: tables of several roots, `trust_index`, how often a folder is listed, and files
that were replaced."""

import datetime as dt
import gzip
import json
import os
import time
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.core import Config, ScanError, UnsupportedFeatureError
from metaindex.formats.files import table as files_table
from metaindex.formats.files.listing import Listing
from metaindex.table import handle_of


def put(path: Path, first: int, age: float = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": list(range(first, first + 10))}), path)
    then = time.time() - age
    os.utime(path, (then, then))
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for month, first in (("2024-01", 0), ("2024-02", 10), ("2023-12", 20)):
        put(tmp_path / "data" / month / "part-0.parquet", first)
    return tmp_path


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One number for each time that a folder is listed: how many files were found."""
    counted: list[int] = []
    real = files_table.list_files

    def counting(*given: object, **named: object) -> Listing:
        found = real(*given, **named)
        counted.append(len(found))
        return found

    monkeypatch.setattr(files_table, "list_files", counting)
    return counted


LOCAL = Config(builder="local")


def numbers(table: mi.Table, condition: str) -> list[int]:
    return sorted(table.scan(condition).to_arrow().column("n").to_pylist())


@pytest.mark.parametrize("named", ["{}/data/2024-*/part-*.parquet", "{}/data/2024-*", "list", "basePath"])
def test_a_table_of_several_roots_is_indexed_pruned_and_refreshed(lake: Path, named: str) -> None:
    def opened() -> mi.Table:
        if named == "list":
            return mi.open_table([lake / "data" / "2024-01", lake / "data" / "2024-02"], config=LOCAL)
        if named == "basePath":
            return mi.open_table(f"{lake}/data/2024-*", basePath=f"{lake}/data", config=LOCAL)
        return mi.open_table(named.format(lake), config=LOCAL)

    opened().create_index("stats", mi.ColumnStats())
    result = opened().prune("n = 15")
    assert result.paths == [f"{lake}/data/2024-02/part-0.parquet"]
    assert result.total_files == 2
    assert [report.name for report in result.indexes if report.used] == ["stats"]
    assert numbers(opened(), "n >= 8 AND n < 12") == [8, 9, 10, 11]
    put(lake / "data" / "2024-02" / "part-1.parquet", 15)
    assert numbers(opened(), "n = 15") == [15, 15]
    opened().refresh_index("stats")
    assert len(opened().versions()) == 2
    assert opened().prune("n = 24").paths == [f"{lake}/data/2024-02/part-1.parquet"]
    old, new = opened().versions()
    assert opened().diff(old.id, new.id).appended.paths.to_pylist() == ["2024-02/part-1.parquet"]
    # The folder itself is another table, and nothing was written into it.
    assert mi.open_table(f"{lake}/data").indexes() == []
    assert sorted(path.name for path in (lake / "data").iterdir()) == ["2023-12", "2024-01", "2024-02"]


def test_the_command_line_takes_patterns_and_more_roots(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from metaindex.cli import main

    for words in ([f"{lake}/data/2024-*"], [f"{lake}/data/2024-01", "--root", f"{lake}/data/2024-02"]):
        assert main(["create", *words[:1], "stats", *words[1:], "--builder", "local"]) == 0
        for trust in ([], ["--trust-index"]):
            capsys.readouterr()
            assert main(["prune", *words[:1], "n = 15", *words[1:], *trust, "--json"]) == 0
            out = capsys.readouterr().out
            assert "2024-02/part-0.parquet" in out
            assert "2024-01/part-0.parquet" not in out


def test_a_configured_location_holds_indexes_and_listings(lake: Path) -> None:
    config = Config(builder="local", index_location=str(lake / "indexes"))
    for path in (f"{lake}/data", f"{lake}/data/2024-*"):
        table = mi.open_table(path, config=config)
        table.create_index("stats", mi.ColumnStats())
        (version,) = table.versions()
        assert len(table.snapshot(version.id).files) == table.prune("n >= 0").total_files
    assert sorted(path.name for path in lake.iterdir()) == ["data", "indexes"]
    assert len(list((lake / "indexes").glob("*/_history/*.listing"))) == 2


@pytest.mark.parametrize("format_", ["files", "delta"])
def test_indexes_are_never_among_the_files_of_their_table(tmp_path: Path, format_: str) -> None:
    """Parts of indexes are Parquet: Spark read them as rows of a plain table, and Delta's VACUUM removes them."""
    path = tmp_path / "t"
    if format_ == "delta":
        deltalake.write_deltalake(str(path), pa.table({"n": [1, 2]}))
    else:
        put(path / "0.parquet", 1)
    (tmp_path / "link").symlink_to(path)
    rows = mi.open_table(path).scan().to_arrow().num_rows

    def indexed(location: Path | str) -> mi.Table:
        table = mi.open_table(path, config=Config(builder="local", index_location=location))
        table.create_index("stats", mi.ColumnStats())
        return table

    inside = ["t", "t/ix", "t/_delta_log", "t/.hoodie/ix", "t/_p=1/ix", "link/ix"]
    for location in [*(tmp_path / name for name in inside), f"file:{path}/ix"]:
        with pytest.raises(mi.ArgumentError, match="indexes lie outside of the table"):
            indexed(location)
    for location in (tmp_path, path / "_ours", tmp_path / "t2"):
        assert [one.name for one in indexed(location).indexes()] == ["stats"]
    assert mi.open_table(path).scan().to_arrow().num_rows == rows


def test_a_location_of_indexes_stays_where_it_is(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lake)
    config = Config(builder="local", index_location="indexes")
    table = mi.open_table("data", config=config)
    table.create_index("stats", mi.ColumnStats())
    monkeypatch.chdir("/")
    assert [one.name for one in table.indexes()] == ["stats"]
    opened, _ = handle_of(mi.open_table(lake / "data", config=config)).open_indexes(None)
    assert [index.name for index in opened] == ["stats"]


def test_a_query_lists_the_folder_once_and_one_that_trusts_the_index_not_at_all(
    lake: Path, listings: list[int]
) -> None:
    mi.open_table(f"{lake}/data", config=LOCAL).create_index("stats", mi.ColumnStats())
    listings.clear()
    assert mi.open_table(f"{lake}/data").prune("n = 15").total_files == 3
    assert listings == [3]
    put(lake / "data" / "new" / "0.parquet", 15)
    listings.clear()
    assert mi.open_table(f"{lake}/data").prune("n = 15").total_files == 4
    assert listings == [4]
    listings.clear()
    trusting = mi.open_table(f"{lake}/data", trust_index=True)
    assert trusting.prune("n = 15").paths == [f"{lake}/data/2024-02/part-0.parquet"]
    assert trusting.explain("n = 15")
    assert len(trusting.snapshot().files) == 3
    assert numbers(trusting, "n = 15") == [15]
    assert listings == []
    assert len(numbers(mi.open_table(f"{lake}/data"), "n = 15")) == 2


def test_where_no_index_is_to_be_trusted_the_folder_is_listed(lake: Path, listings: list[int]) -> None:
    table = mi.open_table(f"{lake}/data", trust_index=True)
    assert table.prune("n = 15").total_files == 3
    assert numbers(table, "n = 15") == [15]
    assert listings
    from deltalake import write_deltalake

    write_deltalake(str(lake / "delta"), pa.table({"n": [1]}))
    with pytest.raises(UnsupportedFeatureError, match="trust_index"):
        mi.open_table(f"{lake}/delta", trust_index=True)


def test_a_broken_promise_is_noticed_where_files_are_read(lake: Path) -> None:
    mi.open_table(f"{lake}/data", config=LOCAL).create_index("stats", mi.ColumnStats())
    put(lake / "data" / "2024-02" / "part-0.parquet", 10)
    with pytest.raises(ScanError, match="replaced"):
        mi.open_table(f"{lake}/data", trust_index=True).scan("n = 15").to_arrow()


def csv_text(first: int) -> str:
    return "n,s,d\n" + "".join(f'{first + i},"line {i}\nnext",{i + 1:02d}.01.2024\n' for i in range(10))


def json_text(first: int) -> str:
    return json.dumps([{"n": first + i, "s": f"line {i}\nnext", "d": f"{i + 1:02d}.01.2024"} for i in range(10)])


TEXTS = {
    "csv": (".csv", csv_text, "utf-8", {"multiLine": True, "dateFormat": "dd.MM.yyyy"}),
    "csv in Latin-1": (".csv", csv_text, "latin-1", {"multiLine": True, "encoding": "ISO-8859-1"}),
    "csv, packed": (".csv.gz", csv_text, "utf-8", {"multiLine": True}),
    "json": (".json", json_text, "utf-8", {"multiLine": True}),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_files_that_are_not_split_by_lines_are_indexed(tmp_path: Path, kind: str) -> None:
    suffix, text, encoding, options = TEXTS[kind]
    (tmp_path / "t").mkdir()
    for number in range(3):
        data = text(number * 10).encode(encoding)
        (tmp_path / "t" / f"{number}{suffix}").write_bytes(gzip.compress(data) if "gz" in suffix else data)
        os.utime(tmp_path / "t" / f"{number}{suffix}", (1_700_000_000,) * 2)
    table = mi.open_table(tmp_path / "t", config=LOCAL, **options)
    table.create_index("stats", mi.ColumnStats())
    result = table.prune("n = 15")
    assert result.paths == [f"{tmp_path}/t/1{suffix}"]
    assert result.total_files == 3
    (row,) = table.scan("n = 15").to_arrow().to_pylist()
    day = dt.date(2024, 1, 6) if "dateFormat" in options else "06.01.2024"
    assert row == {"n": 15, "s": "line 5\nnext", "d": day}
    other = mi.open_table(tmp_path / "t", config=LOCAL, **{**options, "nullValue": "x"})
    assert "other reader options" in other.prune("n = 15").indexes[-1].reason


@pytest.mark.spark
def test_spark_refuses_a_file_that_was_replaced_too(spark: object, lake: Path) -> None:
    table = mi.open_table(f"{lake}/data", config=LOCAL)
    table.create_index("stats", mi.ColumnStats())
    (version,) = table.versions()
    assert table.scan("n = 15", version=version.id).to_spark(spark).count() == 1
    file = lake / "data" / "2024-02" / "part-0.parquet"
    stat = file.stat()
    put(file, 10)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file.stat().st_size == stat.st_size
    with pytest.raises(ScanError, match=r"part-0\.parquet.*replaced"):
        table.scan("n = 15", version=version.id).to_spark(spark)
    assert table.scan("n = 5", version=version.id).to_spark(spark).count() == 1
    file.unlink()
    with pytest.raises(FileNotFoundError, match=r"part-0\.parquet"):
        table.scan("n = 15", version=version.id).to_spark(spark)


@pytest.mark.spark
def test_spark_reads_several_roots_with_their_partitions(spark: object, tmp_path: Path) -> None:
    for year in (1, 2):
        for month in (1, 2):
            put(tmp_path / "t" / f"y={year}" / f"m={month}" / "0.parquet", year * 100 + month * 10)
    for path, options, columns in (
        (f"{tmp_path}/t/y=[1]", {}, ["n", "m"]),
        (f"{tmp_path}/t/y=*", {"basePath": f"{tmp_path}/t"}, ["n", "y", "m"]),
        (f"{tmp_path}/t/y=*/m=2/*", {}, ["n"]),
    ):
        scan = mi.open_table(path, **options).scan("n >= 120")
        rows = scan.to_spark(spark)
        assert rows.columns == columns == scan.to_arrow().column_names
        assert sorted(map(tuple, rows.collect())) == sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())
