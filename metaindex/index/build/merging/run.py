"""Merges runs into one that says the same of the same files, in their new order; no data file is read.

Rows pass by in windows (`store.kway`); what is held of each file is a few integers and its id. A file that stands in
several runs counts once: each column takes its row from the last run that covers it. A column that a run does not cover
gets UNKNOWN rows for its files, which keeps them as before. Aggregates are computed anew from the files' rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaindex.core import Mask
from metaindex.index.kinds.described import Ordinals
from metaindex.index.kinds.registry import FACT_ROWS, stored_kind
from metaindex.index.log.entry import CoveredColumn, CoveredKey, RunRef
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import OWN
from metaindex.index.store.side_by_side import side_by_side
from metaindex.index.store.writer import RunSink

from .files import merge_files
from .keys import keys_together, merge_keys

if TYPE_CHECKING:
    from metaindex.index.kinds.pieces import WritesPieces

_NO_KEYS = OWN | {FACT_ROWS.files.partition, FACT_ROWS.partitions.partition}


def unmerged(source: RunReader) -> set[str]:
    """Return the metadata partitions of a run that cannot be merged here: such a run stays as it is."""
    return {partition for partition in source.kinds() - _NO_KEYS if stored_kind(partition) is None}


@dataclass(frozen=True, slots=True)
class Merged:
    """The new run, and the new ordinal of each file of each old run: -1 if the file was dropped."""

    run: RunRef
    ordinals: Mapping[str, Ordinals]


def merge_runs(
    sources: Sequence[RunReader],
    sink: RunSink,
    keep: Mapping[str, Mask] | None = None,
    blank: Mapping[str, Mask] | None = None,
    write: WritesPieces | None = None,
) -> Merged:
    """Write the run of all files of the sources, or of those that `keep` marks in a source; those that `blank` marks
    are kept without facts. `write`: as in `MergeInto`. Raises DamagedIndexError if a source cannot be read."""
    columns: tuple[CoveredColumn, ...] | None = ()
    keys: tuple[CoveredKey, ...] | None = sources[0].run.keys if sources else ()
    for source in sources:
        columns = FACT_ROWS.together(columns or (), source.run.columns)
        keys = keys_together(keys or (), source.run.keys)
        another = source.run.table_uuid != sources[0].run.table_uuid
        if columns is None or keys is None or another or unmerged(source):
            raise ValueError(
                "runs that are merged are of one table, agree on the types of their columns and on their keys, and have"
                " mergeable kinds"
            )
    with side_by_side(sink) as many:
        files = merge_files(sources, many, keep or {})
        parts = [*files.parts, *FACT_ROWS.merge(columns or (), sources, files, blank or {}, many)]
        covered, rows = merge_keys(
            keys or (), sources, files.ordinals, len(files.partition_ord), many, blank or {}, write
        )
    run = sink.sealed(
        [*parts, *rows],
        files=len(files.partition_ord),
        partitions=files.partitions.num_rows,
        files_digest=files.digest,
        columns=tuple(columns or ()),
        builder="merge" if not all(source.run.listed_only for source in sources) else "",
        uncovered_files=min(sum(source.run.uncovered_files for source in sources), len(files.partition_ord)),
        keys=covered,
        table_uuid=sources[0].run.table_uuid if sources else "",
    )
    return Merged(
        run,
        {source.run.run: files.ordinals[i] for i, source in enumerate(sources)},
    )
