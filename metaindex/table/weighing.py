"""What an index would leave out, asked of a table's snapshot and of its indexes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from metaindex.expressions.errors import ArgumentError
from metaindex.formats.model import Leaf
from metaindex.kinds.kind import Kind
from metaindex.readers.scan import Scan
from metaindex.whatif.asking import Standing
from metaindex.whatif.candidates import named
from metaindex.whatif.growth import rate_of
from metaindex.whatif.weigh import Asked, AtHand, weigh

from .asked import TimestampLike, VersionLike, at_version, names_of
from .handle import Handle

if TYPE_CHECKING:
    from metaindex.whatif.answer import WhatIf


def weighed(
    handle: Handle,
    queries: object,
    candidates: Sequence[Kind | Sequence[Kind]],
    *,
    version: VersionLike,
    timestamp: TimestampLike,
    sample: float | None,
    indexes: Iterable[str] | None,
) -> WhatIf:
    """See `Table.what_if`."""
    several = tuple(queries) if isinstance(queries, list | tuple) else (queries,)
    if not several or queries is None:
        raise ArgumentError("what-if weighs at least one query; none was given; name a condition, as behind WHERE")
    asked = Asked(several, tuple(named(candidates)), sample, handle.config.time_zone, handle.path)
    snapshot = handle.snapshot(at_version(version, timestamp))
    opened, refused = handle.open_indexes(names_of(indexes, "indexes"))

    def scan(row: int, leaves: Sequence[Leaf]) -> Scan:
        names = tuple(dict.fromkeys(leaf.parts[0] for leaf in leaves))
        rows = np.array([row], np.int64)
        return Scan(snapshot, handle.ref.storage, handle.ref, rows, columns=names, time_zone=handle.config.time_zone)

    hand = AtHand(
        handle.ref,
        Standing(snapshot, tuple(opened)),
        scan,
        lambda: rate_of(handle.table_format, handle.ref, snapshot),
        tuple(f"index {report.name} is left out: {report.reason}" for report in refused),
    )
    return weigh(asked, hand)
