"""A text of many statements, taken apart at its semicolons as it is read: no more of it is held than one statement.

What stands in quotes, names in backticks and comments ends none. A statement that is longer than it may be is passed
over, to its end. A quote or comment that nothing closes spoils its own statement alone: where the text ends inside of
one, that statement ends at the first semicolon that ends a line."""

from __future__ import annotations

import codecs
import logging
import os
import re
import stat
import struct
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import xxhash

from metaindex.core import StorageError, one_line

MOST_CHARACTERS: Final = 1_000_000
"""Of a statement, or of a line of a log."""

_PLAIN: Final = re.compile(r"(?<!\w)[rR]['\"]|['\"`;]|--|/\*")
_EVENTS: Final = {
    "'": re.compile(r"\\.|'", re.DOTALL),
    '"': re.compile(r'\\.|"', re.DOTALL),
    "r'": re.compile("'"),
    'r"': re.compile('"'),
    "`": re.compile("`"),
    "--": re.compile(r"\n"),
    "/*": re.compile(r"/\*|\*/"),
}
_HELD: Final = {"": re.compile(r"(?:[-/]|(?<!\w)[rR])\Z"), "'": re.compile(r"\\\Z"), "/*": re.compile(r"[*/]\Z")}
_HELD['"'] = _HELD["'"]
"""What may begin something whose end the next piece of the text has."""
_BLANK: Final = re.compile(r"(?:\s|--[^\n]*+(?:\n|\Z)|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)*")
_LINE_END: Final = re.compile(r";[ \t]*\r?\n")
_MOST_UNCLOSED: Final = 16
"""Statements of a text that nothing closes: each has the rest of the text taken apart anew."""


def statements(pieces: Iterable[str], most: int = MOST_CHARACTERS) -> Iterator[str | None]:
    """Yield the statements of a text in pieces, without semicolons; None for one of more characters than `most`. Blanks
    and comments alone are no statement."""
    for _ in range(_MOST_UNCLOSED):
        splitter = _Splitter(most)
        for piece in pieces:
            yield from splitter.taken(piece)
        rest = yield from splitter.ended()
        if _BLANK.fullmatch(rest):
            return
        pieces = (rest,)
    yield rest.strip()


class _Splitter:
    def __init__(self, most: int) -> None:
        self.most = most
        self.inside = ""  # what the text is inside of
        self.depth = 0  # of comments
        self.parts: list[str] = []
        self.size = 0
        self.before = self.held = ""  # the last character that was taken, and those that wait for the next piece

    def ended(self) -> Generator[str | None, None, str]:
        """Yield the last statement; return what stands behind it, if nothing closes what it is inside of."""
        yield from self.taken("", last=True)
        text = "" if self.inside in ("", "--") or self.size > self.most else "".join(self.parts)
        end = _LINE_END.search(text)
        if end is not None:
            self.parts, self.size = [text[: end.start()]], end.start()
        yield from self._closed()
        return "" if end is None else text[end.end() :]

    def taken(self, piece: str, *, last: bool = False) -> Iterator[str | None]:
        text = self.before + self.held + piece
        at = start = len(self.before)
        while (event := (_EVENTS[self.inside] if self.inside else _PLAIN).search(text, at)) is not None:
            at = event.end()
            if event[0] == ";" and not self.inside:
                self._keep(text[start : event.start()])
                yield from self._closed()
                start = at
            else:
                self._entered(event[0])
        held = None if last or self.inside not in _HELD else _HELD[self.inside].search(text, at)
        end = len(text) if held is None else held.start()
        self._keep(text[start:end])
        self.before, self.held = text[max(end - 1, 0) : end], text[end:]

    def _entered(self, event: str) -> None:
        if not self.inside:
            self.inside = event.lower()
            self.depth = 1
        elif self.inside == "/*":
            self.depth += 1 if event == "/*" else -1
            self.inside = self.inside if self.depth else ""
        elif not event.startswith("\\"):
            self.inside = ""

    def _keep(self, text: str) -> None:
        self.size += len(text)
        if self.size <= self.most:
            self.parts.append(text)
        else:
            self.parts.clear()

    def _closed(self) -> Iterator[str | None]:
        text, too_long = "".join(self.parts), self.size > self.most
        self.parts, self.size = [], 0
        if too_long:
            yield None
        elif not _BLANK.fullmatch(text):
            yield text.strip()


