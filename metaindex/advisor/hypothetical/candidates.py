"""Candidates for a workload, by names that a person reads: those that are given, or what the kinds, also those of other
packages, suggest for its columns one by one, for its queries, and for those that ask for the same column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Final

from metaindex.advisor.workloads.table_queries import Stands
from metaindex.core import ArgumentError, MetaIndexError, dataclass
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    In,
    Op,
    Predicate,
    StartsWith,
    conjuncts,
    gathered_form,
    physical_type,
)
from metaindex.formats import Leaf, Schema
from metaindex.index import KINDS, AskedColumns, Kind

A_PART: Final = "*"
"""Behind a column among what a query needs: Spark reads a part of it, as a type of its own, which no copy of rows has.
"""


def in_part(needs: Iterable[tuple[str, ...]]) -> list[str]:
    """The columns of which a part is needed."""
    return sorted(ColumnRef(parts[:1]).name for parts in needs if parts[1:] == (A_PART,))


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A query of a table. `problem`: why its condition is none, else empty; `seen`: how often it is asked; `needs`: the
    columns that it reads, by their paths (`candidates.A_PART`), none where its condition alone is known; `joined`,
    `grouped`, `ordered`: by which, by name; `stands`: for others with other literals, None where `seen` is how often it
    came; `weight`: bytes that it reads now, as often as it is asked."""

    text: str
    tree: Predicate
    problem: str = ""
    seen: int = 1
    needs: frozenset[tuple[str, ...]] = frozenset()
    joined: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    stands: Stands | None = None
    weight: float = 0.0

    @property
    def keys(self) -> set[str]:
        """The columns by which it joins, groups or sorts."""
        return {name.replace("`", "").lower() for name in (*self.joined, *self.grouped, *self.ordered)}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An index that might be created, of one kind or several."""

    name: str
    kinds: tuple[Kind, ...]

    @property
    def facts(self) -> tuple[Kind, ...]:
        """Kinds that keep facts of columns."""
        return tuple(kind for kind in self.kinds if kind.keeps_facts)

    @property
    def copies(self) -> tuple[Kind, ...]:
        """Kinds that keep rows of the table."""
        return tuple(kind for kind in self.kinds if kind.keeps_rows)


def named(given: Kind | Sequence[Kind | Sequence[Kind]]) -> list[Candidate]:
    """Name candidates: each is a kind, or several of one index; a kind alone is a list of one. Raises ArgumentError."""
    found: list[Candidate] = []
    for one in given if isinstance(given, list | tuple) else (given,):
        kinds = tuple(one) if isinstance(one, list | tuple) else (one,)
        KINDS.check(kinds)
        name = " + ".join(kind.title for kind in kinds)
        if any(name == other.name for other in found):
            properties = json.dumps([dict(kind.spec().properties) for kind in kinds], default=str)
            name = f"{name} {properties}"
        if any(kinds == other.kinds for other in found):
            raise ArgumentError(f"a candidate is given once; {name} was given twice; leave one out")
        found.append(Candidate(name, kinds))
    return found


def following(trees: Iterable[Predicate], schema: Schema) -> list[Candidate]:
    """Return candidates that may help these queries, as the kinds of metaindex themselves suggest."""
    wanted = asked_columns(trees, schema)
    return named([suggested for kind in KINDS for suggested in kind.suggested(wanted)])


def asked_columns(trees: Iterable[Predicate], schema: Schema) -> AskedColumns:
    """Return the columns of the table that conditions compare, and how."""
    by_name = {leaf.parts: leaf for leaf in schema.leaves() if physical_type(leaf.type) is not None}
    known: dict[str, None] = {}
    compared: dict[str, None] = {}
    ranged: dict[str, None] = {}
    for tree in trees:
        known |= {ref.name: None for ref in tree.columns if ref.parts in by_name}
        for leaf in gathered_form(tree).leaves():
            match leaf:
                case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ, column=column) | In(column=column):
                    if not in_partition(by_name.get(column.parts)):
                        compared[column.name] = None
                case Comparison(op=Op.LT | Op.LE | Op.GT | Op.GE, column=column) | StartsWith(column=column):
                    if not in_partition(by_name.get(column.parts)):
                        ranged[column.name] = None
                case _:
                    pass
    return AskedColumns(tuple(known), tuple(compared), tuple(ranged))


def in_partition(leaf: Leaf | None) -> bool:
    """Return whether a column's values come from partitions, or there is no such column."""
    return leaf is None or any(level.partition for level in leaf.path)


MOST_COLUMNS: Final = 12
"""That candidates are for, of each table: those by which most bytes are asked."""
MOST_TOGETHER: Final = 6
MOST_COPIES: Final = 4
"""Of a kind."""
_WIDEST: Final = 3
"""Columns of a key of several."""


