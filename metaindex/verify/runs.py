"""Every value of a run read back: digests of manifest and footers, checksums of pages, and whether what is said in
several places is the same.

files            ordinals 0..N-1 in order of (partition, path); the ids follow from path and size; their digest is the entry's
file_ids         the same ids, sorted
partitions       follow from files
column_stats     one row for every file and covered column, in order
partition_stats  the aggregate of those, and one row for every partition and partition column
keys             see `key_runs`
"""  # noqa: W505

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from expressions.errors import MetaIndexError, first_line
from formats.model import FileTable
from metaindex.actions.runs import number_partitions
from metaindex.build.protocol import Progress
from metaindex.build.statistics import domain_of, partition_rows, sorted_rows
from metaindex.errors import DamagedIndexError, ForeignIndexError
from metaindex.keys import file_ids
from metaindex.kinds.kind import Mismatch
from metaindex.kinds.rows import COLUMN_STATS, FILE_IDS, FILES, PARTITION_STATS, PARTITIONS
from metaindex.log.entry import CoveredColumn, RunRef
from metaindex.log.types import type_from_text
from metaindex.pruning.open_index import OpenIndex
from metaindex.store.layout import PartInfo

from .key_runs import check_keys
from .report import Finding, Verification, judged


@dataclass(frozen=True, slots=True)
class RunRows:
    """What later checks need of a sound run: its `files` rows, and how to get the statistics of a column again."""

    run: RunRef
    files: pa.Table


def check_run(
    index: OpenIndex, run: RunRef, stored: RunRef, report: Verification, progress: Progress | None = None
) -> RunRows | None:
    """The run's rows, or None where it is not right, and a finding says why. `stored`: with the keys that this
    metaindex does not know, too. Memory: the rows of `files`, and of one column."""
    report.runs += 1
    where = ""
    try:
        parts = _parts(index, stored)
        report.parts += len(parts)
        report.rows += sum(part.rows for part in parts)
        where = "files"
        files = _files(index, run)
        where = "column_stats"
        by_column = _of_columns(index, run, files)
        stats = _Aggregates(index, run)
        for done, (column, rows) in enumerate(by_column):
            stats.check(column, rows)
            if progress is not None:
                progress(f"columns of run {run.run}", done + 1, len(run.columns))
        stats.end()
        where = "keys"
        check_keys(index, run, {key.key_id for key in stored.keys}, files.column("record_count"))
    except ForeignIndexError as error:  # not for this metaindex to judge
        report.skipped(str(error))
        return None
    except Mismatch as wrong:
        report.found([Finding("run", str(wrong), wrong.where, run.run)])
        return None
    except MetaIndexError as error:
        judged(error)
        report.found([Finding("run", str(error), "", run.run)])
        return None
    except Exception as error:  # noqa: BLE001 - whatever is stored: what raises is what is wrong with it
        judged(error)
        message = first_line(error)
        report.found([Finding("run", f"it cannot be understood ({message})", where, run.run)])
        return None
    return RunRows(run, files)


def column_of(index: OpenIndex, run: RunRef, column: CoveredColumn) -> pa.Table:
    """The COLUMN_STATS rows of a column, as stored."""
    return _column(index, run, "column_stats", COLUMN_STATS, column.column_id)


def _parts(index: OpenIndex, run: RunRef) -> list[PartInfo]:
    """All parts; raises where the manifest and the entry, or an object's size, disagree."""
    reader = index.reader(run)
    known = {"files", "file_ids", "partitions", "column_stats", "partition_stats", "unkeyed"} | {
        k.kind for k in run.keys
    }
    if strange := reader.kinds() - known:
        raise Mismatch(f"it has rows of {', '.join(sorted(strange))}, which the log entry does not name", "_manifests")
    parts = [part for kind in sorted(known) for part in reader.parts(kind)]
    if run.size_bytes != sum(part.size_bytes for part in parts) + run.manifest_bytes:
        raise Mismatch("the sizes of its parts are not what the log entry says", "_manifests")
    for part in parts:
        size = index.storage.head(part.path).size_bytes
        if size != part.size_bytes:
            raise Mismatch(f"it has {size} bytes, the manifest says {part.size_bytes}", part.path)
    return parts


