"""Merges the statistics of runs: which columns go together, and the rows of all in one pass; aggregates are computed
anew from what passes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import DamagedIndexError, Mask
from metaindex.expressions import physical_type
from metaindex.index.kinds.described import MergedFiles, Ordinals
from metaindex.index.kinds.facts import constant
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.log.schema_codec import type_from_text
from metaindex.index.store.kway import few_or_merged, stream
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import PARTITIONS
from metaindex.index.store.writer import RunSink

from .rows import aggregated, aggregates, some_rows, with_columns
from .schemas import COLUMN_STATS, LATER, ORDER, PARTITION_STATS
from .writer import streams

_AT_ONCE = 1 << 16
"""Rows of state UNKNOWN that are made together."""
_RANGES = pa.schema([PARTITIONS.field(name) for name in ("partition_ord", "first_ordinal", "file_count")])


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
    stats, totals = streams(sink)
    ordered = sorted(columns, key=lambda c: c.column_id)
    told = [c for c in ordered if not c.partition]
    owners = _Owners(told, sources, files, blank)

    def passing() -> Iterator[pa.Table]:
        each = [_stats_of(source, number, files, owners, len(sources)) for number, source in enumerate(sources)]
        rows, wanted = 0, len(told) * len(files.partition_ord)
        for window in few_or_merged([*each, _unknown_rows(files, owners)], ORDER, wanted):
            stats.add(window)
            rows += window.num_rows
            yield window
        if rows != wanted:
            raise DamagedIndexError.for_repair(
                f"a run has one row a file and covered column; {rows} rows were found for {len(files.partition_ord)}"
                f" files and {len(told)} columns"
            )

    values = [c for c in ordered if c.partition]
    for table in aggregated(passing()):
        while values and table.num_rows and values[0].column_id < table.column("column_id")[-1].as_py():
            ids, column = table.column("column_id").to_numpy(), values.pop(0)
            before = int(np.searchsorted(ids, column.column_id))
            totals.add(table.slice(0, before))
            totals.add(_partition_column(sources, files, column))
            table = table.slice(before)
        totals.add(table)
    for column in values:
        totals.add(_partition_column(sources, files, column))
    covered = bool(columns)
    return [*stats.close(needed=covered), *totals.close(needed=covered)]


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


class _Owners:
    """Sources whose rows columns and files take: the last that covers them; -1: none. Columns that the
    same sources cover have the same."""

    def __init__(
        self,
        columns: Sequence[CoveredColumn],
        sources: Sequence[RunReader],
        files: MergedFiles,
        blank: Mapping[str, Mask],
    ) -> None:
        covered = [{column.stable for column in source.run.columns} for source in sources]
        alike: dict[tuple[int, ...], int] = {}
        self.ids = np.array([column.column_id for column in columns], np.int64)
        self.number = np.array(
            [
                alike.setdefault(tuple(n for n, names in enumerate(covered) if column.stable in names), len(alike))
                for column in columns
            ],
            np.int64,
        )
        self.of_file = np.full((len(alike), len(files.partition_ord)), -1, np.int32)
        for covering, row in zip(alike, self.of_file, strict=True):
            for number in covering:
                places = files.ordinals[number]
                row[places[places >= 0]] = number
        for number, source in enumerate(sources):
            if source.run.run in blank:
                places = files.ordinals[number][blank[source.run.run]]
                self.of_file[:, places[places >= 0]] = -1


def _stats_of(source: RunReader, number: int, files: MergedFiles, owners: _Owners, among: int) -> Iterator[pa.Table]:
    """The rows that are taken of a source, under the new ordinals."""
    for table in stream(source, "column_stats", COLUMN_STATS, None, among, later=LATER) if len(owners.ids) else ():
        stored = np.asarray(table.column("column_id").to_numpy())
        at = np.minimum(np.searchsorted(owners.ids, stored), len(owners.ids) - 1)
        places = files.ordinals[number][np.asarray(table.column("ordinal").to_numpy())]
        kept = np.flatnonzero((places >= 0) & (owners.ids[at] == stored))  # of files that stay
        kept = kept[owners.of_file[owners.number[at[kept]], places[kept]] == number]
        put = {
            "ordinal": pa.array(places[kept], pa.int32()),
            "partition_ord": pa.array(files.partition_ord[places[kept]]),
        }
        yield with_columns(table.take(pa.array(kept)), put)


def _unknown_rows(files: MergedFiles, owners: _Owners) -> Iterator[pa.Table]:
    """Rows of state UNKNOWN for each column and file that no source covers, as many together as are read."""
    ids = files.partitions.column("partition_id").combine_chunks()
    for column, number in zip(owners.ids.tolist(), owners.number.tolist(), strict=True):
        ordinals = np.flatnonzero(owners.of_file[number] < 0)
        for start in range(0, len(ordinals), _AT_ONCE):
            some = ordinals[start : start + _AT_ONCE]
            partitions = pa.array(files.partition_ord[some])
            keys = {
                "column_id": constant(column, len(some), pa.int64()),
                "partition_ord": partitions,
                "ordinal": pa.array(some.astype(np.int32)),
                "partition_id": ids.take(partitions),
            }
            yield _of_nothing(COLUMN_STATS, keys)


def _partition_column(sources: Sequence[RunReader], files: MergedFiles, column: CoveredColumn) -> pa.Table:
    """The aggregates of a partition column: its value is the partition's, whichever run says it; how many rows show it
    is counted anew."""
    known = np.full(files.partitions.num_rows, False)
    tables = []
    for number, source in enumerate(sources):
        if all(c.stable != column.stable for c in source.run.columns):
            continue
        new = _partitions_of(source, files, number)
        for table in stream(source, "partition_stats", PARTITION_STATS, column.column_id, len(sources)):
            places = new[np.asarray(table.column("partition_ord").to_numpy())]
            fresh = np.flatnonzero(places >= 0)
            fresh = fresh[~known[places[fresh]]]
            known[places[fresh]] = True
            put = {"partition_ord": pa.array(places[fresh], pa.int32())}
            tables.append(with_columns(table.take(pa.array(fresh)), put))
    rest = np.flatnonzero(~known).astype(np.int32)
    ids = files.partitions.column("partition_id").combine_chunks().take(pa.array(rest))
    tables.append(
        _of_nothing(
            PARTITION_STATS,
            {
                "column_id": constant(column.column_id, len(rest), pa.int64()),
                "partition_ord": pa.array(rest),
                "file_count": constant(0, len(rest), pa.int32()),
                "partition_id": ids,
            },
        )
    )
    table = aggregates(pa.concat_tables(tables).sort_by("partition_ord").combine_chunks())
    rows = (
        pa.table({"at": pa.array(files.partition_ord), "rows": files.records})
        .group_by("at", use_threads=False)
        .aggregate([("rows", "sum", pc.ScalarAggregateOptions(skip_nulls=False, min_count=0))])
        .sort_by("at")
    )
    counted = some_rows(rows.column("rows_sum").combine_chunks())
    state, zeros = table.column("state"), constant(0, table.num_rows, pa.int64())
    valued = pc.if_else(pc.equal(state, int(StatState.VALUES)), zeros, None)
    told = {
        "value_count": counted,
        "null_count": pc.if_else(pc.equal(state, int(StatState.ALL_NULL)), counted, valued),
        "nan_count": pc.if_else(pc.equal(table.column("nan_count"), 0), zeros, None),
        "file_count": files.partitions.column("file_count"),
    }
    return with_columns(table, told)


def _partitions_of(source: RunReader, files: MergedFiles, number: int) -> Ordinals:
    """The new number of each partition of a source, -1 where none of its files is left."""
    new = np.full(source.run.partitions, -1, np.int32)
    for table in stream(source, "partitions", _RANGES, None, 1):
        old, first, count = (np.asarray(table.column(n).to_numpy()) for n in table.column_names)
        places = files.ordinals[number]
        for partition, start, files_ in zip(old.tolist(), first.tolist(), count.tolist(), strict=True):
            here = places[start : start + files_]
            here = here[here >= 0]
            if len(here):
                new[partition] = files.partition_ord[here[0]]
    return new


def _of_nothing(schema: pa.Schema, given: Mapping[str, pa.Array]) -> pa.Table:
    """Rows of state UNKNOWN with the given keys."""
    count = len(next(iter(given.values())))
    nothing = {"lower_exact": False, "upper_exact": False, "state": 0, "trust": 0}

    def values(field: pa.Field) -> pa.Array:
        if field.name in given:
            return given[field.name]
        return pa.repeat(pa.scalar(nothing.get(field.name), field.type), count)

    return pa.table([values(field) for field in schema], schema=schema)
