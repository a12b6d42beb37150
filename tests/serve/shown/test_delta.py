"""Delta tables in pyiceberg and Polars: every row as metaindex reads it, although each plan keeps every file."""

import datetime as dt
import decimal
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.exceptions import BadRequestError

import metaindex as mi
from metaindex.query import Handle
from metaindex.serve.clients import client_of
from metaindex.serve.refusal import Refusal
from metaindex.serve.shown import shown
from tests.formats.delta.hand import add, column, commit, metadata, protocol
from tests.query.aggregates.lakes import HandDelta
from tests.serve.shown.careless import served
from tests.serve.shown.seen import as_shown, catalog, in_order

IDS = range(60)
UTC = dt.UTC


def typed(ids: range = IDS) -> pa.Table:
    start = dt.datetime(2026, 1, 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "tiny": pa.array(ids, pa.int8()),
            "short": pa.array(ids, pa.int16()),
            "number": pa.array([n if n % 3 else None for n in ids], pa.int32()),
            "single": pa.array([n / 3 for n in ids], pa.float32()),
            "double": pa.array([float("nan") if n % 7 == 0 else n / 3 for n in ids]),
            "text": [f"ü{n}" if n % 5 else None for n in ids],
            "bytes": pa.array([bytes([n]) for n in ids], pa.binary()),
            "truth": [n % 2 == 0 for n in ids],
            "day": pa.array([start.date() + dt.timedelta(n) for n in ids]),
            "instant": pa.array(
                [start.replace(tzinfo=UTC) + dt.timedelta(0, n) for n in ids], pa.timestamp("us", "UTC")
            ),
            "clock": pa.array([start + dt.timedelta(0, n) for n in ids], pa.timestamp("us")),
            "small": pa.array([decimal.Decimal(n).scaleb(-2) for n in ids], pa.decimal128(9, 2)),
            "large": pa.array([decimal.Decimal(n).scaleb(-4) for n in ids], pa.decimal128(38, 4)),
            "list": pa.array([[n, None] for n in ids], pa.list_(pa.int64())),
            "struct": pa.array([{"x": n, "y": {"z": str(n)}} if n % 4 else None for n in ids]),
            "map": pa.array([[("a", n)] for n in ids], pa.map_(pa.string(), pa.int64())),
            "structs": pa.array([[{"q": n}] for n in ids]),
        }
    )


def test_columns_of_every_type(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write_deltalake(lake, typed(range(30)))
    write_deltalake(lake, typed(range(30, 60)), mode="append")
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "id = 37", "number IS NULL", "text = 'ü7'", "single > 9.5", "truth = true")


def partitioned() -> pa.Table:
    moment = dt.datetime(2026, 1, 1, 10)
    return pa.table(
        {
            "id": pa.array(IDS, pa.int64()),
            "text": [None if n % 5 == 0 else f"a b/{n % 5}%=é" for n in IDS],
            "empty": ["" if n % 7 == 0 else "z" for n in IDS],
            "day": pa.array([dt.date(2026, 1, 1 + n % 2) for n in IDS]),
            "number": pa.array([n % 2 or None for n in IDS], pa.int32()),
            "instant": pa.array([moment.replace(minute=n % 2, tzinfo=UTC) for n in IDS], pa.timestamp("us", "UTC")),
            "truth": [n % 2 == 0 for n in IDS],
            "double": [n % 2 / 4 for n in IDS],
        }
    )


@pytest.mark.parametrize(
    "columns", [("text", "number"), ("text", "empty", "day", "number", "instant", "truth", "double")]
)
def test_partition_values_are_constants(tmp_path: Path, columns: tuple[str, ...]) -> None:
    lake = tmp_path / "lake"
    write_deltalake(lake, partitioned(), partition_by=[*columns])
    conditions = [
        "id = 37",
        "text IS NULL",
        "text = 'a b/3%=é'",
        "number = 1",
        "number IS NULL",
        "text IS NOT NULL AND text <> 'zz'",
    ]
    with served(lake=lake) as (address, careless):
        as_shown(address, lake, "lake", *conditions, "empty = ''", "truth = true", "double = 0.25")
        assert catalog(address).load_table("lake.lake").scan("day = '2026-01-02'").count() == len(IDS) // 2
        assert len(careless.plans) > len(conditions)


