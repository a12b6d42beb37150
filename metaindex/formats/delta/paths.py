"""Paths as a Delta log writes them: URI-encoded, relative to the table or absolute.

Promise: a decoded relative path stays below the table's root; an absolute one is a plain local path or a store's URI;
local ones have one spelling, as Hadoop has it (no empty and no `.` parts).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

import pyarrow as pa
from pyarrow._compute import MatchSubstringOptions

from metaindex.core import compute
from metaindex.formats.columns import strings, where

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.\-]*:/")
_ODD = r"%|^[a-zA-Z][a-zA-Z0-9+.\-]*:/|\.\.|//|\./|/\.?$|^\.?$"
_FILE_URI = re.compile(r"^file:(?://(?:localhost)?)?(?=/)")


def decoded(raw: str) -> str:
    """Return one decoded path; ValueError where it is none. Absolute local paths lose their `file:`, so that every
    spelling of a file is one key."""
    if _SCHEME.match(raw):
        path = _inner_unquote(_FILE_URI.sub("", raw))
        if not path.startswith("/"):
            return path
    else:
        path = _inner_unquote(raw) if "%" in raw else raw
    if ".." in path and ".." in path.split("/") and not path.startswith("/"):
        raise ValueError(f"a relative path in a Delta log stays below the table; {raw!r} climbs out of it")
    if "//" in path or "./" in path or path.endswith("/."):
        parts = [part for part in path.split("/") if part not in ("", ".")]
        path = ("/" if path.startswith("/") else "") + "/".join(parts)
    if path in ("", "/", "."):
        raise ValueError(f"a path in a Delta log names a file; {raw!r} names none")
    return path


def _inner_unquote(text: str) -> str:
    return unquote(text, errors="strict") if "%" in text else text


def decoded_column(raw: pa.Array) -> pa.Array:
    """Decode a column of paths; only rows that need it are decoded one by one."""
    # An escape, a scheme or a climb: everything else is what it says.
    odd = where(compute("match_substring_regex", raw, options=MatchSubstringOptions(_ODD)))
    if len(odd) == 0:
        return raw
    values = raw.to_pylist()
    folder: Callable[[str], str] = lru_cache(maxsize=65536)(decoded)  # a partition's files share their folder
    for row in odd.tolist():
        head, slash, name = values[row].rpartition("/")
        plain = slash and "/" in head and ":" not in head and "%" not in name and name not in ("", ".", "..")
        values[row] = f"{folder(head)}/{name}" if plain else decoded(values[row])
    return strings(values)
