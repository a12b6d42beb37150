"""Deletion vectors of Delta and of Iceberg V3: one encoding, one decoder.

A blob is `magic, bitmap`: four bytes that name the encoding (0x6439D3D1, little-endian), then a 64-bit roaring bitmap
in the portable encoding. In a file (a Delta `.bin`, an Iceberg Puffin blob) it stands framed: its length (big-endian),
the blob, its CRC-32 (big-endian).

Promise: the positions of the rows deleted, or CorruptTableError; never some of them.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

from metaindex.core import CorruptTableError, UnsupportedFeatureError

if TYPE_CHECKING:
    from pyroaring import BitMap64

_MAGIC_PORTABLE = 1681511377
_MAGIC_NATIVE = 1681511376
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_Z85_VALUE = {character: value for value, character in enumerate(_Z85)}


def decode_framed(frame: bytes, where: str, size: int | None = None, cardinality: int | None = None) -> BitMap64:
    """Positions from a framed blob. `size`: what the log says of the blob's length; `where` names table, version and
    file."""
    if len(frame) < 8:
        raise CorruptTableError(
            f"{where}: a deletion vector has a length and a checksum; only {len(frame)} bytes are there"
        )
    (length,) = struct.unpack(">i", frame[:4])
    if length < 0 or length != len(frame) - 8 or (size is not None and size != length):
        raise CorruptTableError(
            f"{where}: the deletion vector says {length} bytes, the log {size if size is not None else len(frame) - 8};"
            " the file is damaged"
        )
    blob = frame[4 : 4 + length]
    (checksum,) = struct.unpack(">I", frame[4 + length : 8 + length])
    if zlib.crc32(blob) != checksum:
        raise CorruptTableError(f"{where}: the checksum of the deletion vector is wrong; the file is damaged")
    return decode_blob(blob, where, cardinality)


def decode_blob(blob: bytes, where: str, cardinality: int | None = None) -> BitMap64:
    """Positions from a blob; `cardinality`: how many there must be."""
    from pyroaring import BitMap64

    if len(blob) < 12:
        raise CorruptTableError(f"{where}: a deletion vector has at least 12 bytes; this one has {len(blob)}")
    (magic,) = struct.unpack("<i", blob[:4])
    if magic == _MAGIC_NATIVE:
        raise UnsupportedFeatureError(f"{where}: deletion vectors in Delta's native encoding are not supported")
    if magic != _MAGIC_PORTABLE:
        raise CorruptTableError(f"{where}: a deletion vector begins with {_MAGIC_PORTABLE}; this one with {magic}")
    try:
        positions = BitMap64.deserialize(blob[4:])
    except Exception as error:
        raise CorruptTableError(f"{where}: the deletion vector is no roaring bitmap: {error}") from error
    if cardinality is not None and len(positions) != cardinality:
        raise CorruptTableError(
            f"{where}: the log says {cardinality} rows are deleted, the deletion vector {len(positions)}; one of them"
            " is damaged"
        )
    return positions


def decode_z85(text: str, where: str) -> bytes:
    """ZeroMQ's base 85, five characters for four bytes."""
    data = text.encode()
    if len(data) % 5:
        raise CorruptTableError(f"{where}: base 85 comes in groups of five characters; {len(data)} are there")
    out = bytearray()
    try:
        for start in range(0, len(data), 5):
            value = 0
            for character in data[start : start + 5]:
                value = value * 85 + _Z85_VALUE[character]
            out += value.to_bytes(4, "big")
    except (KeyError, OverflowError) as error:
        raise CorruptTableError(f"{where}: {text!r} is not base 85") from error
    return bytes(out)
