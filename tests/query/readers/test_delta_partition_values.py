"""Partition values of Delta as rows: an empty text, one that reads like NULL, a time without a zone."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from tests.formats.delta.hand import add, column, commit, metadata, protocol


def made(path: Path, type_: str, *texts: str | None) -> str:
    adds = []
    for n, text in enumerate(texts):
        pq.write_table(pa.table({"id": pa.array([n], pa.int64())}), path / f"{n}.parquet")
        adds.append(
            add(
                f"{n}.parquet",
                size=(path / f"{n}.parquet").stat().st_size,
                partitionValues={"p": text},
                stats={"numRecords": 1},
            )
        )
    commit(path, 0, protocol(), metadata(column("id"), column("p", type_), partitions=["p"]), *adds)
    return str(path)


def ids(table: mi.Table, predicate: str) -> list[int]:
    """What a scan gives, and that no file was lost for it."""
    rows = table.scan(predicate).to_arrow().column("id").to_pylist()
    assert {path.rpartition("/")[2] for path in table.prune(predicate).paths} >= {f"{n}.parquet" for n in rows}
    return sorted(rows)


def test_an_empty_text_and_one_that_reads_like_null_are_values(tmp_path: Path) -> None:
    table = mi.open_table(made(tmp_path, "string", "", None, "__HIVE_DEFAULT_PARTITION__", "x"))
    for _ in ("log", "index"):
        assert table.scan().to_arrow().sort_by("id").column("p").to_pylist() == [
            "",
            None,
            "__HIVE_DEFAULT_PARTITION__",
            "x",
        ]
        assert ids(table, "p = ''") == [0]
        assert ids(table, "p IS NULL") == [1]
        assert ids(table, "p = '__HIVE_DEFAULT_PARTITION__'") == [2]
        assert ids(table, "p <> 'x'") == [0, 2]
        if not table.indexes():
            table.create_index("stats", mi.ColumnStats(), builder="local")


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    table = mi.open_table(made(tmp_path, "integer", "7", "x", "", None, "99999999999"))
    assert ids(table, "p IS NULL") == [1, 2, 3, 4]
    assert ids(table, "p = 7") == [0]


def test_a_time_without_a_zone_is_one_of_the_configured_zone(tmp_path: Path) -> None:
    path = made(tmp_path, "timestamp", "2024-01-01 12:00:00", "2024-01-01T12:00:00.000000Z")
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    shown = mi.open_table(path).scan().to_arrow().sort_by("id").column("p").to_pylist()
    assert shown == [noon, noon]
    there = mi.open_table(path, config=mi.Config(time_zone="America/New_York"))
    for scan in (there.scan(), there.scan("id >= 0")):
        assert scan.to_arrow().sort_by("id").column("p").to_pylist() == [noon + dt.timedelta(hours=5), noon]
    assert ids(there, "p >= TIMESTAMP '2024-01-01 12:00:00Z' AND p < TIMESTAMP '2024-01-01 13:00:00Z'") == [1]
