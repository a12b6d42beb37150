"""A candidate that keeps facts of several columns, as if it had been built for some of them: asked without another
build."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from metaindex.log.entry import IndexLogEntry
from metaindex.pruning.open_index import OpenIndex

from .answer import Upkeep
from .built import Built
from .posterior import Estimate
from .trial import Trial


def narrowed(built: Built, name: str, stables: AbstractSet[str], share: float) -> Built:
    """`stables`: of the columns that stay, which are a `share` of all; its cost is this share, too."""
    cost = built.cost
    size, seconds, upkeep = cost.size_bytes, cost.build_cpu_seconds, cost.upkeep
    return Built(
        replace(
            cost,
            candidate=name,
            size_bytes=None if size is None else Estimate(size.low * share, size.expected * share, size.high * share),
            build_cpu_seconds=None if seconds is None else seconds * share,
            upkeep=None if upkeep is None else Upkeep(upkeep.size_bytes * share, upkeep.cpu_seconds * share),
        ),
        built.rows,
        _trials(built.exact, stables),
        _trials(built.sampled, stables),
    )


def _trials(trials: Sequence[Trial], stables: AbstractSet[str]) -> list[Trial]:
    return [replace(trial, index=_index(trial.index, stables)) for trial in trials]


def _index(index: OpenIndex, stables: AbstractSet[str]) -> OpenIndex:
    return OpenIndex(index.name, _entry(index.entry, stables), index.storage, index.cache)


def _entry(entry: IndexLogEntry, stables: AbstractSet[str]) -> IndexLogEntry:
    runs = tuple(
        replace(run, columns=tuple(column for column in run.columns if column.stable in stables))
        for run in entry.content.runs
    )
    return replace(entry, index_uuid=uuid.uuid4().hex, content=replace(entry.content, runs=runs))
