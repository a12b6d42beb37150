"""A covering index along a curve to build: with the cut points by which its rows have their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.core import BuildError, Vector, arrow_array, dataclass
from metaindex.formats import Schema
from metaindex.index.kinds.served import RowPlan, RowWriter, travelling
from metaindex.index.log.entry import CoveredKey

from .layout import BITS_OF, CURVE, CUTS, CoveringLayout
from .parts import GROUP_BYTES, UNPACKED, PartWriter, stretch_bytes
from .placement import POINT, ByCurve
from .plan import CoveringPlan, check_columns, covering_key_id
from .spark import RANGE, TaskWriter, ranges_of, spread_along

if TYPE_CHECKING:  # what builds is loaded by the verbs that build
    from pyspark.sql import DataFrame

    from metaindex.index.store.writer import RunSink


@dataclass(frozen=True)
class CurvePlan(CoveringPlan):
    """`along`: how rows are put, once it is `settled`; `splits`: where the ranges of the curve begin, but for the first
    one."""

    along: ByCurve | None = None
    splits: tuple[int, ...] = ()

    @property
    def placement(self) -> ByCurve:
        if self.along is None:
            raise BuildError("rows are put along a curve by cut points; there are none; report this")
        return self.along

    @property
    def bounded(self) -> int:
        return self.indexed

    @property
    def travels(self) -> pa.Schema:
        return pa.schema([pa.field(POINT, pa.int64()), pa.field(RANGE, pa.int32()), *travelling(self)])

    def settled(
        self, earlier: Sequence[CoveredKey], size_bytes: int, sample: Callable[[RowPlan], pa.Table]
    ) -> CurvePlan:
        if self.along is not None:
            return self
        along, ranges = self._as_before(earlier), ranges_of(size_bytes)
        if along is not None and ranges == 1:
            return replace(self, along=along)
        rows = sample(replace(self, columns=self.columns[: self.indexed]))
        columns = [Vector(column).array for column in rows.columns[: self.indexed]]
        along = along or ByCurve.of(columns)
        places = np.sort(Vector(along.places(columns)).numbers)
        starts = [len(places) * number // ranges for number in range(1, ranges)] if len(places) else []
        return replace(self, along=along, splits=tuple(places[starts].tolist()))

    def _as_before(self, earlier: Sequence[CoveredKey]) -> ByCurve | None:
        """Return the placement of another run's rows, the newest first; None if no run has rows."""
        for key in earlier:
            if key.key_id == self.key_id and (layout := CoveringLayout.of(key)).sizes.column_bytes:
                placement = layout.placement
                assert isinstance(placement, ByCurve), "its key id says so"
                return placement
        return None

    def placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        places = self.placement.places(rows.columns[: self.indexed])
        ranges = np.searchsorted(np.array(self.splits, np.int64), Vector(places).numbers, side="right").astype(np.int32)
        columns = [places, arrow_array(ranges, None, pa.int32()), *rows.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.travels)

    def writer(self, sink: RunSink, task: int, attempt: int, size_bytes: int) -> RowWriter:
        tag, most = f"{task:06d}-{attempt:06d}", stretch_bytes(size_bytes)
        group = min(GROUP_BYTES, UNPACKED * most)
        parts = PartWriter(sink, self.key_id, self.stored, self.placement, self.place, tag, None, most, group)
        return TaskWriter(parts)

    def parts_at(self, size_bytes: float) -> int:
        return max(1, -int(-size_bytes // stretch_bytes(int(size_bytes))))

    def spread(self, rows: DataFrame, size_bytes: int) -> DataFrame:
        return spread_along(rows, ranges_of(size_bytes))

    def _said(self) -> dict[str, int | str]:
        cuts = {f"{CUTS}{place}": text for place, text in enumerate(self.placement.cuts)}
        return {"by": CURVE, BITS_OF: self.placement.bits, **cuts}


def planned_along(indexed: Sequence[str], included: Sequence[str], schema: Schema, place: int) -> CurvePlan:
    """Plan a copy along a curve; see `served.RowKind.planned`."""
    rule = "a covering index stores columns of the table"
    columns = tuple(schema.column(name, rule) for name in (*indexed, *included))
    check_columns(columns, len(indexed))
    number = covering_key_id([leaf.stable for leaf in columns], len(indexed), CURVE)
    return CurvePlan(number, columns, len(indexed), 0, place)
