"""Data file that is read for its keys, in any format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from metaindex.storage import Storage

from .extremes import ColumnScan

Batches = Iterator[tuple[Sequence[tuple[int, int]], Mapping[str, pa.Array]]]
"""Row groups and how many rows of each, one behind the other, and the rows: by stable name the values of each column
that is read."""


@dataclass(slots=True)
class KeyFile(ABC):
    """Columns are named by their stable names. Every column asked for is in one of the first three.

    `present`: they stand in the file. `constants`: they do not, and every row shows the one value of the array.
    `unknown`: what rows show is not known for certain, and why. `unfit`: known when all is read: why the values that
    were given do not mean what they seem to. `scans`: then, too, and only where facts are not told by a footer: what
    the values of `KeyScan.facts` amount to.
    """

    groups: int = field(default=1, kw_only=True)
    present: set[str] = field(default_factory=set, kw_only=True)
    constants: dict[str, pa.Array] = field(default_factory=dict, kw_only=True)
    unknown: dict[str, str] = field(default_factory=dict, kw_only=True)
    unfit: dict[str, str] = field(default_factory=dict, kw_only=True)
    scans: list[ColumnScan] | None = field(default=None, kw_only=True)

    @abstractmethod
    def batches(self, wanted: set[str]) -> Batches:
        """Yield the rows, row group by row group, without empty ones. Without wanted columns, an empty mapping for each
        row group that has rows, as one row."""

    def close(self) -> None:  # noqa: B027 - most formats hold nothing open
        """Lets go of the file."""


class Opener(Protocol):
    def open(self, storage: Storage, path: str, size: int, *, ahead: bool) -> KeyFile:
        """A file of the snapshot. `ahead`: read what is small now, as this is called in a thread that waits for the
        store. Raises what `collect.UNREADABLE` names."""
