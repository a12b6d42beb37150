"""A hint for a folder of tables that is opened like a table: how to list its tables."""

from __future__ import annotations

import os
import shlex
from itertools import islice

from metaindex.core import MetaIndexError

_FOLDERS = 200
"""That are looked at."""
_NAMED = 3


def hint(path: object) -> str:
    """Return a hint for a local folder whose tables lie below it; empty for anything else."""
    if not isinstance(path, str) or not os.path.isdir(path):
        return ""
    from metaindex.formats import Walk
    from metaindex.storage import storage_for

    try:
        storage, root = storage_for(path, {})
        tables = [
            table for table in islice(Walk(storage, _FOLDERS, container=True).tables(), _NAMED + 1) if table.format
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
