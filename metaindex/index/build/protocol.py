"""The contract of a builder: it turns data files into index rows and writes them as sorted parts of a run. Two
builders, one outcome (a contract test compares their rows).

What it says of a file is about *all rows in the file's bytes*, deleted ones included; a file or column it cannot be
sure of gets rows of state UNKNOWN and a line in the report, or the build fails whole. It never leaves a (file, covered
column) without a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Progress
from metaindex.expressions import from_physical
from metaindex.formats import Field, FileTable, Leaf, Snapshot, TableRef
from metaindex.index.kinds.described import PartitionColumn
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink

if TYPE_CHECKING:
    from metaindex.index.build.extremes import ColumnScan
    from metaindex.index.kinds.pieces import MergedPiece, RowMerge, WritesPieces
    from metaindex.index.kinds.row_plan import RowPlan


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """Input of a build: the files of one run in ordinal order, and the columns to cover."""

    ref: TableRef
    snapshot: Snapshot
    files: FileTable  # sorted by (partition, path): the ordinals
    snapshot_rows: npt.NDArray[np.int64]  # row of each in snapshot.files
    partition_ord: npt.NDArray[np.int32]  # of each file
    partitions: pa.Table  # store.rows.PARTITIONS, by partition_ord here
    leaves: tuple[Leaf, ...]  # columns to cover, partition columns apart
    partition_leaves: tuple[Leaf, ...] = ()  # columns whose value is the partition's: rows of partitions only
    trust_log: bool = False  # a builder may take what the log states of a file for what its footer says
    scan_floats: bool = True  # count NaN by reading float columns; else footer bounds with NaN unknown
    without_nan: frozenset[str] = frozenset()  # float columns of which their writer says that no file holds NaN
    earlier: tuple[CoveredKey, ...] = ()  # keys of the index's other runs, the newest first, that a key may keep to
    scans: dict[str, list[ColumnScan]] = field(default_factory=dict)  # by path, of `leaves`, if keys were built before
    only_spark: bool = False  # one of the index's kinds is built by Spark alone: no error advises another builder

    @property
    def reading(self) -> tuple[str, tuple[tuple[str, object], ...], tuple[Field, ...]]:
        """Return how the data files are read: their format, its options, and the columns that stand in them."""
        options = dict(self.snapshot.details.read_options())
        file_format = str(options.pop("file_format", "parquet"))
        return file_format, tuple(options.items()), tuple(c for c in self.snapshot.schema if not c.partition)

    def partition_column(self, leaf: Leaf) -> PartitionColumn:
        """Return what the table states about a partition column."""
        return PartitionColumn(
            leaf,
            self.snapshot.details.partition_bounds(leaf),
            self.snapshot_rows,
            self._without_value(leaf),
            self.partition_ord,
            self.files.table.column("record_count"),
            self.partitions,
        )

    def partition_constants(self, leaf: Leaf) -> tuple[pa.Array, pa.Array]:
        """The value of a partition column in each partition of the run (by `partition_ord`), and for which partitions
        it is known. NULL is a value that is known."""
        count = self.partitions.num_rows
        values: list[object] = [None] * count
        known = np.zeros(count, np.bool_)
        ords, rows = np.unique(self.partition_ord, return_index=True)
        null = self._without_value(leaf)
        bounds = self.snapshot.details.partition_bounds(leaf)
        for ordinal, row in zip(ords.tolist(), rows.tolist(), strict=True):
            if null[row]:
                known[ordinal] = True
            elif bounds is not None and bounds.lower is not None and bounds.upper is not None:
                at = int(self.snapshot_rows[row])
                low, high = bounds.lower[at].as_py(), bounds.upper[at].as_py()
                exact = bounds.lower_exact is not None and bounds.lower_exact[at].as_py()
                if low is not None and low == high and exact:
                    values[ordinal], known[ordinal] = from_physical(low, leaf.type), True
        return _typed(values, known, leaf.type)

    def _without_value(self, leaf: Leaf) -> npt.NDArray[np.bool_]:
        """Mask of the files whose partition text makes the column NULL."""
        names = {quote(name, safe="") for name in (leaf.field.name, leaf.field.source) if name}
        said = {f"{name}=__HIVE_DEFAULT_PARTITION__" for name in names}
        texts = self.partitions.sort_by("partition_ord").column("partition").to_pylist()
        null = np.array([not said.isdisjoint(text.split("/")) for text in texts], np.bool_)
        return null[self.partition_ord] if len(null) else np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Result of a build: what was written, and what is unknown. `keys`: those that were written; `unkeyed` is among
    their parts."""

    parts: tuple[PartInfo, ...]
    uncovered: tuple[tuple[str, str], ...] = ()  # (path, why): nothing is known of the file (the first hundred)
    uncovered_files: int = 0
    files_scanned: int = 0  # files whose data pages were read for at least one column
    keys: tuple[CoveredKey, ...] = ()

    @classmethod
    def of(
        cls,
        request: BuildRequest,
        parts: Iterable[PartInfo],
        problems: Mapping[int, str],
        files_scanned: int,
        keys: Iterable[CoveredKey] = (),
    ) -> BuildReport:
        """`problems`: by ordinal, why nothing is known of a file."""
        paths = request.files.table.column("path")
        told = tuple((paths[ordinal].as_py(), why) for ordinal, why in sorted(problems.items())[:100])
        return cls(tuple(parts), told, len(problems), files_scanned, tuple(keys))

    def beside(self, other: BuildReport) -> BuildReport:
        """Combine the reports on statistics and on keys. A file that neither could read is listed once."""
        told = dict(self.uncovered)
        both = sum(path in told for path, _ in other.uncovered)
        return BuildReport(
            parts=(*self.parts, *other.parts),
            uncovered=tuple((dict(other.uncovered) | told).items())[:100],
            uncovered_files=self.uncovered_files + other.uncovered_files - both,
            files_scanned=max(self.files_scanned, other.files_scanned),
            keys=(*self.keys, *other.keys),
        )


