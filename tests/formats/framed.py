"""Deletion vectors as writers make them."""

import struct
import zlib

from pyroaring import BitMap64

MAGIC_PORTABLE = 1681511377


def encode_framed(positions: BitMap64) -> bytes:
    """A framed blob, as writers make it."""
    blob = struct.pack("<i", MAGIC_PORTABLE) + positions.serialize()
    return struct.pack(">i", len(blob)) + blob + struct.pack(">I", zlib.crc32(blob))
