"""The clustering of a table by each of its columns: how far the ranges of its files overlap, and what a query reads of
them. `overlap` has the definitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa

from metaindex.core import (
    Column,
    Cure,
    Mask,
    Plain,
    Shown,
    TextTable,
    Vector,
    compute,
    counted,
    dataclass,
    human_bytes,
    percent,
)
from metaindex.formats import Snapshot
from metaindex.index import ColumnFacts

from .layouts import Advice
from .overlap import Floats, Numbers, OverlapReads, Ranges, RowPlaces, histogram, numbers_of
from .sample import Sampled

RANGE = 0.01
"""The share of the rows that the range of `range_share` is over."""

_TEXT = 40


@dataclass(frozen=True, slots=True)
class ColumnClustering(Plain):
    """The clustering of the files by one column. `files` = `bounded_files` + `empty_files` + `unknown_files`.

    Depth, overlaps and constant files are of the files with bounds. Reads are of all files: one without bounds is read
    by every query, one without values by none. A share is between 0 and 1.
    """

    JSON = "* constant_share"
    column: str  # dotted name
    type: str  # Arrow's name of the type
    partition: bool  # its value comes from the partition: the same in every row of a file
    files: int
    bounded_files: int  # lower and upper bound are known
    empty_files: int  # known to hold no value: all NULL, or NaN, or without rows
    unknown_files: int  # nothing bounds the column: never left out
    loose_files: int  # with bounds that no value need attain: truncated, or not known to be exact
    sources: Mapping[str, int]  # files by who told of them: partition, index NAME, log, partitions, footers
    constant_files: int  # with one value, beside NULL
    average_depth: float  # of the files with bounds, each counted once; 0 without any
    average_depth_by_rows: float  # each counted by its rows
    max_depth: int
    average_overlaps: float  # other files whose range shares a point with a file's own
    depth_histogram: Mapping[int, int]  # files by depth: 1, 2, 3 to 4, 5 to 8, ...; by the greatest of each
    value_files: float  # files that a value which some row has reads, on average over the rows
    value_share: float  # of all files
    value_bytes_share: float  # of all bytes
    range_files: float  # files that a range over 1% of the rows reads, on average over where it begins
    range_share: float  # of all files
    range_bytes_share: float  # of all bytes

    @property
    def constant_share(self) -> float:
        """Return the share of constant files among those with bounds."""
        return self.constant_files / self.bounded_files if self.bounded_files else 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Clustering(Shown, Plain):
    """The layout of a table at a version, column by column, from bounds alone. `advice`: layouts that would leave out
    more, estimated from the files that `sampled` tells of."""

    table: str
    format: str
    version: str
    files: int
    size_bytes: int
    files_with_deletes: int  # bounds and rows are those of the file, deleted rows included
    columns: tuple[ColumnClustering, ...]  # that some file has bounds of
    without_bounds: tuple[str, ...] = ()  # other columns of a type with an order
    notes: tuple[str, ...] = ()
    sampled: Sampled = field(default_factory=Sampled)
    advice: tuple[Advice, ...] = ()
    named: bool = False  # were columns named by the caller?

    def __getitem__(self, column: str) -> ColumnClustering:
        """Return a column by its name. Raises KeyError if it is not among `columns`."""
        for measured in self.columns:
            if measured.column == column:
                return measured
        raise KeyError(f"a column of this answer is one of {', '.join(c.column for c in self.columns)}; got {column!r}")

    @property
    def shown(self) -> Sequence[str | TextTable]:
        return self.described(None)

    def described(self, name: str | None) -> Sequence[str | TextTable]:
        """Return what is printed. `name`: the table's in its catalog, for the statements."""
        parts: list[str | TextTable] = [
            f"{self.table} ({self.format}) at version {self.version}: {counted(self.files, 'file')},"
            f" {human_bytes(self.size_bytes)}"
        ]
        parts += measured_parts(self)
        for advice in self.advised(name):
            parts += ["", *advice]
        if self.advice and not self.named:
            parts += ["", "name the columns that queries filter by: the advice is for these then, with its statements"]
        return parts

    def advised(self, name: str | None = None) -> list[Sequence[str | TextTable]]:
        """Return what is printed of each advice; no statement to run where nobody said by which columns is asked."""
        return [advice.described(name)[: None if self.named else 2] for advice in self.advice]

    @property
    def layout(self) -> TextTable:
        """A row a column."""
        some = any(column.unknown_files for column in self.columns)
        titles = ("depth>", "overlaps>", "constant>", "one value reads>", "1% of rows reads>", "of the bytes>")
        ends = ("files by depth", *(["no bounds>"] if some else []), "bounds from")
        shares = [(c.value_share, c.range_share, c.range_bytes_share) for c in self.columns]
        bars = tuple(enumerate(zip(*shares, strict=True), start=4))
        columns = Column.named("column", *titles, *ends)
        return TextTable(columns, tuple(_row(column, some) for column in self.columns), bars)

    @property
    def remarks(self) -> list[str]:
        """Return what a reader of the table has to know."""
        notes = []
        if not self.files:
            notes.append("the table has no files at this version: there is nothing to lay out")
        elif not self.columns:
            notes.append(
                "no column has bounds in any file; an index of column statistics has them:"
                f" {Cure('create_index', 'stats', 'ColumnStats')}"
            )
        if self.files_with_deletes:
            notes.append(
                f"{counted(self.files_with_deletes, 'file')} with deleted rows: bounds and rows are those of the file,"
                " deleted ones too"
            )
        return [*notes, *self.notes, *([self.sampled.said] if self.files and self.sampled.said else [])]

    def to_json(self, name: str | None = None) -> dict[str, object]:
        """Plain data for machines."""
        facts = self._plain("table format version files size_bytes files_with_deletes columns without_bounds")
        advice = [advice.to_json(name) for advice in self.advice]
        return {**facts, **self._plain("notes sampled"), "advice": advice}


