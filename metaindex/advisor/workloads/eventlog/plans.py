"""A physical plan as an event has it (`sparkPlanInfo`): anybody's JSON, read into nodes of bounded number and depth."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from typing import Any, Final, TypeAlias

from metaindex.advisor.workloads.eventlog.spark_text import (
    PrintedColumns,
    Unclear,
    conjuncts_of,
    fields_of,
    leaves_of,
    printed_columns,
    printed_parts,
    printed_predicate,
)
from metaindex.advisor.workloads.template import PlanReads, condition, shape_of
from metaindex.core import ExpressionError, dataclass
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    In,
    JoinKey,
    Opaque,
    Predicate,
    StatementReads,
    TableRead,
    without_said,
)

_MOST_NODES: Final = 100_000
_DEEPEST: Final = 300
_MOST_TEXT: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class PlanNode:
    """`name`: of its class, and of what it reads; `text`: what it says of itself; `facts`: of a scan."""

    name: str
    text: str
    facts: Mapping[str, str]
    children: tuple[PlanNode, ...]

    def walk(self) -> Iterator[PlanNode]:
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo += reversed(node.children)


def plan_of(info: object) -> PlanNode:
    """Raises ExpressionError for what is no plan, or one beyond all bounds."""
    todo = [(info, 0)]
    above: list[tuple[dict[str, Any], int]] = []  # each node, with the number of its children
    while todo:
        node, depth = todo.pop()
        if not isinstance(node, dict):
            raise ExpressionError("a plan of an event log is nodes within nodes; this one is not; it is left out")
        if depth > _DEEPEST or len(above) >= _MOST_NODES:
            raise ExpressionError(
                f"a plan of an event log has at most {_MOST_NODES:,} nodes, {_DEEPEST} within each other; this one has"
                " more; it is left out"
            )
        children = node.get("children")
        listed = children if isinstance(children, list) else []
        above.append((node, len(listed)))
        todo += [(child, depth + 1) for child in reversed(listed)]
    built: list[PlanNode] = []
    for node, count in reversed(above):
        inside = tuple(built.pop() for _ in range(count))
        built.append(PlanNode(_text(node.get("nodeName")), _text(node.get("simpleString")), _facts(node), inside))
    return built[0]


def _facts(node: dict[str, Any]) -> dict[str, str]:
    facts = node.get("metadata")
    if not isinstance(facts, dict):
        return {}
    return {name: _text(value) for name, value in facts.items() if isinstance(value, str)}


def _text(value: object) -> str:
    """Cut a long text as Spark does."""
    text = value if isinstance(value, str) else ""
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}..."


_NO_TABLE: Final = re.compile(r"Scan (?:ExistingRDD|OneRowRelation|LocalRelation)|LocalTableScan|Range|OneRow")
_OTHER: Final = re.compile(r"Scan (\w*Relation|jdbc)", re.IGNORECASE)
_FACTS: Final = re.compile(
    r"(?:^|(?<=[ ,]))(DataFilters|Format|Location|PartitionFilters|Pushed\w+|ReadSchema|RuntimeFilters|Batched): "
)
_LOCATION: Final = re.compile(r"(\w+)(?:\(\d+ paths\))?\[(.*?)\]?", re.DOTALL)
_ICEBERG: Final = "filters="
_ICEBERG_END: Final = re.compile(r", (?:runtimeFilters=|caseSensitive=|groupedBy=|aggregation)|\] RuntimeFilters")
_OUTPUT: Final = re.compile(r"(.+)#(\d{1,18})(L)?", re.DOTALL)
_MORE: Final = re.compile(r"\.\.\. \d+ more fields?\Z")
_PARTITION: Final = re.compile(r"/[^/=]+=[^/]*\Z")
_MOST_PARTITIONS: Final = 50
_LOG: Final = re.compile(r"/_delta_log(?:/|\Z)")


@dataclass(slots=True)
class ScanSeen:
    """`table`: a path, or its name in SQL. `output`: numbers of attributes and the columns that they are; `longs`: of
    those that hold integers of 64 bits. `data_filters`, `partition_filters`: lists as they are printed; `described`:
    conditions in Iceberg's words."""

    table: str
    types: Mapping[str, str]
    output: Mapping[int, str]
    longs: Set[int]
    every_column: bool
    data_filters: str = ""
    partition_filters: str = ""
    pushed: str = ""
    described: str = ""
    group_keys: list[str] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it reads, with the fields of structs."""
        paths = [path for name, type_ in self.types.items() for path in leaves_of(name, type_)]
        others = [(name,) for name in self.output.values() if name not in self.types]
        return tuple(dict.fromkeys(ColumnRef(path).name for path in (*paths, *others)))


def reads_table(node: PlanNode) -> bool:
    """Return whether it scans files, or a table that the catalog knows."""
    if _NO_TABLE.match(node.name) or _OTHER.match(node.name):
        return False
    return "Location" in node.facts or "ReadSchema" in node.facts or re.match(r"(?:Batch)?Scan ", node.name) is not None


def reads_otherwise(node: PlanNode) -> bool:
    """Return whether it scans a source that no index is of."""
    return _OTHER.match(node.name) is not None


def scan_of(node: PlanNode) -> ScanSeen | None:
    """Return the scan; None if it reads what the format keeps for itself, or nothing that has a name."""
    facts = {**_facts_in(node.text), **node.facts}
    location = _LOCATION.fullmatch(facts.get("Location", ""))
    paths = [] if location is None else location[2].split(", ")
    if (location is not None and location[1] == "DeltaLogFileIndex") or any(map(_LOG.search, paths)):
        return None
    table = _root(paths) or _named(node.name)
    if not table:
        return None
    listed = (facts.get(name, "") for name in ("DataFilters", "PartitionFilters"))
    data, partitions = ("" if text == "[]" else text for text in listed)
    if location is not None and location[1] == "TahoeBatchFileIndex" and not data and not partitions:
        return None  # files that a command chose before
    schema = facts.get("ReadSchema", "")
    attributes, whole = _attributes(node.text)
    return ScanSeen(
        table,
        fields_of(schema),
        {number: name for number, (name, _) in attributes.items()},
        {number for number, (_, long) in attributes.items() if long},
        not whole and not schema.endswith(">"),
        data,
        partitions,
        facts.get("PushedFilters", ""),
        _iceberg_conditions(node.text),
    )


def _iceberg_conditions(text: str) -> str:
    """Return the conditions in the text of an Iceberg scan."""
    _, found, behind = text.partition(_ICEBERG)
    end = _ICEBERG_END.search(behind) if found else None
    return "" if end is None else behind[: end.start()]


def _facts_in(text: str) -> dict[str, str]:
    """Parse the facts that newer readers only put in their text."""
    marks = [*_FACTS.finditer(text)]
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    return {mark[1]: text[mark.end() : end].rstrip(" ,") for mark, end in zip(marks, ends, strict=True)}


def _root(paths: Sequence[str]) -> str:
    """The table's folder, of which the paths may be partitions; "" where they have none in common."""
    roots = {_without_partitions(path) for path in paths if not path.endswith("...")}
    return roots.pop() if len(roots) == 1 else ""


