"""Collects the facts of every column of many data files, and which files cannot be trusted.

Both builders call this, the local one for all files and a Spark task for its share, so that what a file amounts to is
decided in one place. A file that cannot be read whole, or is not what the snapshot says, has no facts at all: every
column of it is UNKNOWN and the reason is told.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, MetaIndexError, Progress, ScanError, StorageUnavailableError, Words, first_line
from metaindex.expressions import ColumnBounds
from metaindex.formats import Field, Footer, FooterColumn, Leaf, Trust
from metaindex.index.build.extremes import ColumnScan, bounds_of
from metaindex.index.build.parquet_scan import ParquetScanner
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.kinds.facts import (
    MOST_ROWS,
    constant,
    domain_of,
    facts_of,
    facts_schema,
    joined,
    replace_rows,
    told,
    unknown_facts,
)
from metaindex.storage import Storage

CHUNK_FILES = 10_000
UNREADABLE = (pa.ArrowException, OSError, EOFError, zlib.error, MetaIndexError)
"""What reading one damaged, missing or foreign file raises. Anything else is a fault of ours, and the build fails."""

_COUNTS_AND_SIGNS = dict.fromkeys(("null_count", "nan_count", "row_count"), pa.int64())
_COUNTS_AND_SIGNS |= dict.fromkeys(("lower_exact", "upper_exact"), pa.bool_())
_FOREIGN = {".orc": "ORC", ".avro": "Avro"}
_BESIDE = ("compressed_bytes", "uncompressed_bytes", "form")
"""What a footer says of a column beside its values, as `facts_of` takes it."""


@dataclass(frozen=True, slots=True)
class FactScan:
    """Reading of data files for facts: plain data, which travels to Spark tasks."""

    leaves: tuple[Leaf, ...]
    file_format: str
    options: tuple[tuple[str, object], ...]
    fields: tuple[Field, ...]  # the table's columns that stand in the files, in order
    scan_floats: bool
    without_nan: frozenset[str] = frozenset()
    scans: bool = True  # False: no data is read, and the files where it would be are told as scanned

    @classmethod
    def of(cls, request: BuildRequest, *, scans: bool = True) -> FactScan:
        return cls(request.leaves, *request.reading, request.scan_floats, request.without_nan, scans)


@dataclass(slots=True)
class Collected:
    """Facts of each leaf over the requested files, reasons for dropped files (by row), and scanned files."""

    facts: list[pa.Table]
    problems: dict[int, str] = field(default_factory=dict)
    scanned: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))


T = TypeVar("T")
Scanner = Callable[[Storage, str, int, Sequence[Leaf]], list[ColumnScan]]


def collect(
    storage: Storage,
    source: FactScan,
    paths: pa.ChunkedArray,
    sizes: pa.ChunkedArray,
    threads: int,
    progress: Progress | None = None,
    scans: Mapping[str, list[ColumnScan]] = MappingProxyType({}),
) -> Collected:
    """Everything about the files, in their order, a bounded number of them at a time. `scans`: of the source's leaves
    in files that need no other, by path."""
    whole = Collected([])
    pieces: list[list[pa.Table]] = [[] for _ in source.leaves]
    for start in range(0, len(paths), CHUNK_FILES):
        some_paths = paths.slice(start, CHUNK_FILES).to_pylist()
        some_sizes = sizes.slice(start, CHUNK_FILES).to_pylist()
        report = partial(_files_read, progress, start, len(paths))
        part = _Chunk(storage, source, some_paths, some_sizes, threads, report, scans).collected()
        for piece, facts in zip(pieces, part.facts, strict=True):
            piece.append(facts)
        whole.problems |= {start + row: why for row, why in part.problems.items()}
        whole.scanned = np.concatenate([whole.scanned, part.scanned])
        report(len(some_paths))
    whole.facts = [
        pa.concat_tables(piece) if piece else facts_schema(leaf.type).empty_table()
        for piece, leaf in zip(pieces, source.leaves, strict=True)
    ]
    return whole


def _files_read(progress: Progress | None, before: int, total: int, done: int) -> None:
    if progress is not None:
        progress("files read", before + done, total)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Files that are read together. `report`: is told how many are read so far."""

    storage: Storage
    source: FactScan
    paths: list[str]
    sizes: list[int]
    threads: int
    report: Callable[[int], None]
    scans: Mapping[str, list[ColumnScan]]

    def collected(self) -> Collected:
        match self.source.file_format:
            case "parquet":
                collected = self._parquet()
            case "csv" | "json":
                # Only tables of texts load the text reader.
                from .text_scan import TextScanner

                try:
                    scanner = TextScanner.of(self.source.file_format, dict(self.source.options), self.source.fields)
                except ScanError as error:
                    return self._without_facts(str(error))
                collected = replace(self._without_facts(""), problems={})
                every = np.ones((len(self.source.leaves), len(self.paths)), np.bool_)
                self._scan_into(collected, lambda *of: self.scans.get(of[1]) or scanner(*of), every)
            case other:
                return self._without_facts(f"data files of format {other!r} are not read for statistics")
        if collected.problems:
            self._leave_out(collected)
        return collected

    def _parquet(self) -> Collected:
        source, count = self.source, len(self.paths)
        footers = Footer.of_files(self.storage, self.paths, source.leaves, sizes=self.sizes, threads=self.threads)
        readable = np.array([why is None for why in footers.failures.to_pylist()], np.bool_)
        columns = [_told(column, source.without_nan) for column in footers.columns]
        problems = {row: footers.failures[row].as_py() for row in np.flatnonzero(~readable).tolist()}
        collected = Collected(_footer_facts(columns, count), problems, np.zeros(count, np.bool_))
        if wanted := [column.to_scan(floats=source.scan_floats) & readable for column in columns]:
            self._scan_into(collected, ParquetScanner(), np.array(wanted, np.bool_))
        return collected

    def _scan_into(self, collected: Collected, scanner: Scanner, wanted: Mask) -> None:
        """Reads the wanted (leaf, file) pairs and puts what they say in the place of what was known."""
        leaves, rows = self.source.leaves, np.flatnonzero(wanted.any(axis=0))
        if not self.source.scans:
            collected.scanned[rows] = True
            return

        def scan(row: int) -> list[ColumnScan] | str:
            some = [leaf for leaf, want in zip(leaves, wanted[:, row], strict=True) if want]
            return readable(self.paths[row], lambda: scanner(self.storage, self.paths[row], self.sizes[row], some))

        if self.threads > 1 and len(rows) > 1:
            with ThreadPoolExecutor(min(self.threads, len(rows))) as pool:
                results = self._reported(pool.map(Words.kept(scan), rows.tolist()), rows)
        else:
            results = self._reported(map(scan, rows.tolist()), rows)

        by_leaf: list[tuple[list[int], list[ColumnScan]]] = [([], []) for _ in leaves]
        for row, result in zip(rows.tolist(), results, strict=True):
            if isinstance(result, str):
                collected.problems[row] = result
                continue
            collected.scanned[row] = True
            scans = iter(result)
            for place in np.flatnonzero(wanted[:, row]).tolist():
                by_leaf[place][0].append(row)
                by_leaf[place][1].append(next(scans))
        for place, (places, scans_) in enumerate(by_leaf):
            if places:
                where, facts = np.array(places, np.int64), collected.facts[place]
                better = _scanned_facts(scans_, leaves[place], facts.take(pa.array(where)))
                collected.facts[place] = replace_rows(facts, where, better)

    def _reported(self, results: Iterable[T], rows: npt.NDArray[np.int64]) -> list[T]:
        """Return the results, and report each file when it is read."""
        read = []
        for result, row in zip(results, rows.tolist(), strict=True):
            read.append(result)
            self.report(row + 1)
        return read

    def _without_facts(self, why: str) -> Collected:
        count = len(self.paths)
        facts = [unknown_facts(leaf.type, count) for leaf in self.source.leaves]
        return Collected(facts, dict.fromkeys(range(count), why), np.zeros(count, np.bool_))

    def _leave_out(self, collected: Collected) -> None:
        """Drop all facts of files with a problem, even those from their footers."""
        rows = np.array(sorted(collected.problems), np.int64)
        for place, leaf in enumerate(self.source.leaves):
            collected.facts[place] = replace_rows(collected.facts[place], rows, unknown_facts(leaf.type, len(rows)))
        for row in rows.tolist():
            if foreign := foreign_format(self.paths[row]):
                collected.problems[row] = f"{foreign} data files are not read for statistics"


