"""Merges `column_stats` column by column, and computes `partition_stats` anew from what passes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import DamagedIndexError, Mask
from metaindex.index.kinds.described import MergedFiles, Ordinals
from metaindex.index.kinds.facts import constant, domain_of
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.kway import merged, stream
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import PARTITIONS
from metaindex.index.store.writer import PartStream

from .rows import STORED_AS, partition_rows
from .schemas import COLUMN_STATS, PARTITION_STATS

_RANGES = pa.schema([PARTITIONS.field(name) for name in ("partition_ord", "first_ordinal", "file_count")])


def merge_column(
    sources: Sequence[RunReader], files: MergedFiles, column: CoveredColumn, out: PartStream, blank: Mapping[str, Mask]
) -> pa.Table:
    """Writes the rows of a column; its aggregates."""
    type_ = column.type
    domain = domain_of(type_) if type_ is not None else pa.int64()
    owner = owners([column], sources, files, blank)[0]
    covering = [number for number in range(len(sources)) if (owner == number).any()]
    streams = [_stats_of(sources[i], files, column.column_id, i, owner, len(covering)) for i in covering]
    if (owner < 0).any():
        streams.append(_unknown_rows(files, column.column_id, np.flatnonzero(owner < 0)))
    lower = f"lower_{STORED_AS[domain]}"
    partial, rows = [], 0
    for window in merged(streams, ("partition_ord", lower, "ordinal")):
        out.add(window)
        rows += window.num_rows
        partial.append(partition_rows(window.combine_chunks(), domain))
    if rows != len(files.partition_ord):
        raise DamagedIndexError.for_refresh(
            f"a run has one row a file and covered column; of {column.name!r} {rows} rows were found for"
            f" {len(files.partition_ord)} files"
        )
    if len(partial) < 2:
        return partial[0] if partial else PARTITION_STATS.empty_table()
    table = pa.concat_tables(partial).combine_chunks()
    return with_counts(partition_rows(table, domain), files)


def owners(
    columns: Sequence[CoveredColumn], sources: Sequence[RunReader], files: MergedFiles, blank: Mapping[str, Mask]
) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Return for each column and file the source whose row it takes: the last that covers it; -1: none."""
    owner = np.full((len(columns), len(files.partition_ord)), -1, np.int32)
    for number, source in enumerate(sources):
        covered = {column.stable for column in source.run.columns}
        places = files.ordinals[number]
        mine = np.array([column.stable in covered for column in columns], np.bool_)
        owner[np.ix_(mine, places[places >= 0])] = number
    for number, source in enumerate(sources):
        if source.run.run in blank:
            places = files.ordinals[number][blank[source.run.run]]
            owner[:, places[places >= 0]] = -1
    return owner


def _stats_of(
    source: RunReader, files: MergedFiles, column: int, number: int, owner: Ordinals, among: int
) -> Iterator[pa.Table]:
    for table in stream(source, "column_stats", COLUMN_STATS, column, among):
        places = files.ordinals[number][np.asarray(table.column("ordinal").to_numpy())]
        kept = np.flatnonzero(places >= 0)  # of files that stay
        kept = kept[owner[places[kept]] == number]
        yield placed(table.take(pa.array(kept)), files, places[kept])


def _unknown_rows(files: MergedFiles, column: int, ordinals: npt.NDArray[np.int64]) -> Iterator[pa.Table]:
    for start in range(0, len(ordinals), 1 << 16):
        some = ordinals[start : start + (1 << 16)]
        yield unknown_rows(files, np.full(len(some), column, np.int64), some)


def unknown_rows(files: MergedFiles, column_ids: npt.NDArray[np.int64], ordinals: npt.NDArray[np.int64]) -> pa.Table:
    """A row of state UNKNOWN for each column and file."""
    partitions = pa.array(files.partition_ord[ordinals])
    return rows_of_nothing(
        COLUMN_STATS,
        {
            "column_id": pa.array(column_ids),
            "partition_ord": partitions,
            "ordinal": pa.array(ordinals.astype(np.int32)),
            "partition_id": files.partitions.column("partition_id").combine_chunks().take(partitions),
        },
    )


def merge_partition_column(sources: Sequence[RunReader], files: MergedFiles, column: CoveredColumn) -> pa.Table:
    """The aggregates of a partition column: its value is the partition's, whichever run says it; how many rows show it
    is counted anew."""
    type_ = column.type
    domain = domain_of(type_) if type_ is not None else pa.int64()
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
            tables.append(_put(table.take(pa.array(fresh)), "partition_ord", places[fresh]))
    rest = np.flatnonzero(~known).astype(np.int32)
    ids = files.partitions.column("partition_id").combine_chunks().take(pa.array(rest))
    tables.append(
        rows_of_nothing(
            PARTITION_STATS,
            {
                "column_id": constant(column.column_id, len(rest), pa.int64()),
                "partition_ord": pa.array(rest),
                "file_count": constant(0, len(rest), pa.int32()),
                "partition_id": ids,
            },
        )
    )
    table = partition_rows(pa.concat_tables(tables).combine_chunks(), domain)
    rows = (
        pa.table({"at": pa.array(files.partition_ord), "rows": files.records})
        .group_by("at", use_threads=False)
        .aggregate([("rows", "sum", pc.ScalarAggregateOptions(skip_nulls=False, min_count=0))])
        .sort_by("at")
    )
    counted = rows.column("rows_sum").combine_chunks()
    state = table.column("state").combine_chunks()
    nulls = pc.if_else(
        pc.equal(state, int(StatState.ALL_NULL)),
        counted,
        pc.if_else(pc.equal(state, int(StatState.VALUES)), constant(0, len(state), pa.int64()), None),
    )
    nans = pc.if_else(
        pc.equal(table.column("nan_count").combine_chunks(), 0), constant(0, len(state), pa.int64()), None
    )
    for name, values in (("value_count", counted), ("null_count", nulls), ("nan_count", nans)):
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)
    return with_counts(table, files)


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


def with_counts(table: pa.Table, files: MergedFiles) -> pa.Table:
    """Aggregates of a column, with the number of files of each partition."""
    return table.set_column(
        table.schema.get_field_index("file_count"),
        PARTITION_STATS.field("file_count"),
        files.partitions.column("file_count"),
    )


def rows_of_nothing(schema: pa.Schema, given: Mapping[str, pa.Array]) -> pa.Table:
    """Rows of state UNKNOWN with the given keys."""
    count = len(next(iter(given.values())))
    false = {"lower_exact", "upper_exact"}
    zero = {"state", "trust"}
    columns = [
        (
            given[field.name]
            if field.name in given
            else (
                constant(False, count, field.type)
                if field.name in false
                else constant(0, count, field.type)
                if field.name in zero
                else pa.nulls(count, field.type)
            )
        )
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def placed(table: pa.Table, files: MergedFiles, places: Ordinals) -> pa.Table:
    """Rows under the new ordinals."""
    return _put(_put(table, "ordinal", places), "partition_ord", files.partition_ord[places])


def _put(table: pa.Table, name: str, values: Ordinals) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.int32()))
