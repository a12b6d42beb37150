"""Merges the statistics of runs: which columns go together, and the rows of each, few at once or one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from metaindex.core import Mask
from metaindex.expressions import physical_type
from metaindex.index.kinds.described import MergedFiles
from metaindex.index.kinds.facts import MOST_ROWS
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.log.schema_codec import type_from_text
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

from .merge_columns import merge_column, merge_partition_column
from .merge_few import merge_columns
from .writer import streams


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


def merge(
    columns: Sequence[CoveredColumn],
    sources: Sequence[RunReader],
    files: MergedFiles,
    blank: Mapping[str, Mask],
    sink: RunSink,
) -> list[PartInfo]:
    """Writes the rows of all columns."""
    stats, aggregates = streams(sink)
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


def _same_domain(a: str, b: str) -> bool:
    """Return whether bounds of one type may be read as those of the other, or of the wider of both."""
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
        type_ = column.type
        return int(type_.precision if pa.types.is_decimal(type_) else type_.bit_width) if type_ is not None else 0

    return replace(b, type_text=a.type_text) if width(a) > width(b) else b