def _without_partitions(path: str) -> str:
    for _ in range(_MOST_PARTITIONS):
        partition = _PARTITION.search(path)
        if partition is None:
            break
        path = path[: partition.start()]
    return path


def _named(name: str) -> str:
    """The table's name behind the words of the node."""
    words = name.split(" ")
    last = words[-1].strip("`") if len(words) > 1 else ""
    return last.replace("`", "") if re.fullmatch(r"[\w`.\-/:]+", last) and (len(words) > 2 or "." in last) else ""


def _attributes(text: str) -> tuple[dict[int, tuple[str, bool]], bool]:
    """Return attributes by their numbers; and whether all are listed."""
    begin = text.find("[")
    end = text.find("]", begin)
    inner = text[begin + 1 : end] if 0 <= begin < end else ""
    parts = (_OUTPUT.fullmatch(part.strip()) for part in inner.split(","))
    return {int(part[2]): (part[1], bool(part[3])) for part in parts if part is not None}, not _MORE.search(inner)


_BY_SPARK: Final = ("dynamicpruning", "might_contain(")
"""In conditions that Spark adds for the sake of a join."""
_NUMBER: Final = re.compile(r"#(\d{1,18})")
_PIECE: Final = re.compile(r"'[^']*+(?:'(?!, |\)|\Z| )[^']*+)*'?|[(\[]|[)\]]|, ")
_NUMBER_ALONE: Final = "a number is told with its type; Iceberg's text does not say whether it is a time"


