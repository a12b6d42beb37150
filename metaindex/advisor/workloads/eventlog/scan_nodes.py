"""Nodes of a plan that read a table: which, by what conditions, which columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import field
from typing import Final

from metaindex.core import dataclass
from metaindex.expressions import ColumnRef, fields_of, leaves_of

from .plan_nodes import PlanNode

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
    data, partitions = (_filled(facts.get(name, "")) for name in ("DataFilters", "PartitionFilters"))
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
        _described(node.text),
    )


def _described(text: str) -> str:
    """Return the conditions in the text of an Iceberg scan."""
    _, found, behind = text.partition(_ICEBERG)
    end = _ICEBERG_END.search(behind) if found else None
    return "" if end is None else behind[: end.start()]


def _filled(listed: str) -> str:
    return "" if listed == "[]" else listed


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
