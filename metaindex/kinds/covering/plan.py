"""A covering index to build: what the user asked for, with its columns at the version that is indexed; and what a
stored row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.expressions.errors import UnsupportedFeatureError
from metaindex.expressions.records import dataclass
from metaindex.formats.model import Leaf, Schema
from metaindex.keys import column_id, key_id
from metaindex.kinds.columns import columns_of, named
from metaindex.kinds.served import ORDINAL, ROW, RUN, RowSizes, RowWriter
from metaindex.kinds.spark_types import arrow_schema, spark_schema, stored_type
from metaindex.log.entry import CoveredColumn, CoveredKey

from .spec import BUCKETS, AnyCovering, CoveredRows, Covering, CoveringRange

if TYPE_CHECKING:  # what builds is loaded by the verbs that build
    from pyspark.sql import DataFrame

    from metaindex.store.writer import RunSink

PARTITION = CoveredRows.partition
"""The metadata partition that holds the rows of both kinds: `CoveredKey.kind`."""


@dataclass(frozen=True)
class CoveringPlan:
    """`columns`: the indexed ones first; each by the fields that lead to it. `place`: its number among the covering
    keys of its run, so that the parts of each have names of their own."""

    kind: AnyCovering
    key_id: int
    columns: tuple[Leaf, ...]
    place: int = 0

    @property
    def buckets(self) -> int:
        """0: rows are in ranges."""
        return (self.kind.buckets or BUCKETS[0]) if isinstance(self.kind, Covering) else 0

    @property
    def indexed(self) -> int:
        """How many of the columns are."""
        return len(self.kind.indexed)

    @property
    def partition(self) -> str:
        return PARTITION

    @property
    def storable(self) -> bool:
        """Are all columns of types that are stored?"""
        return all(stored_type(leaf.type) is not None for leaf in self.columns)

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns as they are stored, under their stable names, which are those of every run; lineage apart."""
        fields = []
        for leaf in self.columns:
            found = stored_type(leaf.type)
            assert found is not None, "checked when it was planned"
            fields.append(pa.field(leaf.stable, found))
        return pa.schema(fields)

    def spread(self, rows: DataFrame, size_bytes: int) -> DataFrame:
        from .spark import spread

        return spread(self, rows, size_bytes)

    def writer(self, sink: RunSink, task: int, attempt: int) -> RowWriter:
        from .spark import TaskWriter

        return TaskWriter(self, sink, task, attempt)

    def covered(self, sizes: RowSizes, unkeyed_files: int) -> CoveredKey:
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
            **said_of(sizes),
        }
        return CoveredKey(PARTITION, self.key_id, tuple(columns), layout, unkeyed_files)


@dataclass(frozen=True)
class CoveringLayout:
    """What the layout of a covering key says."""

    buckets: int  # 0: rows are in ranges
    indexed: int
    schema_json: str  # a StructType of Spark, lineage apart
    sizes: RowSizes

    @classmethod
    def of(cls, key: CoveredKey) -> CoveringLayout:
        said = key.layout
        sizes = {name.removeprefix(_BYTES): int(value) for name, value in said.items() if name.startswith(_BYTES)}
        counted = RowSizes(sizes, int(said.get(_KEYS, 0)))
        return cls(int(said["buckets"]), int(said["indexed"]), str(said["schema"]), counted)

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns of a part, lineage apart."""
        return arrow_schema(self.schema_json)


_BYTES, _KEYS = "bytes:", "keys"


def said_of(sizes: RowSizes) -> dict[str, int | str]:
    """As the layout says them."""
    return {**{f"{_BYTES}{name}": size for name, size in sizes.column_bytes.items()}, _KEYS: sizes.keys}


def planned(kind: AnyCovering, schema: Schema, place: int) -> CoveringPlan:
    """See `served.RowKind.planned`."""
    rule = "a covering index stores columns of the table"
    columns = tuple(named(columns_of(schema), name, rule) for name in (*kind.indexed, *kind.included))
    _check(kind, columns)
    return CoveringPlan(kind, covering_key_id(kind, [leaf.stable for leaf in columns]), columns, place)


def planned_again(key: CoveredKey, schema: Schema) -> CoveringPlan | None:
    """See `served.ServedRows.planned_again`."""
    layout = CoveringLayout.of(key)
    by_stable: Mapping[str, Leaf] = {leaf.stable: leaf for leaf in columns_of(schema)}
    columns = tuple(by_stable[column.stable] for column in key.columns if column.stable in by_stable)
    if len(columns) < len(key.columns):
        return None
    names = [str(place) for place in range(len(columns))]
    indexed, included = names[: layout.indexed], names[layout.indexed :]
    kind = Covering(indexed, included, layout.buckets) if layout.buckets else CoveringRange(indexed, included)
    plan = CoveringPlan(kind, key.key_id, columns)
    return plan if plan.storable and plan.stored.equals(layout.stored) else None


def covering_key_id(kind: AnyCovering, stables: Sequence[str]) -> int:
    """The id of the key: of the columns in their order, of which of them are indexed, and of how rows are put."""
    indexed = len(kind.indexed)
    how = f"hash:{kind.buckets or BUCKETS[0]}" if isinstance(kind, Covering) else "range"
    return key_id(PARTITION, [*stables[:indexed], "|", *stables[indexed:], how])


def _check(kind: AnyCovering, columns: Sequence[Leaf]) -> None:
    for place, leaf in enumerate(columns):
        name = ".".join(leaf.parts)
        if stored_type(leaf.type) is None:
            raise UnsupportedFeatureError(
                f"a covering index stores types that Arrow and Spark carry unchanged; {name!r} is {leaf.type}; leave it out"
            )
        if leaf.field.partition and pa.types.is_timestamp(leaf.type) and leaf.type.tz is not None:
            raise UnsupportedFeatureError(
                f"a stored value is the same for every session; partition column {name!r} is {leaf.type}, whose texts mean what the session's time zone says; leave it out"
            )
        if place < len(kind.indexed) and pa.types.is_nested(leaf.type):
            raise UnsupportedFeatureError(
                f"an indexed column has an order; {name!r} is {leaf.type}; index a field of it, or include it"
            )
    names = [leaf.stable.lower() for leaf in columns]
    if len({*names, ORDINAL, ROW, RUN}) < len(names) + 3:
        raise UnsupportedFeatureError(
            f"the columns of a covering index differ without regard to case, and from {ORDINAL}, {ROW} and {RUN}; those given do not; leave one out"
        )
