"""Delta schemas as ours: ids, physical names, nested and unprovable types."""

from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import CorruptTableError
from metaindex.formats.model import Schema
from tests.formats.delta.hand import column, commit, leaf, metadata, protocol, snapshot


def schema(path: Path, *fields: dict[str, object], **more: object) -> Schema:
    commit(path, 0, protocol(2), metadata(*fields, **more))
    return snapshot(path).schema


TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "decimal(38,18)": pa.decimal128(38, 18),
    "decimal(5, 2)": pa.decimal128(5, 2),
}


def test_primitive_types(tmp_path: Path) -> None:
    found = schema(tmp_path, *(column(name, name) for name in TYPES))
    assert {f.name: f.type for f in found} == TYPES
    assert len(found.leaves()) == len(TYPES)


def test_structs_have_leaves_and_lists_and_maps_have_none(tmp_path: Path) -> None:
    inner = {
        "type": "struct",
        "fields": [column("x"), column("y", {"type": "struct", "fields": [column("z", "string")]})],
    }
    array = {"type": "array", "elementType": inner, "containsNull": True}
    map_ = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True}
    found = schema(tmp_path, column("s", inner), column("a", array), column("m", map_))
    assert [one.parts for one in found.leaves()] == [("s", "x"), ("s", "y", "z")]
    assert found.arrow().field("a").type.value_type.field("x").type == pa.int64()


UDT = {"type": "udt", "class": "org.x.Vector", "pyClass": "x.Vector", "sqlType": "integer"}


@pytest.mark.parametrize(
    "type_", ["variant", "void", "interval day to second", "interval", "geometry(OGC:CRS84)", "hologram", UDT]
)
def test_types_that_nothing_can_be_proved_about_have_no_leaf(tmp_path: Path, type_: object) -> None:
    found = schema(tmp_path, column("v", type_), column("id"))
    assert [one.parts for one in found.leaves()] == [("id",)]
    assert found.names == ["v", "id"]


def test_a_collated_text_has_no_leaf(tmp_path: Path) -> None:
    found = schema(tmp_path, column("c", "string", __COLLATIONS={"c": "spark.UTF8_LCASE"}), column("id"))
    assert [one.parts for one in found.leaves()] == [("id",)]


def mapped(name: str, number: int, physical: str, type_: object = "long") -> dict[str, object]:
    return column(name, type_, **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})


@pytest.mark.parametrize("mode", ["id", "name"])
def test_column_mapping_gives_ids_and_physical_names(tmp_path: Path, mode: str) -> None:
    inner = {"type": "struct", "fields": [mapped("x", 3, "col-x")]}
    fields = [mapped("a", 1, "col-a"), mapped("s", 2, "col-s", inner), mapped("p", 4, "col-p")]
    found = schema(tmp_path, *fields, configuration={"delta.columnMapping.mode": mode}, partitions=["p"])
    leaves = {one.parts: one for one in found.leaves()}
    assert leaves[("a",)].stable == "id:1"
    assert leaves[("s", "x")].stable == "id:3"
    assert leaves[("s", "x")].source == ("col-s", "col-x")
    assert leaves[("a",)].field.field_id == (1 if mode == "id" else None)
    assert leaves[("p",)].field.partition


def test_ids_left_behind_by_a_mapping_that_is_off_are_ignored(tmp_path: Path) -> None:
    found = schema(tmp_path, mapped("a", 1, "col-a"))
    assert found.leaves()[0].stable == "a"
    assert found.leaves()[0].source == ("a",)


def test_column_mapping_without_ids_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorruptTableError, match=r"\.a lacks one"):
        schema(tmp_path, column("a"), configuration={"delta.columnMapping.mode": "name"})


def test_a_missing_column_shows_null(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata(column("a", CURRENT_DEFAULT="7")))
    field = leaf(snapshot(tmp_path), "a").field
    assert field.default is None
    assert field.default_known
