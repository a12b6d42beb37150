"""The cures of errors and notes in words of the command line: the library says them in those of Python.

All that is said goes through `in_options`, so that no error needs to know who asked."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Final

from metaindex.core import TextTable
from metaindex.formats import READER
from metaindex.table import ALIKE, Cure, argument, cured, value_of

_ARGUMENTS: Final = ("format", "catalog", "mode", "builder", "where", "under", "version", "timestamp")
"""Python's arguments that the command line has by the same name."""


def _argument(match: re.Match[str]) -> str:
    said = value_of(match)
    return f"--{match['name']}" + (f" {shlex.quote(str(said))}" if said not in (None, "") else "")


def _reader_option(match: re.Match[str]) -> str:
    said = value_of(match)
    text = "..." if said is None else str(said).lower() if isinstance(said, bool) else said
    return "--option " + shlex.quote(f"{match['name']}={text}")


_CURES: Final[tuple[Cure, ...]] = (
    (r"Config\(index_location=\.\.\.\)", "--index-location"),
    (r"Config\(confine_to=\(\.\.\.,\)\)", "--confine-to"),
    (r"Config\(query_log=True\) as they are asked", "--query-log kept of prune, scan and count"),
    (r"Config\(query_log=True\)", "--query-log kept"),
    (r"Config\(single_writer=True\)", "--storage-option single_writer=true"),
    (r"QueryLog\(salt=\.\.\.\) or (?=METAINDEX_)", ""),
    (r"Config\(seal_key=\.\.\.\) or (?=METAINDEX_)", ""),
    (r"overwrite=True \(--overwrite\)|--overwrite \(overwrite=True\)", "--overwrite"),
    (r"budget_bytes=, --budget", "--budget"),
    (r"\(delete_index, or drop them later\)", "(metaindex delete TABLE NAME)"),
    (r"or: --create; create\(\) of this answer", "--create does; in Python"),
    (r"to_json\(\) and --json have all", "--json has all"),
    (r"\(retention=0 is none\)", "(--retention 0s is none)"),
    (r"tables= names a table by its path", "--as NAME says what TABLE is called in them"),
    (r"the workload is empty: name queries,", "the workload is empty: name queries (--queries, --where),"),
    (r"did you mean 'storage_options'\?", "did you mean --storage-option?"),
    (r"did you mean 'trust_index'\?", "did you mean --trust-index?"),
    (r"by catalog=\{'uri': \.\.\.\}", "by --catalog-option uri=..."),
    (r"a folder is named; leave catalog= out", "a folder is named; leave --catalog-option out"),
    (r"list them with indexes\(\)", "list them with `metaindex indexes TABLE`"),
    (r"versions\(\) lists them", "`metaindex indexes TABLE NAME` has those of an index"),
    (r"copies=False", "--no-copies"),
    (r"which `unchecked` \(--json\) has", "which --json has"),
    (r"as versions\(\) gives it", "as `metaindex indexes TABLE NAME` gives it"),
    *ALIKE,
    (r"drop (it|this one) and vacuum it", r"delete \1 and vacuum it"),
    (r"mi\.Values\('([^']*)'\)", r"--values \1"),
    (r"mi\.ColumnStats\(\)", "--stats"),
    (argument(_ARGUMENTS), _argument),
    (rf"(?<!--option ){argument(READER)}", _reader_option),
)


def part_in_options(part: object) -> str:
    """A part of an answer, as it is printed; a table cell by cell. Lines of Python stay as they are."""
    if isinstance(part, TextTable):
        part = replace(part, rows=tuple(tuple(map(in_options, row)) for row in part.rows))
    elif isinstance(part, str) and "mi.open_table(" not in part:
        part = in_options(part)
    return str(part)


def in_options(message: str) -> str:
    """Return the message with options of the command line for arguments of Python."""
    return cured(message, _CURES)
