"""Filters read back from a run, whole, as pieces of another run.

Filters of several runs as those of one: blocks are turned back from bits by files into filters by files, put in the
new order, and sliced again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from metaindex.index.kinds.bloom.writer import FilterWriter
from metaindex.index.kinds.kind import KeyRows
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

from .blocks import BLOCK_BITS, Bytes, Ints, unsliced
from .layout import SizeClass
from .pieces import FilterPiece
from .reader import StoredFilters

_AHEAD_BYTES = 1 << 18
"""Of rows that are read together, where less is asked."""


class StoredPiece:
    """The filters of one class of a run. `places`: the new ordinal of each file of the run, -1 if it is dropped."""

    def __init__(self, filters: StoredFilters, number: int, places: Ints) -> None:
        self._filters, self._number = filters, number
        self._class: SizeClass = filters.directory.classes[number]
        old = filters.ordinals(number)
        new = places[: self._class.files] if old is None else places[old]
        self._kept = np.flatnonzero(new >= 0)
        self.blocks = self._class.blocks
        self.ordinals: Ints = new[self._kept].astype(np.int64)
        self._first, self._held = 0, np.zeros((0, 0, 0), np.uint8)

    def read(self, first: int, count: int) -> Bytes:
        if not self._first <= first <= first + count <= self._first + len(self._held):
            self._load(first, count)
        return self._held[first - self._first : first - self._first + count]

    def _load(self, first: int, count: int) -> None:
        """Load all blocks of the rows that the requested ones are in, and some rows ahead."""
        size_class = self._class
        low, high = first // size_class.span, -(-(first + count) // size_class.span)
        high = min(size_class.rows, max(high, low + _AHEAD_BYTES // size_class.length(0)))
        rows = list(range(low, high))
        vectors = range(BLOCK_BITS) if size_class.by_vector else (-1,)
        read = self._filters.read(
            [self._filters.frame(self._number, row, vector) for row in rows for vector in vectors]
        )
        bits = unsliced(np.concatenate(read).reshape(-1, size_class.block_bytes), size_class.files)
        self._first, self._held = (
            low * size_class.span,
            bits[:, self._kept] if len(self._kept) < size_class.files else bits,
        )


def stored_pieces(run: RunReader, key_id: int, places: Ints) -> Iterator[FilterPiece]:
    """Return the filters of one key of a run, for files that are not dropped."""
    filters = StoredFilters(run, key_id)
    for number in range(len(filters.directory.classes)):
        piece = StoredPiece(filters, number, places)
        if len(piece.ordinals):
            yield piece


def whole_filters(run: RunReader, key_id: int, ordinals: Sequence[int]) -> Iterator[tuple[int, Bytes]]:
    """The filters of some files, each [block, 32], those of one class together. A file without one has no value."""
    asked = np.full(run.run.files, -1, np.int64)
    asked[np.asarray(ordinals, np.int64)] = ordinals
    for piece in stored_pieces(run, key_id, asked):
        bits = piece.read(0, piece.blocks)
        for place, ordinal in enumerate(piece.ordinals.tolist()):
            yield ordinal, np.ascontiguousarray(bits[:, place])


def merge_filters(
    key: CoveredKey, sources: Sequence[KeyRows], sink: RunSink, number: Callable[[int], int]
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Merge filters; see `StoredKind.merge`."""
    pieces = [piece for run, _, places in sources for piece in stored_pieces(run, key.key_id, places)]
    writer = FilterWriter(key.key_id, pieces)
    return writer.layout, [writer.write(part, sink, number(part)) for part in range(writer.parts)]
