"""Checks that the parts of a covering index exist, each the one that its manifest names, when a query is planned:
Spark's reader, which opens them later, knows no manifest.

One listing of a run says whether all parts are there, as long as they should be; a footer names the run, the key and
the bucket of its part, so that its digest tells a part from every other one (`parts.MARK`). Runs are immutable, so what
was seen holds for `SEEN_SECONDS`; then the run is listed again, and footers are read again of parts that have changed
since. The bytes of pages have checksums of their own, which Spark's reader verifies; a whole part put in another one's
place in the meantime is no error to it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from metaindex.core import BoundedCache
from metaindex.index import ServedKey, StoredPart
from metaindex.storage import ObjectInfo

SEEN_SECONDS = 10.0
_seen: Final[BoundedCache[tuple[str, str, str], _Seen]] = BoundedCache(1_000)


@dataclass(slots=True)
class _Seen:
    """The checks of one run: when it was listed, and what the listing said of the parts whose footers were right."""

    until: float
    right: dict[str, ObjectInfo] = field(default_factory=dict)


def check(served: ServedKey, every: Sequence[StoredPart], wanted: Sequence[StoredPart]) -> None:
    """Check the parts of a key in a run (`every`), and the footers of those to be read (`wanted`). Raises
    DamagedIndexError if one is not as the manifest says; StorageError."""
    partition = served.key.kind
    key = (served.index.storage.root, served.run.run, partition)
    seen = _seen.find(key)
    if seen is not None and time.monotonic() < seen.until and all(part.path in seen.right for part in wanted):
        return
    reader = served.index.reader(served.run)
    listed = reader.listed(partition)
    for part in every:
        object_ = listed.get(part.path)
        if object_ is None:
            raise reader.damaged(part.path, "it is not there")
        if object_.size_bytes != part.info.size_bytes:
            raise reader.damaged(
                part.path, f"{part.info.size_bytes} bytes are expected, {object_.size_bytes} are there"
            )
    right = {path: info for path, info in seen.right.items() if listed.get(path) == info} if seen is not None else {}
    left = [part for part in wanted if part.path not in right]
    reader.each(left, lambda part: reader.vouch(part.info))
    right |= {part.path: listed[part.path] for part in left}
    _seen.keep(key, _Seen(time.monotonic() + SEEN_SECONDS, right))


def forget(runs: Collection[str] | None = None) -> None:
    """Check these runs (None: all) again, whatever was seen of them."""
    _seen.drop(lambda key: runs is None or key[1] in runs)
