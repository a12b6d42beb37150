"""Packs as Spark's Java libraries do: LZ4BlockOutputStream and SnappyOutputStream."""

import pyarrow as pa
import xxhash

_BLOCK = 32 << 10


def lz4(text: bytes) -> bytes:
    """Blocks of 32 KiB, as they are where packing does not shorten them, and the end of the stream."""
    out = [_lz4_block(text[at : at + _BLOCK]) for at in range(0, len(text), _BLOCK)]
    return b"".join([*out, _lz4_head(0x10, b"", b"")])


def _lz4_block(text: bytes) -> bytes:
    packed = pa.Codec("lz4_raw").compress(text, asbytes=True)
    if len(packed) >= len(text):
        return _lz4_head(0x10, text, text) + text
    return _lz4_head(0x20, packed, text) + packed


def _lz4_head(method: int, packed: bytes, text: bytes) -> bytes:
    check = xxhash.xxh32_intdigest(text, 0x9747B28C) & 0xFFFFFFF if text else 0
    numbers = (len(packed), len(text), check)
    return b"LZ4Block" + bytes([method | 5]) + b"".join(number.to_bytes(4, "little") for number in numbers)


def snappy(text: bytes) -> bytes:
    out = [b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")]
    for at in range(0, len(text), _BLOCK):
        packed = pa.Codec("snappy").compress(text[at : at + _BLOCK], asbytes=True)
        out += [len(packed).to_bytes(4, "big"), packed]
    return b"".join(out)
