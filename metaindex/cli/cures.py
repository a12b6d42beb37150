"""The cures of errors and notes in words of the command line: the library says them in those of Python.

All that is said goes through `in_options`, so that no error needs to know who asked. What a cure names stands free: a
path or a text that holds the same letters (`/data/schema=3`, `'format=csv'`) is left as it is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

_ARGUMENTS: Final = ("format", "catalog", "mode", "builder", "where", "under", "version", "timestamp")
"""Python's arguments that the command line has by the same name."""
_READER: Final = (
    *("schema", "header", "encoding", "multiLine", "glob", "sep", "delimiter", "quote", "escape", "basePath"),
    *("maxColumns", "lineSep", "recursiveFileLookup", "mergeSchema"),
)
_FREE: Final = r"(?<![\w/'\"=.-])"
_VALUE: Final = r"(?:'(?P<text>[^']*)'|(?P<word>True|False)|(?![\w'\"/*]))"


def _argument(match: re.Match[str]) -> str:
    said = match["text"] if match["text"] is not None else match["word"]
    return f"--{match['name']}" + (f" {shlex.quote(said)}" if said else "")


def _reader_option(match: re.Match[str]) -> str:
    said = match["text"] if match["text"] is not None else (match["word"] or "...")
    return "--option " + shlex.quote(f"{match['name']}={said.lower() if said in ('True', 'False') else said}")


_CURES: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = tuple(
    (re.compile(pattern), cure)
    for pattern, cure in (
        (r"Config\(index_location=\.\.\.\)", "--index-location"),
        (r"Config\(confine_to=\(\.\.\.,\)\)", "--confine-to"),
        (r"Config\(query_log=True\)", "--query-log kept"),
        (r"QueryLog\(salt=\.\.\.\) or (?=METAINDEX_)", ""),
        (r"Config\(seal_key=\.\.\.\) or (?=METAINDEX_)", ""),
        (r"overwrite=True \(--overwrite\)|--overwrite \(overwrite=True\)", "--overwrite"),
        (r"budget_bytes=, --budget", "--budget"),
        (r"\(retention=0 is none\)", "(--retention 0s is none)"),
        (r"tables=, --table", "--table"),
        (r"by catalog=\{'uri': \.\.\.\}", "by --catalog-option uri=..."),
        (r"a folder is named; leave catalog= out", "a folder is named; leave --catalog-option out"),
        (r"list them with indexes\(\)", "list them with `metaindex indexes TABLE`"),
        (r"as versions\(\) gives it", "as `metaindex indexes TABLE NAME` gives it"),
        (r"read with \.to_spark\(spark\)", "read it with Spark"),
        (r"mi\.Values\('([^']*)'\)", r"--values \1"),
        (r"mi\.ColumnStats\(\)", "--stats"),
        (rf"{_FREE}(?P<name>{'|'.join(_ARGUMENTS)})={_VALUE}", _argument),
        (rf"(?<!--option ){_FREE}(?P<name>{'|'.join(_READER)})={_VALUE}", _reader_option),
    )
)


def in_options(message: str) -> str:
    """The message, with options of the command line where it names arguments of Python."""
    for pattern, cure in _CURES:
        message = pattern.sub(cure, message)
    return message
