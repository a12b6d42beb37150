"""The part of a workload that asks one table: by the table's names in SQL, and its columns."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import accumulate, pairwise

import pyarrow as pa

from metaindex.core import ArgumentError, dataclass
from metaindex.expressions import (
    And,
    Comparison,
    In,
    JoinKey,
    Leaf,
    Not,
    Or,
    Predicate,
    StatementReads,
    TableRead,
    cast_text,
    parse_path,
)

from .gathering import MOST_LITERALS
from .template import QueryTemplate, Workload, shape_of, shown_predicate

_LONGEST = 300
_WHOLE = re.compile(r"/|file:|\w+://")
_S3 = ("s3a://", "s3n://")
"""Hadoop's names of S3."""


@dataclass(frozen=True, slots=True)
class Stands:
    """Marks a query that was drawn from others with other literals, and stands for them. `group`: one number for those
    drawn from the same; `drawn`: how many times it was."""

    group: int
    drawn: int = 1


@dataclass(frozen=True, slots=True)
class TableQuery:
    """The question of one template, or several alike, to a table. `columns`: that they need, None for all. `joined`,
    `grouped`, `ordered`: by which columns, as they are named. `stands`: None if `seen` is how often it came."""

    text: str
    predicate: Predicate
    columns: frozenset[tuple[str, ...]] | None
    seen: int
    joined: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    stands: Stands | None = None


@dataclass(frozen=True, slots=True)
class OfTable:
    """`others`: queries that read other tables alone."""

    queries: tuple[TableQuery, ...]
    others: int = 0


@dataclass(frozen=True, slots=True)
class TableNames:
    """The names in SQL of the table at this path: those that `given` says, by their tables' paths; else a path that is
    the same, or a name whose last part is the last of the path."""

    path: str
    given: Mapping[str, str]

    def has(self, name: str) -> bool:
        if not name:
            return True  # a bare condition is asked of whatever table it is held against
        for alias, path in self.given.items():
            if alias.lower() == name.lower():
                return _clean(path) == _clean(self.path)
        if _WHOLE.match(name):
            return _clean(name) == _clean(self.path)
        return _last(name.replace(".", "/") if "/" not in name else name) == _last(self.path)

    def are_in(self, queries: object) -> bool:
        """Return whether the workload names the table; of anything else that is not known, and true."""
        if not isinstance(queries, Workload):
            return True
        return any(self.has(read.table) for template in queries.templates for read in template.tables)

    @staticmethod
    def paths_of(tables: object) -> dict[str, str]:
        """The tables' paths by the names that SQL has for them, none for None. ArgumentError for what does not say
        that."""
        if tables is None:
            return {}
        if not isinstance(tables, Mapping) or not all(
            isinstance(name, str) and isinstance(path, str | os.PathLike) for name, path in tables.items()
        ):
            raise ArgumentError(
                "tables says which table a name in SQL is, as in {'db.flights': 'lake/flights'}; got"
                f" {tables!r}; write it so"
            )
        return {name: os.fspath(path) for name, path in tables.items()}


def of_table(workload: Workload, names: TableNames, columns: Iterable[str]) -> OfTable:
    """Return what the workload asks of a table. `columns`: the table's own. A template that reads it twice asks twice;
    one seen with more literals than are kept is asked with those that were drawn, which share how often it was seen."""
    own = {name.lower() for name in columns}
    alike: dict[tuple[str, frozenset[tuple[str, ...]] | None], dict[Predicate | int, TableQuery]] = {}
    others = 0
    groups = 0
    for template in workload.templates:
        others += 0 if any(names.has(read.table) for read in template.tables) else template.seen
        for place in range(max(len(example.tables) for example in template.examples)):
            groups += 1
            for example, seen, stands in _asked(template, groups):
                read = example.tables[place] if place < len(example.tables) else None
                if read is not None and names.has(read.table):
                    query = _query(read.placed(own), seen, _joined(example.joins, names, own), stands)
                    _add(alike.setdefault((shape_of(query.predicate), query.columns), {}), query)
    several = [list(some.values()) for some in alike.values()]
    queries = [query for number, some in enumerate(several) for query in _fewer(some, groups + 1 + number)]
    return OfTable(tuple(sorted(queries, key=lambda query: -query.seen)), others)


def _asked(template: QueryTemplate, group: int) -> Iterator[tuple[StatementReads, int, Stands | None]]:
    """Its examples with how often each is asked: as it came, or as its share."""
    if template.counts:
        for example, seen in zip(template.examples, template.counts, strict=True):
            yield example, seen, None
        return
    drawn = Counter(template.drawn)
    for place, seen in zip(drawn, _shares(template.seen, list(drawn.values())), strict=True):
        yield template.examples[place], seen, Stands(group, drawn[place])


