"""Merges runs into one that says the same of the same files, in their new order; no data file is read.

Rows pass by in windows (`store.kway`); what is held of each file is a few integers and its id. A file that stands in
several runs counts once: each column takes its row from the last run that covers it. A column that a run does not cover
gets UNKNOWN rows for its files, which keeps them as before. Aggregates are computed anew from the files' rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from expressions.physical import physical_type
from metaindex.build.parts import PartStream
from metaindex.kinds.registry import stored_kind
from metaindex.kinds.rows import COLUMN_STATS, PARTITION_STATS
from metaindex.log.entry import CoveredColumn, CoveredKey, RunRef
from metaindex.log.sealed import digest
from metaindex.log.types import type_from_text
from metaindex.store.layout import PartInfo
from metaindex.store.reader import RunReader, manifest_path
from metaindex.store.side_by_side import side_by_side
from metaindex.store.writer import RunSink, manifest_bytes

from .files import MergedFiles, merge_files
from .keys import keys_together, merge_keys
from .small import MOST_ROWS, merge_columns
from .stats import merge_column, merge_partition_column
from .stream import Mask, Ordinals

if TYPE_CHECKING:
    from metaindex.kinds.covering.merge import WritesPieces

_STANDARD = frozenset({"files", "file_ids", "partitions", "column_stats", "partition_stats", "unkeyed"})


def unmerged(source: RunReader) -> set[str]:
    """The metadata partitions of a run that nobody here can merge: such a run stays as it is."""
    return {partition for partition in source.kinds() - _STANDARD if stored_kind(partition) is None}


@dataclass(frozen=True, slots=True)
class Merged:
    """The new run, and the new ordinal of each file of each old run: -1 where the file was left out."""

    run: RunRef
    ordinals: Mapping[str, Ordinals]


def together(a: Sequence[CoveredColumn], b: Sequence[CoveredColumn]) -> tuple[CoveredColumn, ...] | None:
    """The columns of a run merged of two that cover these; None where a column's bounds are not of one physical domain
    and scale, so that the runs stay apart."""
    columns = {column.stable: column for column in a}
    for column in b:
        before = columns.get(column.stable)
        if before is not None and (
            before.partition != column.partition or not _same_domain(before.type_text, column.type_text)
        ):
            return None
        columns[column.stable] = (
            column if before is None or before.type_text == column.type_text else _wider(before, column)
        )
    return tuple(columns.values())


def merge_runs(
    sources: Sequence[RunReader],
    sink: RunSink,
    keep: Mapping[str, Mask] | None = None,
    blank: Mapping[str, Mask] | None = None,
    write: WritesPieces | None = None,
) -> Merged:
    """Writes the run of all files of the sources, or of those that `keep` marks in a source; of those that `blank`
    marks nothing is said but that they are there. `write`: as in `MergeInto`. DamagedIndexError where a
    source cannot be read."""
    columns: tuple[CoveredColumn, ...] | None = ()
    keys: tuple[CoveredKey, ...] | None = sources[0].run.keys if sources else ()
    for source in sources:
        columns = together(columns or (), source.run.columns)
        keys = keys_together(keys or (), source.run.keys)
        another = source.run.table_uuid != sources[0].run.table_uuid
        if columns is None or keys is None or another or unmerged(source):
            raise ValueError(
                "runs that are merged are of one table, agree on the types of their columns and on their keys, and have mergeable kinds"
            )
    with side_by_side(sink) as many:
        files = merge_files(sources, many, keep or {})
        parts = [*files.parts, *_statistics(sources, many, files, tuple(columns or ()), blank or {})]
        covered, rows = merge_keys(
            keys or (), sources, files.ordinals, len(files.partition_ord), many, blank or {}, write
        )
    return Merged(
        _seal(sources, sink, files, [*parts, *rows], tuple(columns or ()), covered),
        {source.run.run: files.ordinals[i] for i, source in enumerate(sources)},
    )


def _statistics(
    sources: Sequence[RunReader],
    sink: RunSink,
    files: MergedFiles,
    columns: tuple[CoveredColumn, ...],
    blank: Mapping[str, Mask],
) -> list[PartInfo]:
    stats = PartStream(sink, "column_stats", COLUMN_STATS)
    aggregates = PartStream(sink, "partition_stats", PARTITION_STATS)
    ordered = sorted(columns, key=lambda c: c.column_id)
    few = len(files.partition_ord) * len(ordered) <= MOST_ROWS
    small = merge_columns([c for c in ordered if not c.partition], sources, files, blank) if few else {}
    for column in ordered:
        if column.partition:
            aggregates.add(merge_partition_column(sources, files, column))
        elif column in small:
            stats.add(small[column][0])
            aggregates.add(small[column][1])
        else:
            aggregates.add(merge_column(sources, files, column, stats, blank))
    covered = bool(columns)
    return [*stats.close(needed=covered), *aggregates.close(needed=covered)]


def _seal(
    sources: Sequence[RunReader],
    sink: RunSink,
    files: MergedFiles,
    parts: list[PartInfo],
    columns: tuple[CoveredColumn, ...],
    keys: tuple[CoveredKey, ...],
) -> RunRef:
    manifest = manifest_bytes(parts)
    sink.storage.put(manifest_path(sink.run), manifest)
    return RunRef(
        run=sink.run,
        files=len(files.partition_ord),
        partitions=files.partitions.num_rows,
        size_bytes=sum(part.size_bytes for part in parts) + len(manifest),
        manifest_bytes=len(manifest),
        manifest_digest=digest(manifest),
        files_digest=files.digest,
        columns=columns,
        created_ms=int(time.time() * 1000),
        builder="merge" if not all(source.run.listed_only for source in sources) else "",
        uncovered_files=min(sum(source.run.uncovered_files for source in sources), len(files.partition_ord)),
        keys=keys,
        table_uuid=sources[0].run.table_uuid if sources else "",
    )


def _same_domain(a: str, b: str) -> bool:
    """May bounds written for one type be read as those of the other, or of the wider of both?"""
    if a == b:
        return True
    first, second = type_from_text(a), type_from_text(b)
    if first is None or second is None or physical_type(first) != physical_type(second):
        return False
    integers = all(pa.types.is_signed_integer(t) for t in (first, second))
    floats = all(t in (pa.float32(), pa.float64()) for t in (first, second))
    decimals = (
        all(pa.types.is_decimal(t) for t in (first, second))
        and first.scale == second.scale
        and physical_type(first) == pa.int64()
    )
    return bool(integers or floats or decimals)


def _wider(a: CoveredColumn, b: CoveredColumn) -> CoveredColumn:
    def width(column: CoveredColumn) -> int:
        type_ = type_from_text(column.type_text)
        return int(type_.precision if pa.types.is_decimal(type_) else type_.bit_width) if type_ is not None else 0

    return replace(b, type_text=a.type_text) if width(a) > width(b) else b
