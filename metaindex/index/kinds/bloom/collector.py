"""Builds the bloom filters of one key: a file's distinct hashes, then its filter, then all filters of the run across
files.

Finished filters that wait for those of the other files: in memory up to a bound, beyond it in objects, block by
block, so that a block of many files is one stretch to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa

from metaindex.index.kinds.bloom.blocks import BLOCK_BYTES
from metaindex.index.kinds.canonical import hash_key
from metaindex.index.kinds.keyed import Gathered, KeyFinisher, KeyPlan, Spill, Units
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink

from .blocks import Bytes, set_bits
from .distinct import DistinctHashes
from .sizing import blocks_for
from .writer import FilterPiece, FilterWriter, HeldPiece, SpilledPiece


class BloomCollector:
    """A `KeyCollector`. Memory: a quarter of the spill's limit for filters that wait, and three quarters at most for
    the hashes of the file that is read."""

    def __init__(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, fpp: float) -> None:
        self._plan, self._sink, self._spill, self._files, self._fpp = plan, sink, spill, files, fpp
        self._filters = WaitingFilters(spill, spill.limit_bytes // 4)
        self._unkeyed: list[int] = []
        self._ordinal = -1
        self._hashes: DistinctHashes | None = None

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal = ordinal
        self._hashes = DistinctHashes(self._spill.limit_bytes // 32)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        hashes, valid = hash_key(values)
        assert self._hashes is not None
        self._hashes.add(hashes if valid is None else hashes[valid])

    def end(self) -> None:
        assert self._hashes is not None
        bits = filter_of(self._hashes, self._fpp)
        self._hashes.close()
        if len(bits):
            self._filters.add(self._ordinal, bits)

    def fail(self) -> None:
        if self._hashes is not None:
            self._hashes.close()
        self._unkeyed.append(self._ordinal)

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        finisher = BloomFinisher(self._plan, self._sink, self._filters.pieces(), self._unkeyed)
        return finisher.close(self._spill, self._filters.paths)

    def hand_over(self) -> Gathered:
        self._filters.put_all_away()
        chunks = self._filters.chunks
        return Gathered(
            self._filters.paths, sum(len(chunk[3]) // 4 for chunk in chunks), tuple(self._unkeyed), {"chunks": chunks}
        )


def filter_of(hashes: DistinctHashes, fpp: float) -> Bytes:
    """The filter of a file: [block, 32], no block where it has no value."""
    count = hashes.count()
    blocks = blocks_for(count, fpp) if count else 0
    words = np.zeros((blocks, 8), np.uint32)
    for some in hashes.ranges() if count else ():
        set_bits(words, some, blocks)
    return words.astype("<u4", copy=False).view(np.uint8)


class BloomFinisher(KeyFinisher):
    """A `KeyFinisher`: a range is a part."""

    def __init__(self, plan: KeyPlan, sink: RunSink, pieces: Sequence[FilterPiece], unkeyed: Sequence[int]) -> None:
        self._plan, self._sink = plan, sink
        self._unkeyed = np.unique(np.array(unkeyed, np.int64))
        self._writer = FilterWriter(plan.key_id, pieces)

    @classmethod
    def of(cls, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]) -> BloomFinisher:
        """Combine what the collectors of all shares handed over."""
        chunks = [chunk for share in gathered for chunk in cast(list[Chunk], share.details["chunks"])]
        return cls(plan, sink, pieces_of(spill, chunks), [ordinal for share in gathered for ordinal in share.unkeyed])

    @property
    def ranges(self) -> int:
        return self._writer.parts

    def write(self, number: int) -> list[PartInfo]:
        return [self._writer.write(number, self._sink, self._plan.number(number))]

    def covered(self) -> tuple[CoveredKey, Units]:
        return self._plan.covered(self._writer.layout, len(self._unkeyed)), self._unkeyed


_OBJECT_BYTES = 300  # an array in a tuple in a list

Chunk = tuple[str, int, int, bytes]
"""Of an object: its path, where some filters begin, their blocks, their ordinals (int32, little-endian). Plain data
that travels."""


class WaitingFilters:
    """Takes filters one by one. `limit_bytes`: what is held in memory."""

    def __init__(self, spill: Spill, limit_bytes: int) -> None:
        self._spill, self._limit = spill, limit_bytes
        self._held: dict[int, list[tuple[int, Bytes]]] = {}
        self._bytes = 0
        self.chunks: list[Chunk] = []

    def add(self, ordinal: int, bits: Bytes) -> None:
        """The filter of a file: [block, 32]."""
        self._held.setdefault(len(bits), []).append((ordinal, bits))
        self._bytes += bits.nbytes + _OBJECT_BYTES
        if self._bytes > self._limit:
            self._put_away(self._limit // 2)

    @property
    def paths(self) -> tuple[str, ...]:
        """The objects that were written."""
        return tuple(dict.fromkeys(path for path, *_ in self.chunks))

    def pieces(self) -> list[FilterPiece]:
        """Return all pieces, including those in memory."""
        held = (_together(blocks, filters) for blocks, filters in sorted(self._held.items()))
        return [*pieces_of(self._spill, self.chunks), *held]

    def put_all_away(self) -> None:
        """Afterwards `chunks` has everything."""
        if self._held:
            self._put_away(0)

    def _put_away(self, left: int) -> None:
        """Writes the filters of the classes that take most memory."""
        path = self._spill.fresh("filters")
        out: list[bytes] = []
        offset = 0
        for blocks in sorted(self._held, key=lambda blocks: -blocks * len(self._held[blocks])):
            if self._bytes <= left:
                break
            piece = _together(blocks, self._held.pop(blocks))
            self.chunks.append((path, offset, blocks, piece.ordinals.astype("<i4").tobytes()))
            out.append(piece.bits.tobytes())
            offset += piece.bits.nbytes
            self._bytes -= piece.bits.nbytes + len(piece.ordinals) * _OBJECT_BYTES
        self._spill.storage.put(path, b"".join(out))


def pieces_of(spill: Spill, chunks: list[Chunk]) -> list[FilterPiece]:
    """The filters in objects."""
    return [
        SpilledPiece(blocks, np.frombuffer(ordinals, "<i4").astype(np.int64), spill.storage, path, offset)
        for path, offset, blocks, ordinals in chunks
    ]


def _together(blocks: int, filters: list[tuple[int, Bytes]]) -> HeldPiece:
    bits = np.empty((blocks, len(filters), BLOCK_BYTES), np.uint8)
    for at, (_, filter_) in enumerate(filters):
        bits[:, at] = filter_
    return HeldPiece(blocks, np.array([ordinal for ordinal, _ in filters], np.int64), bits)
