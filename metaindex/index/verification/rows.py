"""Verification of statistics against data files: every value is read, nothing is taken from a footer or a log.

No non-null, non-NaN value lies outside the bounds; a bound that is said to be exact is attained; ALL_NULL means no
value; the counts that are known are right. What a data file shows in other ways than its rows (a column that it does
not have, values that a table reader converts) is told as not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, MetaIndexError, Progress, ScanError, Vector, first_line
from metaindex.formats import Leaf, Schema, Snapshot, TableRef, Trust
from metaindex.index.build.collect import UNREADABLE, Scanner
from metaindex.index.build.extremes import ColumnScan, bounds_of
from metaindex.index.build.parquet_scan import ParquetScanner
from metaindex.index.keys import FileIdentities
from metaindex.index.kinds.fact_rows import wrong_facts
from metaindex.index.kinds.facts import facts_of
from metaindex.index.log.entry import CoveredColumn, RunRef
from metaindex.index.log.versions import Recorded
from metaindex.index.open_index import OpenIndex
from metaindex.index.verification.report import Finding, Verification
from metaindex.index.verification.runs import RunRows

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
        return ParquetScanner()
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
    for row, message in wrong_facts(index.reader(run_rows.run), column, leaf.type, ordinals, truth):
        said = f"column {column.name!r}: {message}"
        report.found([Finding("statistics", said, run=run_rows.run.run, file=read[row][0].path)])


Ordinals = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Sample:
    """`limit` files (None: all) that are live at the version `recorded`, spread over its runs, of which `rows` were
    read back. `snapshot` says how the files are read, and what stands under their paths now: `replaced` marks those of
    each run that are not it."""

    index: OpenIndex
    rows: Mapping[str, RunRows]
    recorded: Recorded
    snapshot: Snapshot
    ref: TableRef
    limit: int | None
    report: Verification
    replaced: Mapping[str, Mask]
    progress: Progress | None = None

    @classmethod
    def made(
        cls,
        index: OpenIndex,
        rows: Mapping[str, RunRows],
        recorded: Recorded,
        snapshot: Snapshot,
        ref: TableRef,
        limit: int | None,
        report: Verification,
        progress: Progress | None,
    ) -> Sample:
        """Tells the report how many of the files are not what stands under their paths now: the index is behind there,
        and not wrong."""
        replaced = _replaced([rows[run] for run in recorded.live.dead], snapshot)
        report.replaced = sum(
            int(np.count_nonzero(mask & recorded.live.mask(rows[run].run))) for run, mask in replaced.items()
        )
        return cls(index, rows, recorded, snapshot, ref, limit, report, replaced, progress)

    def of(self, covers: Callable[[RunRef], object]) -> list[tuple[RunRows, Ordinals]]:
        """The runs that `covers` takes, each with the ordinals of its files."""
        runs = [self.rows[run] for run in self.recorded.live.dead if covers(self.rows[run].run)]
        there = [
            np.flatnonzero(self.recorded.live.mask(run_rows.run) & ~self.replaced[run_rows.run.run])
            for run_rows in runs
        ]
        return list(zip(runs, sampled(there, self.limit), strict=True))

    def tell(self, what: str, done: int, of: Sequence[tuple[RunRows, Ordinals]]) -> None:
        """Tells how many files of all are done."""
        if self.progress is not None:
            self.progress(what, done, sum(len(ordinals) for _, ordinals in of))


def _replaced(runs: Sequence[RunRows], snapshot: Snapshot) -> dict[str, Mask]:
    """Files of runs whose path the snapshot has, as another file."""
    paths, now = Vector(snapshot.files.paths).array, FileIdentities.of(snapshot)
    out = {}
    for run_rows in runs:
        named = pc.is_in(run_rows.files.column("path"), value_set=paths)
        same = now.places(Vector(run_rows.files.column("file_id")).array).is_valid()
        mine = run_rows.run.table_uuid == now.table_uuid
        out[run_rows.run.run] = Vector(pc.and_not(Vector(named).array, same) if mine else named).truths(null=False)
    return out


def sampled(live: Sequence[Ordinals], sample: int | None) -> list[Ordinals]:
    """Return at most so many of all ordinals, evenly spread: the same ones each time, so that a finding can be
    reproduced. None: all."""
    count = sum(map(len, live))
    if sample is None or count <= sample:
        return list(live)
    picked = np.unique(np.linspace(0, count - 1, sample).astype(np.int64)) if sample else np.zeros(0, np.int64)
    starts = np.cumsum([0, *map(len, live)])
    return [
        live_rows[picked[(picked >= a) & (picked < b)] - a]
        for live_rows, a, b in zip(live, starts, starts[1:], strict=False)
    ]
