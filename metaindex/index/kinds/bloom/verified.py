"""Stored filters, read back and compared with those that files have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask
from metaindex.index.kinds.canonical import hash_key
from metaindex.index.kinds.checks import EXTRA, LACKS, Mismatch
from metaindex.index.kinds.keyed import Units
from metaindex.index.kinds.stored_rows import named
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.reader import RunReader

from .blocks import BLOCK_BITS, set_bits
from .distinct import DistinctHashes
from .layout import PARTITION, SizeClass
from .reader import StoredFilters
from .stored import whole_filters

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
