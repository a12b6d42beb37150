"""Text files that only Spark reads: encodings, line ends and compressions that the reader of this project refuses by
name. Spark can build column statistics and covering indexes over them, which prune here and in Spark; keys are read by
that reader, wherever they are built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from metaindex.core import Cure, one_line
from metaindex.formats.encodings import codec_of

_OPTIONS: Final = frozenset({"encoding", "charset", "linesep"})
SUFFIXES: Final = ("deflate", "snappy")


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

    packed = paths.filter(pc.match_substring_regex(paths, rf"(?i)\.({'|'.join(SUFFIXES)})$"))
    return str(packed[0].as_py()) if len(packed) else None
