"""Texts of a table: properties, Avro's schemas, partition paths."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats import Schema
from metaindex.formats.hudi.partitions import partition_values
from metaindex.formats.hudi.properties import TableConfig, parse_properties
from metaindex.formats.hudi.schema import META_FIELDS, parse_schema

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


def escaped(text: str, *, key: bool) -> str:
    """As java.util.Properties stores it."""
    said = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "=": "\\=", ":": "\\:", "#": "\\#"}
    out = []
    for at, char in enumerate(text):
        if char == " " and (key or at == 0):
            out.append("\\ ")
        elif ord(char) < 0x20 or ord(char) > 0x7E:
            data = char.encode("utf-16-be")
            units = [data[n : n + 2].hex() for n in range(0, len(data), 2)]
            out.append(said.get(char, "".join(f"\\u{unit}" for unit in units)))
        else:
            out.append("\\!" if char == "!" else said.get(char, char))
    return "".join(out)


@given(st.dictionaries(TEXT.filter(bool), TEXT, max_size=6), st.sampled_from(["=", ":", " = ", " "]))
def test_properties_are_read_as_java_stores_them(values: dict[str, str], between: str) -> None:
    lines = ["#a comment", "! another", ""]
    for key, value in values.items():
        if between == " " and not value:
            continue
        line = f"{escaped(key, key=True)}{between}{escaped(value, key=False)}"
        lines.append(line)
    read = parse_properties("\n".join(lines), "t")
    wanted = {key: value for key, value in values.items() if value or between != " "}
    assert read == wanted


def test_halves_of_characters_are_refused() -> None:
    with pytest.raises(CorruptTableError, match="halves"):
        parse_properties("a=\\ud800", "t")


def test_a_line_may_go_on() -> None:
    assert parse_properties("a = b\\\n   c\\\\\nd=e", "t") == {"a": "bc\\", "d": "e"}


def config(**values: str) -> TableConfig:
    return TableConfig(6, {key.replace("_", "."): value for key, value in values.items()})


def schema_of(*types: Any, said: TableConfig | None = None) -> Schema:
    fields = [{"name": f"c{n}", "type": type_} for n, type_ in enumerate(types)]
    text = json.dumps({"type": "record", "name": "r", "fields": fields})
    return parse_schema(text, "t", said or config(hoodie_populate_meta_fields="false"))


@pytest.mark.parametrize(
    ("avro", "arrow"),
    [
        ("int", pa.int32()),
        (["null", "long"], pa.int64()),
        (["string", "null"], pa.string()),
        ("bytes", pa.binary()),
        ({"type": "fixed", "name": "f", "size": 3}, pa.binary()),
        ({"type": "enum", "name": "e", "symbols": ["a"]}, pa.string()),
        ({"type": "int", "logicalType": "date"}, pa.date32()),
        ({"type": "long", "logicalType": "timestamp-micros"}, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("us", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.timestamp("us")),
        ({"type": "string", "logicalType": "uuid"}, pa.string()),
        (
            {"type": "fixed", "name": "d", "size": 9, "logicalType": "decimal", "precision": 20, "scale": 2},
            pa.decimal128(20, 2),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5}, pa.decimal128(5, 0)),
        ({"type": "array", "items": ["null", "int"]}, pa.list_(pa.int32())),
        ({"type": "map", "values": "double"}, pa.map_(pa.string(), pa.float64())),
        (
            {"type": "record", "name": "s", "fields": [{"name": "x", "type": ["null", "float"]}]},
            pa.struct([("x", pa.float32())]),
        ),
    ],
)
def test_types(avro: Any, arrow: pa.DataType) -> None:
    assert schema_of(avro).fields[0].type == arrow


def test_a_type_is_used_again_by_its_name() -> None:
    made = {"type": "fixed", "name": "f", "namespace": "n", "size": 3}
    assert schema_of(made, "f", "n.f").arrow().types == [pa.binary()] * 3


@pytest.mark.parametrize(
    ("avro", "error"),
    [
        (["int", "string"], UnsupportedFeatureError),
        ({"type": "int", "logicalType": "time-millis"}, UnsupportedFeatureError),
        ({"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}, UnsupportedFeatureError),
        ({"type": "bytes", "logicalType": "decimal", "precision": 39}, CorruptTableError),
        ("nothing", CorruptTableError),
        (7, CorruptTableError),
        ({"type": "record", "name": "s", "fields": [{"name": "x", "type": "s"}]}, CorruptTableError),
        ({"type": "record", "name": "s", "fields": 7}, CorruptTableError),
    ],
)
def test_types_that_are_refused(avro: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        schema_of(avro)


def test_schemas_that_would_grow_without_bound() -> None:
    """Each type names the one before twice."""
    types: list[Any] = [{"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}]
    for n in range(1, 60):
        twice = [{"name": name, "type": f"r{n - 1}"} for name in "xy"]
        types.append({"type": "record", "name": f"r{n}", "fields": twice})
    with pytest.raises(CorruptTableError, match="more than"):
        schema_of(*types)
    deep: Any = "int"
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    with pytest.raises(CorruptTableError, match="inside each other"):
        schema_of(deep)


def test_hudis_own_columns_and_partition_columns() -> None:
    assert schema_of("int", said=config()).names == [*META_FIELDS, "c0"]
    said = config(hoodie_populate_meta_fields="false", hoodie_table_partition_fields="c0")
    made = schema_of("string", "int", said=said)
    assert [(field.name, field.partition) for field in made] == [("c1", False), ("c0", True)]
    with pytest.raises(UnsupportedFeatureError, match="more than case"):
        parse_schema('{"type":"record","fields":[{"name":"a","type":"int"},{"name":"A","type":"int"}]}', "t", config())


def values(path: str, *types: Any, **said: str) -> list[str | None]:
    names = ",".join(f"c{n}" for n in range(len(types)))
    of = TableConfig(6, {"hoodie.table.partition.fields": names, "hoodie.populate.meta.fields": "false", **said})
    (schema,) = [schema_of(*types, said=of)]
    return [column.to_pylist()[0] for column in partition_values([path], schema, of, "t")]


HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
DATE = {"type": "int", "logicalType": "date"}


@pytest.mark.parametrize(
    ("path", "types", "said", "wanted"),
    [
        ("us", ["string"], {}, ["us"]),
        ("c0=us", ["string"], HIVE, ["us"]),
        ("2024/01/17", ["string"], {}, ["2024/01/17"]),
        ("c0=a/b", ["string"], HIVE, ["a/b"]),
        ("c0=a%2Fb", ["string"], HIVE | ENCODED, ["a/b"]),
        ("us/7", ["string", "int"], {}, ["us", "7"]),
        ("c0=__HIVE_DEFAULT_PARTITION__", ["string"], HIVE, [None]),
        ("-7", ["int"], {}, ["-7"]),
        ("2024-02-29", [DATE], {}, ["2024-02-29"]),
        ("true", ["boolean"], {}, ["true"]),
        ("default", ["string"], {}, ["default"]),
    ],
)
def test_partition_values(path: str, types: list[Any], said: dict[str, str], wanted: list[str | None]) -> None:
    assert values(path, *types, **said) == wanted


@pytest.mark.parametrize(
    ("path", "types", "said"),
    [
        ("us", ["string"], HIVE),
        ("c1=us", ["string"], HIVE),
        ("c0=us", ["string"], {}),
        ("a%2Fb", ["string"], {}),
        ("a%2", ["string"], ENCODED),
        ("a%00b", ["string"], ENCODED),
        ("a%FFb", ["string"], ENCODED),
        ("%C3%A9", ["string"], ENCODED),
        ("c0=", ["string"], HIVE),
        ("a/b/c", ["string", "string"], {}),
        ("07", ["int"], {}),
        ("2147483648", ["int"], {}),
        ("1e3", ["long"], {}),
        ("2024-02-30", [DATE], {}),
        ("20240101", [DATE], {}),
        ("1.5", ["double"], {}),
        ("a/7", ["int"], {}),
        ("__HIVE_DEFAULT_PARTITION__/a", ["string", "string"], {"hoodie.table.keygenerator.type": "COMPLEX"}),
    ],
)
def test_partition_paths_that_are_refused(path: str, types: list[Any], said: dict[str, str]) -> None:
    with pytest.raises(UnsupportedFeatureError):
        values(path, *types, **said)
