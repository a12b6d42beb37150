"""Commands that a person can paste into a shell, with the options with which the table was opened."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from metaindex.query import Handle


def command(handle: Handle, verb: str, *words: str, reader: bool = True) -> str:
    """Return `metaindex VERB TABLE WORDS`, quoted for a shell. Options of a store are left out: they may be secrets.
    `reader`: include reader options? A verb on an index knows them."""
    return shlex.join(["metaindex", verb, handle.path, *words, *opening(handle, reader=reader)])


def opening(handle: Handle, *, reader: bool = True) -> Iterator[str]:
    """The options that open the table as it is open."""
    options, config = handle.ref.options, handle.config
    catalog = getattr(options.get("catalog"), "name", None)
    if isinstance(catalog, str) and catalog:
        yield from ("--catalog", catalog)
    if reader and isinstance(named := options.get("format"), str):
        yield from ("--format", named)
    if reader and handle.table_format.reader_options:
        for name, value in handle.read.in_text.items():
            yield from ("--option", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    if config.index_location is not None:
        yield from ("--index-location", os.fspath(config.index_location))
    if config.namespace is not None:
        yield from ("--namespace", config.namespace)
