"""The files that a MERGE by key would rewrite."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from metaindex.query.arguments import TimestampLike, VersionLike
from metaindex.query.queries import Queries

from .touched import Touched
from .touched import touched as touched_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metaindex.query.semi_join.sources import Named


def touched(
    queries: Queries,
    source: object,
    on: Named,
    version: VersionLike,
    timestamp: TimestampLike,
    *,
    exact: bool,
    indexes: Iterable[str] | None,
) -> Touched:
    """Implement `Table.touched`."""
    scan = queries.scan(None, None, version, timestamp, indexes=indexes, keys=source, on=on)
    names = [f.name for f in scan.snapshot.schema.shown.fields]
    wanted = [name for name in names if scan.keys is not None and name in scan.keys.columns]
    return touched_by(replace(scan, columns=tuple(wanted)), exact=exact)
