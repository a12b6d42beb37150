"""Deletion vectors of a shown table as Iceberg's delete files.

Delta and Iceberg store the same bytes: a client that reads a vector at an offset is given the place in Delta's own
file. Others open a whole Puffin file: one is written for each data file into a folder that they can read, which is
bounded. So are vectors that stand in the log itself.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from metaindex.core import ObjectExistsError, dataclass
from metaindex.storage import own_folder

if TYPE_CHECKING:
    from pyroaring import BitMap64

_LIMIT_BYTES: Final = 1 << 28  # of one table
_PUFFIN: Final = b"PFA1"
_VECTOR: Final = struct.pack("<i", 1681511377)
_ROW_POSITION: Final = 2147483645
"""Iceberg's id of the column of positions, which the footer has to name."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A framed vector in a file that a client can open."""

    uri: str
    size_bytes: int
    offset: int
    length: int


class Vectors:
    """Puffin files of one table's vectors, in a folder below the server's own. What was not asked for longest goes
    first. For one thread; other processes may use the same folder."""

    def __init__(self, cache: str, table: str, limit_bytes: int = _LIMIT_BYTES) -> None:
        folder = f"{cache.rstrip('/')}/{_digest(table)}"
        self._storage = own_folder(folder, folder, table)  # for whoever may read the table
        self._limit = limit_bytes
        there = sorted(self._storage.list(""), key=lambda info: info.modified_ns)  # the least recent first
        # Of a server before: each is compared before it is used.
        self._kept = {info.path: Stored("", info.size_bytes, 0, 0) for info in there}

    def puffin(self, data_file: str, identity: str, positions: Callable[[], BitMap64]) -> Stored:
        """Return the Puffin file of a data file's vector; `identity` tells the vector from any other of that file."""
        name = f"{_digest(data_file, identity)}.puffin"
        stored = self._kept.pop(name, None)
        if stored is None or not stored.uri:
            stored = self._write(name, data_file, positions())
        self._kept[name] = stored
        while sum(kept.size_bytes for kept in self._kept.values()) > self._limit and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self._storage.delete(oldest)
            del self._kept[oldest]
        return stored

    def _write(self, name: str, data_file: str, positions: BitMap64) -> Stored:
        data, offset, length = puffin_of(data_file, positions)
        try:
            self._storage.put_if_absent(name, data)
        except ObjectExistsError:
            if self._storage.read(name) != data:
                self._storage.put(name, data)
        return Stored(self._storage.uri(name), len(data), offset, length)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def puffin_of(data_file: str, positions: BitMap64) -> tuple[bytes, int, int]:
    """Return a Puffin file with one vector, and the offset and length of its blob."""
    vector = _VECTOR + positions.serialize()
    blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
    about = {
        "type": "deletion-vector-v1",
        "fields": [_ROW_POSITION],
        "snapshot-id": -1,
        "sequence-number": -1,
        "offset": len(_PUFFIN),
        "length": len(blob),
        "properties": {"referenced-data-file": data_file, "cardinality": str(len(positions))},
    }
    footer = json.dumps({"blobs": [about]}).encode()
    ending = struct.pack("<i", len(footer)) + bytes(4) + _PUFFIN
    return _PUFFIN + blob + _PUFFIN + footer + ending, len(_PUFFIN), len(blob)
