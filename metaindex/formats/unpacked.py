"""Compressed bytes of a table's metadata, unpacked within bounds: some kilobytes may unpack to more than there is
memory for, whoever wrote them.

A file of metadata or a block of a manifest may unpack to a hundred times its size, and to `LEAST_BYTES` whatever its
size: JSON and Avro of tables are a tenth to a fiftieth when they are packed.
"""

from __future__ import annotations

import zlib

import pyarrow as pa

LEAST_BYTES = 64 << 20
FACTOR = 100


def most(packed: int) -> int:
    """Bytes that so many may unpack to."""
    return max(LEAST_BYTES, packed * FACTOR)


def hold(size: int, packed: int) -> None:
    """ValueError where that is more than it may be."""
    if size > most(packed):
        raise ValueError(f"{packed:,} bytes unpack to more than {most(packed):,}")


def deflated(data: bytes, window: int) -> bytes:
    """Decompress zlib's formats: -15 raw, 31 gzip, whose members may follow each other."""
    out: list[bytes] = []
    left, rest = most(len(data)), data
    while rest:
        stream = zlib.decompressobj(window)
        plain = stream.decompress(rest, left + 1)
        left -= len(plain)
        if left < 0:
            hold(most(len(data)) + 1, len(data))
        if not stream.eof:
            raise EOFError("it ends before its end-of-stream marker")
        out.append(plain)
        rest = stream.unused_data.lstrip(b"\0") if window > 15 else b""
    return b"".join(out)


def zstandard(data: bytes) -> bytes:
    """Frames need not state their plain size, so they are streamed."""
    limit = most(len(data))
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        parts, size = [], 0
        while part := stream.read(1 << 20):
            parts.append(part)
            size += len(part)
            if size > limit:
                hold(size, len(data))
        return b"".join(parts)