def predicate_of(scan: ScanSeen, above: Sequence[str], time_zone: str | None, tell: Callable[[str], None]) -> Predicate:
    """`above`: conditions of filters over the scan. `tell`: is told why something of the conditions is not known; that
    is named with its columns alone."""
    printed = PrintedColumns(scan.types, scan.pushed, time_zone)
    known: dict[str, Predicate] = {}
    unclear: list[Predicate] = []
    for part in _parts(scan, above):
        try:
            predicate = printed_predicate(part, printed)
        except Unclear as error:
            tell(str(error))
            unclear.append(_opaque(printed_columns(part)))
        else:
            known.setdefault(shape_of(predicate), predicate)
    for part in _pieces(scan.described):
        _described(part, scan, known, unclear, tell)
    return without_said([*known.values(), *(part for part in unclear if part.columns)])


def _parts(scan: ScanSeen, above: Sequence[str]) -> Iterator[str]:
    """Return the conditions of a scan. Filters above repeat the scan's own; if it has these whole, they are enough."""
    over = [text for text in above if _is_of(text, scan)]
    lists = [scan.partition_filters]
    if scan.data_filters.endswith("]") or not over:
        lists.append(scan.data_filters)
        over = []
    parts = [part for listed in lists for part in printed_parts(listed)]
    parts += [part for text in over for part in conjuncts_of(text)]
    return (part for part in parts if not any(word in part for word in _BY_SPARK))


def _is_of(text: str, scan: ScanSeen) -> bool:
    """Return whether all its columns are the scan's."""
    numbers = {int(number) for number in _NUMBER.findall(text)}
    return bool(numbers) and numbers <= scan.output.keys()


def _described(
    part: str, scan: ScanSeen, known: dict[str, Predicate], unclear: list[Predicate], tell: Callable[[str], None]
) -> None:
    """Return a condition in Iceberg's words, unless a filter has the same: times are numbers there."""
    try:
        predicate = condition(part)
    except ExpressionError:
        predicate = Opaque(part)
    shape = shape_of(predicate)
    if shape in known or (isinstance(predicate, Opaque) and known):
        return
    longs = {name for number, name in scan.output.items() if number in scan.longs}
    if _is_typed(predicate, longs):
        known[shape] = predicate
    else:
        tell(_NUMBER_ALONE)
        unclear.append(_opaque([ref.name for ref in predicate.columns]))


def _is_typed(predicate: Predicate, longs: set[str]) -> bool:
    """Return whether its numbers are compared with integer columns, not with times."""

    def of_leaf(leaf: Predicate) -> bool:
        values = [leaf.value] if isinstance(leaf, Comparison) else leaf.values if isinstance(leaf, In) else ()
        numbers = any(type(value.value) is int for value in values)
        return not isinstance(leaf, Opaque) and (not numbers or leaf.column.name in longs)  # type: ignore[union-attr]

    return predicate.fold(of_leaf, lambda child: child, all, all)


def _pieces(text: str) -> Iterator[str]:
    """Split at commas that stand in no bracket, and in no text."""
    start = depth = 0
    for sign in _PIECE.finditer(text):
        if sign[0] == ", " and not depth:
            yield text[start : sign.start()]
            start = sign.end()
        elif sign[0] in "([)]":
            depth += 1 if sign[0] in "([" else -1
    if text[start:].strip():
        yield text[start:]


def _opaque(named: Sequence[str]) -> Opaque:
    return Opaque(f"metaindex_unread({', '.join(named)})", tuple(ColumnRef((name,)) for name in named))


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
        match = _LIMIT.match(node.text) or _TOP.match(node.text)
        if match is not None:
            return int(match[1])
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

    def _group(self, match: re.Match[str] | None, places: Mapping[int, _Place]) -> None:
        for part in match[1].split(", ") if match is not None else ():
            place = _place(part, places)
            if place is not None:
                self.scans[place[0]][0].group_keys.append(place[1])

    def _join(self, text: str, places: Mapping[int, _Place]) -> None:
        match = _JOIN.match(text)
        sides = [] if match is None else [match[1].split(", "), match[2].split(", ")]
        if not sides or len(sides[0]) != len(sides[1]):
            return
        for left, right in zip(*sides, strict=True):
            one, other = _place(left, places), _place(right, places)
            if one is not None or other is not None:
                self.joins.append(JoinKey(*self._side(one), *self._side(other)))

    def _side(self, place: _Place | None) -> tuple[str, str]:
        return ("", "") if place is None else (self.scans[place[0]][0].table, place[1])

    def _order(self, match: re.Match[str] | None, group: int, places: Mapping[int, _Place]) -> None:
        """Note the sort order; the node visited last, the lowest, decides."""
        by_scan: dict[int, list[str]] = {}
        for part in _COMMA.split(match[group]) if match is not None else ():
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
