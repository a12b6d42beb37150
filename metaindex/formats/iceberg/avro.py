"""Avro object container files as Arrow-shaped columns.

The container (header, codec, sync markers) is read here, so that every codec Iceberg allows works and a truncated or
damaged file is told from a short one; the records are decoded by Polars in one call, which is given a schema of the
same bytes in words that it knows. All of the file or a `CorruptTableError`, never the blocks before the damage.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.core import CorruptTableError, MissingDependencyError, UnsupportedFeatureError
from metaindex.formats.damage import as_damage, parse_json
from metaindex.formats.parquet.schema import Compact, varint
from metaindex.formats.unpacked import deflated, hold, zstandard

if TYPE_CHECKING:
    import polars as pl

_MAGIC = b"Obj\x01"


@dataclass(frozen=True, slots=True)
class AvroFile:
    """A decoded Avro file: its rows in physical types (dates are day numbers, decimals big-endian bytes), the writer's
    schema and the header's key-value metadata. `names`: all fields of a row, those that were not asked for too."""

    rows: pl.DataFrame
    names: frozenset[str]
    schema: dict[str, Any]
    metadata: dict[str, str]


def read_avro(data: bytes, name: str, *, inline: str = "", only: Collection[str] | None = None) -> AvroFile:
    """Decode all records of the container in `data`; `name` names the file in errors. The fields of the record `inline`
    become top-level ones, as `inline.field`. Of the fields in `only`, those that exist are decoded and the others
    skipped; None: all."""
    try:
        import polars
        from polars.exceptions import PanicException, PolarsError
    except ImportError as missing:
        raise MissingDependencyError.lacking(
            "Avro metadata (Iceberg's manifests, Hudi's timeline)", "polars"
        ) from missing
    import io

    try:
        with as_damage(f"an Avro file must be whole; {name} is not (", "); restore it"):
            metadata, start = _header(data)
            schema = parse_json(metadata["avro.schema"])
            same_bytes = _inlined(_physical(schema, {}), inline)
            names = frozenset(field["name"] for field in same_bytes["fields"])
            blocks = _blocks(data, start, _codec(metadata.get("avro.codec", "null")))
    except UnsupportedFeatureError as refused:
        raise UnsupportedFeatureError(f"{name}: {refused}") from None
    count = sum(rows for rows, _ in blocks)
    plain = container(json.dumps(same_bytes).encode(), blocks)
    wanted = None if only is None else [field_name for field_name in only if field_name in names]
    with as_damage(f"the Avro records of {name} do not decode (", "); restore it", PolarsError, PanicException):
        rows = polars.read_avro(io.BytesIO(plain), columns=wanted)
    if rows.height != count:
        raise CorruptTableError(f"{name} announces {count} Avro records and holds {rows.height}; restore it")
    return AvroFile(rows, names, schema, metadata)


def _header(data: bytes) -> tuple[dict[str, str], int]:
    if data[:4] != _MAGIC:
        raise ValueError("it does not begin as an Avro container does")
    out: dict[str, str] = {}
    walk = Compact(data, 4)  # its numbers are Thrift's
    while count := walk.zigzag():
        if count < 0:
            walk.zigzag()  # the block's bytes
        for _ in range(abs(count)):
            key = _bytes(walk)
            out[key.decode()] = _bytes(walk).decode("utf-8", "replace")
    return out, walk.at


def _bytes(walk: Compact) -> bytes:
    size = walk.zigzag()
    at = walk.at
    if size < 0 or at + size > len(walk.data):
        raise ValueError("the header runs past the end")
    walk.at += size
    return walk.data[at : walk.at]


def _blocks(data: bytes, start: int, decompress: Callable[[bytes], bytes]) -> list[tuple[int, bytes]]:
    """(record count, plain bytes) of each block; every sync marker is checked."""
    sync, out, total = data[start : start + 16], [], 0
    if len(sync) < 16:
        raise ValueError("the header runs past the end")
    walk = Compact(data, start + 16)
    while walk.at < len(data):
        rows, size = walk.zigzag(), walk.zigzag()
        at = walk.at
        end = at + size
        if size < 0 or rows < 0 or data[end : end + 16] != sync:
            raise ValueError(f"no sync marker after the block at byte {at}")
        out.append((rows, decompress(data[at:end])))
        total += len(out[-1][1])
        hold(total, len(data))
        walk.at = end + 16
    return out


