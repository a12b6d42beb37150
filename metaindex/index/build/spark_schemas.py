"""The rows that travel between Spark's tasks, as Arrow schemas and as Spark's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.kinds.spark_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FILE = pa.schema(
    [
        pa.field("ordinal", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("size_bytes", pa.int64()),
        pa.field("partition_ord", pa.int32()),
        pa.field("partition_id", pa.int64()),
    ]
)
"""What a task is told of a file."""

FILE_ROWS = pa.schema(
    [
        *(field.with_nullable(True) for field in FACT_ROWS.files.schema),
        pa.field("first", pa.bool_()),  # the row of the file's first column: what is said once a file stands there
        pa.field("path", pa.string()),  # of a file with a problem
        pa.field("problem", pa.string()),
        pa.field("scanned", pa.bool_()),
    ]
)
"""The rows of facts with what the report says of the file."""

WRITTEN = pa.schema(
    [
        pa.field("number", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("path", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("size_bytes", pa.int64()),
        pa.field("footer_bytes", pa.int64()),
        pa.field("footer_digest", pa.string()),
        pa.field("first_key", pa.int64()),
        pa.field("last_key", pa.int64()),
        pa.field("least", pa.string()),
        pa.field("greatest", pa.string()),
    ]
)
"""A PartInfo as a row."""

GATHERED = pa.schema([pa.field("place", pa.int32()), pa.field("data", pa.binary())])
"""What a task found of a key, by the key's place: a pickled value of ours."""

_SQL = {
    pa.int8(): "tinyint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.binary(): "binary",
    pa.string(): "string",
    pa.bool_(): "boolean",
}


def sql_schema(schema: pa.Schema) -> str:
    """The schema in Spark's words."""
    return ", ".join(f"`{field.name}` {_SQL[field.type]}" for field in schema)


def struct(schema: pa.Schema) -> StructType:
    """Return the schema as a Spark type, with nested columns."""
    import json

    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(spark_schema(list(schema))))
