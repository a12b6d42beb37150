"""`export_index`: what an index knows of the live files, as plain Delta and Iceberg tables that `deltalake`, DuckDB and
pyiceberg read."""

import errno
import math
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

import metaindex as mi
from metaindex.export import parts, unwritten_export
from metaindex.formats.storage_local import mapped


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


FORMATS = ("delta", "iceberg")


def read(target: Path, name: str, format_: str) -> list[dict[str, Any]]:
    """The rows of an exported table, by the format's own reader."""
    if format_ == "delta":
        return pa.table(deltalake.DeltaTable(str(target / name)).to_pyarrow_table()).to_pylist()
    from pyiceberg.table import StaticTable

    version = (target / name / "metadata" / "version-hint.text").read_text()
    return (
        StaticTable.from_metadata(str(target / name / "metadata" / f"v{version}.metadata.json"))
        .scan()
        .to_arrow()
        .to_pylist()
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_it_goes_where_no_table_is_or_over_an_earlier_export(tmp_path: Path, format_: Any) -> None:
    lake, out = table(tmp_path), tmp_path / "out"
    lake.export_index("stats", str(out), format=format_)
    before = {p for p in out.rglob("*") if p.is_file()}
    with pytest.raises(mi.ArgumentError, match=r"where no table is.*overwrite=True"):
        lake.export_index("stats", str(out), format=format_)
    assert {p for p in out.rglob("*") if p.is_file()} == before

    deltalake.write_deltalake(lake.path, pa.table({"i": [70], "f": [1.0], "p": ["c"]}), mode="append")
    lake = mi.open_table(lake.path)
    lake.refresh_index("stats", builder="local")
    said = lake.export_index("stats", str(out), format=format_, overwrite=True)

    assert said.rows == {"files": 3, "column_stats": 9}
    assert len(read(out, "files", format_)) == 3
    assert {row["lower"] for row in read(out, "column_stats", format_) if row["column"] == "i"} == {"9", "7", "70"}
    assert [v.id for v in mi.open_table(out / "files").versions()][-1:]
    assert len(mi.open_table(out / "files").versions()) == 2  # the one before can be read
    assert mi.open_table(out / "files").scan("path IS NOT NULL").to_arrow().num_rows == 3


@pytest.mark.parametrize("format_", FORMATS)
def test_what_no_export_wrote_stays(tmp_path: Path, format_: Any) -> None:
    lake, out = table(tmp_path), tmp_path / "out"
    if format_ == "delta":
        deltalake.write_deltalake(str(out / "column_stats"), pa.table({"mine": [1]}))
    else:
        (out / "column_stats" / "metadata").mkdir(parents=True)
        (out / "column_stats" / "metadata" / "v1.metadata.json").write_text('{"format-version": 2, "properties": {}}')
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}

    for overwrite in (False, True):
        with pytest.raises(mi.ArgumentError, match="no export wrote"):
            lake.export_index("stats", str(out), format=format_, overwrite=overwrite)

    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("kind", ["delta", "files"])
@pytest.mark.parametrize("format_", FORMATS)
def test_it_keeps_out_of_the_table_its_indexes_and_other_tables(tmp_path: Path, kind: str, format_: Any) -> None:
    """A plain table with an export in it could not be read any more; files that a log does not know are vacuumed."""
    lake = table(tmp_path)
    if kind == "files":
        (tmp_path / "plain").mkdir()
        pq.write_table(pa.table({"i": [1, 2]}), tmp_path / "plain" / "0.parquet")
        lake = mi.open_table(tmp_path / "plain", config=mi.Config(settle_seconds=0))
        lake.create_index("stats", mi.ColumnStats(), builder="local")
    other = tmp_path / "other"
    deltalake.write_deltalake(str(other), pa.table({"mine": [1]}))
    (tmp_path / "link").symlink_to(lake.path)
    indexes = tmp_path / "lake" / "_metaindex" if kind == "delta" else tmp_path / "_metaindex" / "plain"
    assert (indexes / "stats").is_dir()
    before = {p for p in tmp_path.rglob("*") if p.is_file()}
    inside = [lake.path, f"{lake.path}/sub/out", f"file:{lake.path}/out", str(tmp_path / "link" / "out")]
    for target in [*inside, f"{lake.path}/_delta_log/x", str(indexes / "stats" / "out"), str(indexes), str(other)]:
        with pytest.raises(mi.ArgumentError, match="choose another folder"):
            lake.export_index("stats", target, format=format_, overwrite=True)
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == before
    lake.export_index("stats", str(tmp_path / f"{lake.path}-out"), format=format_)
    lake.export_index("stats", f"{lake.path}/_exports", format=format_)
    assert mi.open_table(lake.path).scan().to_arrow().num_rows == (2 if kind == "files" else 4)


def test_a_commit_on_top_of_an_export_is_somebody_elses(tmp_path: Path) -> None:
    lake, out = table(tmp_path), tmp_path / "out"
    lake.export_index("stats", str(out))
    deltalake.DeltaTable(str(out / "files")).delete("size_bytes > 0")
    with pytest.raises(mi.ArgumentError, match="no export wrote"):
        lake.export_index("stats", str(out), overwrite=True)