def test_a_partition_of_decimals_is_refused_for_pyiceberg(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    table = pa.table({"id": [1], "d": pa.array([decimal.Decimal("1.50")], pa.decimal128(9, 2))})
    write_deltalake(lake, table, partition_by=["d"])
    with (
        served(lake=lake) as (address, _),
        pytest.raises(BadRequestError, match=r"pyiceberg 0.12.0 .* 'd' .*decimal partition"),
    ):
        catalog(address).load_table("lake.lake")


def test_partition_columns_are_refused_for_pyiceberg_0_11(tmp_path: Path) -> None:
    """It has NULL for a partition value of "", 0 or false."""
    lake = tmp_path / "lake"
    write_deltalake(lake, pa.table({"id": [1], "p": [False]}), partition_by=["p"])
    table = shown(Handle.open(lake), None)
    table.load(client_of({"user-agent": "PyIceberg/0.12.0"}))
    with pytest.raises(Refusal, match=r"pyiceberg 0.11.1 .* 'p' .*partition values"):
        table.load(client_of({"user-agent": "PyIceberg/0.11.1"}))


def test_deleted_rows(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    lake = HandDelta(tmp_path / "lake", schema)
    for first in (0, 20, 40):
        ids = range(first, first + 20)
        lake.append(pa.table({"id": pa.array(ids, pa.int64()), "text": [f"t{n}" for n in ids]}, schema=schema))
    lake.delete(0, {1, 3})
    lake.delete(2, {0, 19})
    lake.delete(0, {5})
    with served(tmp_path / "cache", lake=lake.root) as (address, _):
        as_shown(address, lake.root, "lake", "id < 10", "id >= 40", "text = 't5'")
        theirs = catalog(address).load_table("lake.lake")
        for version, rows in enumerate(lake.rows):
            seen = theirs.scan(snapshot_id=version + 1).to_arrow()
            assert in_order(seen.to_pylist()) == in_order(rows), version
    files = [*(tmp_path / "cache").rglob("*.puffin")]
    assert len(files) == 3


def test_without_a_folder_for_vectors_a_table_that_has_some_is_refused(tmp_path: Path) -> None:
    lake = HandDelta(tmp_path / "lake", pa.schema([("id", pa.int64())]))
    lake.append(pa.table({"id": [1, 2]}))
    lake.delete(0, {1})
    with served(lake=lake.root) as (address, _), pytest.raises(BadRequestError, match=r"Puffin.*cache="):
        catalog(address).load_table("lake.lake").scan().to_arrow()


def test_older_versions_with_their_own_columns(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write_deltalake(lake, pa.table({"id": [1], "a": ["x"]}))
    write_deltalake(lake, pa.table({"id": [2], "a": ["y"], "b": [5]}), mode="append", schema_mode="merge")
    write_deltalake(lake, pa.table({"id": [3], "a": [7]}), mode="overwrite", schema_mode="overwrite")
    with served(lake=lake) as (address, careless):
        theirs = catalog(address).load_table("lake.lake")
        for version in range(3):
            ours = mi.open_table(lake).scan(version=version).to_arrow()
            seen = theirs.scan(snapshot_id=version + 1).to_arrow()
            assert in_order(seen.to_pylist()) == in_order(ours.to_pylist()), version
        shown = careless.tables["lake"]
        for number, names in ((2, ["id", "b"]), (None, ["id"])):  # nothing is skipped by a name that means two columns
            assert shown.snapshot(number, own_schema=False).snapshot.schema.names == names
            assert "a" in shown.snapshot(number, own_schema=True).snapshot.schema.names


def test_twenty_versions_with_the_times_of_their_commits(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    for n in range(23):
        write_deltalake(lake, pa.table({"id": [n]}), mode="append")
    ours = mi.open_table(lake)
    with served(lake=lake) as (address, _):
        theirs = catalog(address).load_table("lake.lake")
        said = [(s.snapshot_id, s.timestamp_ms) for s in theirs.snapshots()]
        assert said == [(n + 1, ours.snapshot(n).timestamp_ms) for n in range(3, 23)]
        assert [theirs.scan(snapshot_id=number).count() for number, _ in said] == list(range(4, 24))


def test_a_plan_is_of_the_version_that_it_names(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    write_deltalake(lake, pa.table({"id": [1]}))
    with served(lake=lake) as (address, _):
        theirs = catalog(address).load_table("lake.lake")
        write_deltalake(lake, pa.table({"id": [2]}), mode="append")
        assert theirs.scan(snapshot_id=1).to_arrow()["id"].to_pylist() == [1]
        assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == [1, 2]
        with pytest.raises(BadRequestError, match="none of snapshot id 99"):
            theirs.catalog._plan_table_scan(  # type: ignore[attr-defined]
                ("lake", "lake"), _plan_of(99)
            )


def test_a_table_made_anew_at_its_place_is_not_answered_by_what_was_held(tmp_path: Path) -> None:
    lake = tmp_path / "lake"

    def write(*values: int) -> None:
        for value in values:
            write_deltalake(lake, pa.table({"v": [value]}), mode="append")

    write(1, 2)
    table = shown(Handle.open(lake))
    before = {number: table.snapshot(number, own_schema=True).snapshot.files.paths.to_pylist() for number in (1, 2)}
    shutil.rmtree(lake / "_delta_log")
    write(10, 20, 30)
    for number in (1, 2, 3):
        held, fresh = (t.snapshot(number, own_schema=True) for t in (table, shown(Handle.open(lake))))
        assert held.snapshot.files.paths.to_pylist() == fresh.snapshot.files.paths.to_pylist() != before.get(number)


def _plan_of(number: int) -> Any:
    from pyiceberg.catalog.rest.scan_planning import PlanTableScanRequest

    return PlanTableScanRequest(snapshot_id=number)


def test_a_write_leaves_nothing_behind(tmp_path: Path) -> None:
    lake = tmp_path / "lake" / "lake"
    write_deltalake(lake, pa.table({"id": [1]}))
    before = sorted(lake.rglob("*"))
    with mi.open_server(lake.parent) as server:
        theirs = catalog(server.uri).load_table("lake.lake")
        with pytest.raises(ValueError, match="read-only"):
            theirs.append(pa.table({"id": [2]}))
        assert in_order(theirs.scan().to_arrow().to_pylist()) == in_order([{"id": 1}])
    assert sorted(lake.rglob("*")) == before
    assert DeltaTable(lake).version() == 0


def test_partition_columns_that_files_hold_too(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    files = []
    for place, value in enumerate(["a", None]):
        content = pa.table({"id": [place, place + 10], "p": pa.array([value, value], pa.string())})
        lake.mkdir(exist_ok=True)
        pq.write_table(content, lake / f"{place}.parquet")
        size = (lake / f"{place}.parquet").stat().st_size
        files.append(add(f"{place}.parquet", size=size, partitionValues={"p": value}))
    commit(lake, 0, protocol(), metadata(column("id"), column("p", "string"), partitions=["p"]), *files)
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "p = 'a'", "p IS NULL", "id = 10")


def test_timestamps_of_96_bits(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    at = [dt.datetime(1960, 1, 1, 1, 2, 3, 4, UTC), None, dt.datetime(2026, 1, 1, tzinfo=UTC)]
    content = pa.table({"id": [1, 2, 3], "at": pa.array(at, pa.timestamp("us", "UTC"))})
    pq.write_table(content, lake / "f", use_deprecated_int96_timestamps=True)
    size = (lake / "f").stat().st_size
    commit(lake, 0, protocol(), metadata(column("id"), column("at", "timestamp")), add("f", size=size))
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "id = 1", "at IS NULL")