def _shares(seen: int, drawn: Sequence[int]) -> list[int]:
    """Whole numbers that add up, by how often each was drawn."""
    ends = [seen * end // max(sum(drawn), 1) for end in accumulate(drawn, initial=0)]
    return [end - start for start, end in pairwise(ends)]


def _add(alike: dict[Predicate | int, TableQuery], query: TableQuery) -> None:
    """Add a query to the one of the same literals, if both were counted; else as one more."""
    key = query.predicate if query.stands is None else len(alike)
    alike[key] = _sum(alike[key], query) if key in alike else query


def _fewer(alike: list[TableQuery], group: int) -> list[TableQuery]:
    """Reduce several templates that ask the table alike to the room of one, drawn at even distances of how often they
    were asked."""
    if len(alike) <= MOST_LITERALS:
        return alike
    ends = list(accumulate(query.seen for query in alike))
    points = [(2 * place + 1) * ends[-1] // (2 * MOST_LITERALS) for place in range(MOST_LITERALS)]
    drawn = Counter(bisect_right(ends, point) for point in points)
    shares = _shares(ends[-1], list(drawn.values()))
    return [
        replace(alike[place], seen=seen, stands=Stands(group, drawn[place]))
        for place, seen in zip(drawn, shares, strict=True)
    ]


def _query(read: TableRead, seen: int, joined: tuple[str, ...], stands: Stands | None) -> TableQuery:
    text = shown_predicate(read.predicate)
    columns = None if read.every_column else frozenset(parse_path(name) for name in read.columns)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    ordered = tuple(name.removesuffix(" DESC") for name in read.order)
    return TableQuery(shown, read.predicate, columns, seen, joined, read.group_keys, ordered, stands)


def _joined(joins: Sequence[JoinKey], names: TableNames, own: Set[str]) -> tuple[str, ...]:
    """Return the table's sides of joins. A column of an unknown table is this table's if it has one of the name."""
    sides = [side for join in joins for side in ((join.left_table, join.left), (join.right_table, join.right))]
    mine = [name for table, name in sides if names.has(table) and parse_path(name)[0].lower() in own]
    return tuple(dict.fromkeys(mine))


def _sum(known: TableQuery, more: TableQuery) -> TableQuery:
    return replace(
        known,
        seen=known.seen + more.seen,
        joined=tuple(dict.fromkeys((*known.joined, *more.joined))),
        grouped=tuple(dict.fromkeys((*known.grouped, *more.grouped))),
        ordered=tuple(dict.fromkeys((*known.ordered, *more.ordered))),
    )


def _clean(path: str) -> str:
    """Normalize a path, local ones from the root on."""
    path = path.removeprefix("file://").removeprefix("file:")
    for scheme in _S3:
        path = f"s3://{path.removeprefix(scheme)}" if path.startswith(scheme) else path
    return path.rstrip("/") if "://" in path else os.path.abspath(path)


def _last(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1].lower()


def typed(predicate: Predicate, types: Mapping[tuple[str, ...], pa.DataType], time_zone: str) -> Predicate:
    """`types`: by the columns' names in small letters. A text that is no value of its column's type stays."""

    def of_leaf(leaf: Leaf) -> Predicate:
        if not isinstance(leaf, Comparison | In):
            return leaf
        name = _spark_name(types.get(tuple(part.lower() for part in leaf.column.parts)))
        if name is None:
            return leaf
        given = (leaf.value,) if isinstance(leaf, Comparison) else leaf.values
        values = tuple(value for one in given if (value := cast_text(one, name, time_zone)) is not None)
        if len(values) < len(given):
            return leaf
        return replace(leaf, value=values[0]) if isinstance(leaf, Comparison) else replace(leaf, values=values)

    return predicate.fold(of_leaf, Not, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts)))


def _spark_name(type_: pa.DataType | None) -> str | None:
    """None for texts, and for what no text is cast to."""
    is_ = pa.types
    if type_ is None or is_.is_nested(type_):
        return None
    if is_.is_integer(type_):
        return "bigint"
    if is_.is_floating(type_):
        return "double"
    if is_.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if is_.is_timestamp(type_):
        return "timestamp" if type_.tz is not None else "timestamp_ntz"
    return "boolean" if is_.is_boolean(type_) else "date" if is_.is_date(type_) else None