@dataclass(slots=True)
class Suggestions:
    """`kinds`: each once, the most wanted first; `notes`: what is not among them."""

    kinds: dict[Kind, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, kind: type[Kind], columns: AskedColumns, most: int | None = None) -> int:
        """Add what a kind suggests for such queries; return how many are new. Another package's may raise anything."""
        try:
            suggestions = KINDS.call(kind.name, partial(kind.suggested, columns))
        except MetaIndexError as error:
            self.notes.append(f"{kind.name} suggests nothing: {error}")
            return 0
        more = [new for new in suggestions if isinstance(new, kind) and new not in self.kinds][:most]
        self.kinds |= dict.fromkeys(more)
        return len(more)


def suggested(queries: Iterable[AskedQuery], schema: Schema, *, copies: bool) -> Suggestions:
    """Facts of all columns that are named, keys of each column and of those that are compared together, copies for each
    query and for the queries that begin with the same column. `copies`: also kinds that keep rows of the table, for
    queries that Spark could read from such rows."""
    ordered = sorted(queries, key=lambda query: -query.weight)
    of_query = [of_queries([query], schema) for query in ordered]
    copied = [asked_for for query, asked_for in zip(ordered, of_query, strict=True) if not in_part(query.needs)]
    whole = _merged(of_query)
    out = Suggestions()
    columns = [name for name in whole.named if name in {*whole.compared, *whole.ranged}]
    if len(columns) > MOST_COLUMNS:
        left = ", ".join(columns[MOST_COLUMNS:])
        out.notes.append(f"candidates are for the {MOST_COLUMNS} columns by which most is asked; not for {left}")
    for kind in [*KINDS, *KINDS.others().values()]:
        if kind.keeps_facts:
            out.add(kind, replace(whole, together=()))
        elif kind.keeps_rows:
            if copies:
                _copies(out, kind, copied, columns)
        else:
            for name in columns[:MOST_COLUMNS]:
                out.add(kind, _alone(whole, name))
            for names in whole.together[:MOST_TOGETHER]:
                out.add(kind, AskedColumns(named=names, together=(names,)))
    return out


def of_queries(queries: Sequence[AskedQuery], schema: Schema) -> AskedColumns:
    """Return the columns of queries by use; those joined, grouped, sorted and needed, too."""
    columns = asked_columns([query.tree for query in queries], schema)
    ordered = {
        leaf.parts: ColumnRef(leaf.parts).name for leaf in schema.leaves() if physical_type(leaf.type) is not None
    }
    by_name = {name.lower(): name for name in ordered.values()}

    def known(names: Iterable[str]) -> tuple[str, ...]:
        own = (by_name.get(name.replace("`", "").lower()) for name in names)
        return tuple(dict.fromkeys(name for name in own if name is not None))

    needed = dict.fromkeys(ColumnRef(parts).name for query in queries for parts in sorted(query.needs))
    together = [names for query in queries if (names := _together(query.tree, columns.compared))]
    return replace(
        columns,
        together=tuple(dict.fromkeys(together)),
        joined=known(name for query in queries for name in query.joined),
        grouped=known(name for query in queries for name in query.grouped),
        ordered=known(name for query in queries for name in query.ordered),
        needed=tuple(needed),
    )


def _together(tree: Predicate, compared: Sequence[str]) -> tuple[str, ...]:
    """Columns that must all be equal to something, if there are a few of them."""
    names: dict[str, None] = {}
    for part in conjuncts(gathered_form(tree)):
        match part:
            case Comparison(op=Op.EQ, column=column) | In(column=column) if column.name in compared:
                names[column.name] = None
            case _:
                pass
    return tuple(names) if 2 <= len(names) <= _WIDEST else ()


def _merged(several: Sequence[AskedColumns]) -> AskedColumns:
    merged = {
        name: tuple(dict.fromkeys(value for query in several for value in getattr(query, name)))
        for name in AskedColumns.__dataclass_fields__
    }
    return AskedColumns(**merged)


def _alone(whole: AskedColumns, name: str) -> AskedColumns:
    """Return the questions about this column only."""
    return AskedColumns((name,), _only(name, whole.compared), _only(name, whole.ranged))


def _only(name: str, names: Sequence[str]) -> tuple[str, ...]:
    return (name,) if name in names else ()


def _copies(out: Suggestions, kind: type[Kind], of_query: Sequence[AskedColumns], columns: Sequence[str]) -> None:
    """Suggest copies for single queries, and for all that ask for a column, as one that begins with it."""
    left = MOST_COPIES
    for asked_for in of_query:
        left -= out.add(kind, asked_for, left)
    for name in columns[:MOST_COLUMNS]:
        several = [query for query in of_query if name in (*query.compared, *query.ranged)]
        if len(several) > 1:
            left -= out.add(kind, _beginning(_merged(several), name), left)


def _beginning(asked_for: AskedColumns, name: str) -> AskedColumns:
    compared, ranged = _only(name, asked_for.compared), _only(name, asked_for.ranged)
    return replace(asked_for, compared=compared, ranged=ranged, joined=(), grouped=(), ordered=())
