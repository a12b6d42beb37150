"""The recorded versions of an index: each can be resolved and counts its files; and those that the table still reads
have the files, and the deletes, that the table has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import MetaIndexError, first_line
from metaindex.formats import At, Format, TableRef
from metaindex.index.actions.target import retains
from metaindex.index.keys import FileIdentities
from metaindex.index.log.entry import VersionRecord
from metaindex.index.log.versions import Recorded
from metaindex.index.open_index import OpenIndex

from .report import Finding, Verification, judged
from .runs import RunRows

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