def measured_parts(clustering: Clustering) -> list[str | TextTable]:
    """Return what is printed of the files as they are."""
    parts: list[str | TextTable] = ["", clustering.layout, "", _WORDS] if clustering.columns else []
    if clustering.without_bounds:
        parts.append(f"without bounds in any file: {_listed(clustering.without_bounds)}")
    return [*parts, *clustering.remarks]


@dataclass(frozen=True, slots=True)
class FilesOf:
    """The files of a snapshot as vectors of size and rows."""

    count: int
    sizes: Floats
    rows: Floats  # NaN where the table does not say

    @classmethod
    def of(cls, snapshot: Snapshot) -> FilesOf:
        files = snapshot.files.table
        rows = Vector(files.column("record_count")).array
        return cls(len(snapshot.files), Vector(files.column("size_bytes")).numbers.astype(np.float64), _known(rows))


@dataclass(frozen=True, slots=True)
class Measured:
    """One column with its vectors still at hand, for `layouts`, which measures other rows the same way. `bounded`: the
    files with bounds; `ranges`, `rows` and `values` (how many of them) are of those."""

    facts: ColumnFacts
    bounded: Mask
    empty: Mask
    ranges: Ranges
    weights: Floats

    @classmethod
    def of(cls, facts_: ColumnFacts, files: FilesOf) -> Measured:
        facts = facts_.facts
        lower, upper = Vector(facts.column("lower")).array, Vector(facts.column("upper")).array
        bounded = Vector(lower).present & Vector(upper).present & facts_.bounded
        low, high = _bounds_as_numbers(lower, upper, bounded)
        nulls, values = (_known(Vector(facts.column(name)).array) for name in ("null_count", "value_count"))
        rows = np.where(np.isnan(values), files.rows, values) - np.nan_to_num(nulls)
        return cls(facts_, bounded, ~bounded & ~facts_.unknown_files, Ranges(low, high), _weights(rows[bounded]))

    def reads(self, fractions: Floats | None = None) -> OverlapReads:
        """Return what queries read of the files with bounds, by where their rows lie."""
        return OverlapReads(self.ranges, RowPlaces.of(self.ranges.lower, self.ranges.upper, self.weights, fractions))

    def summary(self, files: FilesOf) -> ColumnClustering:
        """The measures of the column."""
        depth = self.ranges.depths()
        reads = self.reads()
        exact = [Vector(self.facts.facts.column(f"{side}_exact")).truths(null=False) for side in ("lower", "upper")]
        unknown = ~self.bounded & ~self.empty
        ones, sizes = np.ones(len(depth)), files.sizes[self.bounded]
        always, always_bytes = float(unknown.sum()), float(files.sizes[unknown].sum())
        total = max(float(files.sizes.sum()), 1.0)
        value, span = reads.by_value(ones) + always, reads.by_range(ones, RANGE) + always
        return ColumnClustering(
            column=".".join(self.facts.leaf.parts),
            type=str(self.facts.leaf.type),
            partition=self.facts.leaf.field.partition,
            files=files.count,
            bounded_files=len(depth),
            empty_files=int(self.empty.sum()),
            unknown_files=int(unknown.sum()),
            loose_files=int((self.bounded & ~(exact[0] & exact[1])).sum()),
            sources=dict(self.facts.sources),
            constant_files=int((self.ranges.lower == self.ranges.upper).sum()),
            average_depth=float(depth.mean()),
            average_depth_by_rows=float(np.average(depth, weights=self.weights)),
            max_depth=int(depth.max()),
            average_overlaps=float(self.ranges.overlaps().mean()),
            depth_histogram=histogram(depth),
            value_files=value,
            value_share=_share(value, files.count),
            value_bytes_share=_share(reads.by_value(sizes) + always_bytes, total),
            range_files=span,
            range_share=_share(span, files.count),
            range_bytes_share=_share(reads.by_range(sizes, RANGE) + always_bytes, total),
        )


