"""A filter that a scan ran over whole files opens only what matched when it comes again: in this process, and in
another one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.errors import ArgumentError, ScanError
from metaindex.table.face import handle_of, queries_of
from tests.remembering.lake import FILES, ONCE, ROWS, flushed, objects, opened, remembering, six_files
from tests.tables import FORMATS, Lake, settle

READS: dict[str, Callable[[mi.Table], int]] = {
    "to_arrow": lambda table: table.scan(ONCE).to_arrow().num_rows,
    "to_batches": lambda table: sum(batch.num_rows for batch in table.scan(ONCE).to_batches()),
    "to_pandas": lambda table: len(table.scan(ONCE).to_pandas()),
    "to_reader": lambda table: table.scan(ONCE).to_reader().read_all().num_rows,
    "to_dataset": lambda table: table.scan(ONCE).to_dataset().to_table().num_rows,
    "to_duckdb": lambda table: len(table.scan(ONCE).to_duckdb(duckdb.connect()).fetchall()),
    "to_polars": lambda table: table.scan(ONCE).to_polars().collect().height,
    "locate": lambda table: sum(row["matches"] for row in table.locate(ONCE, exact=True).table.to_pylist()),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_repeated_filter_opens_only_what_matched(read: Callable[[mi.Table], int], tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = remembering(lake)
    assert opened(table, ONCE) == FILES
    before = read(table)
    assert before == lake.open().scan(ONCE).to_arrow().num_rows > 0
    assert opened(table, ONCE) == 1
    assert read(table) == before
    flushed()
    other = remembering(lake)
    assert opened(other, ONCE) == 1
    assert opened(other, f"({ONCE}) AND id >= 0") == 1, "a part of an AND is one that was read"
    assert opened(other, f"({ONCE}) OR id < 0") == FILES
    assert opened(lake.open(), ONCE) == FILES, "who does not ask for it reads all"


def test_files_that_are_gone_behind_a_remembered_filter_are_not_missed(tmp_path: Path) -> None:
    """That is: no other file is opened."""
    lake = six_files(tmp_path)
    table = remembering(lake)
    rows = table.scan(ONCE).to_arrow()
    scan = table.scan(ONCE)
    assert lake.remove is not None
    for number in range(FILES):
        if number != 3:
            lake.remove(number)
    assert scan.to_arrow() == rows


def test_row_groups_are_told_apart(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"s": [f"v{n % 50:02d}" for n in range(100)]}), root / "f.parquet", row_group_size=10)
    settle(root)
    table = mi.open_table(str(root), config=mi.Config(remember_filters=True))
    where = "s LIKE '%7'"
    first = table.scan(where).to_arrow()
    result = table.prune(where)
    assert result.row_groups("f.parquet", 10) == list(range(10))
    where = "s LIKE '%13'"
    assert table.scan(where).to_arrow().num_rows == 2
    assert table.prune(where).row_groups("f.parquet", 10) == [1, 6]
    assert table.prune(where).row_groups("f.parquet", 11) == list(range(11)), "another file's"
    assert table.scan(where).to_arrow().num_rows == 2
    assert [row["row_group"] for row in table.locate(where).table.to_pylist()] == [1, 6]
    assert table.scan("s LIKE '%7'").to_arrow() == first
    assert table.count(where) == 2
    assert pickle.loads(pickle.dumps(table.prune(where))).row_groups("f.parquet", 10) == list(range(10))


def test_nothing_is_remembered_of_files_that_were_not_read_to_their_end(tmp_path: Path) -> None:
    table = remembering(six_files(tmp_path))
    table.scan(ONCE, limit=1).to_arrow()
    table.scan(ONCE, limit=10**6).to_arrow()
    table.scan(ONCE, order_by="id", limit=10**6).to_arrow()
    table.scan("s LIKE '%z%'", keys=pa.table({"id": [1, 100]}), on="id").to_arrow()
    table.scan(ONCE).to_polars().filter(pl.col("id") > 5).collect()
    batches = table.scan("s LIKE '%z%'").to_batches()
    next(batches)
    del batches
    flushed()
    assert objects(table) == []
    assert opened(table, ONCE) == FILES


def test_nothing_is_remembered_of_a_reading_that_failed(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = remembering(lake)
    where = "CAST(s AS INT) > 5"
    with pytest.raises(ScanError):
        table.scan(where).to_arrow()
    assert opened(table, where) == FILES
    with pytest.raises(ScanError):
        table.scan(where).to_arrow()


def test_a_plain_file_that_was_changed_a_moment_ago_is_not_believed(tmp_path: Path) -> None:
    root = tmp_path / "t"
    root.mkdir()
    pq.write_table(pa.table({"s": ["a"] * 5}), root / "f.parquet")
    table = mi.open_table(str(root), config=mi.Config(remember_filters=True))
    scan = table.scan("s LIKE '%b'")
    (root / "f.parquet").touch()
    with pytest.raises(ScanError):
        scan.to_arrow()
    assert opened(table, "s LIKE '%b'") == 1


def test_what_the_time_decides_is_not_remembered(tmp_path: Path) -> None:
    table = remembering(six_files(tmp_path))
    table.scan("s LIKE '%nothing%' AND now() > TIMESTAMP '2020-01-01 00:00:00Z'").to_arrow()
    flushed()
    assert objects(table) == []


def test_texts_are_not_remembered(tmp_path: Path) -> None:
    lake = FORMATS["csv"](tmp_path)
    lake.append(pa.table({"s": ["a", "b"]}))
    table = remembering(lake)
    table.scan("s LIKE '%c'").to_arrow()
    assert opened(table, "s LIKE '%c'") == 1


@pytest.mark.parametrize("made", [FORMATS["delta"], FORMATS["iceberg"]], ids=["delta", "iceberg"])
def test_every_version_of_a_table_with_a_log(made: Callable[[Path], Lake], tmp_path: Path) -> None:
    lake = made(tmp_path)
    for number in range(3):
        lake.append(pa.table({"s": [f"x{n}Q{number}y" for n in range(5)]}))
    table = remembering(lake)
    where = "s LIKE '%Q1%'"
    assert table.scan(where).to_arrow().num_rows == 5
    lake.append(pa.table({"s": ["Q1"]}))
    assert opened(table, where) == 2
    assert table.scan(where).to_arrow().num_rows == 6
    for version in table.versions():
        plain = lake.open().scan(where, version=version).to_arrow()
        assert table.scan(where, version=version).to_arrow() == plain


def test_an_index_and_remembered_filters_answer_together(tmp_path: Path) -> None:
    lake = six_files(tmp_path)
    table = remembering(lake)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    where = f"id >= {2 * ROWS} AND {ONCE}"
    assert opened(table, where) == FILES - 2
    rows = table.scan(where).to_arrow()
    assert opened(table, where) == 1
    assert table.scan(where).to_arrow() == rows
    said = str(table.explain(where))
    assert "remembered filters: dropped 3 files" in said
    assert "stats leaves out of the others" in said or "Left out without an index" in said
    assert opened(table, ONCE) == FILES, "the first two files were not read"
    assert len(table.scan(where, indexes=["stats"]).file_rows) == FILES - 2
    assert len(table.scan(where, indexes=[]).file_rows) >= FILES - 2


def test_an_engine_that_asks_indexes_alone_hears_of_remembered_filters(tmp_path: Path) -> None:
    """As Spark's rule asks: of a table that has an index, whatever its columns."""
    lake = six_files(tmp_path)
    lake.open().create_index("stats", mi.ColumnStats("id"), builder="local")
    where = "s = 'x3Qzy'"
    plain, table = queries_of(lake.open()), remembering(lake)
    assert queries_of(table).proved(where, None, None) is None, "no index knows the column, and nothing is remembered"
    where = "s = 'x6Q5y'"
    assert table.scan(where).to_arrow().num_rows > 0
    told = queries_of(table).proved(f"s IS NOT NULL AND {where}", None, None)
    assert told is not None
    assert [Path(path).name for path in told.paths] == ["f005.parquet"]
    assert plain.proved(where, None, None) is None
    assert queries_of(table).proved(where, None, ["stats"]) is None


def test_it_is_off_by_default_and_switched_on_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = six_files(tmp_path)
    plain = lake.open()
    plain.scan(ONCE).to_arrow()
    assert opened(plain, ONCE) == FILES
    monkeypatch.setenv("METAINDEX_REMEMBER_FILTERS", "on")
    table = lake.open()
    table.scan(ONCE).to_arrow()
    assert opened(table, ONCE) == 1
    off = lake.open(config=mi.Config(remember_filters=False))
    assert opened(off, ONCE) == FILES
    flushed()
    alone = lake.open(config=mi.Config(use_indexes=False))
    assert opened(alone, ONCE) == FILES
    monkeypatch.setenv("METAINDEX_REMEMBER_FILTERS", "perhaps")
    with pytest.raises(ArgumentError, match="METAINDEX_REMEMBER_FILTERS is on or off"):
        lake.open().scan(ONCE)
    assert handle_of(plain).config.remember_filters is None
