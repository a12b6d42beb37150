"""Rows come as they are read: every engine may stop early, ask again, and name its columns late; no whole file need fit
in memory."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.core import ObjectNotFoundError, ScanError
from metaindex.formats import Schema
from metaindex.formats.parquet import rows as reader
from tests.query.readers.lake import Lake, fields_of

ROWS = 1000


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Three files of 1000 rows; the second has deletes."""
    made = Lake(tmp_path, Schema(fields_of(pa.schema({"a": pa.int64(), "b": pa.string()}))))
    for i in range(3):
        ids = np.arange(i * ROWS, (i + 1) * ROWS)
        made.add(f"f{i}.parquet", pa.table({"a": ids, "b": [f"k{n % 7}" for n in ids.tolist()]}), row_group_size=100)
    made.delete(1, list(range(500)))
    return made


def test_a_reader_is_arrows_own_and_a_scan_is_a_table_to_arrow(lake: Lake, tmp_path: Path) -> None:
    scan = lake.scan("b = 'k3'")
    expected = scan.to_arrow()
    assert scan.to_reader().read_all().equals(expected)
    assert pa.table(scan).equals(expected)
    with pq.ParquetWriter(tmp_path / "out.parquet", scan.schema) as writer:
        for batch in scan.to_reader():
            writer.write_batch(batch)
    assert pq.read_table(tmp_path / "out.parquet").equals(expected)


def test_files_are_opened_as_their_rows_are_asked_for(lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "f2.parquet").unlink()
    batches = lake.scan().to_batches()
    assert next(batches).num_rows == ROWS
    assert next(batches).num_rows == ROWS - 500
    with pytest.raises(ObjectNotFoundError, match=r"f2\.parquet"):
        next(batches)
    assert lake.scan().to_polars().head(1200).collect().height == 1200
    with pytest.raises(Exception, match=r"f2\.parquet"):
        lake.scan().to_polars().collect()
    with duckdb.connect() as con, pytest.raises(duckdb.Error, match=r"f2\.parquet"):
        lake.scan().to_duckdb(con).fetchall()


def test_a_relation_can_be_asked_again_and_joined_with_itself(lake: Lake) -> None:
    with duckdb.connect() as con:
        relation = lake.scan("a < 1600").to_duckdb(con)
        for _ in range(2):
            assert relation.aggregate("count(*), min(a), max(a)").fetchall() == [(1100, 0, 1599)]
        relation.create_view("rows_of_the_scan")
        query = "SELECT count(*) FROM rows_of_the_scan x JOIN rows_of_the_scan y ON x.a = y.a WHERE y.b = 'k1'"
        assert con.execute(query).fetchall() == [(len([a for a in [*range(1000), *range(1500, 1600)] if a % 7 == 1]),)]


def test_a_frame_reads_the_columns_that_its_query_needs(lake: Lake) -> None:
    frame = lake.scan("a >= 1400").to_polars()
    assert frame.collect_schema().names() == ["a", "b"]
    assert frame.select("b").collect().columns == ["b"]
    assert frame.filter(pl.col("b") == "k3").select(pl.col("a").max()).collect().item() == 2999 - (2999 - 3) % 7
    assert frame.select(pl.len()).collect().item() == 1500
    assert frame.slice(100, 7).collect()["a"].to_list() == list(range(1600, 1607))
    assert frame.filter(pl.col("a") > 2000).head(3).collect()["a"].to_list() == [2001, 2002, 2003]


def test_what_cannot_be_answered_is_refused_at_once(lake: Lake) -> None:
    scan = lake.scan("a % 2 = 0")
    with duckdb.connect() as con, pytest.raises(ScanError, match="every part of a predicate"):
        scan.to_duckdb(con)
    for ask in (scan.to_polars, scan.to_reader, scan.to_batches, scan.to_arrow):
        with pytest.raises(ScanError, match="every part of a predicate"):
            ask()


def test_a_file_is_read_ahead_by_portions(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lake.scan().to_arrow()
    for ahead in (1, 4000, 1 << 30):
        monkeypatch.setattr(reader, "_AHEAD_BYTES", ahead)
        assert lake.scan().to_arrow().equals(whole)
