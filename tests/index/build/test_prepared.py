"""Statistics from the table's log: files are not opened where it says enough, and no file is dropped that footers would
have kept for a row."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.formats import Trust
from tests.index.actions.delta_history import DeltaHistory
from tests.tables import iceberg_lake

NAMES = ["ant", "bee", "a name of more than thirty-two characters", "zebra", None]


def rows(number: int, *, floats: bool = False) -> pa.Table:
    columns = {
        "id": pa.array(range(number * 10, number * 10 + 10), pa.int64()),
        "name": pa.array([NAMES[(number + i) % 5] for i in range(10)]),
        "day": pa.array([dt.date(2026, 1, 1 + number)] * 10),
        "at": pa.array(
            [dt.datetime(2026, 1, 1 + number, 1, 2, 3, 456789, tzinfo=dt.UTC)] * 10, pa.timestamp("us", "UTC")
        ),
        "price": pa.array([Decimal(number) + Decimal(i) / 100 for i in range(10)], pa.decimal128(10, 2)),
        "none": pa.array([None] * 10, pa.int32()),
    }
    if floats:
        columns["weight"] = pa.array([float("nan") if i == number else i / 7 for i in range(10)], pa.float64())
    return pa.table(columns)


QUESTIONS = [
    "id = 13",
    "id > 25 AND id < 40",
    "name = 'zebra' AND id < 5",
    "name LIKE 'a name of more than thirty-two%'",
    "day >= DATE '2026-01-03'",
    "at = TIMESTAMP '2026-01-02 01:02:03.456789'",
    "price > 2.05",
    "none IS NULL",
    "none IS NOT NULL",
    "name IS NULL",
]


def zero(root: Path) -> None:
    for path in root.glob("*.parquet"):
        path.write_bytes(b"\0" * path.stat().st_size)


def test_a_refresh_reads_no_file_that_the_log_tells_of(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    for number in range(3):
        deltalake.write_deltalake(str(root), rows(number), mode="append")
    table = mi.open_table(str(root))
    table.create_index("footers", mi.ColumnStats(), builder="local")
    table.create_index("log", mi.ColumnStats(trust_log=True), builder="local")
    for number in range(3, 6):
        deltalake.write_deltalake(str(root), rows(number), mode="append")
    table.refresh_index("footers", builder="local")
    zero(root)
    outcome = table.refresh_index("log", builder="local")
    assert [run.files for run in outcome.entry.content.runs] == [3, 3]
    assert [run.uncovered_files for run in outcome.entry.content.runs] == [0, 0]
    assert set(table.statistics("log", "id").column("trust").to_pylist()) == {int(Trust.LOG)}
    for question in QUESTIONS:
        footers, log = (set(table.prune(question, indexes=[name]).paths) for name in ("footers", "log"))
        assert footers <= log
        assert footers == log or "LIKE" in question or "at =" in question, question


def test_floats_are_read_unless_they_need_not_be(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    for number in range(2):
        deltalake.write_deltalake(str(root), rows(number, floats=True), mode="append")
    table = mi.open_table(str(root))
    table.create_index("counted", mi.ColumnStats(trust_log=True), builder="local")
    assert set(table.statistics("counted", "weight").column("trust").to_pylist()) == {int(Trust.COMPUTED)}
    assert table.statistics("counted", "weight").column("nan_count").to_pylist() == [1, 1]
    zero(root)
    table.create_index("stated", mi.ColumnStats(trust_log=True, scan_floats=False), builder="local")
    assert table.prune("id = 13", indexes=["stated"]).kept_files == 1
    assert table.prune("weight > 100", indexes=["stated"]).kept_files == 2


def test_files_without_statistics_are_opened(tmp_path: Path) -> None:
    lake = DeltaHistory(tmp_path / "lake")
    table = mi.open_table(str(lake.root))
    table.create_index("log", mi.ColumnStats(trust_log=True), builder="local")
    assert set(table.statistics("log", "id").column("trust").to_pylist()) == {int(Trust.FOOTER)}
    assert table.prune("id = 15").kept_files == 1


@pytest.mark.parametrize("refreshed", [False, True])
def test_iceberg_metrics_are_taken(tmp_path: Path, refreshed: bool) -> None:
    lake = iceberg_lake(tmp_path)

    def grow(*numbers: int) -> None:
        for number in numbers:
            lake.append(rows(number).drop(["none"]))

    grow(0, 1, 2)
    table = lake.open()
    table.create_index("log", mi.ColumnStats("id", "day", trust_log=True), builder="local")
    if refreshed:
        grow(3, 4, 5)
        table.refresh_index("log", builder="local")
    assert set(table.statistics("log", "id").column("trust").to_pylist()) == {int(Trust.LOG)}
    for question, kept in (("id = 13", 1), ("day >= DATE '2026-01-03'", 4 if refreshed else 1)):
        assert table.prune(question, indexes=["log"]).kept_files == kept
