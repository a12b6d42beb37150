"""The rows that every run has, whatever its kinds: `files`, `file_ids` and `partitions`. Arrow schemas, sort orders,
meaning.

A **run** covers N files, numbered 0..N-1 by their order of (partition text, path): the file's `ordinal`. Its partitions
are numbered likewise (`partition_ord`), so that the files of a partition are one range of ordinals. Ordinals and not
file ids stand in the rows of kinds: 4 bytes that compress instead of 16 that do not; `files` maps them to ids and paths
and back.
"""

from __future__ import annotations

import pyarrow as pa

from metaindex.core import dataclass

FORMAT_VERSION = 1

FILES = pa.schema(
    [
        pa.field("ordinal", pa.int32(), nullable=False),
        pa.field("partition_ord", pa.int32(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),  # canonical text
        pa.field("path", pa.string(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("modified_ms", pa.int64()),
        pa.field("record_count", pa.int64()),
        pa.field("etag", pa.string()),
        pa.field("file_id", pa.binary(16), nullable=False),
        pa.field("digest", pa.binary(24)),  # `build.digests`, of plain files on a disk; null: not known
    ]
)
"""Sorted by ordinal, one row a file: ordinal -> file."""

LATER = {"digest": FILES.field("digest").type}
"""Columns that parts of an older metaindex have not: they are read as NULL."""

FILE_IDS = pa.schema(
    [pa.field("file_id", pa.binary(16), nullable=False), pa.field("ordinal", pa.int32(), nullable=False)]
)
"""Sorted by file id: file id -> ordinal."""

PARTITIONS = pa.schema(
    [
        pa.field("partition_id", pa.int64(), nullable=False),
        pa.field("partition_ord", pa.int32(), nullable=False),
        pa.field("partition", pa.string(), nullable=False),  # canonical text
        pa.field("first_ordinal", pa.int32(), nullable=False),
        pa.field("file_count", pa.int32(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
    ]
)
"""Sorted by partition id: partition id -> partition."""

OWN = frozenset({"files", "file_ids", "partitions", "unkeyed"})
"""The metadata partitions of a run that are of no kind."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Encoding of rows by the names of columns. One that is not named has a dictionary, and no ranges: a footer is read
    whole before anything else.

    * `ascending`: integers that are sorted or nearly so: delta encoding is smaller than a dictionary.
    * `plain`: values that hardly come twice.
    * `texts`: sorted byte strings. Each is stored as its common prefix with the one before and the rest, or whole and
      left to the compression: whichever is smaller for a sample of them.
    * `ranged`: those by which row groups are passed over.
    * `found_by`: that by which the parts of a key are found; the manifest says from where to where it goes in each.
    * `folder`: stands behind the partition's name in that of the folder.
    * `apart`: a part that is half full ends where the value of the first column does.
    """

    ascending: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    ranged: frozenset[str] = frozenset()
    found_by: str | None = None
    folder: str = ""
    apart: bool = False


COLUMNS = Columns(
    ascending=frozenset({"ordinal", "partition_ord", "first_ordinal"}),
    plain=frozenset({"file_id", "path"}),
    ranged=frozenset({"ordinal", "partition_ord", "partition_id", "file_id", "key_id"}),
)
"""Of rows that are of no kind, and of a kind that says no other."""

PLACED = {
    "files": Columns(
        ascending=COLUMNS.ascending | {"size_bytes", "modified_ms", "record_count"},
        plain=frozenset({"file_id", "path", "etag", "digest"}),
        texts=frozenset({"partition"}),
        ranged=frozenset({"ordinal", "partition_ord"}),
    )
}
"""Rows that are read a few here and there, by their position: by pages, so that no column has a dictionary."""

HASHES = frozenset({"file_id", "digest"})
"""What no codec makes smaller."""

ROW_GROUP_ROWS = 16_384
PART_ROWS = 1_048_576
"""Rows of a row group and, at most, of a part (a Parquet file) of a run."""
