"""Kinds whose rows are rows of the table, kept a second time: a query reads them in the table's place.

Rows stand in parts that Spark reads as they are, sorted by the indexed columns, which are the first: in buckets by
Spark's own hash of them, in ranges of their values, or along a curve through several of them. Each row ends in its
*lineage*: which file of the run it is of, and which row of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ArgumentError, Mask, dataclass
from metaindex.expressions import ColumnRef, Predicate, parse_path
from metaindex.formats import Leaf, Schema
from metaindex.index.kinds.kind import AskedColumns, KeyRows, Kind, LayoutRule, Merged, MergeInto, StoredKind
from metaindex.index.kinds.served import RowSizes, StoredPart
from metaindex.index.log.entry import CoveredKey, KindSpec

from .layout import BITS_OF, CURVE, CUTS, INNER, PARTITION, RowLayout

if TYPE_CHECKING:
    from metaindex.index.kinds.command import KindCommand
    from metaindex.index.kinds.row_plan import RowPlan
    from metaindex.index.store.reader import RunReader

MOST_BUCKETS = 100_000
"""The five digits of a bucket in a part's name, by which Spark finds it."""
BUCKETS = (8, 64, 512, 4096, 32768)
"""Numbers that are chosen where none is said: few steps, so that tables of about a size have as many, and each divides
the next."""
BUCKET_BYTES = 128 << 20
"""Of the stored columns, that a bucket has at most then."""
MOST_COLUMNS = 8
"""Of a curve: with more of them hardly a part is left out by one."""
_SUGGESTED = 4


def buckets_for(size_bytes: float) -> int:
    """The number of buckets for so many bytes."""
    return next((count for count in BUCKETS if size_bytes <= count * BUCKET_BYTES), BUCKETS[-1])


class CoveredRows(StoredKind):
    """The stored rows of all covering kinds. They answer nothing of files."""

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
        layout = RowLayout.of(key)
        if not 0 < layout.indexed <= len(key.columns) or not 0 <= layout.buckets < MOST_BUCKETS:
            return "counts that no covering key has"
        if layout.curve is None:
            return None  # its id says more than the columns; who reads its rows checks them
        from .cuts import no_curve

        return "a curve in buckets" if layout.buckets else no_curve(layout.curve, layout.indexed)

    @classmethod
    def together(cls, key: CoveredKey, other: CoveredKey) -> bool:
        layout, another = RowLayout.of(key), RowLayout.of(other)
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
    def row_layout(cls, key: CoveredKey) -> RowLayout:
        """Return the layout of a key."""
        return RowLayout.of(key)

    @classmethod
    def lasting(cls, key: CoveredKey) -> str:
        """Return a note on values in the key's layout, which stay until a full refresh; empty if there are none."""
        if RowLayout.of(key).curve is None:
            return ""
        return "its curve keeps cut points, which are beginnings of values that its rows had when they were made"

    @classmethod
    def parts(cls, reader: RunReader, key: CoveredKey) -> list[StoredPart]:
        """The parts of a key in a run, in order of their bucket or range. One read: the manifest (cached)."""
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
        """Return the parts, not in buckets, that may hold matching rows. `names`: the stable names of columns, as the
        predicate names them. A part with unknown bounds is kept."""
        from .range_parts import columns_said, parts_left

        return parts_left(parts, conjuncts, columns_said(RowLayout.of(key), names))

    @classmethod
    def rows_of(cls, reader: RunReader, key: CoveredKey, ordinals: npt.NDArray[np.intp]) -> pa.Table:
        """Return all rows of some files, with lineage."""
        from .verified import rows_of

        return rows_of(reader, key, ordinals)

    @classmethod
    def planned_again(cls, key: CoveredKey, schema: Schema) -> RowPlan | None:
        """The key as it would be built at a schema; None where it would store something else."""
        from metaindex.index.kinds.row_plan import RowPlan

        return RowPlan.again(key, schema)


