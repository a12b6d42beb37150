"""Writes the filters of a key: which classes and parts there will be follows from the number of files in each class, so
that parts can be written apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import dataclass
from metaindex.index.store.layout import PartInfo, run_folder
from metaindex.index.store.writer import SUFFIX, RunSink, digested_end
from metaindex.storage import Storage

from .blocks import BLOCK_BITS, BLOCK_BYTES, Bytes, Ints, sliced
from .layout import DIRECTORY, PARTITION, ROWS, Directory, SizeClass, framed, seed, size_class

PART_BYTES = 32 << 20
_ORDINALS = "ordinals.list.element"
GROUP_BYTES = 8 << 20
"""Of a part and of a row group, about: a row is not cut, and of a million files it has 32 MB."""


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Neighbouring rows of one class."""

    number: int  # of the class
    first: int
    rows: int


class FilterWriter:
    """Writes the parts of one key, each independently. `pieces`: all filters of the key."""

    def __init__(self, key_id: int, pieces: Sequence[FilterPiece]) -> None:
        self._key_id = key_id
        by_class: dict[int, list[FilterPiece]] = {}
        for piece in pieces:
            if len(piece.ordinals):
                by_class.setdefault(piece.blocks, []).append(piece)
        self._filters = [Assembled(by_class[blocks]) for blocks in sorted(by_class)]
        self._classes = tuple(
            size_class(blocks, len(filters.ordinals))
            for blocks, filters in zip(sorted(by_class), self._filters, strict=True)
        )
        self._parts = _cut(self._classes)

    @property
    def parts(self) -> int:
        """Return the number of parts: at least one, which holds the directory."""
        return len(self._parts)

    @property
    def layout(self) -> dict[str, int | str]:
        """The key's layout in the log entry."""
        return {"classes": len(self._classes)}

    def write(self, number: int, sink: RunSink, part_number: int) -> PartInfo:
        """Writes one of them, durably."""
        out = pa.BufferOutputStream()
        rows = 0
        with pq.ParquetWriter(
            out,
            ROWS,
            compression={
                n: "none" if n == "bits" else "zstd" for n in ("key_id", "blocks", "block", "bits", _ORDINALS)
            },
            use_dictionary=False,
            column_encoding={_ORDINALS: "DELTA_BINARY_PACKED"},
            write_statistics=["key_id", "blocks", "block"],
            data_page_size=1 << 30,  # a page a row group
            write_page_checksum=True,
            store_schema=False,
        ) as writer:
            if number == 0:
                writer.add_key_value_metadata({DIRECTORY.decode(): self._directory().encoded().decode()})
            for stretch in self._parts[number]:
                class_ = self._classes[stretch.number]
                at_once = max(1, GROUP_BYTES // class_.length(stretch.first))
                for first in range(stretch.first, stretch.first + stretch.rows, at_once):
                    count = min(at_once, stretch.first + stretch.rows - first)
                    writer.write_table(self._rows(stretch.number, first, count), row_group_size=count)
                    rows += count
        path = f"{run_folder(PARTITION, sink.run)}/part-{part_number:05d}{SUFFIX}"
        return _stored(sink, path, out.getvalue(), rows, self._key_id)

    def _rows(self, number: int, first: int, count: int) -> pa.Table:
        class_ = self._classes[number]
        blocks = [(first + row) * class_.span for row in range(count)]
        total = sum(class_.spanned(first + row) for row in range(count))
        bits = sliced(self._filters[number].read(blocks[0], total))
        values = [
            self._value(class_, block, bits[block - blocks[0] : block - blocks[0] + class_.span]) for block in blocks
        ]
        numbers = np.array(blocks, np.int32)
        return pa.table(
            [
                pa.array(np.full(count, self._key_id, np.int64)),
                pa.array(np.full(count, class_.blocks, np.int32)),
                pa.array(numbers),
                pa.array(values, pa.large_binary()),
                pa.array([self._filters[number].ordinals if block == 0 else None for block in blocks], ROWS[-1].type),
            ],
            schema=ROWS,
        )

    def _value(self, class_: SizeClass, block: int, bits: Bytes) -> bytes:
        if not class_.by_vector:
            return framed(bits.tobytes(), seed(self._key_id, class_, block))
        frames = bits.reshape(BLOCK_BITS, -1)
        return b"".join(
            framed(vector.data, seed(self._key_id, class_, block, number)) for number, vector in enumerate(frames)
        )

    def _directory(self) -> Directory:
        starts = [
            (self._classes[p[0].number].blocks, p[0].first * self._classes[p[0].number].span) for p in self._parts if p
        ]
        return Directory(self._classes, tuple(starts), _members([piece.ordinals for piece in self._filters]))


def _cut(classes: Sequence[SizeClass]) -> list[list[_Stretch]]:
    """Cut all rows into parts, in order."""
    parts: list[list[_Stretch]] = [[]]
    room = PART_BYTES
    for number, class_ in enumerate(classes):
        row = 0
        while row < class_.rows:
            fit = room // class_.length(0)
            if not fit and parts[-1]:
                parts.append([])
                room = PART_BYTES
                continue
            rows = min(max(fit, 1), class_.rows - row)
            parts[-1].append(_Stretch(number, row, rows))
            room -= rows * class_.length(0)
            row += rows
    return parts


def _members(
    ordinals: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]],
) -> np.ndarray[tuple[int], np.dtype[np.uint16]]:
    """Return the class of each file; see `Directory.member`."""
    if not ordinals or (len(ordinals) == 1 and ordinals[0][-1] == len(ordinals[0]) - 1):
        return np.zeros(0, np.uint16)
    member = np.zeros(max(int(listed[-1]) for listed in ordinals) + 1, np.uint16)
    for number, files in enumerate(ordinals):
        member[files] = number + 1
    return member


def _stored(sink: RunSink, path: str, buffer: pa.Buffer, rows: int, key_id: int) -> PartInfo:
    sink.put(path, buffer.to_pybytes())
    return PartInfo(PARTITION, path, rows, buffer.size, *digested_end(buffer), key_id, key_id)


# Filters of a size class on their way into a run: those of some files, which any stretch of blocks can be asked of ----


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
