"""Avro containers of any writer: codecs, types named once and used twice, fields that are newer than us."""

import io
import json
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.iceberg.avro import read_avro
from tests.formats.iceberg.handmade import HandManifest, HandTable, avro, entry, entry_schema, optional

ROW = {"type": "record", "name": "row", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}
ROWS = [{"n": n, "s": "x" * (n % 7)} for n in range(3000)]


SYNC = b"0123456789abcdef"


def container(schema: Any, rows: list[Any], codec: str = "null", compress: Any = bytes, *, header: Any = None) -> bytes:
    """A container in blocks of 100 rows; `header`: the schema as another writer spells it."""
    parsed = fastavro.parse_schema(schema)
    out = [b"Obj\x01", varint(2)]
    for text in ("avro.schema", json.dumps(header or schema), "avro.codec", codec):
        out += [varint(len(text)), text.encode()]
    out += [b"\0", SYNC]
    for start in range(0, len(rows), 100):
        plain = io.BytesIO()
        for row in rows[start : start + 100]:
            fastavro.schemaless_writer(plain, parsed, row)
        body = compress(plain.getvalue())
        out += [varint(len(rows[start : start + 100])), varint(len(body)), body, SYNC]
    return b"".join(out)


def varint(value: int) -> bytes:
    value, out = value << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def snappy(block: bytes) -> bytes:
    return bytes(pa.compress(block, codec="snappy", asbytes=True)) + zlib.crc32(block).to_bytes(4, "big")


def zstandard(block: bytes) -> bytes:
    """A frame that does not state its plain size."""
    stream = pa.BufferOutputStream()
    with pa.CompressedOutputStream(stream, "zstd") as out:
        out.write(block)
    return stream.getvalue().to_pybytes()


def deflate(block: bytes) -> bytes:
    made = zlib.compressobj(wbits=-15)
    return made.compress(block) + made.flush()


@pytest.mark.parametrize(
    ("codec", "compress"), [("null", bytes), ("deflate", deflate), ("snappy", snappy), ("zstandard", zstandard)]
)
def test_blocks_of_every_codec_are_read(codec: str, compress: Any) -> None:
    assert read_avro(container(ROW, ROWS, codec, compress), "m.avro").rows.to_dicts() == ROWS


def test_a_deflated_block_that_ends_too_soon_is_damage() -> None:
    whole = container(ROW, ROWS, "deflate", lambda block: deflate(block)[:-2])
    with pytest.raises(CorruptTableError, match="end-of-stream"):
        read_avro(whole, "m.avro")


def test_a_wrong_checksum_of_a_block_is_damage() -> None:
    with pytest.raises(CorruptTableError, match=r"m\.avro.*checksum"):
        read_avro(container(ROW, ROWS, "snappy", lambda block: snappy(block)[:-1] + b"?"), "m.avro")


def test_a_codec_that_we_lack_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"m\.avro: Avro codec 'bzip2'"):
        read_avro(avro(ROW, ROWS, "bzip2"), "m.avro")


DECIMAL = {"type": "fixed", "name": "decimal_10_2", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}


@pytest.mark.parametrize("again", ["decimal_10_2", DECIMAL], ids=["by name", "written out"])
def test_a_type_may_be_used_twice(again: Any, tmp_path: Path) -> None:
    """Java names the second decimal of a partition by the first one's name; iceberg-rust once wrote it out again."""
    fields = [{"id": n, "name": f"d{n}", "required": False, "type": "decimal(10, 2)"} for n in (1, 2)]
    parts = [{"name": f"d{n}", "field-id": 999 + n, "source-id": n, "transform": "identity"} for n in (1, 2)]
    table = HandTable(
        tmp_path / "t",
        schemas=[{"type": "struct", "schema-id": 0, "fields": fields}],
        specs=[{"spec-id": 0, "fields": parts}],
    )
    partition = [
        {"name": "d1", "type": optional(DECIMAL), "field-id": 1000},
        {"name": "d2", "type": optional("decimal_10_2"), "field-id": 1001},
    ]
    one = entry(table.path("a.parquet"), partition={"d1": Decimal("123.45"), "d2": Decimal("-6.78")})
    schema, header = entry_schema(partition), entry_schema([partition[0], {**partition[1], "type": optional(again)}])
    table.commit([HandManifest([one], data=container(schema, [one], header=header))])
    assert table.snapshot().files.entry(0).partition == "d1=123.45/d2=-6.78"


def test_fields_newer_than_us_are_passed_over(tmp_path: Path) -> None:
    table = HandTable(tmp_path / "t")
    schema = entry_schema()
    (data_file,) = (f["type"]["fields"] for f in schema["fields"] if f["name"] == "data_file")
    strange = {
        "color": ({"type": "enum", "name": "color", "symbols": ["red", "blue"]}, "blue"),
        "notes": (optional({"type": "map", "values": "bytes"}), {"k": b"v"}),
        "nothing": ("null", None),
        "inner": (
            {"type": "record", "name": "inner", "fields": [{"name": "x", "type": ["double", "null"]}]},
            {"x": 1.5},
        ),
        "many": (optional({"type": "array", "items": {"type": "array", "items": "float"}}), [[1.0], []]),
    }
    for name, (kind, _) in strange.items():
        data_file.insert(3, {"name": name, "type": kind})
        schema["fields"].append({"name": f"outer_{name}", "type": kind if isinstance(kind, list | str) else name})
    rows = []
    for n in range(3):
        one = entry(table.path(f"f{n}"), **{name: value for name, (_, value) in strange.items()})
        rows.append({**one, **{f"outer_{name}": value for name, (_, value) in strange.items()}})
    table.commit([HandManifest(rows, data=container(schema, rows))])
    assert [one.path for one in table.snapshot().files.entries()] == ["f0", "f1", "f2"]


def test_a_union_of_several_types_is_refused_by_name() -> None:
    schema = {"type": "record", "name": "row", "fields": [{"name": "u", "type": ["null", "long", "string"]}]}
    with pytest.raises(UnsupportedFeatureError, match=r"m\.avro: of Avro's unions"):
        read_avro(avro(schema, [{"u": 1}]), "m.avro")


@pytest.mark.parametrize("kind", ["nowhere", {"type": "nowhere"}, 7, {"no": "type"}, {"type": "fixed", "name": "f"}])
def test_a_schema_that_is_none_is_damage(kind: Any) -> None:
    header = {**ROW, "fields": [{"name": "n", "type": kind}]}
    with pytest.raises(CorruptTableError, match=r"m\.avro"):
        read_avro(container(ROW, ROWS, header=header), "m.avro")
