"""User's specification of column statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from metaindex.core import ArgumentError, dataclass
from metaindex.expressions import physical_type
from metaindex.formats import Leaf, Schema
from metaindex.index.kinds.described import FactKind
from metaindex.index.kinds.kind import AskedColumns, Kind, listed
from metaindex.index.log.entry import KindSpec

if TYPE_CHECKING:
    from metaindex.index.kinds.command import KindCommand


@dataclass(frozen=True, slots=True, init=False)
class ColumnStats(FactKind):
    """Least and greatest value, counts of values, NULLs and NaNs, sizes: of every file (`column_stats`) and of every
    partition (`partition_stats`), RFC-27.

    `ColumnStats()` covers all primitive columns, fields of structs included; `ColumnStats("dep_time", "payload.user")`
    only those. `scan_floats=False` does not read float columns to count NaN: cheaper to build, and `>`, `>=`, `!=` then
    keep every file. `trust_log=True` takes the statistics that a writer put into the table's log (Delta's `stats`,
    Iceberg's metrics) where they say enough, and opens only the other files: a refresh after a commit then reads
    nothing twice. Bounds of texts are as short as the log's; sizes of columns are not known; with float columns it
    takes `scan_floats=False`.
    """

    columns: tuple[str, ...]
    scan_floats: bool
    trust_log: bool

    def __init__(self, *columns: str | list[str], scan_floats: bool = True, trust_log: bool = False) -> None:
        named = listed(columns)
        for column in named:
            if not isinstance(column, str):
                raise ArgumentError(f"columns are named one by one, as in ColumnStats('a', 'b'); got {column!r}")
        for mark, value in (("scan_floats", scan_floats), ("trust_log", trust_log)):
            if not isinstance(value, bool):
                raise ArgumentError(f"ColumnStats({mark}=...) is True or False; got {value!r}")
        object.__setattr__(self, "columns", tuple(named))
        object.__setattr__(self, "scan_floats", scan_floats)
        object.__setattr__(self, "trust_log", trust_log)

    name = "column_stats"
    words = ("column_stats", "minmax", "min_max")

    def spec(self) -> KindSpec:
        properties: dict[str, object] = {"columns": list(self.columns), "scan_floats": self.scan_floats}
        if self.trust_log:
            properties["trust_log"] = True
        return KindSpec(self.name, self.version, properties)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        marks = {mark: bool(said.get(mark, mark == "scan_floats")) for mark in ("scan_floats", "trust_log")}
        return cls(*said.get("columns", []), **marks)

    @classmethod
    def suggested(cls, asked: AskedColumns) -> Sequence[Kind]:
        return [cls(*asked.named)] if asked.named else []

    @property
    def title(self) -> str:
        return f"{self.name}({', '.join(self.columns) or '*'})"

    def united(self, other: Kind) -> Kind | None:
        if not isinstance(other, ColumnStats) or not self.columns or not other.columns:
            return None
        both = self.narrowed(tuple(dict.fromkeys((*self.columns, *other.columns))))
        return both if both == other.narrowed(both.columns) else None

    def narrowed(self, columns: Sequence[str]) -> ColumnStats:
        return ColumnStats(*columns, scan_floats=self.scan_floats, trust_log=self.trust_log)

    @classmethod
    def command(cls) -> KindCommand[Self]:
        from .command import Statistics

        return Statistics(cls)

    def leaves(self, schema: Schema) -> list[Leaf]:
        if not self.columns:
            return [leaf for leaf in schema.leaves() if physical_type(leaf.type) is not None]
        return [schema.indexable(name) for name in self.columns]
