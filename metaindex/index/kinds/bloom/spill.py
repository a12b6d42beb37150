"""Finished filters that wait for those of the other files: in memory up to a bound, beyond it in objects, block by
block, so that a block of many files is one stretch to read."""

from __future__ import annotations

import numpy as np

from metaindex.index.kinds.keyed import Spill

from .blocks import BLOCK_BYTES, Bytes
from .pieces import FilterPiece, HeldPiece, SpilledPiece

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
