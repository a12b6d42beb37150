"""A covering index to build: its columns at the version that is indexed, and how its rows are put."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import pyarrow as pa

from metaindex.core import BuildError, UnsupportedFeatureError, Vector, dataclass
from metaindex.formats import Leaf, Schema
from metaindex.index.keys import key_id
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo

from .covering.layout import BITS_OF, CURVE, CUTS, INNER, PARTITION, RowLayout, said_of
from .covering.order import in_spark_order
from .covering.parts import GROUP_BYTES, PART_BYTES, UNPACKED, PartWriter, range_bytes, stretch_bytes
from .covering.placement import POINT, ByColumns, ByCurve, Placement
from .covering.spark import RANGE, TaskWriter, ranges_of, spread, spread_along
from .keyed import covered_column
from .served import NOT_COUNTED, ORDINAL, ROW, RUN, RowSizes, StoredPart, sizes_of, with_lineage
from .spark_types import spark_schema, stored_type

if TYPE_CHECKING:  # what builds is loaded by the verbs that build
    from pyspark.sql import DataFrame

    from metaindex.index.store.writer import RunSink


@dataclass(frozen=True)
class RowPlan:
    """Plain data, which travels to tasks. `columns`: the indexed ones first, `indexed` of them; each by the fields that
    lead to it. `buckets`: 0 where rows are in ranges. `place`: its number among the covering keys of its run, so that
    the parts of each have names of their own."""

    key_id: int
    columns: tuple[Leaf, ...]
    indexed: int
    buckets: int
    place: int = 0
    partition: ClassVar[str] = PARTITION

    @classmethod
    def of(cls, indexed: Sequence[str], included: Sequence[str], buckets: int, schema: Schema, place: int) -> Self:
        """Plan a copy; see `RowKind.planned`. Its id is of the columns in their order, of which of them are indexed,
        and of how rows are put."""
        rule = "a covering index stores columns of the table"
        columns = tuple(schema.column(name, rule) for name in (*indexed, *included))
        _check_columns(columns, len(indexed))
        stables = [leaf.stable for leaf in columns]
        number = key_id(PARTITION, [*stables[: len(indexed)], "|", *stables[len(indexed) :], cls._how(buckets)])
        return cls(number, columns, len(indexed), buckets, place)

    @classmethod
    def again(cls, key: CoveredKey, schema: Schema) -> RowPlan | None:
        """Plan the key again; None where it would store something else."""
        layout = RowLayout.of(key)
        by_stable: Mapping[str, Leaf] = {leaf.stable: leaf for leaf in schema.columns}
        columns = tuple(by_stable[column.stable] for column in key.columns if column.stable in by_stable)
        if len(columns) < len(key.columns) or any(stored_type(leaf.type) is None for leaf in columns):
            return None
        plan = RowPlan(key.key_id, columns, layout.indexed, layout.buckets)
        return plan if plan.stored.equals(layout.stored) and layout.inner in ({}, plan.inner) else None

    @staticmethod
    def _how(buckets: int) -> str:
        return f"hash:{buckets}" if buckets else "range"

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns as they are stored, under their stable names, which are those of every run; lineage apart."""
        fields = []
        for leaf in self.columns:
            stored = stored_type(leaf.type)
            assert stored is not None, "checked when it was planned"
            fields.append(pa.field(leaf.stable, stored))
        return pa.schema(fields)

    @property
    def inner(self) -> dict[str, str]:
        """Fields inside the columns; see `RowLayout`."""
        return {leaf.stable: fields for leaf in self.columns if (fields := leaf.inner_fields)}

    @property
    def placement(self) -> Placement:
        """Placement of the rows."""
        return ByColumns(self.indexed)

    @property
    def travelling(self) -> pa.Schema:
        """The stored columns and lineage under names that mean nothing to SQL."""
        return with_lineage(pa.schema([pa.field(f"c{at}", column.type) for at, column in enumerate(self.stored)]))

    @property
    def travels(self) -> pa.Schema:
        """Columns sent from the task that reads a row to the one that writes it: `travelling`, and the one it is spread
        by."""
        return self.travelling

    def settled(self, earlier: Sequence[CoveredKey], size_bytes: int, sample: Callable[[RowPlan], pa.Table]) -> RowPlan:
        """Complete the plan from the rows. `earlier`: the keys of the index's other runs, the newest first, which it
        keeps to. `sample`: some rows of all files, `travelling` columns of the plan that it is given. `size_bytes`: as
        for `spread`."""
        return self

    def placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows (`travelling`) as they travel."""
        return rows

    def spread(self, rows: DataFrame, size_bytes: int) -> DataFrame:
        """Rows (`travels`) over tasks, sorted in each. `size_bytes`: of data files, in the columns that are stored."""
        return spread(rows, self.indexed, self.buckets, size_bytes)

    def writer(self, sink: RunSink, task: int, attempt: int, size_bytes: int) -> TaskWriter:
        """Return the writer of a task's rows, under names unique to the attempt. `size_bytes`: as for `spread`."""
        tag = f"{attempt:06d}" if self.buckets else f"{task:06d}-{attempt:06d}"
        bucket = task if self.buckets else None
        most = PART_BYTES if self.buckets else range_bytes(size_bytes)
        return TaskWriter(PartWriter(sink, self.key_id, self.stored, self.placement, self.place, tag, bucket, most))

    def tried(self, rows: pa.Table, sink: RunSink) -> RowSizes:
        """Return the sizes that some rows (`with_lineage(stored)`, in any order) would have as a part, to evaluate an
        index that is not built."""
        writer = PartWriter(sink, self.key_id, self.stored, self.placement, self.place, "000000", None)
        writer.add(self._ordered(rows))
        return sizes_of(writer.close())

    def cut(self, rows: pa.Table, parts: int) -> list[StoredPart]:
        """Return so many unwritten parts of equal size for these rows, with bounds and numbers of rows."""
        ordered = self._ordered(rows)
        share = max(1, -(-ordered.num_rows // max(1, parts)))
        pieces = [ordered.slice(start, share) for start in range(0, ordered.num_rows, share)]
        return [StoredPart(_unwritten(piece, self.placement, number), None) for number, piece in enumerate(pieces)]

    def _ordered(self, rows: pa.Table) -> pa.Table:
        return in_spark_order(self.placement.sorting(rows), self.placement.sorted_by).select(rows.column_names)

    def parts_at(self, size_bytes: float) -> int:
        """Return the number of parts of so many stored bytes."""
        return self.buckets or max(1, -int(-size_bytes // range_bytes(int(size_bytes))))

    def covered(self, sizes: RowSizes = NOT_COUNTED, unkeyed_files: int = 0) -> CoveredKey:
        """The key as the log entry names it."""
        columns = tuple(covered_column(leaf, kept.type) for leaf, kept in zip(self.columns, self.stored, strict=True))
        layout = {
            "by": "hash" if self.buckets else "range",
            "buckets": self.buckets,
            "indexed": self.indexed,
            "schema": spark_schema(list(self.stored)),
            **{f"{INNER}{stable}": fields for stable, fields in self.inner.items()},
            **self._said(),
            **said_of(sizes),
        }
        return CoveredKey(PARTITION, self.key_id, columns, layout, unkeyed_files)

    def _said(self) -> dict[str, int | str]:
        """Return additional entries of the layout."""
        return {}


@dataclass(frozen=True)
class CurvePlan(RowPlan):
    """`along`: how rows are put, once it is `settled`; `splits`: where the ranges of the curve begin, but for the first
    one."""

    along: ByCurve | None = None
    splits: tuple[int, ...] = ()

    @staticmethod
    def _how(buckets: int) -> str:
        return CURVE

    @property
    def placement(self) -> ByCurve:
        if self.along is None:
            raise BuildError("rows are put along a curve by cut points; there are none; report this")
        return self.along

    @property
    def travels(self) -> pa.Schema:
        return pa.schema([pa.field(POINT, pa.int64()), pa.field(RANGE, pa.int32()), *self.travelling])

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
            if key.key_id == self.key_id and (layout := RowLayout.of(key)).sizes.column_bytes:
                placement = layout.placement
                assert isinstance(placement, ByCurve), "its key id says so"
                return placement
        return None

    def placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        places = self.placement.places(rows.columns[: self.indexed])
        ranges = np.searchsorted(np.array(self.splits, np.int64), Vector(places).numbers, side="right").astype(np.int32)
        columns = [places, Vector.arrow(ranges, None, pa.int32()), *rows.columns]
        return pa.RecordBatch.from_arrays(columns, schema=self.travels)

    def writer(self, sink: RunSink, task: int, attempt: int, size_bytes: int) -> TaskWriter:
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


def _unwritten(rows: pa.Table, placement: Placement, number: int) -> PartInfo:
    """A part of rows that are not written."""
    bounds = placement.bounds()
    bounds.add(rows)
    return PartInfo(PARTITION, str(number), rows.num_rows, 0, 0, "", None, None, *bounds.said())


def _check_columns(columns: Sequence[Leaf], indexed: int) -> None:
    """Raises as `RowKind.planned`."""
    for place, leaf in enumerate(columns):
        name = ".".join(leaf.parts)
        if stored_type(leaf.type) is None:
            raise UnsupportedFeatureError(
                f"a covering index stores types that Arrow and Spark carry unchanged; {name!r} is {leaf.type}; leave"
                " it out"
            )
        if leaf.field.partition and pa.types.is_timestamp(leaf.type) and leaf.type.tz is not None:
            raise UnsupportedFeatureError(
                f"a stored value is the same for every session; partition column {name!r} is {leaf.type}, whose texts"
                " mean what the session's time zone says; leave it out"
            )
        if place < indexed and pa.types.is_nested(leaf.type):
            raise UnsupportedFeatureError(
                f"an indexed column has an order; {name!r} is {leaf.type}; index a field of it, or include it"
            )
    names = [leaf.stable.lower() for leaf in columns]
    if len({*names, ORDINAL, ROW, RUN}) < len(names) + 3:
        raise UnsupportedFeatureError(
            f"the columns of a covering index differ without regard to case, and from {ORDINAL}, {ROW} and {RUN}; those"
            " given do not; leave one out"
        )
