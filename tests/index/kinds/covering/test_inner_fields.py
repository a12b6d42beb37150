"""Stored structs stand for the table's where their fields are the same, and not only called the same."""

import pyarrow as pa
import pytest

from metaindex.formats import Field, Schema
from metaindex.formats.iceberg.schema import read_schema
from metaindex.index.build.merging import keys_together
from metaindex.index.kinds.covering.spec import CoveredRows, Covering
from metaindex.index.kinds.served import RowSizes
from metaindex.index.log.entry import CoveredKey


def test_fields_are_noted_by_their_ids_wherever_they_stand() -> None:
    (row,) = (leaf for leaf in columns(10, 20).columns if leaf.parts == ("row",))
    assert row.inner_fields == '["id:5","id:10","id:6","id:20","id:8","id:9"]'
    (plain,) = (leaf for leaf in columns(10, 20).columns if leaf.parts == ("k",))
    assert plain.inner_fields == ""


def test_where_one_is_known_by_its_name_alone_nothing_is_noted() -> None:
    pair = pa.struct([pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "7"}), pa.field("b", pa.int32())])
    for stable in ("id:3", "ar"):
        (leaf,) = Schema((Field("ar", pa.list_(pair), stable=stable),)).columns
        assert leaf.inner_fields == ""


def test_fields_inside_of_lists_make_columns_others() -> None:
    """Arrow says that the types are equal."""
    one, other = columns(10, 20), columns(10, 21)
    assert one == columns(10, 20)
    assert one.arrow().equals(other.arrow())
    assert one != other
    assert len({one, other, columns(10, 20)}) == 2


@pytest.mark.parametrize(("inside", "listed"), [(11, 20), (10, 21)])
def test_rows_are_merged_where_the_fields_are_the_same(inside: int, listed: int) -> None:
    one, same, other = key(10, 20), key(10, 20), key(inside, listed)
    assert keys_together((one,), (same,)) == (one,)
    assert keys_together((one,), (other,)) is None
    assert CoveredRows.planned_again(one, columns(10, 20)) is not None
    assert CoveredRows.planned_again(one, columns(inside, listed)) is None


def key(inside: int, listed: int) -> CoveredKey:
    return Covering("k", ["row"], buckets=2).planned(columns(inside, listed), 0).covered(RowSizes({}), 0)


def columns(inside: int, listed: int) -> Schema:
    """k int, row struct<s: struct<a>, ar: list<struct<b>>, mp: map<string, struct<c>>> of Iceberg."""

    def struct(*fields: dict[str, object]) -> dict[str, object]:
        return {"type": "struct", "fields": [*fields]}

    def field(number: int, name: str, kind: object) -> dict[str, object]:
        return {"id": number, "name": name, "required": False, "type": kind}

    listing = {"type": "list", "element-id": 30, "element": struct(field(listed, "b", "int"))}
    mapped = {"type": "map", "key-id": 31, "key": "string", "value-id": 32}
    mapped |= {"value": struct(field(9, "c", "int"))}
    row = struct(field(5, "s", struct(field(inside, "a", "int"))), field(6, "ar", listing), field(8, "mp", mapped))
    return read_schema(struct(field(1, "k", "int"), field(3, "row", row)), "t")
