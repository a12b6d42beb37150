"""What the index says of data files, against the rows in them: every value is read, nothing is taken from a footer or a
log.

No non-null, non-NaN value lies outside the bounds; a bound that is said to be exact is attained; ALL_NULL means no
value; the counts that are known are right. What a data file shows in other ways than its rows (a column that it does
not have, values that a table reader converts) is told as not compared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from expressions.errors import MetaIndexError, first_line
from formats.model import Leaf, Schema, Snapshot, Trust
from formats.protocol import TableRef
from metaindex.build.collect import UNREADABLE, Scanner
from metaindex.build.extremes import ColumnScan, bounds_of
from metaindex.build.parquet_scan import scan_parquet
from metaindex.build.statistics import domain_of, facts_of
from metaindex.errors import ScanError
from metaindex.kinds.rows import StatState
from metaindex.log.entry import CoveredColumn
from metaindex.log.types import type_from_text
from metaindex.pruning.open_index import OpenIndex

from .report import Finding, Verification
from .runs import RunRows, column_of
from .sample import Sample

_SUFFIX = {pa.int64(): "int", pa.float64(): "double", pa.binary(): "bytes"}
_ALL_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class _Scanned:
    """The columns of one file, as its rows have them. Aligned with the leaves asked."""

    ordinal: int
    path: str
    columns: list[ColumnScan]


def check_rows(sample: Sample) -> None:
    """Compares the files of a sample."""
    report, runs = sample.report, sample.of(lambda run: run.columns)
    for one, ordinals in runs:
        pairs = _leaves(one, sample.found.schema)
        scanner = _scanner(sample.snapshot, report)
        if scanner is None or not pairs:
            continue
        for start in range(0, len(ordinals), _ALL_AT_ONCE):
            some = ordinals[start : start + _ALL_AT_ONCE]
            scanned = _scan(one, some, [leaf for _, leaf in pairs], scanner, sample.ref, report)
            for place, (column, leaf) in enumerate(pairs):
                _compare(sample.index, one, column, leaf, [(s, s.columns[place]) for s in scanned], report)
            sample.tell("data files read", report.files, runs)


def _leaves(one: RunRows, schema: Schema) -> list[tuple[CoveredColumn, Leaf]]:
    """The covered columns that the schema of the version has, each with the type that it was written with."""
    by_stable = {leaf.stable: leaf for leaf in schema.leaves()}
    out = []
    for column in one.run.columns:
        leaf, type_ = by_stable.get(column.stable), type_from_text(column.type_text)
        if leaf is not None and type_ is not None and not column.partition:
            out.append((column, Leaf((*leaf.path[:-1], replace(leaf.field, type=type_)))))
    return out


def _scanner(snapshot: Snapshot, report: Verification) -> Scanner | None:
    options = dict(snapshot.details.read_options())
    file_format = str(options.pop("file_format", "parquet"))
    if file_format == "parquet":
        return scan_parquet
    from metaindex.build.text_scan import TextScanner

    try:
        return TextScanner.of(file_format, options, tuple(f for f in snapshot.schema if not f.partition))
    except ScanError as error:
        report.skipped(str(error))
        return None


def _scan(
    one: RunRows,
    ordinals: npt.NDArray[np.intp],
    leaves: list[Leaf],
    scanner: Scanner,
    ref: TableRef,
    report: Verification,
) -> list[_Scanned]:
    out = []
    files = one.files.select(["path", "size_bytes"]).take(pa.array(ordinals))
    for ordinal, file in zip(ordinals.tolist(), files.to_pylist(), strict=True):
        try:
            out.append(_Scanned(ordinal, file["path"], scanner(ref.storage, file["path"], file["size_bytes"], leaves)))
            report.files += 1
        except FileNotFoundError:
            report.gone += 1
        except (*UNREADABLE, MetaIndexError) as error:
            report.skipped(f"a data file cannot be read ({first_line(error)})")
    return out


def _compare(
    index: OpenIndex,
    one: RunRows,
    column: CoveredColumn,
    leaf: Leaf,
    scanned: list[tuple[_Scanned, ColumnScan]],
    report: Verification,
) -> None:
    """One column of some files."""
    read = [pair for pair in scanned if pair[1].unread is None]
    if len(read) < len(scanned):
        report.skipped(f"a data file does not show column {column.name!r} by its rows", len(scanned) - len(read))
    if not read:
        return
    stored = column_of(index, one.run, column)
    at = pc.index_in(pa.array([file.ordinal for file, _ in read], pa.int32()), value_set=stored.column("ordinal"))
    stored = stored.take(at)
    report.statistics += len(read)
    truth = facts_of(bounds_of([scan for _, scan in read], leaf.type), len(read), Trust.COMPUTED)
    for row in np.flatnonzero(_wrong(stored, truth, leaf.type)).tolist():
        said, true = stored.slice(row, 1).to_pylist()[0], truth.slice(row, 1).to_pylist()[0]
        report.found(
            [
                Finding(
                    "statistics",
                    f"column {column.name!r}: the index says {_told(said, domain_of(leaf.type))}; its rows say {_told(true, None)}",
                    run=one.run.run,
                    file=read[row][0].path,
                )
            ]
        )


def _wrong(stored: pa.Table, truth: pa.Table, type_: pa.DataType) -> npt.NDArray[np.bool_]:
    """Rows where what is stored is not true."""
    suffix = _SUFFIX[domain_of(type_)]
    state, true_state = stored.column("state"), truth.column("state")
    bounded = pc.and_(pc.equal(true_state, int(StatState.VALUES)), pc.is_valid(truth.column("lower")))
    wrong = [pc.and_(pc.equal(state, int(StatState.ALL_NULL)), pc.not_equal(true_state, int(StatState.ALL_NULL)))]
    valued = pc.equal(state, int(StatState.VALUES))
    for side, beyond in (("lower", pc.greater), ("upper", pc.less)):
        said, true = stored.column(f"{side}_{suffix}"), truth.column(side)
        # No bounds: every value is NaN.
        wrong.append(pc.and_(pc.and_(valued, bounded), pc.or_(pc.is_null(said), _sure(beyond(said, true)))))
        exact = pc.and_(
            pc.and_(valued, bounded), pc.and_(stored.column(f"{side}_exact"), truth.column(f"{side}_exact"))
        )
        wrong.append(pc.and_(exact, _sure(pc.not_equal(said, true))))
    wrong += [pc.not_equal(stored.column(n), truth.column(n)) for n in ("null_count", "nan_count", "value_count")]
    out = np.zeros(stored.num_rows, np.bool_)
    for one in wrong:
        out |= np.asarray(_sure(one).to_numpy(), np.bool_)
    return out


def _told(row: dict[str, Any], domain: pa.DataType | None) -> str:
    suffix = f"_{_SUFFIX[domain]}" if domain is not None else ""
    state = StatState(row["state"])
    values = f" {row[f'lower{suffix}']!r} to {row[f'upper{suffix}']!r}" if state is StatState.VALUES else ""
    return f"{state.name}{values}, {row['null_count']} NULLs, {row['nan_count']} NaNs of {row['value_count']}"


def _sure(mask: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    return pc.fill_null(mask, False)
