"""Of a workload, what is asked of one table: by the table's names in SQL, and its columns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain

from metaindex.expressions.build import parse_path
from metaindex.expressions.reads import JoinKey, TableRead, first_part
from metaindex.expressions.records import dataclass
from metaindex.expressions.tree import Predicate

from .shape import shape_of, shown_predicate
from .template import Workload

_LONGEST = 300
_EXAMPLES = 3
"""Of what is alike but for its literals: more stand for each other."""
_WHOLE = re.compile(r"/|file:|\w+://")
_S3 = ("s3a://", "s3n://")
"""Hadoop's names of S3."""


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What one template, or several alike, ask of a table. `columns`: that they need, None for all of them. `joined`,
    `grouped`, `ordered`: by which columns, as they are named."""

    text: str
    predicate: Predicate
    columns: frozenset[tuple[str, ...]] | None
    seen: int
    joined: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfTable:
    """`others`: queries that read other tables alone."""

    queries: tuple[TableQuery, ...]
    others: int = 0


@dataclass(frozen=True, slots=True)
class TableNames:
    """Which names in SQL are the table at this path: those that `given` says, by their tables' paths; else a path that
    is the same, or a name whose last part is the last of the path."""

    path: str
    given: Mapping[str, str]

    def has(self, name: str) -> bool:
        if not name:
            return True  # a bare condition is asked of whatever table it is held against
        for told, path in self.given.items():
            if told.lower() == name.lower():
                return _clean(path) == _clean(self.path)
        if _WHOLE.match(name):
            return _clean(name) == _clean(self.path)
        return _last(name.replace(".", "/") if "/" not in name else name) == _last(self.path)


def of_table(workload: Workload, names: TableNames, columns: Iterable[str]) -> OfTable:
    """`columns`: the table's own. A template that reads it twice asks twice; one that was seen with several literals is
    asked with some of them, which share how often it was seen."""
    own = {name.lower() for name in columns}
    alike: dict[tuple[str, frozenset[tuple[str, ...]] | None], list[TableQuery]] = {}
    others = 0
    for template in workload.templates:
        others += 0 if any(names.has(read.table) for read in template.tables) else template.seen
        for example, seen in zip(template.examples, _shares(template.seen, len(template.examples)), strict=True):
            joined = _joined(example.joins, names, own)
            for read in example.tables if seen else ():
                if names.has(read.table):
                    query = _query(read.placed(own), seen, joined)
                    _add(alike.setdefault((shape_of(query.predicate), query.columns), []), query)
    return OfTable(tuple(sorted(chain.from_iterable(alike.values()), key=lambda query: -query.seen)), others)


def _shares(seen: int, examples: int) -> list[int]:
    return [(seen + place) // examples for place in range(examples)][::-1]


def _add(alike: list[TableQuery], query: TableQuery) -> None:
    """To the one of the same literals; else as one more, or to the one that was seen least."""
    for place, known in enumerate(alike):
        if known.predicate == query.predicate:
            alike[place] = _sum(known, query)
            return
    if len(alike) < _EXAMPLES:
        alike.append(query)
    else:
        place = min(range(len(alike)), key=lambda at: alike[at].seen)
        alike[place] = _sum(alike[place], query)


def _query(read: TableRead, seen: int, joined: tuple[str, ...]) -> TableQuery:
    text = shown_predicate(read.predicate)
    columns = None if read.every_column else frozenset(parse_path(name) for name in read.columns)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    ordered = tuple(name.removesuffix(" DESC") for name in read.order)
    return TableQuery(shown, read.predicate, columns, seen, joined, read.group_keys, ordered)


def _joined(joins: Sequence[JoinKey], names: TableNames, own: Set[str]) -> tuple[str, ...]:
    """The table's sides of joins. Where nobody knows whose column it is, it is the table's if it has such a one."""
    sides = [side for join in joins for side in ((join.left_table, join.left), (join.right_table, join.right))]
    return tuple(dict.fromkeys(name for table, name in sides if names.has(table) and first_part(name) in own))


def _sum(known: TableQuery, more: TableQuery) -> TableQuery:
    return replace(
        known,
        seen=known.seen + more.seen,
        joined=tuple(dict.fromkeys((*known.joined, *more.joined))),
        grouped=tuple(dict.fromkeys((*known.grouped, *more.grouped))),
        ordered=tuple(dict.fromkeys((*known.ordered, *more.ordered))),
    )


def _clean(path: str) -> str:
    """One text for one place: local paths from the root on."""
    path = path.removeprefix("file://").removeprefix("file:")
    for scheme in _S3:
        path = f"s3://{path.removeprefix(scheme)}" if path.startswith(scheme) else path
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1].lower()
