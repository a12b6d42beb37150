"""Theta sketches (Dasgupta, Lang, Rhodes, Thaler: A Framework for Estimating Stream Expression Cardinalities, ICDT
2016): of all hashes of different values those below `theta`, so many at most. How many there are, divided by the share
of all hashes that lie below, is about how many different values there are; a union of sketches is one.

In bytes they are the compact, ordered sketches of Apache DataSketches, as in the blobs `apache-datasketches-theta-v1`
of Iceberg's Puffin files.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import ClassVar, Final, Self

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Vector, compute, dataclass
from metaindex.expressions import physical_type
from metaindex.index.kinds.canonical import UnkeyedValuesError, plain_type

from .murmur import Hashes, murmur_hashes

WHOLE: Final = np.uint64((1 << 63) - 1)
"""Theta where every hash is kept: the sketch counts exactly."""
_SERIAL, _COMPACT_FAMILY, _SEED_HASH = 3, 3, 0x93CC
_READ_ONLY, _EMPTY, _COMPACT, _ORDERED = 2, 4, 8, 16
_FLAGS = _READ_ONLY | _COMPACT | _ORDERED


@dataclass(frozen=True, slots=True, eq=False)
class Theta:
    """`hashes`: ascending, each once, all below `theta`. `ENTRIES`: so many at most, unless another number is said."""

    hashes: Hashes
    theta: np.uint64 = WHOLE
    ENTRIES: ClassVar[int] = 4096
    MOST_ENTRIES: ClassVar[int] = 1 << 16

    @classmethod
    def nothing(cls) -> Self:
        return cls(np.zeros(0, np.uint64))

    @classmethod
    def union(cls, sketches: Sequence[Theta], entries: int = ENTRIES) -> Theta:
        """Return the sketch of all values in any of the sketches."""
        if not sketches:
            return cls.nothing()
        theta = min(sketch.theta for sketch in sketches)
        hashes = np.unique(np.concatenate([sketch.hashes for sketch in sketches]))
        return cls(hashes[hashes < theta], theta).cut(entries)

    @staticmethod
    def hash_each(values: pa.Array, type_: pa.DataType) -> Hashes:
        """Return the hash of each value but NULL; 0 of an empty text. Raises UnkeyedValuesError like `as_sketched`."""
        encoded = as_sketched(values, type_).dictionary_encode()
        hashes: Hashes = murmur_hashes(encoded.dictionary)[Vector(encoded.indices).numbers]
        return hashes

    def with_values(self, values: pa.Array, type_: pa.DataType, entries: int = ENTRIES) -> tuple[Theta, bool]:
        """And of more values, of at most so many hashes; and whether an empty text is among them. Raises
        UnkeyedValuesError like `as_sketched`."""
        hashes = murmur_hashes(compute("unique", as_sketched(values, type_)))
        some = hashes[(hashes < self.theta) & (hashes > 0)]
        whole = Theta(np.union1d(self.hashes, some), self.theta).cut(entries) if len(some) else self
        return whole, bool((hashes == 0).any())

    @property
    def is_exact(self) -> bool:
        return bool(self.theta == WHOLE)

    @property
    def estimate(self) -> float:
        """About how many different values there are."""
        return len(self.hashes) if self.is_exact else len(self.hashes) * (float(WHOLE) / float(self.theta))

    def cut(self, entries: int) -> Theta:
        """Keep at most so many hashes: the least ones, below the least one dropped."""
        if len(self.hashes) <= entries:
            return self
        return Theta(self.hashes[:entries], self.hashes[entries])

    def to_bytes(self) -> bytes:
        """Serialize in the format of Apache DataSketches."""
        count = len(self.hashes)
        if self.is_exact and not count:
            return struct.pack("<BBBBBBH", 1, _SERIAL, _COMPACT_FAMILY, 0, 0, _FLAGS | _EMPTY, _SEED_HASH)
        if self.is_exact and count == 1:
            head = struct.pack("<BBBBBBH", 1, _SERIAL, _COMPACT_FAMILY, 0, 0, _FLAGS, _SEED_HASH)
            return head + self.hashes.astype("<u8").tobytes()
        longs = 2 if self.is_exact else 3
        head = struct.pack("<BBBBBBHii", longs, _SERIAL, _COMPACT_FAMILY, 0, 0, _FLAGS, _SEED_HASH, count, 0)
        if not self.is_exact:
            head += struct.pack("<Q", int(self.theta))
        return head + self.hashes.astype("<u8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Theta:
        """Parse the result of `to_bytes`. Raises DamagedIndexError for anything else, as the writer of an index may
        have written anything."""
        sketch = cls._read(data)
        if sketch is None:
            raise DamagedIndexError.for_repair(
                "a sketch is an ordered compact theta sketch of Apache DataSketches; one of an index is not"
            )
        return sketch

    @classmethod
    def _read(cls, data: bytes) -> Theta | None:
        if len(data) < 8:
            return None
        longs, serial, family, _, _, flags, seed = struct.unpack_from("<BBBBBBH", data)
        longs &= 0x3F
        if serial != _SERIAL or family != _COMPACT_FAMILY or seed != _SEED_HASH or flags & _FLAGS != _FLAGS:
            return None
        if longs == 1:
            hashes = np.frombuffer(data, "<u8", offset=8) if len(data) in (8, 16) else None
            theta = WHOLE
        else:
            if longs not in (2, 3) or len(data) < 8 * longs:
                return None
            count = struct.unpack_from("<i", data, 8)[0]
            theta = WHOLE if longs == 2 else np.uint64(struct.unpack_from("<Q", data, 16)[0])
            fits = len(data) == 8 * (longs + count) and 0 <= count <= cls.MOST_ENTRIES
            hashes = np.frombuffer(data, "<u8", offset=8 * longs) if fits else None
        if hashes is None or not 0 < theta <= WHOLE:
            return None
        hashes = hashes.astype(np.uint64)
        if len(hashes) and not (hashes[0] > 0 and hashes[-1] < theta and (hashes[1:] > hashes[:-1]).all()):
            return None
        return cls(hashes, theta)


def can_be_sketched(type_: pa.DataType) -> bool:
    """Values that have an order, but for times that are finer than a microsecond."""
    type_ = plain_type(type_)
    fine = (pa.types.is_timestamp(type_) or pa.types.is_time(type_)) and type_.unit == "ns"
    narrow = pa.types.is_decimal(type_) and not pa.types.is_decimal128(type_)  # Arrow finds no different ones of those
    return physical_type(type_) is not None and not fine and not narrow


def as_sketched(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the non-null values in the given type. Raises UnkeyedValuesError if they have another one. Views become
    texts before different values are looked for: Arrow takes a NULL among views for an empty text there."""
    type_ = plain_type(type_)
    for each in (values.type, type_):
        if not can_be_sketched(each):
            raise UnkeyedValuesError(f"sketches are of values that have an order; these are {each}")
    return (values if values.type == type_ else values.cast(type_)).drop_null()
