"""Files of which every row matches are read without the predicate, and columns that only it asks are left alone."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import metaindex as mi
import metaindex.readers.arrow as reading

_FILES, _ROWS = 5, 100


def _rows(file: int) -> pa.Table:
    ids = range(file * _ROWS, (file + 1) * _ROWS)
    days = [None if file == 2 and n % 50 == 7 else n // 10 for n in ids]
    return pa.table(
        {"id": pa.array(ids, pa.int64()), "day": pa.array(days, pa.int32()), "s": [f"t{n:04}" for n in ids]}
    )


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mi.Table:
    monkeypatch.setattr(reading, "_WORTH_BYTES", 0)
    for file in range(_FILES):
        write_deltalake(str(tmp_path), _rows(file), mode="append")
    table = mi.open_table(str(tmp_path))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.create_index("bloom", mi.Bloom("day"), builder="local")
    table.create_index("values", mi.Values("id"), builder="local")
    return table


def test_only_files_at_the_border_are_filtered(lake: mi.Table) -> None:
    scan = lake.scan("day >= 5", ["id"])
    sure = reading.certain_rows(scan)
    assert sure is not None
    assert sure.tolist().count(True) == 3, "four files are not cut by the bound, one of them has NULLs"
    expected = [n for n in range(50, _FILES * _ROWS) if not (n // _ROWS == 2 and n % 50 == 7)]
    assert sorted(scan.to_arrow()["id"].to_pylist()) == expected


@pytest.mark.parametrize(
    "condition",
    [
        "day >= 5",
        "day != 3 AND id >= 0",
        "NOT day < 20",
        "id > 90 AND upper(s) != 'T0150'",
        "day IS NOT NULL",
        "id < 250 OR day > 30",
    ],
)
def test_rows_are_those_of_a_full_read_with_deletes(lake: mi.Table, condition: str) -> None:
    deleted = DeltaTable(lake.path)
    deleted.delete("id % 17 = 3 AND id < 350")
    table = mi.open_table(lake.path)
    for other in (lake, table):
        for columns in (["id"], None, ["s", "id"]):
            with_indexes = other.scan(condition, columns).to_arrow().sort_by("id")
            alone = other.scan(condition, columns, indexes=[]).to_arrow().sort_by("id")
            assert with_indexes.equals(alone)
        narrowed = other.scan(condition).to_polars().filter(pl.col("day") > 12).collect()
        assert narrowed.height == other.scan(f"({condition}) AND day > 12", indexes=[]).to_arrow().num_rows


def test_plain_files_are_filtered_as_they_may_be_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    monkeypatch.setattr(reading, "_WORTH_BYTES", 0)
    pq.write_table(_rows(1), tmp_path / "1.parquet")
    table = mi.open_table(str(tmp_path))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    scan = table.scan("day >= 0")
    assert len(scan.result.certain) == 1  # type: ignore[union-attr]
    assert reading.certain_rows(scan) is None


def test_part_of_a_predicate_is_applied_where_the_whole_was_answered(lake: mi.Table) -> None:
    from dataclasses import replace

    scan = lake.scan("day >= 5")
    other = lake.scan("day >= 5 AND id < 120").predicate
    assert reading.certain_rows(replace(scan, predicate=other)) is None
