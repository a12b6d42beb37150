"""Common base of kinds that key values: how a key is built from the files of a run, and how it is looked up.

A key is one column or several together. Its rows are about *physical* rows: those in a file's bytes, deleted or not. Of
a file that could not be read for the key, or whose values of it do not mean for certain what the table's reader shows,
nothing is known: it is *unkeyed*, and every look-up keeps it. Everywhere else a value that the rows do not name is not
in the file: a proof.

    units      the numbers that a look-up gives: `ordinal << group_bits | group`, where group is the row group; with
               group_bits = 0 it is the file's ordinal
    group      of row group i of n: i where n <= 2**group_bits, else i * 2**group_bits // n, so that neighbours share
               one; 0 for a file without row groups
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask, TooLate, dataclass
from metaindex.expressions import Interval, Literal
from metaindex.formats import Leaf
from metaindex.index.keys import column_id
from metaindex.index.log.entry import CoveredColumn, CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.storage import Storage

from .canonical import plain_type

Units = npt.NDArray[np.int64]

_MOST_GROUP_BITS = 31  # beside an ordinal

UNKEYED = pa.schema([pa.field("key_id", pa.int64(), nullable=False), pa.field("ordinal", pa.int32(), nullable=False)])
"""The metadata partition `unkeyed`, sorted: the files of which a key knows nothing. It has parts only where there are
such files."""


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """A key to build: its columns at the version that is indexed. `partition`: the metadata partition that holds its
    rows, `CoveredKey.kind`. `place`: its number among the keys of its run, so that the parts of each have names of
    their own."""

    partition: str
    key_id: int
    leaves: tuple[Leaf, ...]
    place: int

    def number(self, part: int) -> int:
        """The number of a part of this key, for `RunSink.write`."""
        return part_number(self.place, part)

    def covered(self, layout: Mapping[str, int | str], unkeyed_files: int) -> CoveredKey:
        """The key as the log entry names it."""
        columns = tuple(covered_column(leaf, plain_type(leaf.type)) for leaf in self.leaves)
        return CoveredKey(self.partition, self.key_id, columns, layout, unkeyed_files)


def covered_column(leaf: Leaf, type_: pa.DataType) -> CoveredColumn:
    """The column as the log entry names it, of values of this type."""
    return CoveredColumn(leaf.stable, column_id(leaf.stable), ".".join(leaf.parts), str(type_), leaf.field.partition)


def part_number(place: int, part: int) -> int:
    """The number of the n-th part of a key: those of each key of a run stand apart."""
    return place * 10_000_000 + part


@dataclass(frozen=True, slots=True)
class Spill:
    """Temporary storage of a collector for what exceeds its memory. Plain data but for the storage, so that it
    travels to a task. `folder`: on Spark that of the run, which the collectors of all keys and tasks share.
    `limit_bytes`: what one may hold in memory. A closed collector leaves the folder empty; what was handed over
    is removed with the folder."""

    storage: Storage
    folder: str
    limit_bytes: int = 256 << 20

    def fresh(self, what: str) -> str:
        """A path that no other object has or gets: none of another key, of another task, or of a task that is run
        again."""
        from secrets import token_hex

        return f"{self.folder}/{what}-{token_hex(8)}"


@dataclass(frozen=True, slots=True)
class Gathered:
    """Result of a collector for its share of the files: plain data that travels from a task. `spills`: sorted objects
    in the spill's storage; the rest is the kind's own."""

    spills: tuple[str, ...]
    entries: int
    unkeyed: tuple[int, ...]
    details: Mapping[str, object] = field(default_factory=dict)

    @staticmethod
    def unkeyed_of(shares: Sequence[Gathered]) -> Units:
        """Return the ordinals that are unkeyed, of all shares."""
        return np.array(sorted(ordinal for share in shares for ordinal in share.unkeyed), np.int64)


def unit(ordinal: int, group: int, groups: int, group_bits: int) -> int:
    """The unit of a row group of a file that has so many."""
    most = 1 << group_bits
    return ordinal << group_bits | (group if groups <= most else group * most // groups)


class TakesRows(Protocol):
    """Takes the rows of one key, file by file. For each file, in any order: `begin`, `add` for its rows in any pieces,
    row group by row group, then `end` or `fail`. One thread calls, one file is under way at a time."""

    def begin(self, ordinal: int, groups: int) -> None:
        """The file that the next rows are of, and how many row groups it has (1 where its format has none)."""

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        """Rows of a row group: one array a column of the key, of the types of the table's columns or of types whose
        values they take over unchanged (`kinds.canonical`). Where it raises UnkeyedValuesError, as `hash_key` does, or
        an error of Arrow, `fail` is called next."""

    def end(self) -> None:
        """The file is whole."""

    def fail(self) -> None:
        """Forget what was added of this file: it is unkeyed."""


class KeyCollector(TakesRows, Protocol):
    """Builds one key of one run of the rows that it takes. Then `close`, once."""

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        """Writes the rows. The key as the log entry names it, its parts, and the ordinals that are unkeyed."""

    def hand_over(self) -> Gathered:
        """Instead of `close`, for a collector of some of the run's files: everything goes into the spill, for a
        `KeyFinisher`."""


@runtime_checkable
class AddsGroups(Protocol):
    """Takes several row groups in one call: it does with whole arrays what else it does piece by piece."""

    def add_groups(self, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
        """Add row groups with their numbers of rows, one after the other, like `add`."""


def add_groups(collector: TakesRows, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
    """Adds the rows of several row groups, each a number and how many rows of it."""
    if len(groups) == 1:
        collector.add(groups[0][0], values)
    elif isinstance(collector, AddsGroups):
        collector.add_groups(groups, values)
    else:
        start = 0
        for group, rows in groups:
            collector.add(group, [column.slice(start, rows) for column in values])
            start += rows


class KeyFinisher(Protocol):
    """Writes the rows of a key from what the collectors of all shares of the files gathered, range by range: plain
    data, so that ranges can be written by tasks."""

    @property
    def ranges(self) -> int:
        """Return the number of ranges; 0 if nothing is to be written."""

    def write(self, number: int) -> list[PartInfo]:
        """The parts of one range, with numbers (`KeyPlan.number`) that no other range has. In the order of the ranges
        they are the key's parts."""

    def covered(self) -> tuple[CoveredKey, Units]:
        """The key as the log entry names it, and the ordinals that are unkeyed."""

    def close(self, spill: Spill, paths: Iterable[str]) -> tuple[CoveredKey, list[PartInfo], Units]:
        """Write all ranges here, and remove the spills; see `KeyCollector.close`."""
        parts = [part for number in range(self.ranges) for part in self.write(number)]
        for path in paths:
            spill.storage.delete(path)
        key, unkeyed = self.covered()
        return key, parts, unkeyed


