"""Staleness: how far an index is behind its table, in files and bytes, by the log's changes since a version that the
index recorded, or by comparing the table's snapshot with what the index knows."""

from __future__ import annotations

import numpy as np

from metaindex.core import dataclass
from metaindex.index import OpenIndex, Target, seen_from


@dataclass(frozen=True, slots=True)
class Staleness:
    """Files and bytes at a version that the index does not cover (every query reads them), and of files that it still
    counts and that are gone (they cost nothing)."""

    new_files: int = 0
    new_bytes: int = 0
    gone_files: int = 0
    gone_bytes: int = 0


def staleness(index: OpenIndex, target: Target) -> Staleness:
    """Costs what a refresh costs before it reads a data file. Raises MetaIndexError where the table or the index cannot
    be read."""
    recorded = index.versions.find(target.version)
    if recorded is not None and not recorded.record.unknown:
        return Staleness()
    seen, followed = seen_from(index, target, listed=False)
    sizes = seen.snapshot.files.table.column("size_bytes").to_numpy()[followed.fresh]
    gone_files = gone_bytes = 0
    for run in index.entry.content.runs:
        if removed := followed.removed.get(run.run):
            ordinals = np.frombuffer(removed.to_array(), np.uint32).astype(np.int64)
            gone_files += len(ordinals)
            gone_bytes += int(index.rows(run, "files", ordinals, ["size_bytes"]).column("size_bytes").to_numpy().sum())
    return Staleness(len(followed.fresh), int(sizes.sum()), gone_files, gone_bytes)
