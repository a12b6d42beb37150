"""The reads of a physical plan: its scans, and those of their columns by which joins, groups and orders go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final, TypeAlias

from metaindex.advisor.workloads.plans import PlanReads
from metaindex.core import dataclass
from metaindex.expressions import ColumnRef, JoinKey, StatementReads, TableRead

from .conditions import predicate_of
from .plan_nodes import PlanNode
from .scan_nodes import ScanSeen, reads_otherwise, reads_table, scan_of

CACHED: Final = "a query of a workload reads tables; this one reads what Spark has cached; no index is asked"
OTHER_SOURCE: Final = "a query of a workload reads files of a table; this one reads another source; no index is of it"
_ATTRIBUTE: Final = re.compile(r"[^#\[\]]*#(\d{1,18})L?")
_RENAMED: Final = re.compile(r"[^#\[\]()]*#(\d{1,18})L?((?:\.\w+)*) AS [^#]*#(\d{1,18})L?")
_JOIN: Final = re.compile(r"\w++ \[([^\[\]]*+)\], \[([^\[\]]*+)\], \w")
_KEYS: Final = re.compile(r"\w+\(keys=\[(.*?)\], functions=", re.DOTALL)
_TOP: Final = re.compile(r"TakeOrderedAndProject\(limit=(\d{1,18}), orderBy=\[(.*?)\], output=", re.DOTALL)
_SORT: Final = re.compile(r"Sort \[(.*)\], true(?:, \d+)?", re.DOTALL)
_WINDOW: Final = re.compile(r"Window .*\], \[([^\[\]]*)\], \[[^\[\]]*\]", re.DOTALL)
_COMMA: Final = re.compile(r", ?")
_LIMIT: Final = re.compile(r"(?:CollectLimit|GlobalLimit) (\d{1,18})\b")
_THROUGH: Final = re.compile(
    r"AdaptiveSparkPlan|ResultQueryStage|WholeStageCodegen|InputAdapter|Project|ColumnarToRow|EmptyRelation|Sort|"
    r"Exchange|ShuffleQueryStage|AQEShuffleRead|LogicalQueryStage"
)
_LETS_FILTERS: Final = frozenset({"Project", "WholeStageCodegen", "InputAdapter", "ColumnarToRow", "RowToColumnar"})
_OF_A_JOIN: Final = frozenset({"SubqueryBroadcast", "SubqueryAdaptiveBroadcast", "ReusedSubquery"})
"""What is read of the other side of a join, which is in the plan by itself."""

_Place: TypeAlias = tuple[int, str]
"""The number of a scan, and a column of it."""


def plan_reads(plan: PlanNode, time_zone: str | None) -> PlanReads:
    """Return what the plan reads; it may read no table."""
    reader = _PlanReader(time_zone)
    reader.visit(plan, ())
    tables = tuple(dict.fromkeys(read for read in map(reader.read, reader.scans) if read is not None))
    joins = tuple(dict.fromkeys(reader.joins))
    return PlanReads(StatementReads(tables, joins, _limit(plan)), tuple(dict.fromkeys(reader.untold)))


def _limit(plan: PlanNode) -> int | None:
    """Return the limit of the whole plan: nothing above it adds rows, or takes some away."""
    node = plan
    while True:
        said = _LIMIT.match(node.text) or _TOP.match(node.text)
        if said is not None:
            return int(said[1])
        if not _THROUGH.fullmatch(_kind(node)) or len(node.children) != 1:
            return None
        node = node.children[0]


def _kind(node: PlanNode) -> str:
    return node.name.split(" ")[0]


@dataclass(slots=True)
class _PlanReader:
    time_zone: str | None
    scans: list[tuple[ScanSeen, tuple[str, ...]]] = field(default_factory=list)
    joins: list[JoinKey] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)

    def visit(self, node: PlanNode, above: tuple[str, ...]) -> Mapping[int, _Place]:
        """`above`: conditions of filters right above it. Gives columns of scans by the numbers of attributes."""
        kind = _kind(node)
        if kind == "InMemoryTableScan" or reads_otherwise(node):
            self.untold.append(CACHED if kind == "InMemoryTableScan" else OTHER_SOURCE)
            return {}
        if reads_table(node):
            return self._scan(node, above)
        if kind == "Filter":
            above = (*above, node.text.removeprefix("Filter").strip())
        elif kind not in _LETS_FILTERS:
            above = ()
        places: list[Mapping[int, _Place]] = [
            self.visit(child, above) for child in node.children if _kind(child) not in _OF_A_JOIN
        ]
        merged = places[0] if len(places) == 1 else {number: place for each in places for number, place in each.items()}
        return self._noted(kind, node.text, merged)

    def _scan(self, node: PlanNode, above: tuple[str, ...]) -> Mapping[int, _Place]:
        for child in node.children:
            if _kind(child) not in _OF_A_JOIN:
                self.visit(child, ())
        scan = scan_of(node)
        if scan is None:
            return {}
        self.scans.append((scan, above))
        return {number: (len(self.scans) - 1, ColumnRef((name,)).name) for number, name in scan.output.items()}

    def _noted(self, kind: str, text: str, places: Mapping[int, _Place]) -> Mapping[int, _Place]:
        """Note how the node uses columns of scans."""
        if kind.endswith("Aggregate"):
            self._group(_KEYS.match(text), places)
        elif kind == "Window":
            self._group(_WINDOW.match(text), places)
        elif kind.endswith("Join"):
            self._join(text, places)
        elif kind == "Sort":
            self._order(_SORT.match(text), 1, places)
        elif kind == "TakeOrderedAndProject":
            self._order(_TOP.match(text), 2, places)
        return self._renamed(text, places) if kind in ("Project", "TakeOrderedAndProject") else places

    def _group(self, said: re.Match[str] | None, places: Mapping[int, _Place]) -> None:
        for part in said[1].split(", ") if said is not None else ():
            place = _place(part, places)
            if place is not None:
                self.scans[place[0]][0].group_keys.append(place[1])

    def _join(self, text: str, places: Mapping[int, _Place]) -> None:
        said = _JOIN.match(text)
        sides = [] if said is None else [said[1].split(", "), said[2].split(", ")]
        if not sides or len(sides[0]) != len(sides[1]):
            return
        for left, right in zip(*sides, strict=True):
            one, other = _place(left, places), _place(right, places)
            if one is not None or other is not None:
                self.joins.append(JoinKey(*self._side(one), *self._side(other)))

    def _side(self, place: _Place | None) -> tuple[str, str]:
        return ("", "") if place is None else (self.scans[place[0]][0].table, place[1])

    def _order(self, said: re.Match[str] | None, group: int, places: Mapping[int, _Place]) -> None:
        """Note the sort order; the node visited last, the lowest, decides."""
        by_scan: dict[int, list[str]] = {}
        for part in _COMMA.split(said[group]) if said is not None else ():
            column, _, direction = part.partition(" ")
            place = _place(column, places)
            if place is None or (by_scan and place[0] not in by_scan):
                break
            by_scan.setdefault(place[0], []).append(f"{place[1]} DESC" if direction.startswith("DESC") else place[1])
        for number, order in by_scan.items():
            self.scans[number][0].order[:] = order

    def _renamed(self, text: str, places: Mapping[int, _Place]) -> Mapping[int, _Place]:
        more: dict[int, _Place] = {}
        for part in text.partition("[")[2].removesuffix("]").split(", ") if " AS " in text else ():
            renamed = _RENAMED.fullmatch(part)
            place = None if renamed is None else places.get(int(renamed[1]))
            if renamed is not None and place is not None:
                more[int(renamed[3])] = place[0], place[1] + renamed[2]
        return {**places, **more} if more else places

    def read(self, seen: tuple[ScanSeen, tuple[str, ...]]) -> TableRead | None:
        scan, above = seen
        return TableRead(
            scan.table,
            predicate_of(scan, above, self.time_zone, self.untold.append),
            scan.columns,
            tuple(dict.fromkeys(scan.group_keys)),
            tuple(scan.order),
            scan.every_column,
        )


def _place(text: str, places: Mapping[int, _Place]) -> _Place | None:
    attribute = _ATTRIBUTE.fullmatch(text)
    return None if attribute is None else places.get(int(attribute[1]))
