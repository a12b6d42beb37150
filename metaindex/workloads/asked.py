"""Of a workload, what is asked of one table: by the table's names in SQL, and its columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from metaindex.expressions.build import parse_path
from metaindex.expressions.reads import TableRead
from metaindex.expressions.records import dataclass
from metaindex.expressions.tree import Predicate

from .shape import shape_of, shown_predicate
from .template import Workload

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What one template, or several alike, ask of a table. `columns`: that they need, None for all of them."""

    text: str
    predicate: Predicate
    columns: frozenset[tuple[str, ...]] | None
    seen: int


@dataclass(frozen=True, slots=True)
class OfTable:
    """`others`: queries that read other tables alone."""

    queries: tuple[TableQuery, ...]
    others: int = 0


@dataclass(frozen=True, slots=True)
class TableNames:
    """Which names in SQL are the table at this path: those that `given` says, by their tables' paths, else those whose
    last part is the last of the path."""

    path: str
    given: Mapping[str, str]

    def has(self, name: str) -> bool:
        if not name:
            return True  # a bare condition is asked of whatever table it is held against
        for told, path in self.given.items():
            if told.lower() == name.lower():
                return _clean(path) == _clean(self.path)
        return _last(name.replace(".", "/") if "/" not in name else name) == _last(self.path)


def of_table(workload: Workload, names: TableNames, columns: Iterable[str]) -> OfTable:
    """`columns`: the table's own. A template that reads it twice asks twice."""
    own = {name.lower() for name in columns}
    merged: dict[tuple[str, frozenset[tuple[str, ...]] | None], TableQuery] = {}
    others = 0
    for template in workload.templates:
        reads = [read for read in template.tables if names.has(read.table)]
        others += 0 if reads else template.seen
        for read in reads:
            query = _query(read.placed(own), template.seen)
            key = shape_of(query.predicate), query.columns
            known = merged.get(key)
            merged[key] = query if known is None else _sum(known, query)
    return OfTable(tuple(sorted(merged.values(), key=lambda query: -query.seen)), others)


def _query(read: TableRead, seen: int) -> TableQuery:
    text = shown_predicate(read.predicate)
    columns = None if read.every_column else frozenset(parse_path(name) for name in read.columns)
    return TableQuery(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...", read.predicate, columns, seen)


def _sum(known: TableQuery, more: TableQuery) -> TableQuery:
    return TableQuery(known.text, known.predicate, known.columns, known.seen + more.seen)


def _clean(path: str) -> str:
    """One text for one place: local paths from the root on."""
    path = path.removeprefix("file://").removeprefix("file:")
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1].lower()
