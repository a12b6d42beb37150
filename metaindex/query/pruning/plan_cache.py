"""A cache of answers. An answer follows from what never changes: the predicate, the version (its schema included), the
entries of the indexes, and the snapshot if one was read.

An index's entry and a snapshot are the same where they are the same *object*: a handle keeps them as long as they are
the newest, and what was read anew is asked anew. So is every question of which an index failed on the way: it may be
mended.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from metaindex.core import BoundedCache, dataclass
from metaindex.expressions import ManyFiles
from metaindex.formats import Snapshot, Version
from metaindex.index import IndexLogEntry

from .report import IndexReport
from .result import PruneResult
from .walk import NeedsSnapshot

_MOST = 256


@dataclass(frozen=True)
class PlanCacheKey:
    """Everything that determines an answer. `predicate`: what was asked, with all that decides what it means."""

    predicate: Hashable
    version: Version
    alone: bool
    entries: tuple[IndexLogEntry, ...]
    refused: tuple[IndexReport, ...]
    snapshot: Snapshot | None

    @property
    def key(self) -> Hashable:
        entries = tuple(id(entry) for entry in self.entries)
        return self.predicate, self.version, self.alone, entries, self.refused, id(self.snapshot)


Outcome = PruneResult | NeedsSnapshot
"""An answer; or that the table's own snapshot is to be asked, too."""


class PlanCache:
    """The last answers of a handle, up to so many bytes of them, about."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        # With its circumstances, which hold the objects whose ids are in the key.
        self._found: BoundedCache[Hashable, tuple[PlanCacheKey, Outcome]] = BoundedCache(_MOST, limit_bytes)

    def find(self, asked: PlanCacheKey) -> Outcome | None:
        """Return the answer given under the same circumstances, if any. It costs no read."""
        held = self._found.find(asked.key)
        if held is None:
            return None
        _, outcome = held
        if not isinstance(outcome, PruneResult):
            return outcome
        free = tuple(replace(report, reads=0, bytes_read=0, seconds=0.0) for report in outcome.indexes)
        return replace(outcome, indexes=free)

    def keep(self, asked: PlanCacheKey, outcome: Outcome) -> None:
        size = _size(outcome)
        if size <= self._limit // 2:
            self._found.keep(asked.key, (asked, outcome), size)


def _size(outcome: Outcome) -> int:
    """Estimate the bytes of an outcome: the files, the predicate, and the sources with the answers that they keep
    (`ManyFiles.KEPT_BYTES`; a truth a file where few leaves were asked one by one)."""
    if not isinstance(outcome, PruneResult):
        return 1_000
    named = len(outcome.walked.leaves())
    masks = 3 * (named + 1) * outcome.total_files
    return (
        10_000
        + 1_000 * named
        + int(outcome.files.table.get_total_buffer_size())
        + (min(masks, 2 * ManyFiles.KEPT_BYTES) if named > 8 else masks)
    )
