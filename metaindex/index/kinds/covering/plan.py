"""A covering index to build: its columns at the version that is indexed, and how its rows are put."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import UnsupportedFeatureError, dataclass
from metaindex.formats import Leaf, Schema
from metaindex.index.keys import column_id, key_id
from metaindex.index.kinds.served import (
    NOT_COUNTED,
    ORDINAL,
    ROW,
    RUN,
    RowPlan,
    RowSizes,
    RowWriter,
    StoredPart,
    sizes_of,
    travelling,
    with_lineage,
)
from metaindex.index.kinds.spark_types import spark_schema, stored_type
from metaindex.index.log.entry import CoveredColumn, CoveredKey
from metaindex.index.store.layout import PartInfo

from .layout import PARTITION, CoveringLayout, inner_said, said_of

if TYPE_CHECKING:  # what builds is loaded by the verbs that build
    from pyspark.sql import DataFrame

    from metaindex.index.store.writer import RunSink

    from .placement import Placement


@dataclass(frozen=True)
class CoveringPlan:
    """`columns`: the indexed ones first, `indexed` of them; each by the fields that lead to it. `buckets`: 0 where rows
    are in ranges. `place`: its number among the covering keys of its run, so that the parts of each have names of their
    own."""

    key_id: int
    columns: tuple[Leaf, ...]
    indexed: int
    buckets: int
    place: int = 0

    @property
    def partition(self) -> str:
        return PARTITION

    @property
    def storable(self) -> bool:
        """True if all columns have types that are stored."""
        return all(stored_type(leaf.type) is not None for leaf in self.columns)

    @property
    def part_schema(self) -> pa.Schema:
        return with_lineage(self.stored)

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
        """Fields inside the columns; see `CoveringLayout`."""
        return {leaf.stable: fields for leaf in self.columns if (fields := leaf.inner_fields)}

    @property
    def placement(self) -> Placement:
        """Placement of the rows."""
        from .placement import ByColumns

        return ByColumns(self.indexed)

    @property
    def bounded(self) -> int:
        return 0 if self.buckets else 1

    @property
    def travels(self) -> pa.Schema:
        return travelling(self)

    def settled(
        self, earlier: Sequence[CoveredKey], size_bytes: int, sample: Callable[[RowPlan], pa.Table]
    ) -> CoveringPlan:
        return self

    def placed(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows

    def spread(self, rows: DataFrame, size_bytes: int) -> DataFrame:
        from .spark import spread

        return spread(rows, self.indexed, self.buckets, size_bytes)

    def writer(self, sink: RunSink, task: int, attempt: int, size_bytes: int) -> RowWriter:
        from .parts import PART_BYTES, PartWriter, range_bytes
        from .spark import TaskWriter

        tag = f"{attempt:06d}" if self.buckets else f"{task:06d}-{attempt:06d}"
        bucket = task if self.buckets else None
        most = PART_BYTES if self.buckets else range_bytes(size_bytes)
        return TaskWriter(PartWriter(sink, self.key_id, self.stored, self.placement, self.place, tag, bucket, most))

    def tried(self, rows: pa.Table, sink: RunSink) -> RowSizes:
        from .order import in_spark_order
        from .parts import PartWriter

        keyed = self.placement.sorting(rows)
        writer = PartWriter(sink, self.key_id, self.stored, self.placement, self.place, "000000", None)
        writer.add(in_spark_order(keyed, self.placement.sorted_by).select(rows.column_names))
        return sizes_of(writer.close())

    def cut(self, rows: pa.Table, parts: int) -> list[StoredPart]:
        from .order import in_spark_order

        placement = self.placement
        ordered = in_spark_order(placement.sorting(rows), placement.sorted_by).select(rows.column_names)
        share = max(1, -(-ordered.num_rows // max(1, parts)))
        pieces = [ordered.slice(start, share) for start in range(0, ordered.num_rows, share)]
        return [StoredPart(_unwritten(piece, placement, number), None) for number, piece in enumerate(pieces)]

    def parts_at(self, size_bytes: float) -> int:
        from .parts import range_bytes

        return self.buckets or max(1, -int(-size_bytes // range_bytes(int(size_bytes))))

    def covered(self, sizes: RowSizes = NOT_COUNTED, unkeyed_files: int = 0) -> CoveredKey:
        """The key as the log entry names it."""
        columns = (
            CoveredColumn(
                leaf.stable, column_id(leaf.stable), ".".join(leaf.parts), str(stored.type), leaf.field.partition
            )
            for leaf, stored in zip(self.columns, self.stored, strict=True)
        )
        layout = {
            "by": "hash" if self.buckets else "range",
            "buckets": self.buckets,
            "indexed": self.indexed,
            "schema": spark_schema(list(self.stored)),
            **inner_said(self.inner),
            **self._said(),
            **said_of(sizes),
        }
        return CoveredKey(PARTITION, self.key_id, tuple(columns), layout, unkeyed_files)

    def _said(self) -> dict[str, int | str]:
        """Return additional entries of the layout."""
        return {}


def _unwritten(rows: pa.Table, placement: Placement, number: int) -> PartInfo:
    """A part of rows that are not written."""
    bounds = placement.bounds()
    bounds.add(rows)
    return PartInfo(PARTITION, str(number), rows.num_rows, 0, 0, "", None, None, *bounds.said())


def planned(indexed: Sequence[str], included: Sequence[str], buckets: int, schema: Schema, place: int) -> CoveringPlan:
    """Plan a copy in buckets or ranges; see `served.RowKind.planned`."""
    rule = "a covering index stores columns of the table"
    columns = tuple(schema.column(name, rule) for name in (*indexed, *included))
    check_columns(columns, len(indexed))
    how = f"hash:{buckets}" if buckets else "range"
    number = covering_key_id([leaf.stable for leaf in columns], len(indexed), how)
    return CoveringPlan(number, columns, len(indexed), buckets, place)


def planned_again(key: CoveredKey, schema: Schema) -> CoveringPlan | None:
    """Plan the key again; see `served.ServedRows.planned_again`."""
    layout = CoveringLayout.of(key)
    by_stable: Mapping[str, Leaf] = {leaf.stable: leaf for leaf in schema.columns}
    columns = tuple(by_stable[column.stable] for column in key.columns if column.stable in by_stable)
    if len(columns) < len(key.columns):
        return None
    plan = CoveringPlan(key.key_id, columns, layout.indexed, layout.buckets)
    same = plan.storable and plan.stored.equals(layout.stored) and layout.inner in ({}, plan.inner)
    return plan if same else None


def covering_key_id(stables: Sequence[str], indexed: int, how: str) -> int:
    """The id of the key: of the columns in their order, of which of them are indexed, and of how rows are put."""
    return key_id(PARTITION, [*stables[:indexed], "|", *stables[indexed:], how])


def check_columns(columns: Sequence[Leaf], indexed: int) -> None:
    """Raises as `planned`."""
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
