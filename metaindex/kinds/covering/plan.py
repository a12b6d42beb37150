"""A covering index to build: what the user asked for, with its columns at the version that is indexed; and what a
stored row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import pyarrow as pa

from metaindex.expressions.errors import UnsupportedFeatureError
from metaindex.expressions.records import dataclass
from metaindex.formats.model import Field, Leaf, Schema
from metaindex.keys import column_id, key_id
from metaindex.kinds.columns import columns_of, named
from metaindex.kinds.kind import Kind
from metaindex.log.entry import CoveredColumn, CoveredKey

from .spec import BUCKETS, AnyCovering, CoveredRows, Covering, CoveringRange
from .types import arrow_schema, refuse, spark_schema, stored_type

PARTITION = CoveredRows.partition
"""The metadata partition that holds the rows of both kinds: `CoveredKey.kind`."""

ORDINAL, ROW = "_mi_ordinal", "_mi_row"
RUN = "_mi_run"
"""No column of a part: the rule numbers the runs that a scan reads by it."""
LINEAGE = (pa.field(ORDINAL, pa.int32()), pa.field(ROW, pa.int64()))
"""The last columns of a part: which file of the run a row is of, and which row of it. Files of texts have no row
numbers: -1."""

NO_ROW = -1


@dataclass(frozen=True)
class CoveredSizes:
    """Of the parts of a key in a run. `column_bytes`: what each stored column takes, compressed, lineage too. `keys`:
    how many different values of the indexed columns follow on each other (what stands at the end of one part and the
    beginning of the next counts twice); 0: not known, which runs before this was counted do not tell."""

    column_bytes: Mapping[str, int]
    keys: int = 0

    @property
    def said(self) -> dict[str, int | str]:
        """As the layout says it."""
        return {**{f"{_BYTES}{name}": size for name, size in self.column_bytes.items()}, _KEYS: self.keys}


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

    def covered(self, sizes: CoveredSizes, unkeyed_files: int) -> CoveredKey:
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
            **sizes.said,
        }
        return CoveredKey(PARTITION, self.key_id, tuple(columns), layout, unkeyed_files)


@dataclass(frozen=True)
class CoveringLayout:
    """What the layout of a covering key says."""

    buckets: int  # 0: rows are in ranges
    indexed: int
    schema_json: str  # a StructType of Spark, lineage apart
    sizes: CoveredSizes

    @classmethod
    def of(cls, key: CoveredKey) -> CoveringLayout:
        said = key.layout
        sizes = {name.removeprefix(_BYTES): int(value) for name, value in said.items() if name.startswith(_BYTES)}
        counted = CoveredSizes(sizes, int(said.get(_KEYS, 0)))
        return cls(int(said["buckets"]), int(said["indexed"]), str(said["schema"]), counted)

    @cached_property
    def stored(self) -> pa.Schema:
        """The columns of a part, lineage apart."""
        return arrow_schema(self.schema_json)


_BYTES, _KEYS = "bytes:", "keys"


def with_lineage(stored: pa.Schema) -> pa.Schema:
    """All columns of a part."""
    return pa.schema([*stored, *LINEAGE])


def covering_plans(kinds: Sequence[Kind], schema: Schema) -> list[CoveringPlan]:
    """The covering indexes that kinds ask for at a schema, each once. UnknownColumnError, with the near names, for a
    column that is not there; UnsupportedFeatureError for one whose type is not stored, or that is indexed and has no
    order."""
    plans: dict[int, CoveringPlan] = {}
    for kind in kinds:
        if isinstance(kind, Covering | CoveringRange):
            rule = "a covering index stores columns of the table"
            columns = tuple(named(columns_of(schema), name, rule) for name in (*kind.indexed, *kind.included))
            _check(kind, columns)
            number = covering_key_id(kind, [leaf.stable for leaf in columns])
            plans.setdefault(number, CoveringPlan(kind, number, columns, len(plans)))
    return list(plans.values())


def covering_key_id(kind: AnyCovering, stables: Sequence[str]) -> int:
    """The id of the key: of the columns in their order, of which of them are indexed, and of how rows are put."""
    indexed = len(kind.indexed)
    how = f"hash:{kind.buckets or BUCKETS[0]}" if isinstance(kind, Covering) else "range"
    return key_id(PARTITION, [*stables[:indexed], "|", *stables[indexed:], how])


def _check(kind: AnyCovering, columns: Sequence[Leaf]) -> None:
    for place, leaf in enumerate(columns):
        name = ".".join(leaf.parts)
        if stored_type(leaf.type) is None:
            raise refuse(name, leaf.type)
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


def chain(leaf: Leaf) -> Field:
    """The column's top-level field with nothing else inside it."""
    field = leaf.path[-1]
    for above in reversed(leaf.path[:-1]):
        field = replace(above, children=(field,), type=pa.struct([pa.field(field.name, field.type)]))
    return field
