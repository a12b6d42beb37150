"""Looks values up in the filters of a run: for each size class the row, or the eight vectors, that hold a hash."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, TooLate, Vector, dataclass
from metaindex.expressions import Literal
from metaindex.index.kinds.canonical import hash_each_list
from metaindex.index.kinds.keyed import EqualityReader, Hits
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.cache import Footer
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader

from .blocks import BLOCK_BITS, Bytes, Hashes, Ints, bits_of, block_of, files_of, first_of_each, vector_bytes, vectors
from .layout import (
    CHECK_BYTES,
    DIRECTORY,
    LENGTH_BYTES,
    PARTITION,
    Directory,
    SizeClass,
    directory_from,
    seed,
    unframed,
)

_READ_BYTES = 64 << 20
"""Of rows that are in memory at a time, about."""

_TOGETHER_BYTES = 1 << 20
"""Of vectors of several hashes that are looked at together."""

_GROUPS = "rows of bloom filters"
_LONGEST_HEADER = 128


@dataclass(frozen=True, slots=True)
class Frame:
    """Location of a frame: `vector` -1 for a whole row."""

    number: int  # of the class
    row: int
    vector: int
    part: PartInfo
    start: int
    length: int


class StoredFilters:
    """The filters of one key of a run, where they stand."""

    def __init__(self, run: RunReader, key_id: int) -> None:
        self._run, self._key_id = run, key_id
        self._parts = [part for part in run.parts(PARTITION) if part.first_key == key_id]
        if not self._parts:
            raise run.damaged(f"{PARTITION}/{run.run.run}", f"no part has the filters of key {key_id}")
        self.directory: Directory = self._directory()

    def frame(self, number: int, row: int, vector: int = -1) -> Frame:
        """Locate the frame of a row, or of a vector of it if each vector has a frame."""
        size_class = self.directory.classes[number]
        part = self._part(self.directory.part(size_class, row))
        starts, bases = self._groups(part)
        group = bisect_right(starts, (size_class.blocks, row * size_class.span)) - 1
        if group < 0 or starts[group][0] != size_class.blocks:
            raise self._run.damaged(
                part.path, f"no row group holds row {row} of the filters of {size_class.blocks} blocks"
            )
        before = row - starts[group][1] // size_class.span
        start = bases[group] + (size_class.stretch(row - before, before) if before else 0) + LENGTH_BYTES
        if vector < 0:
            return Frame(number, row, -1, part, start, size_class.length(row))
        length = CHECK_BYTES + vector_bytes(size_class.files)
        return Frame(number, row, vector, part, start + vector * length, length)

    def ordinals(self, number: int) -> Ints | None:
        """The files of a class, ascending; None: the first files of the run."""
        kept = self._run.footer(self._parts[0]).derived
        key = (DIRECTORY, number)
        if key not in kept:
            kept[key] = self.directory.ordinals(number)
        return kept[key]  # type: ignore[no-any-return]

    def read(self, frames: Sequence[Frame]) -> list[Bytes]:
        """Read frames. Raises DamagedIndexError if the bytes are not those that were written."""
        payloads = []
        data = self._run.stretches([(asked.part, asked.start, asked.length) for asked in frames])
        for frame, held in zip(frames, data, strict=True):
            size_class = self.directory.classes[frame.number]
            payload = unframed(held, seed(self._key_id, size_class, frame.row * size_class.span, frame.vector))
            if payload is None:
                raise self._run.damaged(
                    frame.part.path, f"{frame.length} bytes at {frame.start} do not have their check"
                )
            payloads.append(np.frombuffer(payload, np.uint8))
        return payloads

    def _part(self, number: int) -> PartInfo:
        if not 0 <= number < len(self._parts):
            raise self._run.damaged(
                self._parts[0].path, f"it names {number + 1} parts, the manifest {len(self._parts)}"
            )
        return self._parts[number]

    def _directory(self) -> Directory:
        part = self._parts[0]
        footer = self._run.footer(part)
        directory = footer.derived.get(DIRECTORY)
        if directory is None:
            said = (footer.metadata.metadata or {}).get(DIRECTORY)
            if said is None:
                raise self._run.damaged(part.path, "its footer does not say which filters there are")
            directory = footer.derived[DIRECTORY] = directory_from(said, self._run.run.files)
        if len(directory.member) > self._run.run.files:
            raise self._run.damaged(
                part.path, f"it has filters of {len(directory.member)} files, the run {self._run.run.files}"
            )
        return directory

    def _groups(self, part: PartInfo) -> tuple[list[tuple[int, int]], list[int]]:
        """Return each row group's blocks and first block, and the offset of its first value."""
        footer = self._run.footer(part)
        if _GROUPS not in footer.derived:
            footer.derived[_GROUPS] = self._places(part, footer)
        return footer.derived[_GROUPS]  # type: ignore[no-any-return]

    def _places(self, part: PartInfo, footer: Footer) -> tuple[list[tuple[int, int]], list[int]]:
        blocks, first = footer.range("blocks"), footer.range("block")
        by_blocks = {class_.blocks: class_ for class_ in self.directory.classes}
        bases, stated = [], footer.column("bits")
        for group, rows in enumerate(footer.rows.tolist()):
            with footer.readable():
                start, end = stated.span(group)
            size_class = by_blocks.get(blocks.least[group])
            if size_class is None:
                raise self._run.damaged(part.path, "a row group is of filters that are not named")
            values = size_class.stretch(first.least[group] // size_class.span, rows)
            base = end - values
            if not 0 < base - start <= _LONGEST_HEADER:
                raise self._run.damaged(part.path, "a row group is not one plain page")
            bases.append(base)
        return list(zip(blocks.least, first.least, strict=True)), bases


class BloomReader(EqualityReader):
    """A `KeyReader`. Answers `=` and `IN` alone."""

    def __init__(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> None:
        self._run, self._key, self._types = run, key, types

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return self.among_each([values])[0]

    def among_each(self, lists: Sequence[Sequence[Sequence[Literal]]]) -> list[Hits | None]:
        """Look up many lists; see `keyed.SupportsBatchReads`."""
        hashes, owners, unsaid = hash_each_list(lists, self._types)
        held = self._holding(hashes, owners, len(lists))
        return [None if number in unsaid else Hits(files=files) for number, files in enumerate(held)]

    def holding(self, hashes: Hashes) -> Mask:
        """Mask of the files that may hold a value of one of these hashes. Unkeyed files are False."""
        return self._holding(hashes, np.zeros(len(hashes), np.intp), 1)[0]

    def _holding(self, hashes: Hashes, owners: Ints, count: int) -> list[Mask]:
        """A mask for each of so many owners of hashes."""
        out = [np.zeros(self._run.run.files, np.bool_) for _ in range(count)]
        order = np.argsort(hashes, kind="stable")
        hashes, owners = hashes[order], owners[order]
        filters = StoredFilters(self._run, self._key.key_id) if len(hashes) else None
        size = max(1, _READ_BYTES // (8 * max(self._run.run.files, 1)))
        for start in range(0, len(hashes), size):
            TooLate.check()
            assert filters is not None
            for some in _at_once(_needs(filters, hashes[start : start + size])):
                for need, read in zip(some, _read(filters, some), strict=True):
                    size_class, ordinals = filters.directory.classes[need.number], filters.ordinals(need.number)
                    first = start + need.first
                    for who, vector in _each_of(read, need, size_class, owners[first : first + len(need.blocks)]):
                        here = files_of(vector, size_class.files)
                        if ordinals is None:
                            out[who][: size_class.files] |= here
                        else:
                            out[who][ordinals[here]] = True
        return out


@dataclass(frozen=True, slots=True)
class _Need:
    """A row to be read: for each hash, the number of its block in the row and its eight bits."""

    number: int  # of the class
    row: int
    blocks: Ints
    bits: Ints
    frames: tuple[Frame, ...]
    first: int  # which of the hashes that were asked is the first one here
    vectors: Ints | None = None  # of which the frames are, where they are of vectors


def _needs(filters: StoredFilters, hashes: Hashes) -> Iterator[_Need]:
    bits = bits_of(hashes)
    for number, size_class in enumerate(filters.directory.classes):
        blocks = block_of(hashes, size_class.blocks)
        rows = blocks // size_class.span
        starts = first_of_each(rows).tolist()  # ascending, as the hashes are
        for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
            row = int(rows[start])
            here, mine = blocks[start:end] - row * size_class.span, bits[start:end]
            if size_class.by_vector:
                asked = Vector.distinct(mine)
                frames = tuple(filters.frame(number, row, vector) for vector in asked.tolist())
                yield _Need(number, row, here, mine, frames, start, asked)
            else:
                yield _Need(number, row, here, mine, (filters.frame(number, row),), start)


def _at_once(needs: Iterator[_Need]) -> Iterator[list[_Need]]:
    some: list[_Need] = []
    size = 0
    for need in needs:
        some.append(need)
        size += sum(frame.length for frame in need.frames)
        if size > _READ_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _read(filters: StoredFilters, needs: Sequence[_Need]) -> list[list[Bytes]]:
    """The frames of each."""
    payloads = iter(filters.read([frame for need in needs for frame in need.frames]))
    return [[next(payloads) for _ in need.frames] for need in needs]


def _each_of(read: list[Bytes], need: _Need, size_class: SizeClass, owners: Ints) -> Iterator[tuple[int, Bytes]]:
    """Yield the files that one of the hashes of an owner may be in, as a vector."""
    first = 0
    for some in _all_eight(read, need, size_class):
        own = owners[first : first + len(some)]
        first += len(some)
        order = np.argsort(own, kind="stable")
        starts = first_of_each(own[order])
        yield from zip(own[order][starts].tolist(), np.bitwise_or.reduceat(some[order], starts, axis=0), strict=True)


def _all_eight(read: list[Bytes], need: _Need, size_class: SizeClass) -> Iterator[Bytes]:
    """The files that have all bits of a hash, a vector each, some hashes at a time."""
    if need.vectors is None:
        rows = read[0].reshape(-1, size_class.block_bytes)
        if len(need.blocks) == 1:
            held, at = vectors(rows[int(need.blocks[0])][None], size_class.files), need.bits
        else:
            held, at = vectors(rows, size_class.files), need.blocks[:, None] * BLOCK_BITS + need.bits
    else:
        held, at = np.stack(read), np.searchsorted(need.vectors, need.bits)
    at_once = max(1, _TOGETHER_BYTES // (8 * held.shape[1]))
    for start in range(0, len(at), at_once):
        yield np.bitwise_and.reduce(held[at[start : start + at_once]], axis=1)
