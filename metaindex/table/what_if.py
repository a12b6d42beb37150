"""What-if of a table by its path, or as it is open."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from metaindex.kinds.kind import Kind

from .asked import TimestampLike, VersionLike
from .face import Table
from .opening import open_table

if TYPE_CHECKING:
    from metaindex.whatif.answer import WhatIf


def what_if(
    table: Table | str | os.PathLike[str],
    queries: object,
    *candidates: Kind | Sequence[Kind],
    version: VersionLike = None,
    timestamp: TimestampLike = None,
    sample: float | None = None,
    indexes: Iterable[str] | None = None,
    tables: Mapping[str, str | os.PathLike[str]] | None = None,
) -> WhatIf:
    """What would queries of a table read if there were such an index? `mi.what_if("lake/flights", "tailnum = 'N14228'",
    mi.Values("tailnum"))`. `table`: as `open_table` gives it, or its path. The rest is that of `Table.what_if`, and so
    is what is raised."""
    opened = table if isinstance(table, Table) else open_table(table)
    return opened.what_if(
        queries, *candidates, version=version, timestamp=timestamp, sample=sample, indexes=indexes, tables=tables
    )
