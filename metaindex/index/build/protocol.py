"""The contract of a builder: it turns data files into index rows and writes them as sorted parts of a run. Two
builders, one outcome (a contract test compares their rows).

What it says of a file is about *all rows in the file's bytes*, deleted ones included; a file or column it cannot be
sure of gets rows of state UNKNOWN and a line in the report, or the build fails whole. It never leaves a (file, covered
column) without a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.formats import FileTable, Leaf, Snapshot, TableRef
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.kinds.served import RowPlan
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink

if TYPE_CHECKING:  # a refresh that merges no rows does without
    from metaindex.index.kinds.pieces import MergedPiece, RowMerge, WritesPieces

Progress = Callable[[str, int, int], None]
"""Called with (what, done, total) now and then, perhaps from another thread."""


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
    only_spark: bool = False  # one of the index's kinds is built by Spark alone: no error advises another builder


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Result of a build: what was written, and what is unknown."""

    parts: tuple[PartInfo, ...]
    uncovered: tuple[tuple[str, str], ...] = ()  # (path, why): the file's rows are UNKNOWN (the first hundred)
    uncovered_files: int = 0
    files_scanned: int = 0  # files whose data pages were read for at least one column


@dataclass(frozen=True, slots=True)
class KeyBuild:
    """The keys that a builder wrote, with their parts and those of `unkeyed`; and what it could not read, as in
    BuildReport."""

    keys: tuple[CoveredKey, ...]
    parts: tuple[PartInfo, ...]
    uncovered: tuple[tuple[str, str], ...] = ()
    uncovered_files: int = 0
    files_scanned: int = 0


class Builder(Protocol):
    name: str

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """Finds the facts of the request's columns in every file, and writes them and those of partitions into the
        sink, as the kind that keeps them says (`kinds.registry.FACT_ROWS`)."""

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """Writes the rows of every key (at least one) for the request's files into the sink, and the ordinals of the
        files of which a key knows nothing."""

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """Build rows that are read in the table's place, like `keys`: every physical row of the request's files except
        unkeyed ones. Raises BuildError if the builder cannot."""


@runtime_checkable
class MergesRows(Protocol):
    """A builder that writes the pieces of a merge elsewhere than in the threads of this process."""

    def merge_rows(self, merge: RowMerge, progress: Progress | None = None) -> Sequence[MergedPiece]:
        """Merge rows; see `kinds.pieces.WritesPieces`."""


def pieces_written_by(builder: object, progress: Progress | None) -> WritesPieces:
    """Return the writer of merged pieces: the `Builder` if it can, else threads of this process."""
    if isinstance(builder, MergesRows):
        return partial(builder.merge_rows, progress=progress)

    def write(merge: RowMerge) -> Sequence[MergedPiece]:
        from metaindex.index.kinds.pieces import in_threads

        return in_threads(merge, progress)

    return write
