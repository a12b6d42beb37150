"""Layout of a run's filters in the metadata partition `bloom_filters`, so that a look-up needs one computed range read.

A row `(key_id, blocks, block, bits, ordinals)` holds some neighbouring blocks, from number `block` on, of all files of
the size class whose filters have `blocks` blocks. `bits` are frames:

    frame     8 bytes, the xxh3_64 (little-endian) of what follows, seeded with where it stands; then the bytes
    a row     one frame of sliced blocks, as many as make 16 KB (at least one); or, where one block is above 512 KB, 256
              frames, each a vector of one block

A flipped bit would make a look-up lose a file: nothing is believed before its frame is checked. Rows stand uncompressed
and plain in one page a row group, and a row group has rows of one class only: all lengths are known, so an offset is a
multiplication. The first part of a key names the classes, which files are in them and with what row each part begins,
in its footer (`metaindex.bloom_filters`), which is read before all else and has a digest: a file in no class has no
value at all.
"""

from __future__ import annotations

import base64
import json
import struct
from bisect import bisect_right
from dataclasses import field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import DamagedIndexError, MetaIndexError, dataclass
from metaindex.index.log.fields import MAX_FILES, Fields
from metaindex.index.log.sealed import from_text, one_line

from .blocks import BLOCK_BITS, sliced_bytes

PARTITION = "bloom_filters"
ROWS = pa.schema(
    [
        pa.field("key_id", pa.int64(), nullable=False),
        pa.field("blocks", pa.int32(), nullable=False),
        pa.field("block", pa.int32(), nullable=False),
        pa.field("bits", pa.large_binary(), nullable=False),
        pa.field("ordinals", pa.list_(pa.field("element", pa.int32(), nullable=False))),
    ]
)
"""Sorted by (key_id, blocks, block). `ordinals`: the files of the class, in the row of its first block: for SQL, which
has no way to the directory."""

DIRECTORY = b"metaindex.bloom_filters"
"""The name of the directory in the footer's metadata."""

_MAX_BLOCKS = 2**31 - 1
"""As their columns hold them."""

ROW_BYTES = 16 << 10
WHOLE_BYTES = 512 << 10
CHECK_BYTES = 8
LENGTH_BYTES = 4
"""Before every value of a plain BYTE_ARRAY page."""


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The filters of `files` files that have `blocks` blocks each, and how their rows are cut: made by `size_class`."""

    blocks: int
    files: int
    by_vector: bool  # is a row 256 frames?
    span: int  # blocks of a row; the last one may have fewer
    block_bytes: int  # sliced

    @property
    def rows(self) -> int:
        return -(-self.blocks // self.span)

    def spanned(self, row: int) -> int:
        """Blocks of the row of that number."""
        return min(self.span, self.blocks - row * self.span)

    def length(self, row: int) -> int:
        """Bytes of `bits` in the row of that number."""
        if self.by_vector:
            return BLOCK_BITS * CHECK_BYTES + self.block_bytes
        return CHECK_BYTES + self.spanned(row) * self.block_bytes

    def stretch(self, row: int, rows: int) -> int:
        """Return the number of bytes of so many rows from one on, in a page."""
        last = self.length(row + rows - 1)
        return (rows - 1) * (LENGTH_BYTES + self.length(row)) + LENGTH_BYTES + last


def size_class(blocks: int, files: int) -> SizeClass:
    """The class of filters of so many blocks, of so many files."""
    block_bytes = sliced_bytes(files)
    by_vector = block_bytes > WHOLE_BYTES
    return SizeClass(blocks, files, by_vector, 1 if by_vector else max(1, ROW_BYTES // block_bytes), block_bytes)


@dataclass(frozen=True, slots=True)
class Directory:
    """The classes of a key, ascending, and the first row (blocks, block) of each of its parts.

    `member`: for every file of the run, 1 + the number of its class, 0 where it has no filter; shorter where no later
    file has one, empty where one class has all files from the first on.
    """

    classes: tuple[SizeClass, ...] = ()
    starts: tuple[tuple[int, int], ...] = ()
    member: npt.NDArray[np.uint16] = field(compare=False, default_factory=lambda: np.zeros(0, np.uint16))

    def ordinals(self, number: int) -> npt.NDArray[np.int64] | None:
        """The files of a class, ascending: its first bit, its second ... None: the first files of the run."""
        return None if not len(self.member) else np.flatnonzero(self.member == number + 1)

    def part(self, class_: SizeClass, row: int) -> int:
        """The number of the part that holds a row."""
        return bisect_right(self.starts, (class_.blocks, row * class_.span)) - 1

    def encoded(self) -> bytes:
        raw = self.member.astype("<u2").tobytes()
        packed = base64.b64encode(pa.compress(raw, codec="zstd", asbytes=True)).decode() if raw else ""
        said = {
            "version": 1,
            "classes": [[class_.blocks, class_.files] for class_ in self.classes],
            "starts": self.starts,
            "members": len(self.member),
            "member": packed,
        }
        return json.dumps(said, separators=(",", ":")).encode()


def directory_from(data: bytes, most_files: int = MAX_FILES) -> Directory:
    """Parse the result of `encoded`, for a run of at most so many files. Raises DamagedIndexError for a newer version,
    and for anything else."""
    try:
        return _directory(Fields(from_text(data), "the directory"), most_files)
    except MetaIndexError:
        raise
    except Exception as error:
        raise DamagedIndexError.for_repair(
            f"a directory of bloom filters is as it was written; one is not ({one_line(error)})"
        ) from error


def _directory(said: Fields, most_files: int) -> Directory:
    version = said.whole("version")
    if version > 1:
        raise DamagedIndexError(
            "this metaindex reads directories of bloom filters of version 1; there is one of version"
            f" {version}; upgrade metaindex"
        )
    counted = [(_count(blocks, _MAX_BLOCKS), _count(files, most_files)) for blocks, files in said.many("classes")]
    classes = tuple(size_class(blocks, files) for blocks, files in counted)
    count, packed = said.count("members", most_files), said.text("member")
    starts = tuple((_count(blocks, _MAX_BLOCKS), _count(block, _MAX_BLOCKS)) for blocks, block in said.many("starts"))
    raw = pa.decompress(base64.b64decode(packed), count * 2, codec="zstd", asbytes=True) if count else b""
    return Directory(classes, starts, np.frombuffer(raw, "<u2").astype(np.uint16, copy=False))


def _count(value: object, most: int) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"a count of the directory is from 0 to {most}")
    return value


def seed(key_id: int, class_: SizeClass, block: int, vector: int = -1) -> int:
    """Return the seed of a frame's check, so that bytes from another place fail it. `vector`: -1 for whole blocks."""
    return xxhash.xxh3_64_intdigest(struct.pack("<qiiii", key_id, class_.blocks, class_.files, block, vector))


def framed(payload: bytes | memoryview, seed_: int) -> bytes:
    """The frame of some bytes."""
    return struct.pack("<Q", xxhash.xxh3_64_intdigest(payload, seed_)) + bytes(payload)


def unframed(frame: memoryview, seed_: int) -> memoryview | None:
    """The bytes of a frame; None where they are not what was written there."""
    payload = frame[CHECK_BYTES:]
    return payload if struct.unpack_from("<Q", frame)[0] == xxhash.xxh3_64_intdigest(payload, seed_) else None
