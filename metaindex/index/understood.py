"""An entry as far as this metaindex can read it: without runs that need unknown features, and without keys of kinds
unknown here. What is dropped proves nothing, and its files are kept."""

from __future__ import annotations

from dataclasses import replace

from metaindex.index.kinds import registry
from metaindex.index.log import needs
from metaindex.index.log.entry import IndexLogEntry, RunRef
from metaindex.index.log.history import without_runs


def understood(entry: IndexLogEntry) -> tuple[IndexLogEntry, tuple[str, ...]]:
    """The entry for readers, and the reason of each run and key that is not in it. Versions with files of such a run
    are not recorded, for this reader."""
    runs = entry.content.runs
    foreign = {run.run: why for run in runs if (why := needs.unknown(run)) is not None}
    keys = {run.run: why for run in runs if run.run not in foreign and (why := _unknown_keys(run)) is not None}
    if not foreign and not keys:
        return entry, ()
    content = without_runs(entry.content, frozenset(foreign)) if foreign else entry.content
    content = replace(content, runs=tuple(_known(run) if run.run in keys else run for run in content.runs))
    return replace(entry, content=content), (*foreign.values(), *keys.values())


def _known(run: RunRef) -> RunRef:
    return replace(run, keys=tuple(key for key in run.keys if registry.readable(key)))


def _unknown_keys(run: RunRef) -> str | None:
    newer = dict.fromkeys(why for key in run.keys if (why := registry.unknown(key)) is not None)
    if newer:
        return (
            f"run {run.run!r} has keys of a newer metaindex, which are not asked: one must know {', '.join(newer)};"
            " upgrade metaindex, or install the package that brings the kind"
        )
    wrong = dict.fromkeys(why for key in run.keys if (why := registry.senseless(key)) is not None)
    if wrong:
        return f"run {run.run!r} has keys that are not asked: {', '.join(wrong)}; recreate the index"
    return None
