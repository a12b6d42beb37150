"""Verification of a run by reading every value: digests of manifest and footers, checksums of pages, and whether facts
that are stored in several places agree.

files            ordinals 0..N-1 in order of (partition, path); the ids follow from path and size; their digest is the
                 entry's
file_ids         the same ids, sorted
partitions       follow from files
facts            of the covered columns: see `fact_rows.check_facts`
keys             rows, parts and log entry fit each other, as each kind knows it (`StoredKind.check`); `unkeyed` has as
                 many files as the entry says, and no row is of such a file

And of the recorded versions: each can be resolved and counts its files; those that the table still reads have the
files, and the deletes, that the table has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from metaindex.core import DamagedIndexError, ForeignIndexError, MetaIndexError, Progress, Vector, first_line
from metaindex.formats import At, FileTable, Format, TableRef
from metaindex.index.actions.target import retains
from metaindex.index.build.merging import unkeyed_of
from metaindex.index.keys import FileIdentities, file_ids
from metaindex.index.kinds.checks import Mismatch
from metaindex.index.kinds.fact_rows import check_facts
from metaindex.index.kinds.registry import FACT_ROWS, KINDS
from metaindex.index.log.entry import RunRef, VersionRecord
from metaindex.index.log.versions import Recorded
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import FILE_IDS, FILES, OWN, PARTITIONS
from metaindex.index.store.writer import id_rows, number_partitions
from metaindex.index.verification.report import Finding, Verification, judged


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
        for done in check_facts(index.reader(run), files.column("partition_ord").to_numpy()):
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
        not ids.equals(Vector(files.column("file_id")).array)
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
    if not by_id.combine_chunks().equals(id_rows(ids).combine_chunks()):
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


def check_keys(index: OpenIndex, run: RunRef, named: set[int], records: pa.ChunkedArray) -> None:
    """Check the keys of a run. `named`: ids of all its keys, unknown ones too. `records`: by ordinal, the rows that the
    table's log counts. Raises Mismatch, or what reading raises."""
    reader = index.reader(run)
    unkeyed = unkeyed_of(reader)
    if strange := unkeyed.keys() - named:
        raise Mismatch(f"it names files of keys that the entry does not know ({len(strange)})", "unkeyed")
    for kind in sorted({key.kind for key in run.keys}):
        if any(not part_is_of(part.first_key, part.last_key, named) for part in reader.parts(kind)):
            raise Mismatch("a part has rows of no key of the run", kind)
    for key in run.keys:
        mask = np.zeros(run.files, np.bool_)
        without = unkeyed.get(key.key_id, np.zeros(0, np.int64))
        if len(without) and not 0 <= without[0] <= without[-1] < run.files:
            raise Mismatch("it names files that the run does not have", "unkeyed")
        mask[without] = True
        KINDS.call(key.kind, partial(KINDS.rows_of(key).check, reader, key, mask, records))


def part_is_of(first: int | None, last: int | None, named: set[int]) -> bool:
    return first is None or (first == last and first in named)


NEWEST = 3
"""Recorded versions that are compared with the table unless all are asked: each costs a snapshot."""


def check_versions(
    index: OpenIndex,
    rows: Mapping[str, RunRows],
    format_: Format,
    ref: TableRef,
    every: bool,
    report: Verification,
) -> list[Recorded]:
    """The versions that are right, oldest first. `rows`: the sound runs; a version that needs another one cannot be
    looked at, and is no finding of its own."""
    try:
        records: Sequence[VersionRecord] = [record for record, _ in index.versions.all()]
    except MetaIndexError as error:
        judged(error)
        report.found([Finding("version", str(error), "_versions")])
        records = index.entry.content.versions
    report.versions = len(records)
    sound = []
    for record in records:
        try:
            recorded = index.versions.resolve(record.version)
            assert recorded is not None
        except (MetaIndexError, AssertionError, ValueError) as error:
            judged(error)
            report.found([Finding("version", str(error) or "it cannot be resolved", version=record.version.id)])
            continue
        if not recorded.live.dead.keys() <= rows.keys():
            report.skipped("a recorded version needs a run that is not right")
            continue
        if (wrong := _count(recorded, rows)) is not None:
            report.found([Finding("version", wrong, version=record.version.id)])
            continue
        sound.append(recorded)
    for recorded in list(sound if every else sound[-NEWEST:]):
        wrong = _differs(index, recorded, rows, format_, ref, report)
        if wrong is not None:
            report.found([Finding("version", wrong, version=recorded.record.version.id)])
            sound.remove(recorded)
    return sound


def _count(recorded: Recorded, rows: Mapping[str, RunRows]) -> str | None:
    files = size = 0
    for run in recorded.live.dead:
        live = recorded.live.mask(rows[run].run)
        files += int(live.sum())
        size += int(rows[run].files.column("size_bytes").to_numpy()[live].sum())
    if (files, size) != (recorded.record.files, recorded.record.size_bytes):
        return (
            f"it says {recorded.record.files} files of {recorded.record.size_bytes} bytes; {files} of {size} bytes are"
            " live"
        )
    return None


def _differs(
    index: OpenIndex,
    recorded: Recorded,
    rows: Mapping[str, RunRows],
    format_: Format,
    ref: TableRef,
    report: Verification,
) -> str | None:
    version = recorded.record.version
    try:
        if not retains(format_, ref)(version):
            report.skipped("the table does not keep a recorded version any more")
            return None
        snapshot = format_.snapshot(ref, At.of(version))
    except MetaIndexError as error:
        report.skipped(f"the table cannot be read at a recorded version ({first_line(error)})")
        return None
    if snapshot.version != version:  # "now" of Iceberg is read with the schema of now
        report.skipped("the table reads a recorded version with another schema today")
        return None
    report.versions_compared += 1
    files = FileIdentities.of(snapshot)
    live_ids, marked = [pa.array([], pa.binary(16))], [np.zeros(0, np.bool_)]
    for run in recorded.live.dead:
        live = recorded.live.mask(rows[run].run)
        live_ids += rows[run].files.column("file_id").filter(pa.array(live)).chunks
        marked.append(recorded.live.with_deletes(rows[run].run)[live])
    held = pa.concat_arrays(live_ids)
    at = files.places(held)
    missing, strange = len(files) - int(pc.count_distinct(at).as_py()), at.null_count
    if missing or strange or len(held) != len(files):
        return (
            f"the table has {missing} files at it that the index does not count, and the index {strange} that the table"
            " has not"
        )
    attached = np.asarray(snapshot.files.table.column("deletes").is_valid().to_numpy(), np.bool_)
    mine = np.zeros(len(files), np.bool_)
    mine[at.to_numpy()] = np.concatenate(marked)
    if not np.array_equal(mine, attached):
        return (
            f"{int((mine != attached).sum())} files have deletes in the table and none in the index, or the other way"
            " round"
        )
    return None