@dataclass(frozen=True, slots=True)
class Hits:
    """Result of a look-up in one run: a mask of all files, or the units (sorted, each once) that hold a value. Unkeyed
    files are not in it: who asks adds them."""

    files: Mask | None = None
    units: Units | None = None
    group_bits: int = 0

    def mask(self, count: int) -> Mask:
        """A truth for every file of the run."""
        if self.files is not None:
            return self.files
        out = np.zeros(count, np.bool_)
        if self.units is not None:
            out[self.units >> self.group_bits] = True
        return out

    def hold(self, count: int) -> None:
        """DamagedIndexError where a run of so many files can have no such answer: it would be read as one of other
        files, or of none."""
        truths, units, bits = self.files, self.units, self.group_bits
        right = truths is not None or units is not None
        if truths is not None:
            right = isinstance(truths, np.ndarray) and truths.dtype == np.bool_ and truths.shape == (count,)
        if right and units is not None:
            right = isinstance(units, np.ndarray) and units.dtype.kind == "i" and units.ndim == 1
            right = right and type(bits) is int and 0 <= bits <= _MOST_GROUP_BITS
            if right and len(units):
                inside = int(units[0]) >= 0 and int(units[-1]) >> bits < count
                right = bool(inside and (units[1:] > units[:-1]).all())
        if not right:
            raise DamagedIndexError(
                f"a look-up tells of the files of a run, by a truth for each or by units that ascend; this one of"
                f" {count:,} files does not; mend or upgrade the package that brings the kind"
            )

    @property
    def size_bytes(self) -> int:
        """Approximate size in memory."""
        return 500 + (0 if self.files is None else self.files.nbytes) + (0 if self.units is None else self.units.nbytes)

    def groups(self, ordinal: int, groups: int) -> Mask | None:
        """A truth for every row group of a file that has so many; None where it is not known which."""
        if self.units is None or not self.group_bits:
            return None
        most = 1 << self.group_bits
        first = ordinal << self.group_bits
        low, high = self.units.searchsorted(first), self.units.searchsorted(first + most)
        out = np.zeros(max(groups, most), np.bool_)
        out[self.units[low:high] & (most - 1)] = True
        return out[:groups] if groups <= most else out[np.arange(groups) * most // groups]


class KeyReader(Protocol):
    """Looks up one key of one run. Each answer errs towards more files; None where the kind cannot answer such a
    question. A look-up reads the root (entry and manifest, cached), a footer (cached) and what holds the key: at most 3
    reads where one row group holds it."""

    @abstractmethod
    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        """Find where one of the values may be: each has a literal (no NULL) for every column of the key."""

    def between(self, interval: Interval) -> Hits | None:
        """Find where a non-null, non-NaN value inside the interval may be, for a key of one column."""
        return None

    def other(self, values: Sequence[Literal]) -> Hits | None:
        """Find where a non-null value (or NaN) that equals none of these may be, for a key of one column."""
        return None

    def null(self) -> Hits | None:
        """Find where NULL may be, for a key of one column."""
        return None

    def value(self) -> Hits | None:
        """Find where a value (or NaN) may be, for a key of one column."""
        return None

    def nan(self) -> Hits | None:
        """Find where NaN may be, for a key of one column."""
        return None


@runtime_checkable
class SupportsBatchReads(Protocol):
    """A `KeyReader` that looks many lists of values up together: what it reads it reads once."""

    def among_each(self, lists: Sequence[Sequence[Sequence[Literal]]]) -> list[Hits | None]:
        """Return `among` of each list."""


@runtime_checkable
class ReadsRanges(Protocol):
    """A `KeyReader` that looks many ranges up together."""

    def between_each(self, intervals: Sequence[Interval]) -> list[Hits | None] | None:
        """Return `between` of each interval; None altogether if single look-ups are faster."""


class EqualityReader(KeyReader):
    """Look-up that knows no order and no NULL: it answers `among` only, which a subclass adds."""

    def among_each(self, lists: Sequence[Sequence[Sequence[Literal]]]) -> list[Hits | None]:
        """Look up one list after the other; see `SupportsBatchReads`."""
        answers = []
        for values in lists:
            TooLate.check()
            answers.append(self.among(values))
        return answers
