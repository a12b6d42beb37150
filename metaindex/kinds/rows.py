"""The rows of the metadata partitions `files`, `partitions`, `column_stats` and `partition_stats`: Arrow schemas, sort
orders, meaning.

A **run** covers N files, numbered 0..N-1 by their order of (partition text, path): the file's `ordinal`. Its partitions
are numbered likewise (`partition_ord`), so that the files of a partition are one range of ordinals. Ordinals and not
file ids stand in the statistics' rows: 4 bytes that compress instead of 16 that do not; `files` maps them to ids and
paths and back.

State of a statistic (lessons A 1, 2: never a sentinel):

    UNKNOWN   the values are not bounded, both bounds are null: the file is kept; counts stand for themselves and may be known
    ALL_NULL  every row is NULL (a file of zero rows too): bounds are null because there is nothing to bound; null_count = value_count
    VALUES    lower and upper, both present, enclose every non-null, non-NaN value; or both null where all values are NaN

A value with no upper bound (64 bytes of 0xFF) is UNKNOWN: so the least lower and greatest upper bound of a row group
without UNKNOWN rows bound it whole.
"""  # noqa: W505

from __future__ import annotations

from enum import IntEnum

import pyarrow as pa

FORMAT_VERSION = 1


class StatState(IntEnum):
    UNKNOWN = 0
    ALL_NULL = 1
    VALUES = 2


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
    ]
)
"""Sorted by ordinal, one row a file: ordinal -> file."""

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

_STATISTIC = [
    pa.field("state", pa.int8(), nullable=False),  # StatState
    pa.field("lower_int", pa.int64()),
    pa.field("upper_int", pa.int64()),
    pa.field("lower_double", pa.float64()),
    pa.field("upper_double", pa.float64()),
    pa.field("lower_bytes", pa.binary()),  # at most BOUND_BYTES, cut downwards
    pa.field(
        "upper_bytes", pa.binary()
    ),  # at most BOUND_BYTES, cut upwards (byte successor); where that does not exist the state is UNKNOWN
    pa.field("null_count", pa.int64()),  # null: unknown
    pa.field("nan_count", pa.int64()),  # null: unknown; 0 for types without NaN
    pa.field("value_count", pa.int64()),  # rows, NULLs included (as RFC-27 and Parquet count); null: unknown
    pa.field("lower_exact", pa.bool_(), nullable=False),
    pa.field("upper_exact", pa.bool_(), nullable=False),
    pa.field("trust", pa.int8(), nullable=False),  # formats.model.Trust
    pa.field("compressed_bytes", pa.int64()),  # of the column's chunks; null where the format has none (CSV)
    pa.field("uncompressed_bytes", pa.int64()),
]

COLUMN_STATS = pa.schema(
    [
        pa.field("column_id", pa.int64(), nullable=False),
        pa.field("partition_ord", pa.int32(), nullable=False),
        pa.field("ordinal", pa.int32(), nullable=False),
        *_STATISTIC,
        pa.field("partition_id", pa.int64(), nullable=False),
    ]
)
"""One row for every file and covered column; none is missing, what is not known is a row of state UNKNOWN.
Sorted by (column_id, partition_ord, lower bound with nulls first, ordinal), the lower bound being the one of the
column's physical domain."""

PARTITION_STATS = pa.schema(
    [
        pa.field("column_id", pa.int64(), nullable=False),
        pa.field("partition_ord", pa.int32(), nullable=False),
        *_STATISTIC,
        pa.field("file_count", pa.int32(), nullable=False),
        pa.field("partition_id", pa.int64(), nullable=False),
    ]
)
"""One row for every partition of the run and covered column, and for every partition column (its value is both bounds,
exact). The aggregate of its files: UNKNOWN as soon as one of them is UNKNOWN, counts null as soon as one is null,
bounds the least and greatest. Sorted by (column_id, partition_ord)."""

BOUND_BYTES = 64
"""Longer byte bounds are cut: the lower to its first bytes, the upper to the successor of its first bytes; neither is
exact then."""

ROW_GROUP_ROWS = 16_384
PART_ROWS = 1_048_576
"""Rows of a row group and, at most, of a part (a Parquet file) of a run."""