class RowKind(Kind):
    """A kind that keeps rows of the table: of the indexed columns, by which they are sorted, and of included ones.
    Built by Spark."""

    __slots__ = ()
    needs_spark = keeps_rows = True
    indexed: tuple[str, ...]
    included: tuple[str, ...]

    def __init__(self, indexed: str | Sequence[str], included: str | Sequence[str] = ()) -> None:
        kind, every = type(self).__name__, list[str]()
        for what, columns in (("indexed", indexed), ("included", included)):
            names = (columns,) if isinstance(columns, str) or not isinstance(columns, Sequence) else tuple(columns)
            if not all(isinstance(name, str) and name for name in names):
                raise ArgumentError(
                    f"columns are names, as in {kind}(indexed=['day'], included=['tailnum']); {what} is {columns!r}"
                )
            object.__setattr__(self, what, names)
            every += names
        if not self.indexed:
            raise ArgumentError(
                f"{kind} indexes at least one column; none was given; name it, as in {kind}(indexed=['user_id'])"
            )
        if again := next((name for name in every if every.count(name) > 1), None):
            raise ArgumentError(f"{kind} names each column once; {again!r} is named again; leave it out")

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"indexed": list(self.indexed), "included": list(self.included)})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(said["indexed"], said["included"])

    @property
    def title(self) -> str:
        included = f"; {', '.join(self.included)}" if self.included else ""
        return f"{self.name}({', '.join(self.indexed)}{included})"

    @classmethod
    def stored(cls) -> Sequence[type[StoredKind]]:
        return (CoveredRows,)

    @classmethod
    def rows(cls) -> type[CoveredRows]:
        """The rows that it keeps."""
        return CoveredRows

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from .command import CoveringCommand

        return CoveringCommand(cls.name, cls, [field.name for field in fields(cls)])  # type: ignore[arg-type]

    def planned(self, schema: Schema, place: int) -> RowPlan:
        """Plan the build for a schema. `place`: its number among those of its run, so that the parts of each have names
        of their own. UnknownColumnError, with the near names, for a column that is not there; UnsupportedFeatureError
        for one whose type is not stored, or that is indexed and has no order."""
        from metaindex.index.kinds.row_plan import RowPlan

        return RowPlan.of(self.indexed, self.included, self.buckets_at(0), schema, place)

    def check_columns(self, schema: Schema) -> None:
        self.planned(schema, 0)

    def reads(self, schema: Schema) -> list[Leaf]:
        return [*self.planned(schema, 0).columns]

    def buckets_at(self, size_bytes: float) -> int:
        """Return the number of buckets for rows of so many bytes; 0: in ranges."""
        return 0

    @property
    def bounded(self) -> int:
        """Return how many indexed columns have bounds by which parts are skipped, without buckets."""
        return 1


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
    name = "covering"

    def __init__(
        self, indexed: str | Sequence[str], included: str | Sequence[str] = (), buckets: int | None = None
    ) -> None:
        if buckets is not None and (
            not isinstance(buckets, int) or isinstance(buckets, bool) or not 1 <= buckets < MOST_BUCKETS
        ):
            raise ArgumentError(f"buckets is a number from 1 to {MOST_BUCKETS - 1:,}; got {buckets!r}")
        object.__setattr__(self, "buckets", buckets)
        RowKind.__init__(self, indexed, included)

    def spec(self) -> KindSpec:
        said = {"indexed": list(self.indexed), "included": list(self.included), "buckets": self.buckets}
        return KindSpec(self.name, self.version, said)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(said["indexed"], said["included"], said["buckets"])

    def buckets_at(self, size_bytes: float) -> int:
        return self.buckets or buckets_for(size_bytes)

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        if not asked.needed:  # of conditions alone nobody knows what it would have to hold
            return []
        firsts = dict.fromkeys((*asked.compared[:1], *asked.joined[:1], *asked.grouped[:1]))
        return [cls([first], other_columns(asked, first)) for first in firsts]

    def sized(self, schema: Schema, table_bytes: int) -> Covering:
        """Choose the number of buckets, unless it is given, for the stored columns' share of the table's bytes,
        estimated from the widths of types."""
        if self.buckets is not None:
            return self
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
    name = "covering_range"

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        firsts = asked.ranged or (asked.ordered if asked.needed else ())
        return [cls([first], other_columns(asked, first)) for first in firsts[:1]]


@dataclass(frozen=True, slots=True, init=False)
class CoveringCurve(RowKind):
    """Copy of rows like `CoveringRange`, but for conditions on any of two to eight columns: rows are sorted along a
    Hilbert curve through the ranks of their indexed columns, so that the rows of a part are close together in each of
    them, and a part is skipped by the bounds of every one. The cut points of the ranks are quantiles of the rows that
    are indexed first; refreshes keep to them, a full one makes them anew. Joins shuffle."""

    indexed: tuple[str, ...]
    included: tuple[str, ...]
    name = "covering_curve"

    def __init__(self, indexed: str | Sequence[str], included: str | Sequence[str] = ()) -> None:
        RowKind.__init__(self, indexed, included)
        if not 2 <= len(self.indexed) <= MOST_COLUMNS:
            raise ArgumentError(
                f"a curve goes through 2 to {MOST_COLUMNS} indexed columns; CoveringCurve was given"
                f" {len(self.indexed)}; of one column take CoveringRange, of many those that most queries ask"
            )

    def planned(self, schema: Schema, place: int) -> RowPlan:
        from metaindex.index.kinds.row_plan import CurvePlan

        return CurvePlan.of(self.indexed, self.included, 0, schema, place)

    @property
    def bounded(self) -> int:
        return len(self.indexed)

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        indexed = list(dict.fromkeys((*asked.ranged, *asked.compared)))[:_SUGGESTED]
        return [cls(indexed, other_columns(asked, *indexed))] if len(indexed) > 1 else []


def other_columns(asked: AskedColumns, *indexed: str) -> list[str]:
    """Return what such queries read beside the indexed columns. A struct read whole includes its fields."""
    needed = {parse_path(name) for name in asked.needed}
    named = [name for name in asked.named if len(path := parse_path(name)) == 1 or path[:1] not in needed]
    return [name for name in dict.fromkeys((*named, *asked.needed)) if name not in indexed]
