"""Candidates, by names that a person reads; and those that follow from queries where none is given."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from metaindex.core import ArgumentError, dataclass
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    In,
    Op,
    Predicate,
    StartsWith,
    columns,
    gathered_form,
    leaves,
    physical_type,
)
from metaindex.formats import Leaf, Schema
from metaindex.index import KINDS, AskedColumns, FactKind, Kind, RowKind, check_kinds

A_PART: Final = "*"
"""Behind a column among what a query needs: Spark reads a part of it, as a type of its own, which no copy of rows has.
"""


def in_part(needs: Iterable[tuple[str, ...]]) -> list[str]:
    """The columns of which a part is needed."""
    return sorted(ColumnRef(parts[:1]).name for parts in needs if parts[1:] == (A_PART,))


@dataclass(frozen=True, slots=True)
class Candidate:
    """An index that might be created, of one kind or several."""

    name: str
    kinds: tuple[Kind, ...]

    @property
    def facts(self) -> tuple[Kind, ...]:
        """Kinds that keep facts of columns."""
        return tuple(kind for kind in self.kinds if isinstance(kind, FactKind))

    @property
    def copies(self) -> tuple[RowKind, ...]:
        """Kinds that keep rows of the table."""
        return tuple(kind for kind in self.kinds if isinstance(kind, RowKind))


def named(given: Kind | Sequence[Kind | Sequence[Kind]]) -> list[Candidate]:
    """Name candidates: each is a kind, or several of one index; a kind alone is a list of one. Raises ArgumentError."""
    found: list[Candidate] = []
    for one in given if isinstance(given, list | tuple) else (given,):
        kinds = tuple(one) if isinstance(one, list | tuple) else (one,)
        check_kinds(kinds)
        name = " + ".join(kind.title for kind in kinds)
        if any(name == other.name for other in found):
            said = json.dumps([dict(kind.spec().properties) for kind in kinds], default=str)
            name = f"{name} {said}"
        if any(kinds == other.kinds for other in found):
            raise ArgumentError(f"a candidate is given once; {name} was given twice; leave one out")
        found.append(Candidate(name, kinds))
    return found


def following(trees: Iterable[Predicate], schema: Schema) -> list[Candidate]:
    """Return candidates that may help these queries, as the kinds of metaindex themselves suggest."""
    asked = asked_columns(trees, schema)
    return named([suggested for kind in KINDS for suggested in kind.suggested(asked)])


def asked_columns(trees: Iterable[Predicate], schema: Schema) -> AskedColumns:
    """Return the columns of the table that conditions compare, and how."""
    by_name = {leaf.parts: leaf for leaf in schema.leaves() if physical_type(leaf.type) is not None}
    known: dict[str, None] = {}
    compared: dict[str, None] = {}
    ranged: dict[str, None] = {}
    for tree in trees:
        known |= {ref.name: None for ref in columns(tree) if ref.parts in by_name}
        for leaf in leaves(gathered_form(tree)):
            match leaf:
                case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ, column=column) | In(column=column):
                    if _in_files(by_name.get(column.parts)):
                        compared[column.name] = None
                case Comparison(op=Op.LT | Op.LE | Op.GT | Op.GE, column=column) | StartsWith(column=column):
                    if _in_files(by_name.get(column.parts)):
                        ranged[column.name] = None
                case _:
                    pass
    return AskedColumns(tuple(known), tuple(compared), tuple(ranged))


def _in_files(leaf: Leaf | None) -> bool:
    return leaf is not None and not any(one.partition for one in leaf.path)
