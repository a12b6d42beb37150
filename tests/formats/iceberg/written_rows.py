"""Columns, values and partitions of the tables that `written` writes, and how rows are compared."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tests.formats.iceberg.handmade import optional

PATH_ID, POSITION_ID = 2147483546, 2147483545

ID, K, S, F, D, DAY, AT, B, ST, X, Y, FX = range(1, 13)
FIELDS: dict[int, tuple[str, Any]] = {
    ID: ("id", "long"),
    K: ("k", "int"),
    S: ("s", "string"),
    F: ("f", "float"),
    D: ("d", "decimal(9, 2)"),
    DAY: ("day", "date"),
    AT: ("at", "timestamptz"),
    B: ("b", "binary"),
    FX: ("fx", "fixed[2]"),
}
VALUES: dict[int, list[Any]] = {
    K: [None, 1, 2, -5],
    S: [None, "a", "b", "é😀"],
    F: [None, float("nan"), 0.0, -0.0, 1.5],
    D: [None, Decimal("1.50"), Decimal("-2.25")],
    DAY: [None, dt.date(1969, 12, 31), dt.date(2020, 2, 29)],
    AT: [None, dt.datetime(1960, 1, 1, 1, 1, 1, 1, dt.UTC), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
    B: [None, b"", b"\x00\xff"],
    FX: [None, b"ab", b"\x00\x00"],
    X: [None, 3, 4],
    Y: [None, "y"],
}
ARROW = {
    "long": pa.int64(),
    "int": pa.int32(),
    "string": pa.string(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(9, 2)": pa.decimal128(9, 2),
    "decimal(12, 2)": pa.decimal128(12, 2),
    "date": pa.date32(),
    "timestamptz": pa.timestamp("us", "UTC"),
    "binary": pa.binary(),
    "fixed[2]": pa.binary(2),
}
STRUCT = {
    "type": "struct",
    "fields": [
        {"id": X, "name": "x", "required": False, "type": "int"},
        {"id": Y, "name": "y", "required": False, "type": "string"},
    ],
}
WIDER = {K: "long", F: "double", D: "decimal(12, 2)"}
SPECS = [
    {"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"name": "s", "field-id": 1000, "source-id": S, "transform": "identity"}]},
    {"spec-id": 2, "fields": [{"name": "k_cut", "field-id": 1001, "source-id": K, "transform": "truncate[4]"}]},
]
PARTITIONS: dict[int, list[dict[str, Any]]] = {
    0: [],
    1: [{"name": "s", "type": optional("string"), "field-id": 1000}],
    2: [{"name": "k_cut", "type": optional("int"), "field-id": 1001}],
}
EQUALITY = [(ID,), (K,), (S,), (F,), (D, DAY), (AT,), (B, FX), (K, S), (X,), (F, X, Y), (S, ID)]

Row = dict[int, Any]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and bool(left == right)


def cut(value: int | None) -> int | None:
    return None if value is None else value - value % 4


def partition(place: tuple[int, Any]) -> dict[str, Any]:
    return {0: {}, 1: {"s": place[1]}, 2: {"k_cut": place[1]}}[place[0]]


def vector_blob(path: str, length: int, rows: int) -> dict[str, Any]:
    """What the footer of a Puffin file says of a deletion vector."""
    return {
        "type": "deletion-vector-v1",
        "fields": [POSITION_ID],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": 8,
        "length": length,
        "properties": {"referenced-data-file": path, "cardinality": str(rows)},
    }


def with_id(name: str, kind: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(field_id)})


def by_name(row: Row, schema: pa.Schema) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for one in schema:
        if pa.types.is_struct(one.type):
            out[one.name] = (
                None if row[ST] is None else {f.name: row[int(f.metadata[b"PARQUET:field_id"])] for f in one.type}
            )
        else:
            out[one.name] = row.get(int(one.metadata[b"PARQUET:field_id"]))
    return out


def plain(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows in a form that compares: NaN equals NaN, zeros keep their sign, of times with a zone only the moment
    counts."""

    def one(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: one(inner) for name, inner in value.items()}
        if isinstance(value, dt.datetime):
            return value.astimezone(dt.UTC).isoformat() if value.tzinfo else value.isoformat()
        return bytes(value) if isinstance(value, bytearray) else value

    return sorted(repr(one(row)) for row in rows)
