"""Verification of a run by reading every value: digests of manifest and footers, checksums of pages, and whether facts
that are stored in several places agree.

files            ordinals 0..N-1 in order of (partition, path); the ids follow from path and size; their digest is the
                 entry's
file_ids         the same ids, sorted
partitions       follow from files
facts            of the covered columns: see `FactRows.check`
keys             see `key_runs`
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from metaindex.core import DamagedIndexError, ForeignIndexError, MetaIndexError, first_line
from metaindex.formats import FileTable
from metaindex.index.actions.runs import number_partitions
from metaindex.index.build.protocol import Progress
from metaindex.index.keys import file_ids
from metaindex.index.kinds.checks import Mismatch
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.log.entry import RunRef
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import FILE_IDS, FILES, OWN, PARTITIONS

from .key_runs import check_keys
from .report import Finding, Verification, judged


@dataclass(frozen=True, slots=True)
class RunRows:
    """The rows of a sound run for later checks: its `files` rows, and how to read the statistics of a column again."""

    run: RunRef
    files: pa.Table


def check_run(
    index: OpenIndex, run: RunRef, stored: RunRef, report: Verification, progress: Progress | None = None
) -> RunRows | None:
    """Return the run's rows, or None, with a finding, if it is not right. `stored`: with the keys that this metaindex
    does not know, too. Memory: the rows of `files`, and of one column."""
    report.runs += 1
    where = ""
    try:
        parts = _parts(index, stored)
        report.parts += len(parts)
        report.rows += sum(part.rows for part in parts)
        where = "files"
        files = _files(index, run)
        where = FACT_ROWS.files.partition
        for done in FACT_ROWS.check(index.reader(run), files.column("partition_ord").to_numpy()):
            if progress is not None:
                progress(f"columns of run {run.run}", done, len(run.columns))
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


def _parts(index: OpenIndex, run: RunRef) -> list[PartInfo]:
    """Return all parts; raises if the manifest and the entry, or an object's size, disagree."""
    reader = index.reader(run)
    known = OWN | {FACT_ROWS.files.partition, FACT_ROWS.partitions.partition} | {key.kind for key in run.keys}
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


def _all(index: OpenIndex, run: RunRef, kind: str, schema: pa.Schema) -> pa.Table:
    reader = index.reader(run)
    tables = [
        reader.read(part, range(len(reader.footer(part).rows)), schema.names, keep=False) for part in reader.parts(kind)
    ]
    if not tables:
        raise DamagedIndexError(f"a run has a part of each kind; run {run.run} has none of {kind}; repair the index")
    return pa.concat_tables(tables).cast(schema).combine_chunks()


def _one(values: pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
