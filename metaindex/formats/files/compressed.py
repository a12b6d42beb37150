"""Compressed text files, by the ending of their name, as Hadoop tells them.

.gz .bz2 .zst .zstd    the tools' own formats; members may follow each other
.deflate               zlib, one or several
.snappy                Hadoop's blocks: the size of a block, then chunks of it, each with its size, until the block is
                       full
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from abc import ABC, abstractmethod
from typing import IO, cast

import pyarrow as pa

from metaindex.expressions.errors import CorruptTableError, UnsupportedFeatureError

SUFFIXES = ("gz", "bz2", "zst", "zstd", "deflate", "snappy")
_SNAPPY_CHUNK = 64 << 20  # Hadoop's own have 256 KB
_SNAPPY_FACTOR = 64  # three bytes copy at most 64
REFUSED = ("lz4", "lzo", "xz", "zip", "passthrough")


def open_text(source: pa.NativeFile, path: str) -> IO[bytes]:
    """The unpacked text. What is not whole raises when it is read: OSError, EOFError, zlib.error, CorruptTableError."""
    suffix = path.lower().rpartition(".")[2]
    if suffix in REFUSED:
        raise UnsupportedFeatureError(
            f"text files are read plain or compressed as {', '.join(SUFFIXES)}; {path!r} is {suffix}; compress it anew,"
            " or read it with Spark"
        )
    raw = cast(IO[bytes], source)
    match suffix:
        case "gz":
            return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
        case "bz2":
            return cast(IO[bytes], bz2.BZ2File(raw))
        case "zst" | "zstd":
            return cast(IO[bytes], pa.CompressedInputStream(source, "zstd"))
        case "deflate":
            return cast(IO[bytes], io.BufferedReader(_Deflate(raw)))
        case "snappy":
            return cast(IO[bytes], io.BufferedReader(_Snappy(raw)))
        case _:
            return raw


class _Unpacked(io.RawIOBase, ABC):
    """Bytes that come in pieces."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = self._piece()
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    @abstractmethod
    def _piece(self) -> bytes | None:
        """The next piece; None at the end."""


class _Deflate(_Unpacked):
    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        self._stream = zlib.decompressobj()

    def _piece(self) -> bytes | None:
        packed = self._stream.unused_data or self._raw.read(1 << 18)
        if packed:
            if self._stream.eof:  # another follows
                self._stream = zlib.decompressobj()
            return self._stream.decompress(packed)
        if not self._stream.eof:
            raise EOFError("it ends before its end-of-stream marker")
        return None


class _Snappy(_Unpacked):
    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        self._left = 0

    def _piece(self) -> bytes | None:
        while self._left == 0:
            size = self._number(first=True)
            if size is None:
                return None
            self._left = size
        packed = self._exactly(self._number() or 0)
        size = _snappy_size(packed)
        if size > min(self._left, _SNAPPY_FACTOR * len(packed)):  # before as many bytes are asked for
            raise CorruptTableError("a chunk is larger than its block, or than it can be")
        piece = cast(bytes, pa.Codec("snappy").decompress(packed, size, asbytes=True))
        self._left -= len(piece)
        return piece

    def _number(self, first: bool = False) -> int | None:
        data = self._raw.read(4)
        if first and not data:
            return None
        return int.from_bytes(data if len(data) == 4 else self._short(), "big")

    def _exactly(self, size: int) -> bytes:
        if size > _SNAPPY_CHUNK:
            raise CorruptTableError(f"a chunk says that it has {size:,} bytes")
        data = self._raw.read(size)
        return data if len(data) == size and size else self._short()

    def _short(self) -> bytes:
        raise EOFError("it ends inside a block")


def _snappy_size(packed: bytes) -> int:
    """The first number of a chunk: seven bits a byte, the least first."""
    size = shift = 0
    for byte in packed[:5]:
        size |= (byte & 127) << shift
        if byte < 128:
            return size
        shift += 7
    raise CorruptTableError("a chunk does not say its size")
