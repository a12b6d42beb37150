"""Verification of keys against data files: the values of sampled files are read and keyed again, and what is stored
must be exactly that.

A value that is stored nowhere would lose its file; one that is in no row of the file reads it in vain, and may be one
that should have been erased. Of files that are unkeyed nothing is said; of one that would be unkeyed today, nothing
should be.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import MetaIndexError, Vector
from metaindex.formats import FileTable, Leaf, Schema, TableRef
from metaindex.index.build.key_scan import KeyScan, scan_keys
from metaindex.index.build.merging import unkeyed_of
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.keys import FileIdentities
from metaindex.index.kinds.checks import KeyCheck
from metaindex.index.kinds.keyed import Spill
from metaindex.index.kinds.kind import KeyKind, PlannedKey
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import CoveredKey, KindSpec
from metaindex.index.log.sealed import one_line
from metaindex.index.store.writer import number_partitions
from metaindex.storage import LocalStorage

from .report import Finding, Verification
from .rows import Ordinals, Sample
from .runs import RunRows

Keys = Sequence[tuple[CoveredKey, PlannedKey]]

_FILES_AT_ONCE = 1_000
_BYTES_AT_ONCE = 1 << 30
"""Of data files that are compared in one go through the stored rows; what is read of them is held in memory."""


def check_key_rows(sample: Sample) -> None:
    """Compares the files of a sample."""
    runs, done = sample.of(KINDS.keyed), 0
    for run_rows, ordinals in runs:
        keys: Keys = _planned(run_rows, sample.index.entry.kinds, sample.recorded.schema, sample.report)
        for some in _together(run_rows, ordinals) if keys else ():
            keys = _checked(sample, run_rows, keys, some)
            done += len(some)
            sample.tell("data files read for their keys", done, runs)


def _checked(sample: Sample, run_rows: RunRows, keys: Keys, ordinals: Ordinals) -> Keys:
    """Compares the files, and gives the keys that can be compared with more of them. What the kind of another package
    raises is a finding, and no end of the verification."""
    ours = [key_and_plan for key_and_plan in keys if not KINDS.is_foreign(key_and_plan[0].kind)]
    try:
        if keys:
            _check_some(sample, run_rows, keys, ordinals)
    except MetaIndexError:
        raise
    except (Exception, SystemExit) as error:
        if len(ours) == len(keys):
            raise
        names = ", ".join(sorted({key.kind for key, _ in keys if KINDS.is_foreign(key.kind)}))
        message = f"keys of other packages ({names}) cannot be compared: {one_line(error)}"
        sample.report.found([Finding("keys", message, run=run_rows.run.run)])
        return _checked(sample, run_rows, ours, ordinals)
    return keys


def _together(run_rows: RunRows, ordinals: Ordinals) -> Iterator[Ordinals]:
    sizes = np.cumsum(run_rows.files.column("size_bytes").to_numpy()[ordinals])
    start = 0
    while start < len(ordinals):
        before = int(sizes[start - 1]) if start else 0
        end = int(np.searchsorted(sizes, before + _BYTES_AT_ONCE, side="right"))
        end = min(max(end, start + 1), start + _FILES_AT_ONCE)
        yield ordinals[start:end]
        start = end


def _planned(
    run_rows: RunRows, kinds: Sequence[KindSpec], schema: Schema, report: Verification
) -> list[tuple[CoveredKey, PlannedKey]]:
    """The keys whose columns the schema of the version has, each with the types that it was written with."""
    by_stable = {leaf.stable: leaf for leaf in schema.leaves()}
    out: list[tuple[CoveredKey, PlannedKey]] = []
    for key in KINDS.keyed(run_rows.run):
        leaves = []
        for column in key.columns:
            leaf, type_ = by_stable.get(column.stable), column.type
            if leaf is not None and type_ is not None and leaf.field.partition == column.partition:
                leaves.append(Leaf((*leaf.path[:-1], replace(leaf.field, type=type_))))
        if len(leaves) < len(key.columns):
            report.skipped("a column of a key is not in the table any more")
        elif (maker := _maker(key, kinds, run_rows.run.run, report)) is not None:
            out.append((key, PlannedKey(key.kind, key.key_id, tuple(leaves), len(out), maker)))
    return out


def _maker(key: CoveredKey, kinds: Sequence[KindSpec], run: str, report: Verification) -> KeyKind | None:
    try:
        return KINDS.maker_of(key, kinds)
    except (Exception, SystemExit) as error:
        if not KINDS.is_foreign(key.kind):
            raise
        report.found([Finding("keys", f"a key of another package cannot be compared: {one_line(error)}", run=run)])
        return None


def _check_some(sample: Sample, run_rows: RunRows, keys: Keys, ordinals: Ordinals) -> None:
    reader, report = sample.index.reader(run_rows.run), sample.report
    request, ordinals = request_of(sample, run_rows, ordinals)
    without = unkeyed_of(reader)
    files = request.files.table.select(["path", "size_bytes"])
    files = files.append_column("ordinal", pa.array(ordinals.astype(np.int32)))
    files = files.append_column("partition_ord", pa.array(request.partition_ord))
    with tempfile.TemporaryDirectory(prefix="_metaindex-") as folder:
        storage = LocalStorage(folder)
        checks = [
            KINDS.looked_up_rows(key).compared(reader, key, plan, ordinals, Spill(storage, str(plan.place)))
            for key, plan in keys
        ]
        scanned = scan_keys(sample.ref.storage, KeyScan.of(request, [plan for _, plan in keys]), files, checks)
        paths = dict(zip(ordinals.tolist(), files.column("path").to_pylist(), strict=True))
        findings, compared_keys = list[Finding](), 0
        known: set[int] = set()  # to one of the keys
        for (key, _), check in zip(keys, checks, strict=True):
            unkeyed = set(without.get(key.key_id, np.zeros(0, np.int64)).tolist())
            compared = [o for o in paths if o not in scanned.unread and o not in unkeyed]
            compared_keys += len(compared)
            known.update(compared)
            report.compared.update(paths[ordinal] for ordinal in compared)
            name = ", ".join(column.name for column in key.columns)
            findings += [
                Finding("keys", f"{key.kind} of ({name}): {message}", run=run_rows.run.run, file=paths[ordinal])
                for ordinal, message in _wrong(check, compared, scanned.problems)
            ]
        # A file that can be opened may have rows that cannot be read: then no key knows it, and it is read by all.
        for ordinal in sorted(scanned.unread | (scanned.problems.keys() - known)):
            why = scanned.problems[ordinal]
            told = why if ordinal in scanned.unread else f"the keys of data file {paths[ordinal]!r}: {why}"
            report.unreadable(paths[ordinal], told)
        report.keyed_files += len(known)
        report.keys += compared_keys
        report.found(findings)


def _wrong(check: KeyCheck, compared: Sequence[int], problems: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    failed = set(check.failed)
    for ordinal in compared:
        if ordinal in failed:
            yield (
                ordinal,
                f"the index claims to know its values, which cannot be keyed: {problems.get(ordinal, 'too many')}",
            )
    yield from check.wrong([ordinal for ordinal in compared if ordinal not in failed])


def request_of(sample: Sample, run_rows: RunRows, ordinals: Ordinals) -> tuple[BuildRequest, Ordinals]:
    """The files as a builder gets them: those of the sample that the table has now and that are on storage."""
    snapshot, ref, report = sample.snapshot, sample.ref, sample.report
    files = run_rows.files.take(pa.array(ordinals))
    at = FileIdentities.of(snapshot).places(Vector(files.column("file_id")).array)
    kept = pc.is_valid(at).to_numpy(zero_copy_only=False).copy()
    if not kept.all():
        report.skipped("a data file is not in the table any more, so its keys are not compared", int((~kept).sum()))
    for row in np.flatnonzero(kept).tolist():
        if not _there(ref, files.column("path")[row].as_py()):
            kept[row] = False
            report.gone_files.add(files.column("path")[row].as_py())
    rows = np.asarray(at.filter(pa.array(kept)).to_numpy(), np.int64)
    names = [name for name in FileTable.SCHEMA.names if name in snapshot.files.table.column_names]
    table = FileTable(snapshot.files.table.select(names).take(pa.array(rows)))
    partition_ord, partitions = number_partitions(table)
    return BuildRequest(ref, snapshot, table, rows, partition_ord, partitions, ()), ordinals[kept]


def _there(ref: TableRef, path: str) -> bool:
    try:
        ref.storage.head(path)
    except FileNotFoundError:
        return False
    except MetaIndexError:
        return True  # the scan says what is wrong
    return True
