"""Column mapping, and ids: each column of a client is the table's, whatever names and ids files have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from metaindex.query import Handle
from metaindex.serve.refusal import Refusal
from metaindex.serve.shown import shown
from tests.formats.delta.hand import add, column, commit, metadata, protocol
from tests.serve.lake import JAVA_1_12 as JAVA
from tests.serve.shown.careless import served
from tests.serve.shown.seen import as_shown

MODES = ("name", "id")


def mapped(name: str, number: int, type_: Any = "long") -> dict[str, Any]:
    said = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return column(name, type_, **said)


def file(table: Path, name: str, columns: Mapping[str, tuple[int | None, pa.Array]]) -> dict[str, Any]:
    """Write a file whose columns have these names, ids and values; the action that adds it."""
    fields = [
        pa.field(of, values.type, metadata=None if number is None else {"PARQUET:field_id": str(number)})
        for of, (number, values) in columns.items()
    ]
    table.mkdir(exist_ok=True)
    pq.write_table(pa.table([values for _, values in columns.values()], schema=pa.schema(fields)), table / name)
    return add(name, size=(table / name).stat().st_size)


def of_mode(table: Path, mode: str, *actions: dict[str, Any], fields: Any = (("a", 7), ("b", 3))) -> Path:
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "9"}
    schema = [mapped(*field) for field in fields]
    commit(table, 0, protocol(2), metadata(*schema, configuration=configuration), *actions)
    return table


def numbers(*values: int) -> pa.Array:
    return pa.array(values, pa.int64())


@pytest.mark.parametrize("mode", MODES)
def test_ids_are_the_tables_own_in_files_of_any_order(tmp_path: Path, mode: str) -> None:
    lake = tmp_path / "lake"
    of_mode(
        lake,
        mode,
        file(lake, "1", {"col-7": (7, numbers(1, 2)), "col-3": (3, numbers(10, 20))}),
        file(lake, "2", {"col-3": (3, numbers(30)), "col-9": (9, pa.array(["dropped"])), "col-7": (7, numbers(3))}),
        file(lake, "3", {"col-3": (3, numbers(40))}),
    )
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "a = 2", "b = 30", "a IS NULL")


def test_files_older_than_the_mapping_are_read_by_name(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    old = file(lake, "1", {"col-7": (None, numbers(1)), "col-3": (None, numbers(10))})
    of_mode(lake, "name", old, file(lake, "2", {"col-3": (3, numbers(30)), "col-7": (7, numbers(3))}))
    with served(lake=lake) as (address, _):
        as_shown(address, lake, "lake", "a = 1", "b = 30")


@pytest.mark.parametrize(
    ("mode", "columns", "said"),
    [
        ("name", {"col-7": (3, numbers(1)), "col-3": (7, numbers(2))}, "'col-7' under field id 3; the table says 7"),
        ("name", {"col-7": (7, numbers(1)), "col-3": (None, numbers(2))}, "'col-3' under field id None"),
        ("id", {"col-7": (7, numbers(1)), "other": (3, numbers(2))}, "on a column of another name"),
        ("name", {"col-7": (7, numbers(1)), "other": (3, numbers(2))}, "on a column of another name"),
        ("id", {"col-7": (None, numbers(1))}, "has no field ids"),
    ],
)
def test_a_file_of_other_ids_is_refused(tmp_path: Path, mode: str, columns: Any, said: str) -> None:
    lake = of_mode(tmp_path / "lake", mode, file(tmp_path / "lake", "1", columns))
    with pytest.raises(Refusal, match=said):
        shown(Handle.open(lake)).snapshot(None, own_schema=True).tasks(np.arange(1), JAVA)


def test_lists_under_column_mapping_are_refused(tmp_path: Path) -> None:
    listed = {"type": "array", "elementType": "long", "containsNull": True}
    lake = of_mode(tmp_path / "lake", "name", fields=[("a", 7), ("l", 3, listed)])
    with pytest.raises(Refusal, match=r"'col-3.element' .* under column mapping"):
        shown(Handle.open(lake)).load(JAVA)


@pytest.mark.parametrize("type_", ["variant", "void", "string collate UNICODE_CI", "interval"])
def test_columns_of_types_that_nobody_tried_are_refused(tmp_path: Path, type_: str) -> None:
    lake = tmp_path / "lake"
    commit(lake, 0, protocol(), metadata(column("id"), column("odd", type_)))
    with pytest.raises(Refusal, match="'odd'"):
        shown(Handle.open(lake)).load(JAVA)


def test_a_column_keeps_its_id_in_all_versions_and_processes(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    tables = [{"a": [1], "b": ["x"]}, {"a": [1], "b": ["x"], "c": [{"a": 2}]}, {"b": ["y"], "a": [2]}]
    ids: dict[str, set[int]] = {}
    for content in tables:
        write_deltalake(lake, pa.table(content), mode="overwrite", schema_mode="overwrite")
        loaded: Any = shown(Handle.open(lake)).load(JAVA).metadata
        for schema in loaded["schemas"]:
            for field in schema["fields"]:
                ids.setdefault(field["name"], set()).add(field["id"])
    assert {name: len(numbers) for name, numbers in ids.items()} == {"a": 1, "b": 1, "c": 1}
    assert len(set.union(*ids.values())) == 3


def test_versions_before_another_partitioning_are_left_out(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    content = pa.table({"id": [1], "p": ["a"]})
    for columns in (None, ["p"], ["p"]):
        write_deltalake(lake, content, mode="overwrite", partition_by=columns, schema_mode="overwrite")
    loaded: Any = shown(Handle.open(lake)).load(JAVA).metadata
    assert [version["snapshot-id"] for version in loaded["snapshots"]] == [2, 3]
    assert sorted(len(spec["fields"]) for spec in loaded["partition-specs"]) == [0, 1]
    assert loaded["default-spec-id"] != 0
