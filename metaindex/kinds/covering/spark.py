"""What Spark does for a covering index: it puts rows into buckets by its own hash (or into ranges) and sorts them, and
each task writes its bucket or range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.errors import BuildError
from metaindex.kinds.served import ORDINAL, ROW, WrittenPart, with_lineage
from metaindex.store.writer import RunSink

from .order import Ascending, sort_columns
from .parts import PartWriter

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from .plan import CoveringPlan

BUCKET = "_mi_bucket"
"""What Spark says is the bucket of a row: a check."""
_RANGE_BYTES = 64 << 20
"""Of data files, in the columns that are stored, that a range is made of."""
_MOST_RANGES = 10_000


def spread(plan: CoveringPlan, rows: DataFrame, size_bytes: int) -> DataFrame:
    """See `served.RowPlan.spread`."""
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    indexed: list[Column] = [F.col(f"c{place}") for place in range(plan.indexed)]
    if plan.buckets:
        rows = rows.repartition(plan.buckets, *indexed)
    else:
        ranges = max(1, min(_MOST_RANGES, size_bytes // _RANGE_BYTES))
        rows = rows.repartitionByRange(ranges, *indexed) if ranges > 1 else rows.coalesce(1)
    rows = rows.sortWithinPartitions(*indexed, ORDINAL, ROW)
    return rows.withColumn(BUCKET, F.pmod(F.hash(*indexed), F.lit(plan.buckets))) if plan.buckets else rows


@dataclass(slots=True)
class TaskWriter:
    """See `served.RowWriter`: the rows of one bucket or range."""

    plan: CoveringPlan
    sink: RunSink
    task: int
    attempt: int
    _parts: PartWriter = field(init=False)
    _ascending: Ascending = field(init=False)

    def __post_init__(self) -> None:
        plan = self.plan
        tag = f"{self.attempt:06d}" if plan.buckets else f"{self.task:06d}-{self.attempt:06d}"
        bucket = self.task if plan.buckets else None
        self._parts = PartWriter(self.sink, plan.key_id, plan.stored, plan.indexed, plan.place, tag, bucket)
        self._ascending = Ascending(plan.indexed)

    def add(self, rows: pa.Table) -> None:
        bucket, schema = self._parts.bucket, with_lineage(self.plan.stored)
        if bucket is not None:
            if pc.any(pc.not_equal(rows.column(BUCKET), bucket)).as_py():
                raise BuildError(f"rows of bucket {bucket} hash to it; Spark put others there; report this")
            rows = rows.drop_columns([BUCKET])
        rows = rows.rename_columns(schema.names).cast(schema)
        if self._ascending.broken(sort_columns(rows, self.plan.indexed)[0]):
            raise BuildError("rows of a part ascend; Spark gave them in another order; report this")
        self._parts.add(rows)

    def close(self) -> list[WrittenPart]:
        return self._parts.close()
