"""The version's files as the table's own snapshot lists them: every index answers for those that it finds by full
identity, and the table's log answers, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, arrow_array
from metaindex.expressions import CompositeStatistics, Predicate, PruningStatistics
from metaindex.formats import Snapshot
from metaindex.index import FileIdentities, OpenIndex

from .question import TableQuestion
from .run_coverage import BoundPredicate, known_runs, lacking
from .sources import FileSource, JoinedSources, Portion, RunSource, log_source
from .walk import LOG, Tally, Walked, column_names, guard, leaf_reports, surely, walk, walk_each


def over_snapshot(question: TableQuestion, indexes: Sequence[OpenIndex], snapshot: Snapshot) -> Walked:
    """Walks over all files of the snapshot."""
    asked = BoundPredicate.of(question.bound(snapshot.schema), snapshot.schema, indexes)
    count = len(snapshot.files)
    sources, used, keyed = _sources(asked, indexes, snapshot)
    tallies = {name: Tally() for name in sources}
    mask, masks = walk(asked.walked, sources, tallies, indexes, count)
    for name, single in masks.items():
        tallies[name].files = int(np.count_nonzero(~single))
        tallies[name].bytes = snapshot.files.filter(arrow_array(~single)).size_bytes if tallies[name].files else 0
    kept = np.flatnonzero(mask)

    def certain() -> pa.Array:
        return arrow_array(surely(asked.predicate, CompositeStatistics(list(sources.values())), count)[mask])

    return Walked(
        files=snapshot.files.filter(arrow_array(mask)),
        total_files=count,
        total_bytes=snapshot.files.size_bytes,
        schema=asked.schema,
        predicate=asked.predicate,
        walked=asked.walked,
        alone=tallies,
        used_columns=used,
        dropped=lambda: snapshot.files.filter(arrow_array(~mask)),
        certain=certain,
        leaves=lambda: leaf_reports(asked, sources),
        row_groups=lambda row, groups: FileSource(groups, list(sources.values()), int(kept[row])),
        knows_row_groups=keyed,
        lacks=_lacks(asked, indexes, sources, count),
    )


def _lacks(
    asked: BoundPredicate, indexes: Sequence[OpenIndex], sources: Mapping[str, PruningStatistics[Mask]], count: int
) -> dict[str, str]:
    """Return what each index lacks, for indexes that know the asked columns in other files, or have no files."""
    lacks = {}
    for index in indexes if asked.columns else ():
        source = sources.get(index.name)
        if isinstance(source, JoinedSources):
            lacks[index.name] = lacking(index, asked, count - int(np.count_nonzero(source.known)), count)
        elif not index.entry.content.runs:
            lacks[index.name] = lacking(index, asked, count, count)
    return lacks


def each_over_snapshot(predicates: Sequence[Predicate], indexes: Sequence[OpenIndex], snapshot: Snapshot) -> list[Mask]:
    """The files that each may match, as `over_snapshot` keeps them: what answers is opened once, and asked for all of
    them together. `predicates` are bound to the snapshot's schema."""
    if not predicates:
        return []
    asked = BoundPredicate.of_each(predicates, snapshot.schema, indexes)
    sources, _, _ = _sources(asked[0], indexes, snapshot)
    return walk_each([each.walked for each in asked], sources, indexes, len(snapshot.files))


def _sources(
    asked: BoundPredicate, indexes: Sequence[OpenIndex], snapshot: Snapshot
) -> tuple[dict[str, PruningStatistics[Mask]], dict[str, tuple[str, ...]], bool]:
    """Return the sources by index name, the columns that each knows, and whether keys are among them."""
    keyed = False
    files: FileIdentities | None = None
    sources: dict[str, PruningStatistics[Mask]] = {}
    used: dict[str, tuple[str, ...]] = {}
    for index in indexes:
        with guard(index):
            runs = known_runs(index, asked)
        if not runs:
            continue
        files = files or FileIdentities.of(snapshot)
        with guard(index):
            portions = []
            for run, known in runs:
                at = index.locate(run, files)
                positions = np.flatnonzero(at >= 0)
                if len(positions):
                    portions.append(Portion(RunSource(index, run, known), positions, at[positions]))
            sources[index.name] = JoinedSources(len(snapshot.files), portions)
            keyed = keyed or any(known.key_columns for _, known in runs)
            used[index.name] = column_names(set().union(*(known.columns for _, known in runs)))
    sources[LOG] = log_source(snapshot, asked.columns)
    used[LOG] = column_names(set(asked.columns))
    return sources, used, keyed
