"""Base of collectors by hash and by value: row groups one at a time, files that fail late, and spills.

Spills of collectors: sorted tables as objects in a storage, read again range by range, so that there may be more
distinct values than memory holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import dataclass
from metaindex.index.kinds.keyed import Gathered, KeyFinisher, KeyPlan, Spill, Units
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink

from .rows import Layout, raw_unit

T = TypeVar("T", npt.NDArray[np.uint64], pa.Array)


class GroupCollector(ABC, Generic[T]):
    """Keeps an array of values for each row group, under its raw unit, and puts all aside when they are more than
    `spill.limit_bytes / held`."""

    held: int  # bytes at the peak for each byte kept

    def __init__(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> None:
        self._plan, self._sink, self._spill, self._files = plan, sink, spill, files
        self._done: list[tuple[T, int]] = []
        self._pending: list[T] = []  # of the row group that is being read
        self._ordinal, self._groups_here, self._group = -1, 1, 0
        self._mark, self._entries_before, self._spills_before = 0, 0, 0  # of the file that is being read
        self._groups, self._entries, self._bytes, self._pending_bytes = 1, 0, 0, 0
        self._spills: list[str] = []
        self._unkeyed: list[int] = []
        self._torn = False  # a file failed of which something was put aside

    def begin(self, ordinal: int, groups: int) -> None:
        """Begin a file; see `keyed.KeyCollector`."""
        self._ordinal, self._groups_here, self._group = ordinal, groups, 0
        self._mark, self._entries_before, self._spills_before = len(self._done), self._entries, len(self._spills)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        """Add rows; see `keyed.KeyCollector`."""
        self._keep(group, self._made(values))

    def _keep(self, group: int, keys: T) -> None:
        size = int(keys.nbytes)
        if group != self._group or (self._pending_bytes + size) * self.held > self._spill.limit_bytes:
            self._take_group()
            self._group = group
        if len(keys):
            self._pending.append(keys)
            self._pending_bytes += size

    def end(self) -> None:
        """End a file; see `keyed.KeyCollector`."""
        self._take_group()
        self._groups = max(self._groups, self._groups_here)

    def fail(self) -> None:
        """Drop the file; see `keyed.KeyCollector`."""
        self._pending, self._pending_bytes = [], 0
        if len(self._spills) > self._spills_before:
            self._torn, self._mark = True, 0  # what was put aside of the file is left out when it is read back
        self._bytes -= sum(int(held.nbytes) for held, _ in self._done[self._mark :])
        del self._done[self._mark :]
        self._entries = self._entries_before
        self._unkeyed.append(self._ordinal)

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        """Write the key; see `keyed.KeyCollector`."""
        if self._spills:
            return self._finisher([self.hand_over()]).close(self._spill, self._spills)
        finisher = self._finisher([Gathered((), self._entries, tuple(self._unkeyed), self._details())])
        key, unkeyed = finisher.covered()
        return key, self._written(finisher.layout, *self._taken()), unkeyed

    def hand_over(self) -> Gathered:
        """Hand over the gathered share; see `keyed.KeyCollector`."""
        self._put_aside()
        return Gathered(tuple(self._spills), self._entries, tuple(self._unkeyed), self._details())

    @abstractmethod
    def _finisher(self, gathered: Sequence[Gathered]) -> Finisher:
        """Return who writes what was gathered."""

    @abstractmethod
    def _written(self, layout: Layout, pieces: list[T], raw: Units) -> list[PartInfo]:
        """Write a key of which nothing was put aside."""

    @abstractmethod
    def _made(self, values: Sequence[pa.Array]) -> T:
        """Return the kept form of some rows."""

    @abstractmethod
    def _distinct(self, pieces: list[T]) -> T:
        """Return the kept form of a row group, with each value once if that pays."""

    @abstractmethod
    def _put_aside(self) -> None:
        """Everything that is held goes into the spill."""

    def _details(self) -> Mapping[str, object]:
        return {"groups": self._groups, "torn": self._torn}

    def _take_group(self) -> None:
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if not pending:
            return
        distinct = self._distinct(pending)
        self._done.append((distinct, raw_unit(self._ordinal, self._group, self._groups_here)))
        self._entries += len(distinct)
        self._bytes += int(distinct.nbytes)
        if self._bytes * self.held > self._spill.limit_bytes:
            self._put_aside()

    def _taken(self) -> tuple[list[T], Units]:
        """Return and release all that is held, in the order of the raw units, with the raw unit of each value."""
        done, self._done, self._bytes, self._mark = (
            sorted(self._done, key=lambda keys_and_unit: keys_and_unit[1]),
            [],
            0,
            0,
        )
        raw = np.repeat(np.array([unit for _, unit in done], np.int64), [len(keys) for keys, _ in done])
        return [keys for keys, _ in done], raw


@dataclass(frozen=True, slots=True)
class Finisher(KeyFinisher, ABC):
    """Writes a key gathered by several collectors; see `keyed.KeyFinisher`."""

    plan: KeyPlan
    sink: RunSink
    spill: Spill
    files: int
    gathered: Sequence[Gathered]

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The bits of the rows."""

    def covered(self) -> tuple[CoveredKey, Units]:
        """Return the key; see `keyed.KeyFinisher`."""
        unkeyed = Gathered.unkeyed_of(self.gathered)
        return self.plan.covered(self.layout.as_mapping(), len(unkeyed)), unkeyed

    @property
    def entries(self) -> int:
        """Number of entries of all shares."""
        return sum(share.entries for share in self.gathered)


def torn_of(gathered: Sequence[Gathered]) -> Units:
    """Return the ordinals whose rows are dropped when spills are read back: those of files that failed after some of
    their rows were spilled."""
    return Gathered.unkeyed_of(gathered) if any(share.details["torn"] for share in gathered) else np.empty(0, np.int64)


def most_groups(gathered: Sequence[Gathered]) -> int:
    """The row groups of the file that has most."""
    return max((int(str(share.details["groups"])) for share in gathered), default=1)


_GROUP_ROWS = 1 << 16


def write_spill(spill: Spill, table: pa.Table) -> str:
    """A table sorted by its first column, durably. Its path."""
    path = spill.fresh("rows")
    out = pa.BufferOutputStream()
    pq.write_table(
        table,
        out,
        row_group_size=_GROUP_ROWS,
        compression="lz4",
        use_dictionary=False,
        write_statistics=[table.schema.names[0]],
        store_schema=False,
    )
    spill.storage.put(path, out.getvalue().to_pybytes())
    return path


def read_spill(spill: Spill, path: str, low: int | bytes | None, high: int | bytes | None) -> Iterator[pa.Table]:
    """The row groups that may hold rows from `low` on and below `high` (None: no bound)."""
    with spill.storage.open_input(path) as source:
        file = pq.ParquetFile(source, pre_buffer=False)
        wanted = []
        for group in range(file.metadata.num_row_groups):
            said = file.metadata.row_group(group).column(0).statistics
            known = said is not None and said.has_min_max
            if known and ((high is not None and said.min >= high) or (low is not None and said.max < low)):
                continue
            wanted.append(group)
        for group in wanted:
            yield file.read_row_group(group, use_threads=False)


def unsigned(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """An int64 column without nulls as unsigned words."""
    arrays = [
        np.frombuffer(chunk.buffers()[1], np.uint64, len(chunk), chunk.offset * 8)
        for chunk in column.chunks
        if len(chunk)
    ]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays or [np.empty(0, np.uint64)])