def readable(path: str, read: Callable[[], T]) -> T | str:
    """Return what reading a file gives, or why it cannot be read. Raises StorageUnavailableError, which says nothing of
    the file: it would stay uncovered for good."""
    try:
        return read()
    except StorageUnavailableError:
        raise
    except UNREADABLE as error:
        return f"cannot read {path!r}: {first_line(error)}"


def foreign_format(path: str) -> str | None:
    """Return the format that a data file's name tells, if it is one that is never read."""
    return next((name for ending, name in _FOREIGN.items() if path.lower().endswith(ending)), None)


def _told(column: FooterColumn, without_nan: frozenset[str]) -> FooterColumn:
    """The column with the count of NaN that its writer tells."""
    if not told(column.leaf, without_nan):
        return column
    return replace(column, bounds=replace(column.bounds, nan_count=constant(0, len(column.present), pa.int64())))


def _footer_facts(columns: Sequence[FooterColumn], count: int) -> list[pa.Table]:
    at_once = len(columns) if count * len(columns) <= MOST_ROWS else 1
    facts = []
    for start in range(0, len(columns), max(at_once, 1)):
        some = columns[start : start + at_once]
        said = [_footer_bounds(column) for column in some]
        more = [[getattr(column, name) for column in some] for name in _BESIDE]
        facts += facts_together([column_bounds for column_bounds, _ in said], count, [trust for _, trust in said], more)
    return facts