def _files(index: OpenIndex, run: RunRef) -> pa.Table:
    files = _all(index, run, "files", FILES)
    count = run.files
    if files.num_rows != count or not np.array_equal(files.column("ordinal").to_numpy(), np.arange(count)):
        raise Mismatch(f"it has not one row for each of {count} ordinals, in order", "files")
    table = FileTable(files)
    order = pc.sort_indices(files, sort_keys=[("partition", "ascending"), ("path", "ascending")]).to_numpy()
    if not np.array_equal(order, np.arange(count)):
        raise Mismatch("it is not in order of partition and path", "files")
    ids = file_ids(table)
    if (
        not ids.equals(_one(files.column("file_id")))
        or xxhash.xxh3_128_hexdigest(ids.buffers()[1] or b"") != run.files_digest
    ):
        raise Mismatch("the ids of its files do not follow from their paths, sizes, times and signs", "files")
    partition_ord, partitions = number_partitions(table)
    if not np.array_equal(files.column("partition_ord").to_numpy(), partition_ord):
        raise Mismatch("its partitions are not numbered in order", "files")
    stored = _all(index, run, "partitions", PARTITIONS)
    if not stored.equals(partitions.sort_by("partition_id").cast(PARTITIONS)) or stored.num_rows != run.partitions:
        raise Mismatch("it does not fit the files", "partitions")
    by_id = _all(index, run, "file_ids", FILE_IDS)
    expected = pa.table([ids, files.column("ordinal")], schema=FILE_IDS).sort_by("file_id")
    if not by_id.combine_chunks().equals(expected.combine_chunks()):
        raise Mismatch("it does not fit the files", "file_ids")
    return files


def _of_columns(index: OpenIndex, run: RunRef, files: pa.Table) -> Iterator[tuple[CoveredColumn, pa.Table]]:
    """The COLUMN_STATS rows of each covered column, checked against the files."""
    columns = sorted((c for c in run.columns if not c.partition), key=lambda c: c.column_id)
    total = sum(part.rows for part in index.reader(run).parts("column_stats"))
    if total != len(columns) * run.files:
        raise Mismatch(f"it has {total} rows for {len(columns)} columns of {run.files} files", "column_stats")
    numbers = files.column("partition_ord").to_numpy()
    for column in columns:
        rows = column_of(index, run, column)
        ordinals = rows.column("ordinal").to_numpy()
        if not np.array_equal(np.sort(ordinals), np.arange(run.files)):
            raise Mismatch(f"column {column.name!r} has not one row for each file", "column_stats")
        if not np.array_equal(rows.column("partition_ord").to_numpy(), numbers[ordinals]):
            raise Mismatch(f"column {column.name!r} has files in other partitions than they are in", "column_stats")
        type_ = type_from_text(column.type_text)
        if type_ is not None and not sorted_rows(rows, domain_of(type_)).column("ordinal").equals(
            rows.column("ordinal")
        ):
            raise Mismatch(f"the rows of column {column.name!r} are not in order", "column_stats")
        yield column, rows


class _Aggregates:
    """partition_stats, column by column."""

    def __init__(self, index: OpenIndex, run: RunRef) -> None:
        self._index, self._run = index, run
        self._seen = 0

    def check(self, column: CoveredColumn, rows: pa.Table) -> None:
        stored = _column(self._index, self._run, "partition_stats", PARTITION_STATS, column.column_id)
        self._seen += stored.num_rows
        type_ = type_from_text(column.type_text)
        if type_ is None:
            return
        derived = partition_rows(rows, domain_of(type_))
        if not stored.combine_chunks().equals(derived.combine_chunks()):
            raise Mismatch(f"the aggregates of column {column.name!r} are not those of its files", "partition_stats")

    def end(self) -> None:
        for column in self._run.columns:
            if column.partition:
                rows = _column(self._index, self._run, "partition_stats", PARTITION_STATS, column.column_id)
                if not np.array_equal(rows.column("partition_ord").to_numpy(), np.arange(self._run.partitions)):
                    raise Mismatch(f"column {column.name!r} has not one row for each partition", "partition_stats")
                self._seen += rows.num_rows
        total = sum(part.rows for part in self._index.reader(self._run).parts("partition_stats"))
        if self._seen != total:
            raise Mismatch(f"it has {total} rows, {self._seen} of them of covered columns", "partition_stats")


def _all(index: OpenIndex, run: RunRef, kind: str, schema: pa.Schema) -> pa.Table:
    reader = index.reader(run)
    tables = [
        reader.read(part, range(len(reader.footer(part).rows)), schema.names, keep=False) for part in reader.parts(kind)
    ]
    if not tables:
        raise DamagedIndexError(f"a run has a part of each kind; run {run.run} has none of {kind}; repair the index")
    return pa.concat_tables(tables).cast(schema).combine_chunks()


def _column(index: OpenIndex, run: RunRef, kind: str, schema: pa.Schema, column: int) -> pa.Table:
    reader = index.reader(run)
    found = [schema.empty_table()]
    for part in reader.parts(kind):
        ids = reader.footer(part).range("column_id")
        groups = [g for g in range(len(ids.known)) if not ids.known[g] or ids.least[g] <= column <= ids.greatest[g]]
        if groups:
            table = reader.read(part, groups, schema.names, keep=False).cast(schema)
            found.append(table.filter(pc.equal(table.column("column_id"), column)))
    return pa.concat_tables(found).combine_chunks()


def _one(values: pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
