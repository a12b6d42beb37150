"""Filters of a size class on their way into a run: those of some files, which any stretch of blocks can be asked of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from metaindex.core import dataclass
from metaindex.storage import Storage

from .blocks import BLOCK_BYTES, Bytes, Ints


class FilterPiece(Protocol):
    """Filters of one class."""

    @property
    def blocks(self) -> int:
        """The class."""

    @property
    def ordinals(self) -> Ints:
        """The files, in the order in which their filters are here."""

    def read(self, first: int, count: int) -> Bytes:
        """Read `count` blocks of each filter, from `first` on: [block, file, 32]."""


@dataclass(frozen=True, slots=True)
class HeldPiece:
    """Filters in memory: [block, file, 32]."""

    blocks: int
    ordinals: Ints
    bits: Bytes

    def read(self, first: int, count: int) -> Bytes:
        return self.bits[first : first + count]


@dataclass(frozen=True, slots=True)
class SpilledPiece:
    """Filters in an object, from `offset` on, block by block."""

    blocks: int
    ordinals: Ints
    storage: Storage
    path: str
    offset: int

    def read(self, first: int, count: int) -> Bytes:
        files = len(self.ordinals)
        block_bytes = files * BLOCK_BYTES
        data = self.storage.read(self.path, self.offset + first * block_bytes, count * block_bytes)
        return np.frombuffer(data, np.uint8).reshape(count, files, BLOCK_BYTES)


class Assembled:
    """The filters of all pieces of a class, in order of their ordinals."""

    def __init__(self, pieces: Sequence[FilterPiece]) -> None:
        self._pieces = pieces
        ordinals = np.concatenate([piece.ordinals for piece in pieces])
        in_order = bool((np.diff(ordinals) > 0).all())
        self._order = None if in_order else np.argsort(ordinals, kind="stable")
        self.ordinals: Ints = ordinals if self._order is None else ordinals[self._order]

    def read(self, first: int, count: int) -> Bytes:
        """Read `count` blocks of each filter, from `first` on: [block, file, 32]."""
        blocks = [piece.read(first, count) for piece in self._pieces]
        bits = blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)
        return bits if self._order is None else bits[:, self._order]
