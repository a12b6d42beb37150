"""Compressed text files, by the ending of their name, as Hadoop tells them.

.gz .bz2 .zst .zstd    the tools' own formats; members may follow each other
.deflate               zlib, one or several
.snappy                Hadoop's blocks: the size of a block, then chunks of it, each with its size, until the block is
                       full; a block of no bytes is the end, whatever follows

Behind the last member Hadoop fails at anything, zeros too; only in .bz2 it looks for another member behind what is
none, so zeros alone are passed over here, and all else is refused.
"""

from __future__ import annotations

import bz2
import io
import zlib
from abc import ABC, abstractmethod
from typing import IO, Final, cast

import pyarrow as pa

from metaindex.expressions.errors import CorruptTableError, UnsupportedFeatureError

SUFFIXES = ("gz", "bz2", "zst", "zstd", "deflate", "snappy")
_SNAPPY_CHUNK = 64 << 20  # Hadoop's own have 256 KB
_SNAPPY_FACTOR = 64  # three bytes copy at most 64
_GZIP = 16 + zlib.MAX_WBITS
_PACKED, _UNPACKED = 1 << 14, 1 << 24  # bytes at once: what follows a member is copied, and a bomb is large
REFUSED = ("lz4", "lzo", "xz", "zip", "passthrough")
NOT_WHOLE: Final = (OSError, EOFError, zlib.error, pa.ArrowException, CorruptTableError)
"""What reading a text raises that `open_text` gives, where the file is damaged. A StorageError is an OSError as well,
and no damage: it is let through before."""


def open_text(source: pa.NativeFile, path: str) -> IO[bytes]:
    """The unpacked text. What is not whole raises NOT_WHOLE when it is read."""
    suffix = path.lower().rpartition(".")[2]
    if suffix in REFUSED:
        raise UnsupportedFeatureError(
            f"text files are read plain or compressed as {', '.join(SUFFIXES)}; {path!r} is {suffix}; compress it anew,"
            " or read it with Spark"
        )
    raw = cast(IO[bytes], source)
    match suffix:
        case "gz":
            return cast(IO[bytes], io.BufferedReader(_Zlib(raw, _GZIP)))
        case "bz2":
            return cast(IO[bytes], io.BufferedReader(_Bzip2(raw)))
        case "zst" | "zstd":
            return cast(IO[bytes], pa.CompressedInputStream(source, "zstd"))
        case "deflate":
            return cast(IO[bytes], io.BufferedReader(_Zlib(raw, zlib.MAX_WBITS)))
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


class _Zlib(_Unpacked):
    def __init__(self, raw: IO[bytes], form: int) -> None:
        super().__init__(raw)
        self._form = form
        self._stream: zlib._Decompress | None = None  # none yet

    def _piece(self) -> bytes | None:
        stream = self._stream
        if stream is None or stream.eof:
            packed = _behind(stream, self._raw)
            if not packed:
                return None
            stream = self._stream = zlib.decompressobj(self._form)
            return stream.decompress(packed, _UNPACKED)
        packed = stream.unconsumed_tail or self._raw.read(_PACKED)
        piece = stream.decompress(packed, _UNPACKED)
        if not (packed or piece or stream.eof):
            raise EOFError("it ends before its end-of-stream marker")
        return piece


def _behind(member: zlib._Decompress | bz2.BZ2Decompressor | None, raw: IO[bytes]) -> bytes:
    return (member.unused_data if member is not None else b"") or raw.read(_PACKED)


class _Bzip2(_Unpacked):
    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        self._stream: bz2.BZ2Decompressor | None = None  # none yet

    def _piece(self) -> bytes | None:
        stream = self._stream
        if stream is None or stream.eof:
            packed = _behind(stream, self._raw)
            if not packed or (stream is not None and self._is_padding(packed)):
                return None
            self._stream = bz2.BZ2Decompressor()
            return self._stream.decompress(packed, _UNPACKED)
        packed = self._raw.read(_PACKED) if stream.needs_input else b""
        if stream.needs_input and not packed:
            raise EOFError("it ends before its end-of-stream marker")
        return stream.decompress(packed, _UNPACKED)

    def _is_padding(self, packed: bytes) -> bool:
        """Are there zeros alone, to the end of the file?"""
        if packed[0]:
            return False
        while packed:
            if packed.strip(b"\0"):
                raise CorruptTableError("something stands behind its end")
            packed = self._raw.read(_PACKED)
        return True


class _Snappy(_Unpacked):
    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        self._left = 0
        self._ended = False

    def _piece(self) -> bytes | None:
        if self._ended:
            return None
        if self._left == 0:
            self._left = self._number(first=True) or 0
        if self._left == 0:
            self._ended = True
            return None
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