def _share(part: float, whole: float) -> float:
    return float(np.clip(part / whole, 0.0, 1.0))


def _bounds_as_numbers(lower: pa.Array, upper: pa.Array, bounded: Mask) -> tuple[Numbers, Numbers]:
    kept = Vector.arrow(bounded)
    low, high = numbers_of([compute("filter", bounds, kept) for bounds in (lower, upper)])
    return low, high


def _weights(rows: Floats) -> Floats:
    """Return the rows of files as weights: an unknown number is the mean; at least one, as each has a value."""
    known = rows[~np.isnan(rows)]
    return np.maximum(np.where(np.isnan(rows), known.mean() if len(known) else 1.0, rows), 1.0)


def _known(values: pa.Array) -> Floats:
    return np.where(Vector(values).present, Vector(values).numbers.astype(np.float64), np.nan)


_WORDS = (
    "depth: how many files overlap at the worst point of a file's range (1: no other); constant: files with one"
    " value;\nreads: share of all files that a value, or a range over 1% of the rows, cannot leave out, on average"
)


def _row(column: ColumnClustering, some: bool) -> tuple[str, ...]:
    cells = (
        column.column,
        f"{column.average_depth:,.1f}",
        f"{column.average_overlaps:,.1f}",
        percent(column.constant_share),
        percent(column.value_share),
        percent(column.range_share),
        percent(column.range_bytes_share),
        _bars(column.depth_histogram),
    )
    sources = ", ".join(column.sources) + ("; loose" if column.loose_files else "")
    return (*cells, *((f"{column.unknown_files:,}",) if some else ()), sources)


def _bars(depths: Mapping[int, int]) -> str:
    """Files by depth in a line: `1: 90, 2: 8, 3-4: 2`."""

    def name(most: int) -> str:
        return f"{most // 2 + 1}-{most}" if most > 2 else f"{most}"

    return ", ".join(f"{name(most)}: {files:,}" for most, files in depths.items())


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _TEXT
    return ", ".join(names[:_TEXT]) + (f" and {more:,} more" if more > 0 else "")
