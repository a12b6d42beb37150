"""A merge of rows that are read in the table's place, in pieces that are written apart: by threads of this process, or
by tasks on other machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from metaindex.core import dataclass
from metaindex.index.store.layout import PartInfo

if TYPE_CHECKING:
    from metaindex.index.store.writer import RunSink

PIECES_MERGED = "buckets and ranges of a covering index merged"
"""What is told of a merge's progress."""
_THREADS = 8
"""Pieces that are merged at a time on a store, where that is waiting; on a disk half as many, and no more than
processors."""

Told = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A part, what each of its columns takes, and how often the indexed columns change from one row to the next, from
    the first row on: so many keys."""

    info: PartInfo
    column_bytes: Mapping[str, int]
    keys: int


@dataclass(frozen=True, slots=True)
class MergedPiece:
    """Result of a merged piece. `read`: how many rows its parts had, whether their files stay or not."""

    number: int
    parts: tuple[WrittenPart, ...]
    read: int


class RowMerge(Protocol):
    """The rows of one key, in pieces: plain data but for the storage, so that it travels."""

    @property
    def sink(self) -> RunSink: ...

    @property
    def sizes(self) -> Sequence[int]:
        """Return each piece's bytes in the parts that are read for it."""

    def write(self, number: int, attempt: int = 0) -> MergedPiece:
        """Writes one piece, in parts of names that no other attempt has. DamagedIndexError where its parts are not what
        they should be."""

    def tidy(self, pieces: Sequence[MergedPiece]) -> None:
        """Removes what attempts wrote that came to nothing: all but the parts of these pieces."""


WritesPieces = Callable[[RowMerge], Sequence[MergedPiece]]
"""Writes every piece of a merge and says what became of each, in any order."""


def in_threads(merge: RowMerge, progress: Told | None = None) -> list[MergedPiece]:
    """Writes the pieces in this process, some at a time."""
    count = len(merge.sizes)
    threads = _THREADS if "://" in merge.sink.storage.root else min(os.cpu_count() or 1, _THREADS // 2)
    out = []
    with ThreadPoolExecutor(max(1, min(threads, count))) as pool:
        for done, piece in enumerate(pool.map(merge.write, range(count)), 1):
            out.append(piece)
            if progress is not None:
                progress(PIECES_MERGED, done, count)
    return out
