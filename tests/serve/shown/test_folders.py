"""Folders of Parquet files in pyiceberg and Polars, and what of them is refused by name before anything is read."""

import datetime as dt
import decimal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.query import Handle
from metaindex.serve.clients import Client, client_of
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import Page
from metaindex.serve.shown import shown
from tests.serve.lake import JAVA_1_12 as JAVA
from tests.serve.lake import PYICEBERG_0_12 as PYICEBERG
from tests.serve.shown.careless import served
from tests.serve.shown.seen import as_shown, catalog, in_order
from tests.tables import settle, settled


def rows(first: int, count: int = 10) -> pa.Table:
    ids = range(first, first + count)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "tiny": pa.array([n % 100 for n in ids], pa.int8()),
            "positive": pa.array(ids, pa.uint32()),
            "few": pa.array([n % 7 for n in ids], pa.uint16()),
            "word": pa.array([f"w{n % 3}" for n in ids]).dictionary_encode(),
            "milli": pa.array([dt.datetime(2026, 1, 1) + dt.timedelta(0, n) for n in ids], pa.timestamp("ms")),
            "small": pa.array([decimal.Decimal(n).scaleb(-2) for n in ids], pa.decimal128(9, 2)),
            "list": pa.array([[n, None] for n in ids], pa.list_(pa.int64())),
            "struct": pa.array([{"x": n, "y": [{"z": str(n)}]} for n in ids]),
            "map": pa.array([[("a", n)] for n in ids], pa.map_(pa.string(), pa.int64())),
            "a b.c": pa.array([n * 2 for n in ids], pa.int32()),
        }
    )


def test_odd_names_and_columns_of_many_types(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake", {"part 00%41#.parquet": rows(0), "ü/b %2F.parquet/c#.parquet": rows(10)})
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "id = 17", "id < 5", "positive = 17", "few = 3", "word = 'w1'")


def test_hive_partitions(tmp_path: Path) -> None:
    files = {
        f"region={region}/day=2026-01-0{day}/n={n}/a.parquet": pa.table({"id": [place, place + 100]})
        for place, (region, day, n) in enumerate([("eu", 1, 5), ("a%2Fb", 2, 6), ("__HIVE_DEFAULT_PARTITION__", 1, 7)])
    }
    lake = settled(tmp_path / "lake", files)
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "id = 101", "region = 'eu'", "region IS NULL", "region = 'a/b'", "n = 6")


def test_files_that_lack_columns_or_have_more(tmp_path: Path) -> None:
    lake = settled(
        tmp_path / "lake", {"a.parquet": pa.table({"id": [1], "b": ["x"]}), "b.parquet": rows(5).drop(["word"])}
    )
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "id = 1", "b IS NULL", "b = 'x'")


def test_a_plan_is_of_the_listing_that_was_loaded(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1]})})
    with served(lake=lake) as (address, careless):
        theirs = catalog(address).load_table("lake.lake")
        then = theirs.current_snapshot()
        assert then is not None
        settled(lake, {"b.parquet": pa.table({"id": [2]})})
        assert theirs.scan(snapshot_id=then.snapshot_id).to_arrow()["id"].to_pylist() == [1]
        assert sorted(theirs.scan().to_arrow()["id"].to_pylist()) == [1, 2]
        assert careless.plans[0]["snapshot-id"] == then.snapshot_id
    with pytest.raises(Refusal, match="none of snapshot id"):
        shown(Handle.open(lake)).snapshot(then.snapshot_id, own_schema=True)


def test_a_listing_that_an_index_keeps_is_planned_by_any_process(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1]})})
    mi.open_table(lake).create_index("stats", mi.ColumnStats(), builder="local")
    then = shown(Handle.open(lake)).snapshot(None, own_schema=True).id
    settled(lake, {"b.parquet": pa.table({"id": [2]})})
    found = shown(Handle.open(lake)).snapshot(then, own_schema=True)
    assert found.snapshot.files.paths.to_pylist() == ["a.parquet"]


def test_a_file_that_is_gone_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1]}), "b.parquet": pa.table({"id": [2]})})
    table = shown(Handle.open(lake))
    then = table.snapshot(None, own_schema=True)
    (lake / "b.parquet").unlink()
    with pytest.raises(Refusal, match=r"'b.parquet' .* cannot be read"):
        plan(then, PYICEBERG)


