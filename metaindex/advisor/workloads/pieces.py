"""Text of files, packed or not, in pieces of a bounded size."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa

from metaindex.core import StorageError

from .blocks import LZ4_MAGIC, SNAPPY_MAGIC, lz4_blocks, snappy_blocks
from .splitting import MOST_CHARACTERS
from .streams import opened

PIECE: Final = 1 << 16
_LAST: Final = 256
"""Of a packed file's last bytes: what is unpacked beside the place where it is cut is lost."""
_PACKED: Final = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".lz4": "lz4", ".snappy": "snappy"}
_ON_TOP: Final = (".inprogress", ".compact")
"""That Spark writes behind the other suffixes."""
_LZF: Final = b"ZV"
"""What each block begins with."""
_MOST_TIMES: Final = 1_000
_FREE: Final = 64 << 20
"""A packed file of text unpacks to at most so many times its size, or so many bytes; anything else is no text."""


def read_pieces(path: Path) -> Iterator[bytes]:
    """Raises OSError (StorageError is one) where a file cannot be read, or is damaged from there on."""
    codec = _PACKED.get(_suffix(path))
    if is_lzf(path):
        raise StorageError(
            "an event log may be packed by zstd, lz4 or snappy; this one is packed by lzf, which is not read; let Spark"
            " write logs with spark.eventLog.compression.codec=zstd, or unpack it"
        )
    with opened(path) as file:
        if codec is None:
            while piece := file.read(PIECE):
                yield piece
            return
        size = os.fstat(file.fileno()).st_size
        left = max(_FREE, size * _MOST_TIMES)
        for piece in _unpacked(file, codec, size):
            left -= len(piece)
            if left < 0:
                raise StorageError(
                    f"a packed file of text unpacks to at most {_MOST_TIMES:,} times its size; this one of {size:,}"
                    " bytes unpacks to more; leave it out"
                )
            yield piece


def is_lzf(path: Path) -> bool:
    """Return whether the file is packed by Spark's codec lzf. Raises OSError if it cannot be read."""
    if _suffix(path) != ".lzf" or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_LZF)) == _LZF


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for suffix in _ON_TOP:
        name = name.removesuffix(suffix)
    return Path(name).suffix


def _unpacked(file: BinaryIO, codec: str, size: int) -> Iterator[bytes]:
    magic = file.read(8)
    file.seek(0)
    if codec == "lz4" and magic != b"\x04\x22\x4d\x18" + magic[4:]:
        return _checked(lz4_blocks(file), LZ4_MAGIC, magic)
    if codec == "snappy":
        return _checked(snappy_blocks(file), SNAPPY_MAGIC, magic)
    return _by_arrow(file, codec, size)


def _checked(blocks: Iterator[bytes], expected: bytes, magic: bytes) -> Iterator[bytes]:
    if magic and not expected.startswith(magic) and magic != expected:
        raise StorageError("a packed file begins as its suffix says; this one does not; name it as it is packed")
    return blocks


def _by_arrow(file: BinaryIO, codec: str, size: int) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec) as stream:
            while piece := stream.read(PIECE if file.tell() + PIECE < size else _LAST):
                yield piece
    except (pa.ArrowException, EOFError, OSError) as error:
        raise StorageError(f"a packed file must be whole; it is damaged: {str(error)[:200]}") from None


def pieces(path: Path) -> Iterator[str]:
    """The text, in UTF-8; bytes that are no text of it are U+FFFD."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for piece in read_pieces(path):
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def lines(path: Path, most: int = MOST_CHARACTERS) -> Iterator[str | None]:
    """Line by line; None for one of more characters than `most`."""
    held: list[str] = []
    size = 0
    for piece in pieces(path):
        *ended, rest = piece.split("\n")
        for part in ended:
            yield "".join((*held, part)) if size + len(part) <= most else None
            held, size = [], 0
        size += len(rest)
        held = [*held, rest] if size <= most else []
    if size:
        yield "".join(held) if size <= most else None


def byte_lines(path: Path, most: int) -> Iterator[bytes | None]:
    """Yield lines like `lines`, undecoded: most lines of a log are not looked at."""
    held: list[bytes] = []
    size = 0
    for piece in read_pieces(path):
        *ended, rest = piece.split(b"\n")
        for part in ended:
            yield (b"".join((*held, part)) if held else part) if size + len(part) <= most else None
            held.clear()
            size = 0
        size += len(rest)
        if size > most:
            held.clear()
        elif rest:
            held.append(rest)
    if size:
        yield b"".join(held) if size <= most else None