def _codec(name: str) -> Callable[[bytes], bytes]:
    match name:
        case "null":
            return bytes
        case "deflate":
            return lambda block: deflated(block, -15)
        case "snappy":
            return _snappy
        case "zstandard":
            return zstandard
        case _:
            raise UnsupportedFeatureError(f"Avro codec {name!r} is not read; rewrite the manifests with gzip or zstd")


def _snappy(block: bytes) -> bytes:
    body, checksum = block[:-4], block[-4:]
    size = Compact(body).varint()  # the raw format begins with the plain size
    hold(size, len(block))
    plain: bytes = pa.decompress(body, decompressed_size=size, codec="snappy", asbytes=True)
    if zlib.crc32(plain).to_bytes(4, "big") != checksum:
        raise ValueError("a block's checksum is wrong")
    return plain


_PRIMITIVE = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})


def _physical(schema: Any, named: dict[str, Any]) -> Any:
    """A schema of the same bytes in the few words that Polars knows. Without logical types, every writer's dates, times
    and decimals arrive as the same integers and bytes; without defaults (they are for readers' schemas), it does not
    trip over them; types that are named where they are used again (two partition fields of one decimal type) are
    written out again. `named`: the types defined so far."""
    match schema:
        case "null":
            return {"type": "record", "name": "nothing", "fields": []}
        case str():
            return schema if schema in _PRIMITIVE else named[schema]
        case ["null", branch]:
            return ["null", _physical(branch, named)]
        case [branch, "null"]:
            return [_physical(branch, named), "null"]
        case list():
            raise UnsupportedFeatureError("of Avro's unions only those of one type and null are read")
        case {"type": "record", "fields": fields}:
            inside = [{"name": f["name"], "type": _physical(f["type"], named)} for f in fields]
            return _defined(schema, {"type": "record", "name": schema["name"], "fields": inside}, named)
        case {"type": "fixed", "size": size}:
            return _defined(schema, {"type": "fixed", "name": schema["name"], "size": size}, named)
        case {"type": "enum"}:
            return _defined(schema, "int", named)
        case {"type": "array", "items": items}:
            return {"type": "array", "items": _physical(items, named)}
        case {"type": "map", "values": values}:
            pair = [{"name": "key", "type": "string"}, {"name": "value", "type": _physical(values, named)}]
            return {"type": "array", "items": {"type": "record", "name": "pair", "fields": pair}}
        case {"type": inner}:
            return _physical(inner, named)
        case _:
            raise ValueError(f"no Avro type: {schema!r}")


def _defined(schema: dict[str, Any], physical: Any, named: dict[str, Any]) -> Any:
    named[schema["name"]] = named[f"{schema.get('namespace', '')}.{schema['name']}"] = physical
    return physical


def _inlined(record: dict[str, Any], name: str) -> dict[str, Any]:
    """A record inside a record is the bytes of its fields: here they are fields of the outer one."""
    fields = []
    for field in record["fields"]:
        inside = field["type"]
        if field["name"] == name and isinstance(inside, dict) and "fields" in inside:
            fields += [{**below, "name": f"{name}.{below['name']}"} for below in inside["fields"]]
        else:
            fields.append(field)
    return {**record, "fields": fields}


_SYNC = b"metaindex manifest"[:16]


def _zigzag(value: int) -> bytes:
    return varint(value << 1)


def container(schema: bytes, blocks: Sequence[tuple[int, bytes]]) -> bytes:
    """Return an Avro file of these records, not compressed. `blocks`: how many records each has, and their bytes."""
    pairs = b"".join(_zigzag(len(part)) + part for part in (b"avro.schema", schema, b"avro.codec", b"null"))
    parts = [_MAGIC, _zigzag(2), pairs, _zigzag(0), _SYNC]
    for rows, plain in blocks:
        parts += (_zigzag(rows), _zigzag(len(plain)), plain, _SYNC)
    return b"".join(parts)
