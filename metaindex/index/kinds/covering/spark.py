"""Spark's part in a covering index: it puts rows into buckets by its own hash (or into ranges) and sorts them, and each
task writes its bucket or range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError
from metaindex.expressions import column_sql
from metaindex.index.kinds.pieces import WrittenPart
from metaindex.index.kinds.served import ORDINAL, ROW, with_lineage

from .murmur3 import keys_of
from .order import Ascending
from .parts import PartWriter
from .placement import POINT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BUCKET = "_mi_bucket"
"""What Spark says is the bucket of a row: a check."""
RANGE = "_mi_range"
"""Of the curve, in which a row is: the task that sorts and writes it."""
_RANGE_BYTES = 64 << 20
"""Of data files, in the columns that are stored, that a range is made of."""
_MOST_RANGES = 10_000


def ranges_of(size_bytes: int) -> int:
    """Return the number of ranges for so many bytes of data files in the stored columns."""
    return max(1, min(_MOST_RANGES, size_bytes // _RANGE_BYTES))


def spread(rows: DataFrame, indexed: int, buckets: int, size_bytes: int) -> DataFrame:
    """Distribute the rows; see `RowPlan.spread`."""
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    columns: list[Column] = [F.col(f"c{place}") for place in range(indexed)]
    if buckets:
        rows = rows.repartition(buckets, *columns)
    else:
        ranges = ranges_of(size_bytes)
        rows = rows.repartitionByRange(ranges, *columns) if ranges > 1 else rows.coalesce(1)
    rows = rows.sortWithinPartitions(*columns, ORDINAL, ROW)
    return rows.withColumn(BUCKET, F.pmod(F.hash(*columns), F.lit(buckets))) if buckets else rows


def spread_along(rows: DataFrame, ranges: int) -> DataFrame:
    """Rows that say where they are on a curve, and in which range of it."""
    rows = by_number(rows, ranges, RANGE) if ranges > 1 else rows.coalesce(1)
    return rows.sortWithinPartitions(POINT, ORDINAL, ROW)


def by_number(rows: DataFrame, count: int, column: str) -> DataFrame:
    """Put each row into the partition that a column names, of `count` ones. Spark does so from 4.1 on; before, a number
    stands for a key whose hash is that partition's."""
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    if hasattr(rows, "repartitionById"):
        return rows.repartitionById(count, column)
    keys = ",".join(map(str, keys_of(count).tolist()))
    return rows.repartition(count, F.expr(f"element_at(array({keys}), {column_sql((column,))} + 1)"))


@dataclass(slots=True)
class TaskWriter:
    """Writes the rows of one bucket or range."""

    parts: PartWriter
    _ascending: Ascending = field(init=False)

    def __post_init__(self) -> None:
        self._ascending = Ascending(self.parts.placement.sorted_by)

    def add(self, rows: pa.Table) -> None:
        bucket, schema = self.parts.bucket, with_lineage(self.parts.stored)
        if bucket is not None and pc.any(pc.not_equal(rows.column(BUCKET), bucket)).as_py():
            raise BuildError(f"rows of bucket {bucket} hash to it; Spark put others there; report this")
        travelled = [f"c{place}" for place in range(len(self.parts.stored))]
        rows = rows.select([*travelled, ORDINAL, ROW]).rename_columns(schema.names).cast(schema)
        if self._ascending.broken(self.parts.placement.sorting(rows)):
            raise BuildError("rows of a part ascend; Spark gave them in another order; report this")
        self.parts.add(rows)

    def close(self) -> list[WrittenPart]:
        return self.parts.close()
