"""User's specification of a copy of the table's rows along a curve through several columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from metaindex.core import ArgumentError, dataclass
from metaindex.formats import Schema
from metaindex.index.kinds.kind import AskedColumns, Kind
from metaindex.index.kinds.served import RowKind, RowPlan, ServedRows
from metaindex.index.log.entry import KindSpec

from .spec import CoveredRows, check_names, names_of, other_columns

if TYPE_CHECKING:
    from metaindex.index.kinds.command import KindCommand

MOST_COLUMNS = 8
"""Of a curve: with more of them hardly a part is left out by one."""
_SUGGESTED = 4


@dataclass(frozen=True, slots=True, init=False)
class CoveringCurve(RowKind):
    """Copy of rows like `CoveringRange`, but for conditions on any of two to eight columns: rows are sorted along a
    Hilbert curve through the ranks of their indexed columns, so that the rows of a part are close together in each of
    them, and a part is skipped by the bounds of every one. The cut points of the ranks are quantiles of the rows that
    are indexed first; refreshes keep to them, a full one makes them anew. Joins shuffle."""

    indexed: tuple[str, ...]
    included: tuple[str, ...]

    def __init__(self, indexed: str | Sequence[str], included: str | Sequence[str] = ()) -> None:
        object.__setattr__(self, "indexed", names_of("CoveringCurve", "indexed", indexed))
        object.__setattr__(self, "included", names_of("CoveringCurve", "included", included))
        check_names("CoveringCurve", self.indexed, self.included)
        if not 2 <= len(self.indexed) <= MOST_COLUMNS:
            raise ArgumentError(
                f"a curve goes through 2 to {MOST_COLUMNS} indexed columns; CoveringCurve was given"
                f" {len(self.indexed)}; of one column take CoveringRange, of many those that most queries ask"
            )

    name = "covering_curve"

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"indexed": list(self.indexed), "included": list(self.included)})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(said["indexed"], said["included"])

    @classmethod
    def rows(cls) -> type[ServedRows]:
        return CoveredRows

    def planned(self, schema: Schema, place: int) -> RowPlan:
        from .curve_plan import planned_along

        return planned_along(self.indexed, self.included, schema, place)

    def buckets_at(self, size_bytes: float) -> int:
        return 0

    @property
    def bounded(self) -> int:
        return len(self.indexed)

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        indexed = list(dict.fromkeys((*asked.ranged, *asked.compared)))[:_SUGGESTED]
        if len(indexed) < 2:
            return []
        return [cls(indexed, other_columns(asked, *indexed))]

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from .command import CoveringCommand

        return CoveringCommand("--covering-curve", cls, ("indexed", "included"))