def test_a_file_that_was_replaced_after_its_footer_was_read_is_refused(tmp_path: Path) -> None:
    """The files that a page names alone are looked at."""
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1, 2]}), "b.parquet": pa.table({"id": [3]})})
    table = shown(Handle.open(lake))
    then = table.snapshot(None, own_schema=True)
    assert [task["data-file"]["record-count"] for task in plan(then, PYICEBERG).tasks] == [2, 1]  # type: ignore[index]
    pq.write_table(with_ids(pa.table({"id": [7, 8, 9]}), 1), lake / "a.parquet")
    held = table.snapshot(then.id, own_schema=True)
    with pytest.raises(Refusal, match=r"a.parquet .*was replaced.*load the table anew"):
        plan(held, PYICEBERG)
    assert len(held.tasks(np.array([1]), PYICEBERG).tasks) == 1


def plan(version: Any, client: Client) -> Page:
    page: Page = version.tasks(np.arange(len(version.snapshot.files)), client)
    return page


def of_folder(folder: Path, content: pa.Table, **how: Any) -> Any:
    """The current version of a folder whose first file is plain, and whose second one has this content."""
    return of_files(
        folder, pa.table({"id": pa.array([1], pa.int64()), "v": pa.array([None], pa.int64())}), content, **how
    )


def of_files(folder: Path, *contents: pa.Table, **how: Any) -> Any:
    folder.mkdir()
    for place, content in enumerate(contents):
        pq.write_table(content, folder / f"{place}.parquet", **(how if place == len(contents) - 1 else {}))
    settle(folder)
    return shown(Handle.open(folder)).snapshot(None, own_schema=True)


def with_ids(table: pa.Table, *ids: int) -> pa.Table:
    fields = [
        field.with_metadata({"PARQUET:field_id": str(number)}) for field, number in zip(table.schema, ids, strict=True)
    ]
    return pa.table(table.columns, schema=pa.schema(fields))


MOMENT = dt.datetime(2026, 1, 1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (with_ids(pa.table({"id": [1], "v": [2]}), 2, 1), "field ids of its own"),
        (with_ids(pa.table({"id": [1], "v": [2]}), 1, 2), "field ids of its own"),
        (pa.table({"id": [1], "V": [2]}), "'V' for 'v'"),
        (pa.table({"id": [1], "v": [2], "V": [3]}), "for 'v'"),
        (pa.table({"id": [1], "v": ["text"]}), "'v' as string"),
        (pa.table({"id": [1], "v": pa.array([2], pa.uint64())}), "'v' as uint64"),
        (pa.table({"id": [1], "v": pa.array([2], pa.uint32())}), "'v' as uint32"),
        (pa.table({"id": [1], "v": [2.5]}), "'v' as double"),
        (pa.table({"id": [1], "v": pa.array([MOMENT], pa.timestamp("us"))}), "'v' as timestamp"),
        (pa.table({"id": [1], "v": pa.array([decimal.Decimal(2)], pa.decimal128(9, 2))}), "'v' as decimal"),
        (pa.table({"id": [1], "v": [[2]]}), "'v' in a shape"),
        (pa.table({"id": [1], "v": [{"v": 2}]}), "'v' in a shape"),
    ],
)
def test_a_file_that_clients_would_read_otherwise_is_refused(tmp_path: Path, content: pa.Table, said: str) -> None:
    version = of_folder(tmp_path / "lake", content)
    with pytest.raises(Refusal, match=rf"'1.parquet' .*{said}"):
        plan(version, PYICEBERG)
    assert len(version.tasks(np.arange(1), PYICEBERG).tasks) == 1


def test_a_file_of_narrower_numbers_is_shown(tmp_path: Path) -> None:
    version = of_folder(tmp_path / "lake", pa.table({"id": [7], "v": pa.array([2], pa.int32())}))
    assert [task["data-file"]["record-count"] for task in plan(version, JAVA).tasks] == [1, 1]


