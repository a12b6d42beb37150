"""Keys: fixed-width hashes of what never changes (RFC-27), and the fixed-size key of one statistic.

    column_id     xxh64  of the column's stable name (`Leaf.stable`: the field id where the format has one, else the dotted path)
    partition_id  xxh64  of the canonical partition text (`model.partition_text`)
    key_id        xxh64  of a kind and the stable names of the columns that it keys together
    file_id       xxh3_128 of what makes the bytes the same: (path, size) in Delta and Iceberg, with modified_ms for plain files
    key           column_id + partition_id + file_id, big-endian, 32 bytes: prefix search by column, or by column and partition

Ids are stored as signed int64 (the same bits), file ids as 16 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa
import xxhash

from formats.model import FileTable

_AT_ONCE = (
    1 << 17
)  # files whose ids are made together: ten million as Python's own bytes would take more memory than all else


def column_id(stable: str) -> int:
    """The id of a column, by its stable name."""
    return _signed(xxhash.xxh64_intdigest(stable.encode()))


def key_id(kind: str, stables: Sequence[str]) -> int:
    """The id of a key: of a kind's rows about one column, or about several columns as one."""
    return _signed(xxhash.xxh64_intdigest("\0".join((kind, *stables)).encode()))


def partition_id(text: str) -> int:
    """The id of a partition, by its canonical text."""
    return _signed(xxhash.xxh64_intdigest(text.encode()))


def file_ids(files: FileTable, table_format: str) -> pa.FixedSizeBinaryArray:
    """The ids of all files, 16 bytes each, in their order. One C call a file over joined columns; no Python object outlives it."""
    names = ["path", "size_bytes", "modified_ms"] if table_format == "files" else ["path", "size_bytes"]
    table = files.table.select(names)
    digests = b"".join(_digests(table.slice(start, _AT_ONCE)) for start in range(0, table.num_rows, _AT_ONCE))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(files), [None, pa.py_buffer(digests)])


def key_prefix(column: int, partition: int | None = None) -> bytes:
    """The prefix that all keys of a column (of a partition) share."""
    return struct.pack(">q", column) if partition is None else struct.pack(">qq", column, partition)


def key(column: int, partition: int, file: bytes) -> bytes:
    """The full key of one statistic."""
    return key_prefix(column, partition) + file


def _digests(files: pa.Table) -> bytes:
    import pyarrow.compute as pc

    path, *rest = files.columns
    joined = pc.binary_join_element_wise(pc.cast(path, pa.binary()), *(_text(column) for column in rest), b"\0")
    return b"".join(map(xxhash.xxh3_128_digest, joined.to_pylist()))


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.cast(pc.fill_null(pc.cast(column, pa.string()), ""), pa.binary())


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
