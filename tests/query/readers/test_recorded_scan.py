"""An entry that records other columns of a version than the table has, sealed as if it were right: every engine gives
the table's rows, and the index is left out with its reason from then on."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.index.log.sealed import seal
from metaindex.query.readers.scan import Scan
from tests.duck import connected
from tests.tables import FORMATS, Lake

ENGINES: dict[str, Callable[[Scan], pa.Table]] = {
    "arrow": lambda scan: scan.to_arrow(),
    "batches": lambda scan: pa.Table.from_batches(scan.to_batches()),
    "reader": lambda scan: scan.to_reader().read_all(),
    "stream": pa.table,
    "dataset": lambda scan: scan.to_dataset().to_table(filter=pa.compute.field("id") >= 0),
    "polars": lambda scan: scan.to_polars().collect().to_arrow(),
    "duckdb": lambda scan: scan.to_duckdb(connected()).filter("id >= 0").to_arrow_table(),
    "whole": lambda scan: scan.whole().to_arrow(),
}


def recorded_as(**types: pa.DataType) -> Callable[[list[dict[str, Any]], pa.Schema], pa.Schema]:
    def change(fields: list[dict[str, Any]], schema: pa.Schema) -> pa.Schema:
        for at, one in enumerate(fields):
            if one["name"] in types:
                schema = schema.set(at, pa.field(one["name"], types[one["name"]]))
                one["type"] = str(types[one["name"]])
        return schema

    return change


def without(name: str) -> Callable[[list[dict[str, Any]], pa.Schema], pa.Schema]:
    def change(fields: list[dict[str, Any]], schema: pa.Schema) -> pa.Schema:
        at = schema.get_field_index(name)
        del fields[at]
        return schema.remove(at)

    return change


CRAFTED = {
    "a narrower float": recorded_as(f=pa.float32()),
    "a narrower integer": recorded_as(n=pa.int8()),
    "a text": recorded_as(f=pa.string()),
    "the key as a text": recorded_as(id=pa.string()),
    "a column that is missing": without("n"),
}


@pytest.fixture(params=["delta", "parquet", "iceberg"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    found = FORMATS[request.param](tmp_path)
    for first in range(0, 24, 3):
        ids = range(first, first + 3)
        found.append(pa.table({"id": ids, "f": [i / 7 for i in ids], "n": [i * 1_000 for i in ids]}))
    found.open().create_index("find", mi.Values("id"), builder="local")
    return found


def craft(lake: Lake, change: Callable[[list[dict[str, Any]], pa.Schema], pa.Schema]) -> None:
    log = Path(lake.open().indexes(staleness=False)[0].location) / "_log"
    newest = max(path for path in log.iterdir() if path.name[0].isdigit())
    entry = json.loads(newest.read_bytes().split(b"\n")[0])
    for held in entry["content"]["schemas"]:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(held["arrow"])))
        schema = change(held["fields"], schema)
        held["arrow"] = base64.b64encode(schema.serialize().to_pybytes()).decode()
    newest.write_bytes(seal(entry, None))


@pytest.mark.parametrize("crafted", [name for name in CRAFTED if "missing" not in name])
@pytest.mark.slow
def test_the_table_itself_answers_where_an_index_recorded_other_columns(lake: Lake, crafted: str) -> None:
    expected = lake.open(config=mi.Config(use_indexes=False)).scan("id = 23").to_arrow()
    craft(lake, CRAFTED[crafted])
    for name, rows in ENGINES.items():
        assert rows(lake.open().scan("id = 23")).to_pylist() == expected.to_pylist(), name


@pytest.mark.exhaustive(but="delta")
@pytest.mark.parametrize("crafted", ["a narrower float", "a narrower integer", "a column that is missing"])
def test_the_index_is_left_out_with_its_reason_from_then_on(lake: Lake, crafted: str) -> None:
    craft(lake, CRAFTED[crafted])
    table = lake.open()
    scan = table.scan("id = 23", ["n", "f"])
    assert scan.to_arrow().to_pylist() == [{"n": 23_000, "f": 23 / 7}]
    (report,) = [one for one in table.prune("id = 23").indexes if one.name == "find"]
    assert not report.used
    assert "recorded" in report.reason
    assert "mode='full'" in report.reason
    lake.open().refresh_index("find", mode="full", builder="local")
    (report,) = [one for one in table.prune("id = 23").indexes if one.name == "find"]
    assert report.used


@pytest.mark.exhaustive(but="parquet")
@pytest.mark.parametrize("crafted", CRAFTED)
def test_places_are_found_whatever_was_recorded(lake: Lake, crafted: str) -> None:
    craft(lake, CRAFTED[crafted])
    table = lake.open()
    assert [row["matches"] for row in table.locate("id = 23", exact=True).table.to_pylist()] == [1]
    assert [row["matches"] for row in lake.open().search("23", exact=True).table.to_pylist()] == [1]


@pytest.mark.parametrize("lake", ["delta", "iceberg"], indirect=True)
def test_what_is_wrong_with_a_file_is_no_fault_of_the_index(lake: Lake) -> None:
    table = lake.open()
    scan = table.scan("id = 23")
    victim = Path(scan.result.paths[0].removeprefix("file://"))  # type: ignore[union-attr]
    victim.write_bytes(b"PAR1" + bytes(victim.stat().st_size - 8) + b"PAR1")
    with pytest.raises(mi.MetaIndexError):
        scan.to_arrow()
    with pytest.raises(mi.MetaIndexError):
        list(table.scan("id = 23").to_batches())
    assert next(one for one in table.prune("id = 23").indexes if one.name == "find").used