logger = logging.getLogger("metaindex")

PATIENCE_SECONDS: Final = 2.0


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open the file for its bytes. Raises StorageError for a device, OSError if it cannot be opened."""
    mode = path.stat().st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _ends(path)):
        raise StorageError("a file is read to its end; this is a device, which may have none; name a file or a pipe")
    waiting = threading.Timer(PATIENCE_SECONDS, _say, (path,)) if stat.S_ISFIFO(mode) else None
    if waiting is not None:
        waiting.daemon = True
        waiting.start()
    try:
        with open(path, "rb", opener=_without_taking) as file:
            if waiting is not None:
                file.peek(1)  # the first bytes, or the end
                waiting.cancel()
            yield file
    finally:
        if waiting is not None:
            waiting.cancel()


def _without_taking(path: str, flags: int) -> int:
    """A terminal does not become that of a process which has none, and ends with it."""
    return os.open(path, flags | os.O_NOCTTY)


def _ends(path: Path) -> bool:
    """Return whether the path never yields data (the null device), or is a terminal at which somebody types."""
    if os.path.samefile(path, os.devnull):
        return True
    opened_here = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return os.isatty(opened_here)
    finally:
        os.close(opened_here)


def _say(path: Path) -> None:
    logger.warning("waiting for what is written to %s, which is a pipe; Ctrl-C ends it", one_line(str(path)))


LZ4_MAGIC: Final = b"LZ4Block"
SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_MOST_BLOCK: Final = 32 << 20
_SEED: Final = 0x9747B28C
_STORED: Final = 0x10
_PACKED_BLOCK: Final = 0x20
_LEAST_BITS: Final = 10


def lz4_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the text block by block. Raises StorageError if it is damaged, or ends amid a block."""
    codec = pa.Codec("lz4_raw")
    while head := file.read(len(LZ4_MAGIC) + 13):
        if len(head) < len(LZ4_MAGIC) + 13 or not head.startswith(LZ4_MAGIC):
            raise _damaged("a block of LZ4 has no head")
        token, packed, size, check = struct.unpack("<BIII", head[len(LZ4_MAGIC) :])
        method, most = token & 0xF0, 1 << (_LEAST_BITS + (token & 0x0F))
        fits = packed == size if method == _STORED else method == _PACKED_BLOCK and packed <= size
        if size > most or not fits:
            raise _damaged("a block of LZ4 has sizes that none has")
        if not size:
            continue  # the end of a stream; another one may follow
        data = _whole(file, packed)
        text = data if method == _STORED else _unpacked_block(codec, data, size)
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
        yield _unpacked_block(codec, data, _snappy_size(data))


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


def _unpacked_block(codec: pa.Codec, data: bytes, size: int) -> bytes:
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


PIECE: Final = 1 << 16
_LAST: Final = 256
"""Of a packed file's last bytes: what is unpacked beside the place where it is cut is lost."""
_PACKED: Final = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".lz4": "lz4", ".snappy": "snappy"}
_ON_TOP: Final = (".inprogress", ".compact")
"""That Spark writes behind the other suffixes."""
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
    """Return whether the file is packed by Spark's codec lzf."""
    return _suffix(path) == ".lzf" and path.is_file()


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


def lines(path: Path) -> Iterator[str | None]:
    """Yield the text line by line; None for one that is longer than a statement may be."""
    return (None if line is None else line.decode("utf-8-sig", "replace") for line in byte_lines(path, MOST_CHARACTERS))


def byte_lines(path: Path, most: int) -> Iterator[bytes | None]:
    """Yield lines undecoded: most lines of a log are not looked at. None for one of more bytes than `most`."""
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
