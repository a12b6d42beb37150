"""Fields of structs inside of lists and maps are found by their ids, as the fields of structs are."""

from pathlib import Path

import pyarrow as pa
from pyiceberg.types import IntegerType

import metaindex as mi
from tests.tables import catalog_in


def test_a_field_that_was_dropped_and_added_again_is_another_one(tmp_path: Path) -> None:
    pair = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("st", pair), ("ar", pa.list_(pair)), ("mp", pa.map_(pa.string(), pair))])
    catalog = catalog_in(tmp_path)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", schema)
    two = {"a": 3, "b": -3}
    table.append(pa.Table.from_pylist([{"id": 3, "st": two, "ar": [two], "mp": [("x", two)]}], schema=schema))
    opened = mi.open_table(table.location())
    assert opened.scan("id = 3").to_arrow().to_pylist() == table.scan().to_arrow().to_pylist()
    places = (("st",), ("ar", "element"), ("mp", "value"))
    with table.update_schema(allow_incompatible_changes=True) as change:
        for place in places:
            change.delete_column((*place, "b"))
    with table.update_schema() as change:
        for place in places:
            change.add_column((*place, "b"), IntegerType())
    theirs = table.scan().to_arrow().to_pylist()
    assert theirs[0]["ar"] == [{"a": 3, "b": None}]
    assert mi.open_table(table.location()).scan("id = 3").to_arrow().to_pylist() == theirs


def test_an_index_records_such_fields_as_others(tmp_path: Path) -> None:
    """An index names the columns of each version that it records: those of one before are not taken for the same,
    though their names and types are."""
    pair = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("ar", pa.list_(pair))])
    catalog = catalog_in(tmp_path)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", schema)
    table.append(pa.Table.from_pylist([{"id": 3, "ar": [{"a": 3, "b": -3}]}], schema=schema))
    path = table.location()
    mi.open_table(path).create_index("stats", mi.ColumnStats("id"), builder="local")
    with table.update_schema(allow_incompatible_changes=True) as change:
        change.delete_column(("ar", "element", "b"))
    with table.update_schema() as change:
        change.add_column(("ar", "element", "b"), IntegerType())
    table.append(pa.Table.from_pylist([{"id": 4, "ar": [{"a": 4, "b": -4}]}], schema=schema))
    opened = mi.open_table(path)
    was, now = opened.versions()[0], opened.versions()[-1]
    changed = opened.diff(was.id, now.id).schema_changed
    assert opened.refresh_index("stats").changed
    for found in (opened.scan("id <= 4"), mi.open_table(path).scan("id <= 4")):
        rows = sorted(found.to_arrow().to_pylist(), key=lambda row: row["id"])
        assert rows == [{"id": 3, "ar": [{"a": 3, "b": None}]}, {"id": 4, "ar": [{"a": 4, "b": -4}]}]
    assert changed