KEYED = (
    mi.Values("i", "s"),
    mi.Values("i", "s", "f", "d", ("i", "s"), by="value"),
    mi.ValueList("s", limit=2),
    mi.Bloom("s"),
)
ROWS: list[dict[str, list[Any]]] = [
    {"i": [1, -2, None], "s": ["a", "é", "x" * 300], "f": [0.5, math.nan, -0.0],
        "d": [Decimal("1.50"), None, Decimal("-9.99")]},
    {"i": [7, 7, 7], "s": ["a", None, "a"], "f": [None, -math.inf, 2.0], "d": [Decimal("0.01")] * 3},
]  # fmt: skip
SCHEMA = pa.schema([("i", pa.int64()), ("s", pa.string()), ("f", pa.float64()), ("d", pa.decimal128(20, 2))])


@pytest.mark.parametrize("format_", FORMATS)
def test_keys_are_told_with_their_values(tmp_path: Path, format_: Any) -> None:
    root, out = str(tmp_path / "lake"), tmp_path / "out"
    paths = []
    for rows in ROWS:
        deltalake.write_deltalake(root, pa.table(rows, schema=SCHEMA), mode="append")
        (new,) = set(mi.open_table(root).prune("i IS NULL OR i IS NOT NULL").files.paths.to_pylist()) - set(paths)
        paths.append(new)
    mi.open_table(root).create_index("find", *KEYED, builder="local")

    said = mi.open_table(root).export_index("find", str(out), format=format_)

    assert said.rows["keys"] == 2 * 9
    keyed = {(paths.index(r["path"]), r["kind"], r["columns"]): r for r in read(out, "keys", format_)}
    assert not keyed[0, "value_lists", "s"]["keyed"]  # more than two
    assert keyed[1, "value_lists", "s"]["keyed"]
    assert keyed[0, "bloom_filters", "s"]["filter_bytes"] % 32 == 0
    assert keyed[0, "bloom_filters", "s"]["filter_bytes"] > 0
    assert keyed[0, "values", "i"]["filter_bytes"] is None
    values: dict[tuple[int, str, str], set[str | None]] = {}
    for row in read(out, "key_values", format_):
        at = paths.index(row["path"]), row["kind"], row["columns"]
        values.setdefault(at, set()).add("NULL" if row["is_null"] else row["hash"] or row["value"])
    assert values[0, "value_keys", "i"] == {"1", "-2", "NULL"}
    assert values[0, "value_keys", "s"] == {"a", "é", None}  # the third was cut
    assert values[0, "value_keys", "f"] == {"0.5", "nan", "0.0"}
    assert values[1, "value_keys", "f"] == {"NULL", "-inf", "2.0"}
    assert values[0, "value_keys", "d"] == {"1.50", "NULL", "-9.99"}
    assert values[0, "value_keys", "i,s"] == {'["1", "a"]', '["-2", "é"]'}
    assert values[1, "value_lists", "s"] == {"a", "NULL"}
    one = f"{xxhash.xxh64_intdigest((7).to_bytes(8, 'little')):064b}"
    assert [one.startswith(str(head)) for head in values[1, "values", "i"]] == [True]
    assert not [row for row in read(out, "key_values", format_) if row["kind"] == "bloom_filters"]


@pytest.mark.parametrize("format_", FORMATS)
def test_parts_are_written_one_after_another(tmp_path: Path, format_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 100)
    monkeypatch.setattr(parts, "GROUP_ROWS", 2)
    lake, out = table(tmp_path), tmp_path / "out"

    said = lake.export_index("stats", str(out), format=format_)

    assert len(list((out / "column_stats").rglob("*.parquet"))) == 3
    assert len(read(out, "column_stats", format_)) == said.rows["column_stats"] == 6


@pytest.mark.parametrize("format_", FORMATS)
def test_an_export_that_fails_leaves_no_part(tmp_path: Path, format_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 100)
    monkeypatch.setattr(parts, "GROUP_ROWS", 1)
    lake, out = table(tmp_path), tmp_path / "out"
    statistics = list(Path(lake.indexes()[0].location).glob("partition_stats/*/*.mix"))
    statistics[-1].write_bytes(statistics[-1].read_bytes()[:-3])

    with pytest.raises(mi.DamagedIndexError):
        lake.export_index("stats", str(out), format=format_)

    assert not list(out.glob("column_stats/**/*.parquet"))


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.ArgumentError, match="'delta' or 'iceberg'"):
        table(tmp_path).export_index("stats", str(tmp_path / "out"), format="hudi")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EIO])
def test_where_the_target_takes_no_files_the_cure_is_another_target(tmp_path: Path, number: int) -> None:
    said = mapped(OSError(number, os.strerror(number)), f"{tmp_path}/none/x", "write")
    with pytest.raises(type(said), match="export to another folder") as told, unwritten_export():
        raise said
    assert "index_location" not in str(told.value)


def test_a_target_below_a_file_is_told_with_its_cure(tmp_path: Path) -> None:
    lake = table(tmp_path)
    (tmp_path / "out").write_text("")
    with pytest.raises(mi.MetaIndexError, match="export to another folder"):
        lake.export_index("stats", tmp_path / "out" / "x")
