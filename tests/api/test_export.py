"""`export_index`: what an index knows of the live files, as plain Delta tables that `deltalake` and DuckDB read."""

import math
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pytest

import metaindex as mi


def table(folder: Path) -> mi.Table:
    root = str(folder / "lake")
    rows = {"i": [1, 2], "f": [math.nan, 0.5], "p": ["a", "a"]}
    deltalake.write_deltalake(root, pa.table(rows), partition_by=["p"])
    deltalake.write_deltalake(root, pa.table(rows | {"i": [7, None], "p": ["b", "b"]}), mode="append")
    mi.open_table(root).create_index("stats", mi.ColumnStats(), builder="local")
    deltalake.DeltaTable(root).delete("p = 'a'")
    deltalake.write_deltalake(root, pa.table(rows | {"i": [9, 9]}), mode="append")
    mi.open_table(root).refresh_index("stats", builder="local")
    return mi.open_table(root)


def test_the_tables_hold_the_live_rows(tmp_path: Path) -> None:
    lake = table(tmp_path)
    said = lake.export_index("stats", str(tmp_path / "out"))
    assert said.rows == {"files": 2, "column_stats": 6}
    live = {one["path"] for one in pa.table(deltalake.DeltaTable(lake.path).get_add_actions()).to_pylist()}
    files = duckdb.sql(f"SELECT path FROM read_parquet('{tmp_path}/out/files/*.parquet')").fetchall()
    assert {path for (path,) in files} == live
    found = pa.table(deltalake.DeltaTable(str(tmp_path / "out" / "column_stats")).to_pyarrow_table()).to_pylist()
    bounds = {(row["partition"], row["column"]): (row["lower"], row["upper"], row["null_count"]) for row in found}
    assert bounds == {
        ("p=a", "i"): ("9", "9", 0),
        ("p=a", "f"): ("0.5", "0.5", 0),
        ("p=a", "p"): ("a", "a", 0),
        ("p=b", "i"): ("7", "7", 1),
        ("p=b", "f"): ("0.5", "0.5", 0),
        ("p=b", "p"): ("b", "b", 0),
    }


def test_it_goes_where_no_table_is(tmp_path: Path) -> None:
    lake = table(tmp_path)
    lake.export_index("stats", str(tmp_path / "out"))
    with pytest.raises(mi.ArgumentError, match="where no table is"):
        lake.export_index("stats", str(tmp_path / "out"))
    assert len(list((tmp_path / "out" / "files").glob("*.parquet"))) == 1
