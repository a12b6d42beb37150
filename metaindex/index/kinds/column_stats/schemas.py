"""The rows of the metadata partitions `column_stats` and `partition_stats`: Arrow schemas, sort orders, meaning."""

from __future__ import annotations

import pyarrow as pa

from metaindex.index.store.rows import Columns

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
    pa.field("trust", pa.int8(), nullable=False),  # metaindex.formats.model.Trust
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
        pa.field("form", pa.int8()),  # `Form` of the column in the file's footer; null: unknown
    ]
)
"""One row for every file and covered column; none is missing, what is not known is a row of state UNKNOWN. The bounds
of a column stand in those of its physical domain, the others are null."""

LATER = "form"
"""The column of COLUMN_STATS that parts of an older metaindex lack."""

ORDER = ("column_id", "partition_ord", "lower_int", "lower_double", "lower_bytes", "ordinal")
"""By what rows of COLUMN_STATS are sorted, nulls first."""

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

COLUMNS = Columns(
    ascending=frozenset({"partition_ord", "ordinal", "lower_int", "upper_int", "null_count", "value_count"}),
    plain=frozenset({"lower_double", "upper_double", "lower_bytes", "upper_bytes"}),
    apart=True,  # a column of many files has parts of its own, and few footers are read for it
    ranged=frozenset(COLUMN_STATS.names[: COLUMN_STATS.get_field_index("value_count")]) | {"trust", "partition_id"},
)
"""How the rows of both levels are written. Ranged are what rows are found by, and what bounds say."""
