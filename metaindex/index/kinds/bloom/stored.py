"""Filters read back from a run, whole: as pieces of another run, and compared with those that files have.

Filters of several runs as those of one: blocks are turned back from bits by files into filters by files, put in the
new order, and sliced again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask
from metaindex.index.kinds.canonical import hash_key
from metaindex.index.kinds.checks import EXTRA, LACKS, Mismatch
from metaindex.index.kinds.keyed import Units
from metaindex.index.kinds.kind import KeyRows
from metaindex.index.kinds.stored_rows import named
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

from .blocks import BLOCK_BITS, Bytes, Ints, set_bits, unsliced
from .distinct import DistinctHashes
from .layout import PARTITION, SizeClass
from .reader import StoredFilters
from .writer import FilterPiece, FilterWriter

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


# Checks -----------------------------------------------------------------------------------------------------------


_FRAME_BYTES = 32 << 20
_HASHES = 8 << 20


def check_filters(reader: RunReader, key: CoveredKey, unkeyed: Mask) -> None:
    """Every frame has its check; rows, classes and members are those that the directory says, and what a reader of
    Parquet finds."""
    filters = StoredFilters(reader, key.key_id)
    classes = filters.directory.classes
    listed = dict(_listed(reader, key))
    for number, size_class in enumerate(classes):
        ordinals = filters.ordinals(number)
        ordinals = np.arange(size_class.files) if ordinals is None else ordinals
        if not np.array_equal(listed.get(size_class.blocks, []), ordinals):
            raise Mismatch(f"{named(key)} lists other files of a class than its directory has", PARTITION)
        if len(ordinals) != size_class.files or ordinals[-1] >= len(unkeyed):
            raise Mismatch(f"{named(key)} has filters of other files than its directory counts", PARTITION)
        if unkeyed[ordinals].any():
            raise Mismatch(f"{named(key)} has filters of files of which it is said to know nothing", PARTITION)
        _read_all(filters, number, size_class)
    expected = [
        (class_.blocks, row * class_.span, class_.length(row)) for class_ in classes for row in range(class_.rows)
    ]
    if list(_rows(reader, key)) != expected:
        raise Mismatch(f"the rows of {named(key)} are not those of its classes", PARTITION)


def _read_all(filters: StoredFilters, number: int, size_class: SizeClass) -> None:
    at_once = max(1, _FRAME_BYTES // size_class.length(0))
    for first in range(0, size_class.rows, at_once):
        rows = range(first, min(first + at_once, size_class.rows))
        vectors = range(BLOCK_BITS) if size_class.by_vector else (-1,)
        filters.read([filters.frame(number, row, vector) for row in rows for vector in vectors])


def _listed(reader: RunReader, key: CoveredKey) -> Iterator[tuple[int, Units]]:
    """Yield each class's blocks with the files that its column `ordinals` lists."""
    for part in reader.parts(PARTITION):
        if part.first_key == key.key_id and part.rows:
            footer, opened = reader.footer(part), reader.open(part)
            at = [footer.columns[name] for name in ("blocks", "ordinals.list.element")]
            for group in range(len(footer.rows)):
                rows = opened.read_row_group(group, column_indices=at, use_threads=False)
                for blocks, files in zip(*(rows.column(name) for name in ("blocks", "ordinals")), strict=True):
                    if files.is_valid:
                        yield blocks.as_py(), files.values.to_numpy()


def _rows(reader: RunReader, key: CoveredKey) -> Iterator[tuple[int, int, int]]:
    """Yield each row's blocks, its first block, and its filters' size in bytes, read by Parquet: look-ups compute the
    places of frames, and never read page headers."""
    for part in reader.parts(PARTITION):
        if part.first_key == key.key_id and part.rows:
            for group in range(len(reader.footer(part).rows)):
                table = reader.read(part, [group], ["key_id", "blocks", "block", "bits"], keep=False)
                if pc.any(pc.not_equal(table.column("key_id"), key.key_id)).as_py():
                    raise Mismatch(f"part {part.path} has rows of another key", PARTITION)
                lengths = pc.binary_length(table.column("bits"))
                columns = (table.column("blocks"), table.column("block"), lengths)
                yield from zip(*(column.to_pylist() for column in columns), strict=True)


class FilterCheck:
    """The filter of each file is made again, of as many blocks as the stored one has."""

    def __init__(self, reader: RunReader, key: CoveredKey, ordinals: Sequence[int]) -> None:
        self._stored = dict(whole_filters(reader, key.key_id, ordinals))
        self._wrong: dict[int, str] = {}
        self._ordinal = -1
        self._hashes = DistinctHashes(_HASHES)
        self.failed: list[int] = []

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._hashes = ordinal, DistinctHashes(_HASHES)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        hashes, valid = hash_key(values)
        self._hashes.add(hashes if valid is None else hashes[valid])

    def end(self) -> None:
        stored = self._stored.get(self._ordinal, np.zeros((0, 32), np.uint8))
        held = np.ascontiguousarray(stored).view("<u4").reshape(-1, 8)
        words = np.zeros_like(held)
        lost = 0
        for some in self._hashes.ranges():
            if len(words):
                set_bits(words, some, len(words))
            else:
                lost += len(some)
        self._hashes.close()
        if lost or (words & ~held).any():
            self._wrong[self._ordinal] = LACKS.format(lost or "some")
        elif (held & ~words).any():
            self._wrong[self._ordinal] = EXTRA.format("some")

    def fail(self) -> None:
        self._hashes.close()
        self.failed.append(self._ordinal)

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        yield from ((ordinal, self._wrong[ordinal]) for ordinal in ordinals if ordinal in self._wrong)
