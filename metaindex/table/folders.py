"""Tables of a lake, by their folders below a path; and the hint for a folder of tables that is opened like a table."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from metaindex.core import ArgumentError, MetaIndexError

MOST_FOLDERS: Final = 20_000
"""That are looked at."""
_HINTED = 200
"""That a hint looks at."""
_NAMED = 3


def tables_below(path: str, storage_options: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the folders of tables below `path`: "" alone if it is a table itself. No table is looked for below another.
    Raises ArgumentError for too many folders; StorageError."""
    from metaindex.formats import Walk
    from metaindex.storage import storage_for

    storage, _ = storage_for(path, storage_options)
    walk = Walk(storage, MOST_FOLDERS)
    yield from (table.folder for table in walk.tables() if table.format)
    if walk.cut:
        raise ArgumentError(
            f"tables are looked for in at most {MOST_FOLDERS:,} folders; there are more below {path!r}; name a folder"
            " further down, or the tables"
        )


def hint(path: object) -> str:
    """Return a hint for a local folder whose tables lie below it; empty for anything else."""
    if not isinstance(path, str) or not os.path.isdir(path):
        return ""
    from metaindex.formats import Walk
    from metaindex.storage import storage_for

    try:
        storage, root = storage_for(path, {})
        tables = [
            table for table in islice(Walk(storage, _HINTED, container=True).tables(), _NAMED + 1) if table.format
        ]
    except MetaIndexError:
        return ""
    names = [table.folder for table in tables if table.folder]
    if not names or len(names) < len(tables):
        return ""
    more = ", ..." if len(names) > _NAMED else ""
    return (
        f"it looks like a folder of tables ({', '.join(names[:_NAMED])}{more}): `metaindex lake {shlex.quote(root)}`"
        " tells of them"
    )