class Builder(Protocol):
    name: str

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """Finds the facts of the request's columns in every file, and writes them and those of partitions into the
        sink, as the kind that keeps them says (`kinds.registry.FACT_ROWS`). Comes behind `keys`, which may have found
        some on its way (`BuildRequest.scans`)."""

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Writes the rows of every key (at least one) for the request's files into the sink, and the ordinals of the
        files of which a key knows nothing."""

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Build rows that are read in the table's place, like `keys`: every physical row of the request's files except
        unkeyed ones. Raises BuildError if the builder cannot."""


BuilderChoice: TypeAlias = Literal["spark", "local", "default"] | Builder
"""What a verb is given as its builder: an object, or the word of one."""


@runtime_checkable
class MergesRows(Protocol):
    """A builder that writes the pieces of a merge elsewhere than in the threads of this process."""

    def merge_rows(self, merge: RowMerge, progress: Progress | None = None) -> Sequence[MergedPiece]:
        """Merge rows; see `kinds.pieces.WritesPieces`."""


def pieces_written_by(builder: object, progress: Progress | None) -> WritesPieces:
    """Return the writer of merged pieces: the `Builder` if it can, else threads of this process."""
    if isinstance(builder, MergesRows):
        return partial(builder.merge_rows, progress=progress)
    from metaindex.index.kinds.pieces import in_threads

    return partial(in_threads, progress=progress)


def _typed(
    values: list[object], known: np.ndarray[tuple[int], np.dtype[np.bool_]], type_: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    try:
        return pa.array(values, type_), pa.array(known)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    typed = []
    for at, value in enumerate(values):  # one of them is beyond the type, or beyond Python's calendar
        try:
            typed.append(pa.array([value], type_))
        except (pa.ArrowException, TypeError, ValueError):
            typed.append(pa.nulls(1, type_))
            known[at] = False
    return pa.concat_arrays(typed), pa.array(known)
