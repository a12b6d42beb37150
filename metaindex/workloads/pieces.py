"""Text of files, packed or not, in pieces of a bounded size."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa

from metaindex.expressions.errors import StorageError

from .splitting import MOST_CHARACTERS

PIECE: Final = 1 << 16
_PACKED: Final = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2"}


def read_pieces(path: Path) -> Iterator[bytes]:
    """Raises OSError (StorageError is one) where a file cannot be read, or is damaged from there on."""
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        if suffix in _PACKED:
            yield from _unpacked(file, _PACKED[suffix])
        else:
            while piece := file.read(PIECE):
                yield piece


def _unpacked(file: BinaryIO, codec: str) -> Iterator[bytes]:
    try:
        with pa.CompressedInputStream(pa.PythonFile(file, mode="r"), codec) as stream:
            while piece := stream.read(PIECE):
                yield piece
    except (pa.ArrowException, EOFError) as error:
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
