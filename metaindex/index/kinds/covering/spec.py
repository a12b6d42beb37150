"""User's specification of a copy of the table's rows: bucketed or in ranges, sorted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ArgumentError, Mask, dataclass
from metaindex.expressions import ColumnRef, Predicate, parse_path
from metaindex.formats import Schema
from metaindex.index.kinds.kind import AskedColumns, KeyRows, Kind, LayoutRule, Merged, MergeInto
from metaindex.index.kinds.served import RowKind, RowPlan, ServedRows, StoredPart
from metaindex.index.log.entry import CoveredKey, KindSpec

from .layout import BITS_OF, CURVE, CUTS, INNER, PARTITION, CoveringLayout

if TYPE_CHECKING:
    from metaindex.index.kinds.command import KindCommand
    from metaindex.index.store.reader import RunReader

MOST_BUCKETS = 100_000
"""The five digits of a bucket in a part's name, by which Spark finds it."""
BUCKETS = (8, 64, 512, 4096, 32768)
"""Numbers that are chosen where none is said: few steps, so that tables of about a size have as many, and each divides
the next."""
BUCKET_BYTES = 128 << 20
"""Of the stored columns, that a bucket has at most then."""


def buckets_for(size_bytes: float) -> int:
    """The number of buckets for so many bytes."""
    return next((count for count in BUCKETS if size_bytes <= count * BUCKET_BYTES), BUCKETS[-1])


class CoveredRows(ServedRows):
    """The stored rows of all covering kinds."""

    __slots__ = ()
    partition = PARTITION
    layout = LayoutRule(
        frozenset({"by", "buckets", "indexed", "schema", "keys", BITS_OF}),
        {"by": ("hash", "range", CURVE)},
        prefixes=("bytes:", CUTS, INNER),
    )
    unkeyed_because = "rows in doubt"

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        from .merge import merge_rows

        return merge_rows(key, some, into.sink, into.number, into.write)

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        from .verified import check_parts

        check_parts(reader, key, unkeyed, records)

    @classmethod
    def senseless(cls, key: CoveredKey) -> str | None:
        layout = CoveringLayout.of(key)
        if not 0 < layout.indexed <= len(key.columns) or not 0 <= layout.buckets < MOST_BUCKETS:
            return "counts that no covering key has"
        if layout.curve is None:
            return None  # its id says more than the columns; who reads its rows checks them
        from .cuts import no_curve

        return "a curve in buckets" if layout.buckets else no_curve(layout.curve, layout.indexed)

    @classmethod
    def together(cls, key: CoveredKey, other: CoveredKey) -> bool:
        layout, another = CoveringLayout.of(key), CoveringLayout.of(other)
        rows = layout.sizes.column_bytes and another.sizes.column_bytes
        # Of no rows, cut points mean nothing.
        return layout.inner == another.inner and (layout.curve == another.curve or not rows)

    @classmethod
    def said(cls, key: CoveredKey) -> str:
        names = [column.name for column in key.columns]
        indexed, buckets = int(key.layout["indexed"]), key.layout["buckets"]
        how = f"{buckets} buckets of " if buckets else "ranges of "
        how = "along a curve by " if key.layout["by"] == CURVE else how
        included = f"; {', '.join(names[indexed:])}" if names[indexed:] else ""
        return f"covering({how}{', '.join(names[:indexed])}{included})"

    @classmethod
    def row_layout(cls, key: CoveredKey) -> CoveringLayout:
        return CoveringLayout.of(key)

    @classmethod
    def lasting(cls, key: CoveredKey) -> str:
        if CoveringLayout.of(key).curve is None:
            return ""
        return "its curve keeps cut points, which are beginnings of values that its rows had when they were made"

    @classmethod
    def parts(cls, reader: RunReader, key: CoveredKey) -> list[StoredPart]:
        from .parts import stored_parts

        return stored_parts(reader, key)

    @classmethod
    def parts_left(
        cls,
        key: CoveredKey,
        parts: Sequence[StoredPart],
        conjuncts: Sequence[Predicate],
        names: Mapping[ColumnRef, str],
    ) -> list[StoredPart]:
        from .range_parts import columns_said, parts_left

        return parts_left(parts, conjuncts, columns_said(CoveringLayout.of(key), names))

    @classmethod
    def rows_of(cls, reader: RunReader, key: CoveredKey, ordinals: npt.NDArray[np.intp]) -> pa.Table:
        from .verified import rows_of

        return rows_of(reader, key, ordinals)

    @classmethod
    def planned_again(cls, key: CoveredKey, schema: Schema) -> RowPlan | None:
        from .plan import planned_again

        return planned_again(key, schema)


