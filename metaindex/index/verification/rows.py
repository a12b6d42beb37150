"""Verification of statistics against data files: every value is read, nothing is taken from a footer or a log.

No non-null, non-NaN value lies outside the bounds; a bound that is said to be exact is attained; ALL_NULL means no
value; the counts that are known are right. What a data file shows in other ways than its rows (a column that it does
not have, values that a table reader converts) is told as not compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import MetaIndexError, ScanError, first_line
from metaindex.formats import Leaf, Schema, Snapshot, TableRef, Trust
from metaindex.index.build.collect import UNREADABLE, Scanner
from metaindex.index.build.extremes import ColumnScan, bounds_of
from metaindex.index.build.parquet_scan import scan_parquet
from metaindex.index.kinds.facts import facts_of
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.open_index import OpenIndex

from .report import Finding, Verification
from .runs import RunRows
from .sample import Sample

_ALL_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class _ScannedFile:
    """The columns of one file, as its rows have them. Aligned with the leaves asked."""

    ordinal: int
    path: str
    columns: list[ColumnScan]


def check_rows(sample: Sample) -> None:
    """Compares the files of a sample."""
    report, runs = sample.report, sample.of(lambda run: run.columns)
    for run_rows, ordinals in runs:
        pairs = _leaves(run_rows, sample.recorded.schema)
        scanner = _scanner(sample.snapshot, report)
        if scanner is None or not pairs:
            continue
        for start in range(0, len(ordinals), _ALL_AT_ONCE):
            some = ordinals[start : start + _ALL_AT_ONCE]
            scanned = _scan(run_rows, some, [leaf for _, leaf in pairs], scanner, sample.ref, report)
            for place, (column, leaf) in enumerate(pairs):
                _compare(sample.index, run_rows, column, leaf, [(s, s.columns[place]) for s in scanned], report)
            sample.tell("data files read", report.files, runs)


def _leaves(run_rows: RunRows, schema: Schema) -> list[tuple[CoveredColumn, Leaf]]:
    """The covered columns that the schema of the version has, each with the type that it was written with."""
    by_stable = {leaf.stable: leaf for leaf in schema.leaves()}
    out = []
    for column in run_rows.run.columns:
        leaf, type_ = by_stable.get(column.stable), column.type
        if leaf is not None and type_ is not None and not column.partition:
            out.append((column, Leaf((*leaf.path[:-1], replace(leaf.field, type=type_)))))
    return out


def _scanner(snapshot: Snapshot, report: Verification) -> Scanner | None:
    options = dict(snapshot.details.read_options())
    file_format = str(options.pop("file_format", "parquet"))
    if file_format == "parquet":
        return scan_parquet
    from metaindex.index.build.text_scan import TextScanner

    try:
        return TextScanner.of(file_format, options, tuple(f for f in snapshot.schema if not f.partition))
    except ScanError as error:
        report.skipped(str(error))
        return None


def _scan(
    run_rows: RunRows,
    ordinals: npt.NDArray[np.intp],
    leaves: list[Leaf],
    scanner: Scanner,
    ref: TableRef,
    report: Verification,
) -> list[_ScannedFile]:
    out = []
    files = run_rows.files.select(["path", "size_bytes"]).take(pa.array(ordinals))
    for ordinal, file in zip(ordinals.tolist(), files.to_pylist(), strict=True):
        try:
            scans = scanner(ref.storage, file["path"], file["size_bytes"], leaves)
            out.append(_ScannedFile(ordinal, file["path"], scans))
            report.files += 1
            if any(scan.unread is None for scan in scans):
                report.compared.add(file["path"])
        except FileNotFoundError:
            report.gone_files.add(file["path"])
        except (*UNREADABLE, MetaIndexError) as error:
            report.unreadable(file["path"], f"data file {file['path']!r} cannot be read: {first_line(error)}")
    return out


def _compare(
    index: OpenIndex,
    run_rows: RunRows,
    column: CoveredColumn,
    leaf: Leaf,
    scanned: list[tuple[_ScannedFile, ColumnScan]],
    report: Verification,
) -> None:
    """Compare one column of some files."""
    read = [pair for pair in scanned if pair[1].unread is None]
    if len(read) < len(scanned):
        report.skipped(f"a data file does not show column {column.name!r} by its rows", len(scanned) - len(read))
    if not read:
        return
    report.statistics += len(read)
    truth = facts_of(bounds_of([scan for _, scan in read], leaf.type), len(read), Trust.COMPUTED)
    ordinals = np.array([file.ordinal for file, _ in read], np.int32)
    for row, message in FACT_ROWS.wrong(index.reader(run_rows.run), column, leaf.type, ordinals, truth):
        said = f"column {column.name!r}: {message}"
        report.found([Finding("statistics", said, run=run_rows.run.run, file=read[row][0].path)])
