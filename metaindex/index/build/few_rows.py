"""A few rows of Spark's, brought to this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from .row_tasks import gathered, unpickled
from .spark_schemas import GATHERED, sql_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def few_rows(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """The rows of a DataFrame, which are few, under the names and types of `schema`. By a call that an interrupt ends:
    PySpark's own `toArrow` waits for its job whatever comes."""

    def handed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield gathered(0, batch)

    rows = unpickled(frame.mapInArrow(handed, sql_schema(GATHERED)).collect())
    batches = [batch for _, batch in rows if isinstance(batch, pa.RecordBatch)]
    if not batches:
        return schema.empty_table()
    return pa.Table.from_batches(batches).rename_columns(schema.names).cast(schema)
