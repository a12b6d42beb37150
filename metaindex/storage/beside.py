"""Files kept about a table of plain files. They are beside it, since overwriting a folder empties it."""

from __future__ import annotations

from collections.abc import Sequence

import xxhash

from .opening import parent_of


def name_of(root: str, patterns: Sequence[str] = ()) -> str:
    """The name that a table has among its neighbours: its folder's, with a hash of its roots where it has several."""
    last = root.rstrip("/").rpartition("/")[2]
    return f"{last}-{xxhash.xxh64_hexdigest(chr(10).join(patterns).encode())}" if patterns else last


def above(root: str) -> str:
    """Return the folder that contains the table, without a closing slash; the root of a store has none above it."""
    scheme, separator, rest = root.partition("://")
    if separator and "/" not in rest.rstrip("/"):
        return f"{scheme}://{rest.rstrip('/')}"
    return parent_of(root).rstrip("/")
