"""Paths as a Delta log writes them: URI-encoded, relative to the table or absolute.

Promise: a decoded relative path stays below the table's root; an absolute one is a plain local path or a store's URI;
local ones have one spelling, as Hadoop has it (no empty and no `.` parts).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from metaindex.core import CorruptTableError

_SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.\-]*:/")
_BLOCK = 1 << 18
_PERCENT, _COLON, _DOT, _SLASH = b"%:./"
_FILE_URI = re.compile(r"^file:(?://(?:localhost)?)?(?=/)")


def decoded(raw: str) -> str:
    """Return one decoded path. Absolute local paths lose their `file:`, so that every spelling of a file is one key."""
    if _SCHEME.match(raw):
        path = _inner_unquote(_FILE_URI.sub("", raw))
        if not path.startswith("/"):
            return path
    else:
        path = _inner_unquote(raw) if "%" in raw else raw
    if ".." in path and ".." in path.split("/") and not path.startswith("/"):
        raise CorruptTableError(
            f"a relative path in a Delta log stays below the table; {raw!r} climbs out of it; the log is damaged or"
            " hostile"
        )
    if "//" in path or "./" in path or path.endswith("/."):
        parts = [part for part in path.split("/") if part not in ("", ".")]
        path = ("/" if path.startswith("/") else "") + "/".join(parts)
    if path in ("", "/", "."):
        raise CorruptTableError(f"a path in a Delta log names a file; {raw!r} names none; the log is damaged")
    return path


def _inner_unquote(text: str) -> str:
    return unquote(text, errors="strict") if "%" in text else text


def decoded_column(raw: pa.Array) -> pa.Array:
    """Decode a column of paths; only rows that need it are decoded one by one."""
    from .columns import strings, where

    if _all_plain(raw):
        return raw
    import pyarrow.compute as pc

    # An escape, a scheme or a climb: everything else is what it says.
    odd = where(pc.match_substring_regex(raw, r"%|^[a-zA-Z][a-zA-Z0-9+.\-]*:/|\.\.|//|\./|/\.?$|^\.?$"))
    if len(odd) == 0:
        return raw
    if len(odd) == len(raw):
        return strings(_all_decoded(raw.to_pylist()))
    values = raw.to_pylist()
    for row in odd.tolist():
        values[row] = decoded(values[row])
    return strings(values)


def _all_plain(raw: pa.Array) -> bool:
    """Return whether no path needs decoding, by one look at the bytes of all paths."""
    if len(raw) == 0:
        return True
    data = raw.buffers()[2]
    if data is None:
        return False
    offsets = np.frombuffer(raw.buffers()[1], np.int32, len(raw) + 1, raw.offset * 4)
    if (np.diff(offsets) == 0).any():
        return False
    first, last = int(offsets[0]), int(offsets[-1])
    for start in range(first, last, _BLOCK):
        # Blocks that stay in the processor's cache, one byte over the edge for a pair of dots.
        text = np.frombuffer(data, np.uint8, min(_BLOCK + 1, last - start), start)
        # A dot before a dot, a dot or slash before a slash; a slash or dot that ends a path stands before the next
        # one's letter.
        dots, slashes = text == _DOT, text == _SLASH
        if (
            (text == _PERCENT).any()
            or (text == _COLON).any()
            or ((dots | slashes)[1:] & dots[:-1]).any()
            or (slashes[1:] & slashes[:-1]).any()
        ):
            return False
    return True


def _all_decoded(values: list[str]) -> list[str]:
    folder: Callable[[str], str] = lru_cache(maxsize=65536)(decoded)  # a partition's files share their folder
    out = []
    for value in values:
        head, slash, name = value.rpartition("/")
        plain_name = slash and "/" in head and ":" not in head and "%" not in name and name not in ("", ".", "..")
        out.append(f"{folder(head)}/{name}" if plain_name else decoded(value))
    return out
