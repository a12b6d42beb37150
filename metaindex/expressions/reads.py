"""The tables that a query reads, independent of engines: which columns, by what predicate, joined, grouped and sorted
by what. Proves nothing: it lists what indexes might be asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from typing import Final, assert_never

from metaindex.core import dataclass

from .normal_form import normalize
from .tree import And, ColumnRef, Comparison, Constant, In, IsNan, IsNull, Not, Op, Opaque, Or, Predicate, StartsWith

EVERY_ROW: Final = Constant(True)
# Python before 3.11.5 goes on behind what the last turn of a possessive group read in vain: none here can do that.
_STATEMENT: Final = re.compile(
    r"(?:\s|\(|--[^\n]*+\n|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/)*"
    r"(?:select|with|from|insert|create|delete|update|merge|values|table|explain|describe|show|use|set|drop|alter|"
    r"truncate|cache|refresh|analyze|replace)\b",
    re.IGNORECASE | re.DOTALL,
)
_IS_COMPARED: Final = re.compile(
    r"(?:\s|\()*\w+\s*(?:[=<>!]|\.[A-Za-z_`]|(?:is|in|like|between|and|or)\b|not\s+(?:in|like|between)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class UnresolvedColumns:
    """Unqualified columns of a table among several: its own and those that may be its own, until the table's columns
    are known."""

    predicate: Predicate = EVERY_ROW
    columns: tuple[str, ...] = ()
    group_keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableRead:
    """A table of a query, once per occurrence. `table`: its name as written, "" for that of a bare condition.
    `predicate`: in normal form, TRUE if there is none. `columns`: those named, all of them with `every_column`.
    `order`: columns, those sorted from last to first with " DESC" after them."""

    table: str
    predicate: Predicate = EVERY_ROW
    columns: tuple[str, ...] = ()
    group_keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    every_column: bool = False
    unplaced: UnresolvedColumns | None = None

    def placed(self, columns: Set[str]) -> TableRead:
        """Return the read with the unqualified columns that are the table's, once its column names are known (in lower
        case, for structs the first part)."""
        if self.unplaced is None:
            return self

        def own(ref: ColumnRef) -> ColumnRef | None:
            return ref if ref.parts[0].lower() in columns else None

        def known(names: Iterable[str]) -> tuple[str, ...]:
            return tuple(name for name in names if _first_part(name) in columns)

        mine = restricted(self.unplaced.predicate, own)
        order = self.unplaced.order
        kept = next((at for at, name in enumerate(order) if _first_part(name) not in columns), len(order))
        return replace(
            self,
            predicate=conjoined([self.predicate, *([] if mine is None else [mine])]),
            columns=known(self.unplaced.columns),
            group_keys=known(self.unplaced.group_keys),
            order=order[:kept],
            unplaced=None,
        )


@dataclass(frozen=True, slots=True)
class JoinKey:
    """`left = right`, columns of two tables; a table is "" if the column's table is unknown."""

    left_table: str
    left: str
    right_table: str
    right: str

    def placed(self, columns: Mapping[str, Set[str]]) -> JoinKey:
        """Resolve the tables. `columns`: the names of each table's. A column that several have stays as it is."""

        def table(known: str, name: str) -> str:
            having = [] if known else [table for table, names in columns.items() if _first_part(name) in names]
            return having[0] if len(having) == 1 else known

        return replace(
            self, left_table=table(self.left_table, self.left), right_table=table(self.right_table, self.right)
        )


@dataclass(frozen=True, slots=True)
class StatementReads:
    """`limit`: of the whole."""

    tables: tuple[TableRead, ...]
    joins: tuple[JoinKey, ...] = ()
    limit: int | None = None

    @staticmethod
    def begins(text: str) -> bool:
        """Return whether the text begins like a statement, and not like a condition."""
        return bool(_STATEMENT.match(text)) and not _IS_COMPARED.match(text)


def _first_part(name: str) -> str:
    """Return the first part of a column's name, which may end in " DESC", in lower case."""
    return (name[1:].split("`")[0] if name.startswith("`") else name.removesuffix(" DESC").split(".")[0]).lower()


def conjoined(parts: Iterable[Predicate]) -> Predicate:
    """Return the AND of all parts, each once, in normal form."""
    flat: dict[Predicate, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if isinstance(part, And) else (part,))
    return normalize(And(tuple(flat)))


def without_said(parts: Iterable[Predicate]) -> Predicate:
    """Return `conjoined` without the `IS NOT NULL` parts that Spark adds and another part implies."""
    normal = conjoined(parts)
    if not isinstance(normal, And):
        return normal
    said = {column for part in normal.parts if (column := _never_null(part)) is not None}
    left = tuple(
        part
        for part in normal.parts
        if not (isinstance(part, Not) and isinstance(part.child, IsNull) and part.child.column in said)
    )
    return left[0] if len(left) == 1 else And(left)


def _never_null(part: Predicate) -> ColumnRef | None:
    """The column that is not NULL where the part is TRUE."""
    inner = part.child if isinstance(part, Not) else part
    match inner:
        case Comparison(op=Op.NULL_SAFE_EQ):
            return None
        case Comparison() | In() | StartsWith():
            return inner.column
        case _:
            return None


def restricted(predicate: Predicate, own: Callable[[ColumnRef], ColumnRef | None]) -> Predicate | None:
    """Return what a normal form implies for the columns that are `own`, by their names there; None if nothing. AND
    drops the parts about other columns; OR needs every part."""
    match predicate:
        case And():
            parts = [part for whole in predicate.parts if (part := restricted(whole, own)) is not None]
            return And(tuple(parts)) if parts else None
        case Or():
            some = [restricted(whole, own) for whole in predicate.parts]
            return None if any(part is None for part in some) else Or(tuple(part for part in some if part is not None))
        case Not():
            child = restricted(predicate.child, own)
            return None if child is None or isinstance(predicate.child, And | Or) else Not(child)
        case Opaque():
            columns = [own(ref) for ref in predicate.columns]
            mine = tuple(ref for ref in columns if ref is not None)
            return replace(predicate, columns=mine) if mine and len(mine) == len(columns) else None
        case Comparison() | In() | IsNull() | IsNan() | StartsWith():
            column = own(predicate.column)
            return None if column is None else replace(predicate, column=column)
        case Constant():
            return predicate
        case _:
            assert_never(predicate)


def null_rejecting(predicate: Predicate) -> bool:
    """Return whether the predicate cannot be true if all its columns are NULL."""
    match predicate:
        case And():
            return any(map(null_rejecting, predicate.parts))
        case Or():
            return all(map(null_rejecting, predicate.parts))
        case Comparison():
            return predicate.op is not Op.NULL_SAFE_EQ
        case In() | StartsWith() | IsNan() | Not(IsNull() | In() | StartsWith()):
            return True
        case Not() | IsNull() | Opaque() | Constant():
            return False
        case _:
            assert_never(predicate)
