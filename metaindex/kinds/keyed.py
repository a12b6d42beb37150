"""What the kinds that key values share: how a key is built from the files of a run, and what a look-up of one key answers.

A key is one column or several together. Its rows are about *physical* rows: those in a file's bytes, deleted or not. Of a file that could not be read for the key, or whose values of it do not
mean for certain what the table's reader shows, nothing is known: it is *unkeyed*, and every look-up keeps it. Everywhere else a value that the rows do not name is not in the file: a proof.

    units      the numbers that a look-up gives: `ordinal << group_bits | group`, where group is the row group; with group_bits = 0 it is the file's ordinal
    group      of row group i of n: i where n <= 2**group_bits, else i * 2**group_bits // n, so that neighbours share one; 0 for a file without row groups
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.literals import Literal
from expressions.records import dataclass
from expressions.statistics import Interval, Mask
from formats.model import Leaf
from metaindex.log.entry import CoveredKey
from metaindex.store.layout import PartInfo

from .specs import Keyed

Units = npt.NDArray[np.int64]

UNKEYED = pa.schema([pa.field("key_id", pa.int64(), nullable=False), pa.field("ordinal", pa.int32(), nullable=False)])
"""The metadata partition `unkeyed`, sorted: the files of which a key knows nothing. It has parts only where there are such files."""


@dataclass(frozen=True, slots=True)
class KeyPlan:
    """A key to build: what the user asked for, and its columns at the version that is indexed."""

    kind: Keyed
    key_id: int
    leaves: tuple[Leaf, ...]


class KeyCollector(Protocol):
    """Builds one key of one run. For each file, in any order: `begin`, `add` for its rows in any pieces, then `end` or `fail`. Then `close`, once."""

    def begin(self, ordinal: int) -> None:
        """The file that the next rows are of."""

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        """Rows of a row group: one array a column of the key, of the types of the table's columns or of types whose values they take over unchanged (`kinds.canonical`)."""

    def end(self, groups: int) -> None:
        """The file is whole: it has that many row groups (1 where its format has none)."""

    def fail(self) -> None:
        """Forget what was added of this file: it is unkeyed."""

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        """Writes the rows. The key as the log entry names it, its parts, and the ordinals that are unkeyed."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What a look-up found in one run: a truth for every file, or the units (sorted, each once) that hold a value. Unkeyed files are not in it: who asks adds them."""

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

    def groups(self, ordinal: int, groups: int) -> Mask | None:
        """A truth for every row group of a file that has so many; None where it is not known which."""
        if self.units is None or not self.group_bits:
            return None
        low, high = np.searchsorted(self.units, [ordinal << self.group_bits, (ordinal + 1) << self.group_bits])
        found = self.units[low:high] & ((1 << self.group_bits) - 1)
        most = 1 << self.group_bits
        here = np.arange(groups, dtype=np.int64)
        return np.isin(here if groups <= most else here * most // groups, found)


class KeyReader(Protocol):
    """One key of one run, to be looked up. Each answer errs towards more files; None where the kind cannot answer such a question. A look-up reads the root (entry and manifest,
    cached), a footer (cached) and what holds the key: at most 3 reads where one row group holds it."""

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        """Where one of the values may be: each has a literal (no NULL) for every column of the key."""

    def between(self, interval: Interval) -> Hits | None:
        """Where a non-null, non-NaN value inside the interval may be. Of keys of one column."""

    def other(self, values: Sequence[Literal]) -> Hits | None:
        """Where a non-null value (NaN is one) that equals none of the values may be. Of keys of one column."""

    def null(self) -> Hits | None:
        """Where NULL may be. Of keys of one column."""

    def value(self) -> Hits | None:
        """Where a value (NaN is one) may be. Of keys of one column."""

    def nan(self) -> Hits | None:
        """Where NaN may be. Of keys of one column."""
