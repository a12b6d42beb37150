"""The beginnings of CSV and JSON files, as texts in which columns are found."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import pyarrow as pa

from metaindex.core import CorruptTableError, Cure, UnsupportedFeatureError
from metaindex.formats.text.encodings import codec_of
from metaindex.storage import Storage

from .compressed import by_spark, encoding_of, open_text, unread_option, whole

LOOKED_AT = 32 << 20

_LOOKED_FOR_TEXT = 1_000
_SAY_NOTHING = 8 << 20
"""Bytes that files may have together and say nothing of columns: whoever writes blanks makes nobody read gigabytes."""
_Said = TypeVar("_Said")


def first_that_says(
    paths: Sequence[str],
    read: Callable[[str], bytes],
    columns: Callable[[str, bytes], _Said],
    says: Callable[[_Said], bool],
) -> tuple[str, _Said]:
    """The first file that says something of columns, as Spark takes the first line of all files: an export may begin
    with parts that have none. The first of all where every file was read to its end and none does. `read`: the
    beginning of a file; `columns`: those that it has by that."""
    first, size = None, 0
    for number, path in enumerate(paths[:_LOOKED_FOR_TEXT], 1):
        text = read(path)
        found = path, columns(path, text)
        if says(found[1]):
            return found
        first, size = first or found, size + len(text)
        if (number < len(paths) and number == _LOOKED_FOR_TEXT) or size > _SAY_NOTHING:
            raise CorruptTableError(
                f"columns are found in a file that has a line; the {size:,} bytes that were looked at in"
                f" {number:,} of {len(paths):,} files, from {paths[0]!r} on, have none",
                NAME_COLUMNS,
            )
    assert first is not None
    return first


def is_whole(reader: Mapping[str, str]) -> bool:
    """Return whether a file is one text instead of a line per row."""
    return "true" in (reader.get("multiline", "").lower(), reader.get("wholefile", "").lower())


def text_of(storage: Storage, path: str, reader: Mapping[str, str], most: int = LOOKED_AT) -> bytes:
    """The beginning of a file in UTF-8."""
    if why := unread_option(reader):
        raise UnsupportedFeatureError(f"{why}; {NAME_COLUMNS}, and {by_spark()}")
    text = beginning(storage, path, most)
    codec = codec_of(encoding_of(reader) or "utf-8")
    return text if codec in (None, "utf-8") else text.decode(codec, "replace").encode()


def beginning(storage: Storage, path: str, most: int) -> bytes:
    """Up to so many bytes of a file's text, decompressed; in whole lines, where it has some."""
    parts, size = [], 0
    with storage.open_input(path) as raw, whole(path):
        source = open_text(raw, path)
        while size <= most and (part := source.read(min(1 << 20, most + 1 - size))):
            parts.append(part)
            size += len(part)
    text = b"".join(parts).removeprefix(b"\xef\xbb\xbf")
    lines = text[: text.rfind(b"\n") + 1] if size > most else text
    return lines if lines.strip() else text  # a line that goes on is not none


NAME_COLUMNS: Final = Cure("columns")
_OTHER_BEGINNINGS = {
    b"\x1f\x8b": "gzip: a packed file has a name that ends in .gz",
    b"PK\3\4": "a packed folder or a spreadsheet: unpack it, or save it as text",
}


def say_encoding() -> str:
    return f"say {Cure('reader', 'encoding')} ('ISO-8859-1', 'windows-1252' ...)"


def is_utf8(text: bytes) -> bool:
    ends = pa.array([0, len(text)], pa.int64()).buffers()[1]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(text)]).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def begins_as(text: bytes) -> str:
    """Return what a text is, judging by its first bytes, and the cure that makes it readable; empty if unknown."""
    like = next((said for mark, said in _OTHER_BEGINNINGS.items() if text.startswith(mark)), "")
    if text.startswith(b"PAR1"):
        like = f"Parquet: say {Cure('argument', 'format', 'parquet')}"
    if not like and (text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in text[:4]):
        ways = f"{Cure('also', 'encoding')} and {Cure('reader', 'schema')}, and {by_spark()}"
        like = f"UTF-16 or UTF-32: write it in UTF-8, or say {ways}"
    return f"it begins as {like}" if like else ""
