"""Streams of packed blocks as Spark's Java libraries write them: LZ4 (`LZ4BlockOutputStream`, which is not the frame
that LZ4's own tools write) and Snappy (`SnappyOutputStream`). Each block is bounded before it is unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

import pyarrow as pa
import xxhash

from metaindex.core import StorageError

LZ4_MAGIC: Final = b"LZ4Block"
SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_MOST_BLOCK: Final = 32 << 20
_SEED: Final = 0x9747B28C
_STORED: Final = 0x10
_PACKED: Final = 0x20
_LEAST_BITS: Final = 10


def lz4_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the text block by block. Raises StorageError if it is damaged, or ends amid a block."""
    codec = pa.Codec("lz4_raw")
    while head := file.read(len(LZ4_MAGIC) + 13):
        if len(head) < len(LZ4_MAGIC) + 13 or not head.startswith(LZ4_MAGIC):
            raise _damaged("a block of LZ4 has no head")
        token, numbers = head[8], head[9:]
        packed, size, check = (int.from_bytes(numbers[at : at + 4], "little") for at in (0, 4, 8))
        method, most = token & 0xF0, 1 << (_LEAST_BITS + (token & 0x0F))
        if size > most or packed > size or method not in (_STORED, _PACKED) or (method == _STORED and packed != size):
            raise _damaged("a block of LZ4 has sizes that none has")
        if not size:
            continue  # the end of a stream; another one may follow
        data = _whole(file, packed)
        text = data if method == _STORED else _unpacked(codec, data, size)
        if xxhash.xxh32_intdigest(text, _SEED) & 0xFFFFFFF != check:
            raise _damaged("a block of LZ4 has another checksum")
        yield text


def snappy_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield unpacked blocks, like `lz4_blocks`."""
    codec = pa.Codec("snappy")
    while head := file.read(4):
        if head == SNAPPY_MAGIC[:4]:
            _whole(file, 12)  # the rest of a stream's head; several streams may follow each other
            continue
        if len(head) < 4:
            raise _damaged("a block of Snappy has no head")
        packed = int.from_bytes(head, "big")
        if packed > _MOST_BLOCK:
            raise _damaged("a block of Snappy has sizes that none has")
        data = _whole(file, packed)
        yield _unpacked(codec, data, _snappy_size(data))


def _snappy_size(data: bytes) -> int:
    """Return the size that a block says of itself."""
    size = 0
    for shift, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            break
    if size > _MOST_BLOCK:
        raise _damaged("a block of Snappy has sizes that none has")
    return size


def _unpacked(codec: pa.Codec, data: bytes, size: int) -> bytes:
    try:
        text: bytes = codec.decompress(data, size, asbytes=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(f"a block cannot be unpacked: {str(error)[:100]}") from None
    if len(text) != size:
        raise _damaged("a block unpacks to another size")
    return text


def _whole(file: BinaryIO, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise _damaged("it ends amid a block")
    return data


def _damaged(why: str) -> StorageError:
    return StorageError(f"a packed file must be whole; {why}; what stands before it is read")
