"""Deletion vectors as writers make them."""

import struct
import zlib
from collections.abc import Collection
from typing import Any

from pyroaring import BitMap64

MAGIC_PORTABLE = 1681511377
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def encode_framed(positions: BitMap64) -> bytes:
    """A framed blob, as writers make it."""
    blob = struct.pack("<i", MAGIC_PORTABLE) + positions.serialize()
    return struct.pack(">i", len(blob)) + blob + struct.pack(">I", zlib.crc32(blob))


def z85(data: bytes) -> str:
    data = data + bytes(-len(data) % 4)
    out = ""
    for start in range(0, len(data), 4):
        value = int.from_bytes(data[start : start + 4], "big")
        out += "".join(Z85[value // 85**n % 85] for n in (4, 3, 2, 1, 0))
    return out


def inline_vector(rows: Collection[int]) -> dict[str, Any]:
    """What Delta's log says of a vector that stands in it."""
    blob = encode_framed(BitMap64(rows))[4:-4]
    return {"storageType": "i", "pathOrInlineDv": z85(blob), "sizeInBytes": len(blob), "cardinality": len(rows)}