@dataclass(frozen=True, slots=True, init=False)
class Covering(RowKind):
    """A covering index (Hyperspace): the indexed and included columns of every row, in `buckets` buckets by Spark's own
    hash of the indexed columns and sorted by them in each.

    Spark reads it in the place of the table where a query needs no other columns: for filters on the first indexed
    column, and for joins and groups by the indexed columns, which then need no shuffle. Where `buckets` is not said it
    follows from the table's size when the index is created (`BUCKETS`). Columns are top-level ones or fields of structs
    (`payload.user`); the indexed ones have a primitive type. Built by Spark.
    """

    indexed: tuple[str, ...]
    included: tuple[str, ...]
    buckets: int | None

    def __init__(
        self, indexed: str | Sequence[str], included: str | Sequence[str] = (), buckets: int | None = None
    ) -> None:
        if buckets is not None and (
            not isinstance(buckets, int) or isinstance(buckets, bool) or not 1 <= buckets < MOST_BUCKETS
        ):
            raise ArgumentError(f"buckets is a number from 1 to {MOST_BUCKETS - 1:,}; got {buckets!r}")
        object.__setattr__(self, "indexed", names_of("Covering", "indexed", indexed))
        object.__setattr__(self, "included", names_of("Covering", "included", included))
        object.__setattr__(self, "buckets", buckets)
        check_names("Covering", self.indexed, self.included)

    name = "covering"

    def spec(self) -> KindSpec:
        said = {"indexed": list(self.indexed), "included": list(self.included), "buckets": self.buckets}
        return KindSpec(self.name, self.version, said)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(said["indexed"], said["included"], said["buckets"])

    @classmethod
    def rows(cls) -> type[ServedRows]:
        return CoveredRows

    def planned(self, schema: Schema, place: int) -> RowPlan:
        from .plan import planned

        return planned(self.indexed, self.included, self.buckets or BUCKETS[0], schema, place)

    def buckets_at(self, size_bytes: float) -> int:
        return self.buckets or buckets_for(size_bytes)

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        if not asked.needed:  # of conditions alone nobody knows what it would have to hold
            return []
        firsts = dict.fromkeys((*asked.compared[:1], *asked.joined[:1], *asked.grouped[:1]))
        return [cls([first], other_columns(asked, first)) for first in firsts]

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from .command import CoveringCommand

        return CoveringCommand("--covering", cls, ("indexed", "included", "buckets"))

    def sized(self, schema: Schema, table_bytes: int) -> Covering:
        """Choose the number of buckets, unless it is given, for the stored columns' share of the table's bytes,
        estimated from the widths of types."""
        if self.buckets is not None:
            return self
        from metaindex.index.kinds.served import RowSizes

        every = sum(RowSizes.of_value(field.type) for field in schema.fields) or 1
        widths = {leaf.parts: RowSizes.of_value(leaf.type) for leaf in schema.columns}
        columns = (schema.column(name, "") for name in (*self.indexed, *self.included))
        share = min(1.0, sum(widths[leaf.parts] for leaf in columns) / every)
        return Covering(self.indexed, self.included, buckets_for(table_bytes * share))


@dataclass(frozen=True, slots=True, init=False)
class CoveringRange(RowKind):
    """Copy of rows like `Covering`, but in ranges across partitions: the rows of a run are cut into ranges of the
    indexed columns, each sorted, so that `BETWEEN` reads few parts. Joins shuffle."""

    indexed: tuple[str, ...]
    included: tuple[str, ...]

    def __init__(self, indexed: str | Sequence[str], included: str | Sequence[str] = ()) -> None:
        object.__setattr__(self, "indexed", names_of("CoveringRange", "indexed", indexed))
        object.__setattr__(self, "included", names_of("CoveringRange", "included", included))
        check_names("CoveringRange", self.indexed, self.included)

    name = "covering_range"

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"indexed": list(self.indexed), "included": list(self.included)})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(said["indexed"], said["included"])

    @classmethod
    def rows(cls) -> type[ServedRows]:
        return CoveredRows

    def planned(self, schema: Schema, place: int) -> RowPlan:
        from .plan import planned

        return planned(self.indexed, self.included, 0, schema, place)

    def buckets_at(self, size_bytes: float) -> int:
        return 0

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        firsts = asked.ranged or (asked.ordered if asked.needed else ())
        return [cls([first], other_columns(asked, first)) for first in firsts[:1]]

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from .command import CoveringCommand

        return CoveringCommand("--covering-range", cls, ("indexed", "included"))


def other_columns(asked: AskedColumns, *indexed: str) -> list[str]:
    """Return what such queries read beside the indexed columns. A struct read whole includes its fields."""
    needed = {parse_path(name) for name in asked.needed}
    named = [name for name in asked.named if len(path := parse_path(name)) == 1 or path[:1] not in needed]
    return [name for name in dict.fromkeys((*named, *asked.needed)) if name not in indexed]


def names_of(kind: str, what: str, columns: str | Sequence[str]) -> tuple[str, ...]:
    """The columns that a constructor is given. ArgumentError for what is no name."""
    names = (columns,) if isinstance(columns, str) or not isinstance(columns, Sequence) else tuple(columns)
    if not all(isinstance(name, str) and name for name in names):
        raise ArgumentError(
            f"columns are names, as in {kind}(indexed=['day'], included=['tailnum']); {what} is {columns!r}"
        )
    return names


def check_names(kind: str, indexed: tuple[str, ...], included: tuple[str, ...]) -> None:
    """ArgumentError where no column is indexed, or one is named twice."""
    if not indexed:
        raise ArgumentError(
            f"{kind} indexes at least one column; none was given; name it, as in {kind}(indexed=['user_id'])"
        )
    every = [*indexed, *included]
    if again := next((name for name in every if every.count(name) > 1), None):
        raise ArgumentError(f"{kind} names each column once; {again!r} is named again; leave it out")
