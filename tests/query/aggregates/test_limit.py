"""A limit: right in every engine and format, and no file is opened once there are enough rows."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from tests.duck import connected
from tests.formats.iceberg.written import Drawn, histories
from tests.formats.iceberg.written_rows import plain
from tests.query.aggregates.lakes import opened_files
from tests.tables import FIVE


@pytest.mark.exhaustive(but="parquet")
@pytest.mark.parametrize(("where", "limit", "files"), [
    (None, 7, 1), (None, 10, 1), (None, 11, 2), ("id >= 5", 10, 1), ("id >= 5 AND id < 55", 41, 5), ("id = 23", 1, 1),
    ("id < 0", 5, 0), (None, 0, 0), ("id >= 5", 0, 0),
])  # fmt: skip
def test_no_more_files_are_opened_than_are_needed(table: mi.Table, where: str | None, limit: int, files: int) -> None:
    with opened_files(table) as opened:
        found = table.scan(where, limit=limit).to_arrow()
    every = table.scan(where).to_arrow().column("id").to_pylist()
    got = found.column("id").to_pylist()
    assert len(got) == min(limit, len(every))
    assert set(got) <= set(every)
    assert len(set(got)) == len(got)
    assert len(opened) == files


@pytest.mark.parametrize("limit", [0, 1, 10, 11, 25, 60, 1000])
def test_every_engine_gives_the_same_rows(table: mi.Table, limit: int) -> None:
    scan = table.scan("id >= 5 AND id < 52", columns=["name", "id"], limit=limit)
    expected = scan.to_arrow()
    assert expected.num_rows == min(limit, 47)
    rows = expected.to_pylist()
    assert pa.Table.from_batches(scan.to_batches(), schema=scan.schema).to_pylist() == rows
    assert pa.table(scan).to_pylist() == rows
    assert scan.to_reader().read_all().to_pylist() == rows
    assert scan.to_dataset().to_table().to_pylist() == rows
    assert scan.to_dataset().count_rows() == len(rows)
    assert scan.to_polars().collect().rows(named=True) == rows
    assert scan.to_pandas().to_dict("records") == rows
    with connected() as con:
        assert scan.to_duckdb(con).to_arrow_table().to_pylist() == rows


def test_what_an_engine_filters_it_filters_of_the_first_rows(table: mi.Table) -> None:
    scan = table.scan("id >= 5", limit=25)
    expected = [i for i in scan.to_arrow().column("id").to_pylist() if i > 27]
    assert scan.to_dataset().to_table(filter=pc.field("id") > 27).column("id").to_pylist() == expected
    assert scan.to_polars().filter(pl.col("id") > 27).collect()["id"].to_list() == expected
    assert scan.to_polars().head(3).collect()["id"].to_list() == scan.to_arrow().column("id").to_pylist()[:3]
    with connected() as con:
        found = scan.to_duckdb(con).filter("id > 27").to_arrow_table()
    assert found.column("id").to_pylist() == expected


@pytest.mark.parametrize("limit", [-1, 1.5, True, "10"])
def test_what_is_no_number_of_rows_is_refused(table: mi.Table, limit: object) -> None:
    with pytest.raises(mi.ArgumentError, match="a limit is a number of rows, 0 or more; got"):
        table.scan(limit=limit)  # type: ignore[arg-type]


def test_engines_that_read_files_by_themselves_are_refused(tmp_path: Path) -> None:
    lake = FIVE["delta"](tmp_path)
    lake.append(pa.table({"id": [1]}))
    for call in ("to_deltalake", "to_pyiceberg", "to_spark"):
        with pytest.raises(mi.ScanError, match=f"the first rows are chosen .* {call}"):
            getattr(lake.open().scan(limit=1), call)(None)


def test_a_file_that_is_gone_fails_only_who_needs_it(tmp_path: Path) -> None:
    lake = FIVE["parquet"](tmp_path)
    for number in range(3):
        lake.append(pa.table({"id": [number]}))
    table = lake.open()
    few, all_ = table.scan(limit=2), table.scan(limit=3)
    lake.remove(2)
    assert few.to_arrow().num_rows == 2
    with pytest.raises(mi.ObjectNotFoundError, match="f002"):
        all_.to_arrow()


@settings(max_examples=settings.default.max_examples * 30 // 100, deadline=None)
@given(histories(), st.integers(0, 12), st.sampled_from([None, "id >= 2", "id < 4", "id = 3 OR id = 5"]))
def test_deleted_rows_are_not_counted(drawn: Drawn, limit: int, where: str | None) -> None:
    """Iceberg's deletes by position, by value and by vector, at every version."""
    with drawn.written() as history:
        table = mi.open_table(str(history.root))
        for version in history.expected:
            every = plain(table.scan(where, version=version).to_arrow().to_pylist())
            found = plain(table.scan(where, version=version, limit=limit).to_arrow().to_pylist())
            assert len(found) == min(limit, len(every))
            assert set(found) <= set(every)
            assert len(set(found)) == len(found)