def test_a_partition_column_inside_of_files_is_refused(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake", {"p=1/a.parquet": pa.table({"id": [1], "p": [2]})})
    with pytest.raises(Refusal, match=r"a.parquet' .* holds the partition column 'p' itself"):
        plan(shown(Handle.open(lake)).snapshot(None, own_schema=True), PYICEBERG)


def test_days_of_the_older_calendar_are_refused(tmp_path: Path) -> None:
    days = pa.table({"d": [dt.date(1500, 1, 1)]})
    old = days.replace_schema_metadata({"org.apache.spark.legacyDateTime": "", "org.apache.spark.version": "3.5.0"})
    version = of_files(tmp_path / "lake", days, old)
    with pytest.raises(Refusal, match=r"'1.parquet' .* calendar before 1582"):
        plan(version, PYICEBERG)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([1], pa.timestamp("ns")), r"timestamp\[ns\]"),
        (pa.array([1], pa.time32("ms")), r"time32\[ms\]"),
        (pa.array([1], pa.time64("ns")), r"time64\[ns\]"),
        (pa.array([1], pa.uint64()), "uint64"),
        (pa.array([b"ab"], pa.binary(2)), r"fixed_size_binary\[2\]"),
        (pa.array([None], pa.null()), "null"),
        (pa.array([1.5], pa.float16()), "halffloat"),
        (pa.array([[{"t": 1}]], pa.list_(pa.struct([("t", pa.time32("ms"))]))), r"time32\[ms\]"),
    ],
)
def test_a_column_that_no_client_was_seen_to_read_is_refused_by_name(
    tmp_path: Path, column: pa.Array, said: str
) -> None:
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1], "odd": column})})
    with pytest.raises(Refusal, match=rf"'odd.*{said}"):
        shown(Handle.open(lake)).load(PYICEBERG)


@pytest.mark.parametrize(
    ("column", "fact"),
    [
        (pa.array([1], pa.timestamp("ms")), "milliseconds"),
        (pa.array([1], pa.timestamp("ms", "UTC")), "milliseconds"),
        (pa.array([{"x": [1]}], pa.struct([("x", pa.list_(pa.timestamp("ms")))])), "milliseconds"),
        (pa.array([1], pa.uint8()), "unsigned"),
        (pa.array([1], pa.time64("us")), "time"),
    ],
)
def test_a_column_that_spark_reads_wrong_is_refused_for_spark_alone(
    tmp_path: Path, column: pa.Array, fact: str
) -> None:
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1], "odd": column})})
    table = shown(Handle.open(lake))
    for refused in (lambda: table.load(JAVA), lambda: plan(table.snapshot(None, own_schema=True), JAVA)):
        with pytest.raises(Refusal, match=rf"iceberg-java 1.12.0 .*'odd' .*\({fact}\)"):
            refused()
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "id = 1")


def test_a_file_of_milliseconds_among_others_is_refused_for_spark_alone(tmp_path: Path) -> None:
    moments = [pa.table({"t": pa.array([MOMENT], pa.timestamp(unit))}) for unit in ("us", "ms")]
    version = of_files(tmp_path / "lake", moments[0], moments[1], moments[0])
    assert version.snapshot.schema.arrow().field("t").type == pa.timestamp("us")
    with pytest.raises(Refusal, match="holds milliseconds"):
        plan(version, JAVA)
    with served(lake=tmp_path / "lake") as (address, _):
        as_shown(address, tmp_path / "lake", "lake")


def test_a_client_that_nobody_tried_is_refused(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake", {"a.parquet": pa.table({"id": [1]})})
    table, stranger = shown(Handle.open(lake)), replace(JAVA, name="Stranger", tried=False)
    for refused in (lambda: table.load(stranger), lambda: plan(table.snapshot(None, own_schema=True), stranger)):
        with pytest.raises(Refusal, match=r"Stranger 1.12.0 was not"):
            refused()
    with pytest.raises(Refusal, match=r"duckdb 1.5.5 was not"):
        table.load(client_of({"user-agent": "duckdb/v1.5.5(linux_amd64) python/3.11"}))


@pytest.mark.parametrize(("name", "content"), [("a.csv", "id,v\n1,2\n"), ("a.json", '{"id": 1}\n')])
def test_texts_cannot_be_shown(tmp_path: Path, name: str, content: str) -> None:
    lake = settled(tmp_path / "lake", {name: content})
    with pytest.raises(Refusal, match=rf"lake is {name[2:]}; read it by metaindex itself"):
        shown(Handle.open(lake))


def test_a_write_leaves_no_row_behind(tmp_path: Path) -> None:
    lake = settled(tmp_path / "lake" / "lake", {"a.parquet": pa.table({"id": [1]})})
    before = sorted(lake.rglob("*"))
    with mi.open_server(lake.parent) as server:
        theirs = catalog(server.uri).load_table("lake.lake")
        with pytest.raises(ValueError, match="read-only"):
            theirs.append(pa.table({"id": [2]}))
        assert in_order(theirs.scan().to_arrow().to_pylist()) == in_order([{"id": 1}])
    assert sorted(lake.rglob("*")) == before