def _footer_bounds(column: FooterColumn) -> tuple[ColumnBounds, pa.Array]:
    """Return a column's bounds from a footer, and how far they are trusted."""
    bounds = column.bounds
    absent = pc.fill_null(pc.invert(column.present), False)
    nan_count, exact = bounds.nan_count, bounds.lower_exact
    if pc.any(absent).as_py() and bounds.lower is not None:
        # The default of an absent column is one value, seen in every row.
        exact = pc.or_(pc.fill_null(exact, False), absent)
        if nan_count is not None:
            nan_count = pc.if_else(absent, 0, nan_count)
    bounds = replace(bounds, nan_count=nan_count, lower_exact=exact, upper_exact=exact)
    known = pc.or_(pc.is_valid(bounds.null_count), pc.invert(pc.is_valid(column.doubt)))
    return bounds, pc.if_else(known, int(Trust.FOOTER), int(Trust.NONE))


def _scanned_facts(scans: list[ColumnScan], leaf: Leaf, before: pa.Table) -> pa.Table:
    bounds = bounds_of(scans, leaf.type)
    read = pa.array([scan.unread is None for scan in scans], pa.bool_())
    trust = pc.if_else(read, int(Trust.COMPUTED), int(Trust.NONE))
    return facts_of(bounds, len(scans), trust, *(before.column(name).combine_chunks() for name in _BESIDE))


def facts_together(
    bounds: Sequence[ColumnBounds],
    count: int,
    trusts: Sequence[pa.Array | Trust],
    beside: Sequence[Sequence[pa.Array]] = (),
) -> list[pa.Table]:
    """Return `facts_of` of each column's bounds in `count` files, computed together. `beside`: what else a footer says
    of each (`_BESIDE`)."""
    out: dict[int, pa.Table] = {}
    kinds = [(domain_of(column.type), pa.types.is_floating(column.type)) for column in bounds]
    for kind in dict.fromkeys(kinds):
        mine = [place for place, kind_ in enumerate(kinds) if kind_ == kind]
        some = [bounds[place] for place in mine]

        def every(values: Sequence[pa.Array | pa.ChunkedArray | None], type_: pa.DataType) -> pa.Array:
            return joined([pa.nulls(count, type_) if value is None else value.cast(type_) for value in values], type_)

        types = dict.fromkeys(("lower", "upper"), kind[0]) | _COUNTS_AND_SIGNS
        whole = ColumnBounds(
            some[0].type,
            **{name: every([getattr(column, name) for column in some], type_) for name, type_ in types.items()},
        )
        said = [constant(int(t), count, pa.int8()) if isinstance(t, Trust) else t for t in (trusts[p] for p in mine)]
        more = [every([of[place] for place in mine], of[0].type) for of in beside]
        facts = facts_of(whole, count * len(mine), every(said, pa.int8()), *more)
        out |= {place: facts.slice(at * count, count) for at, place in enumerate(mine)}
    return [out[place] for place in range(len(bounds))]
