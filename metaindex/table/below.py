"""Tables of a lake, by their folders below a path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from metaindex.core import ArgumentError
from metaindex.formats import Walk
from metaindex.storage import storage_for

MOST_FOLDERS: Final = 20_000
"""That are looked at."""


def tables_below(path: str, storage_options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the folders of tables below `path`: "" alone if it is a table itself. No table is looked for below another.
    Raises ArgumentError for too many folders; StorageError."""
    storage, _ = storage_for(path, storage_options)
    walk = Walk(storage, MOST_FOLDERS)
    yield from (table.folder for table in walk.tables() if table.format)
    if walk.cut:
        raise ArgumentError(
            f"tables are looked for in at most {MOST_FOLDERS:,} folders; there are more below {path!r}; name a folder"
            " further down, or the tables"
        )
