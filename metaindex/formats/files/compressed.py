"""Compressed text files, recognized by their names' endings as in Hadoop: gzip, bzip2 and Zstandard, which Arrow
unpacks. Members may follow each other; anything else after the last one is damage.

Other compressions, encodings and line ends are refused by name. Spark can build column statistics and covering indexes
over files with those, which prune here and in Spark; keys are read here, wherever they are built."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import IO, Final, cast

import pyarrow as pa

from metaindex.core import Cure, UnsupportedFeatureError, one_line
from metaindex.formats.damage import as_damage
from metaindex.formats.text.encodings import codec_of

_CODECS: Final = {"gz": "gzip", "bz2": "bz2", "zst": "zstd", "zstd": "zstd"}
_BY_SPARK: Final = ("deflate", "snappy")
SUFFIXES: Final = (*_CODECS, *_BY_SPARK)
"""Of files that may be a table's."""
REFUSED: Final = ("lz4", "lzo", "xz", "zip", "passthrough")


def open_text(source: pa.NativeFile, path: str) -> IO[bytes]:
    """The unpacked text, to be read `whole`."""
    suffix = path.lower().rpartition(".")[2]
    if suffix in REFUSED or suffix in _BY_SPARK:
        raise UnsupportedFeatureError(not_unpacked(path))
    codec = _CODECS.get(suffix)
    return cast(IO[bytes], source if codec is None else pa.CompressedInputStream(source, codec))


def whole(path: str) -> AbstractContextManager[None]:
    """CorruptTableError where reading shows that a file is damaged."""
    rule = f"a data file must be whole; cannot read {path!r}"
    return as_damage(f"{rule}: ", "; write it again, or remove it")


def not_unpacked(path: str) -> str:
    """The rule, the fact and the cure of a file that is not unpacked here."""
    suffix = path.lower().rpartition(".")[2]
    return (
        f"text files are read plain or compressed as {', '.join(_CODECS)}; {path!r} is {suffix}; compress it"
        f" anew{f', {by_spark()}' if suffix in _BY_SPARK else ''}"
    )


_OPTIONS: Final = frozenset({"encoding", "charset", "linesep"})


def by_spark() -> str:
    """Return the cure for text files that only Spark reads."""
    builder = Cure("argument", "builder", "spark")
    return f"build column statistics or a covering index with {builder}, or {Cure('spark')}"


def encoding_of(reader: Mapping[str, str]) -> str | None:
    return reader.get("encoding", reader.get("charset"))


def unread_option(reader: Mapping[str, str]) -> str:
    """The rule and the fact where files with these options are not read here; empty where they are."""
    encoding = encoding_of(reader)
    if codec_of(encoding or "utf-8") is None:
        return (
            "text files are read in UTF-8 and in encodings of one byte that Java decodes alike; the table has"
            f" {encoding!r}"
        )
    if "linesep" in reader:
        return (
            "lines of text files end with \\n, \\r or \\r\\n, and lineSep is left out; the table has lineSep"
            f" '{one_line(reader['linesep'])}'"
        )
    return ""


def without_only_spark(options: Mapping[str, object]) -> dict[str, object]:
    """The options without those."""
    return {name: value for name, value in options.items() if name.lower() not in _OPTIONS}


def unread_file(paths: pa.ChunkedArray) -> str | None:
    """The first file whose compression is not read here."""
    import pyarrow.compute as pc

    packed = paths.filter(pc.match_substring_regex(paths, rf"(?i)\.({'|'.join(_BY_SPARK)})$"))
    return str(packed[0].as_py()) if len(packed) else None
