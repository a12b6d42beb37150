"""The predicate tree: a closed union of frozen nodes.

Adding a node makes mypy point at every walk (`match` + `assert_never`). Nodes hold what is asked and nothing else: names are
resolved and literals coerced by `bind`, NOT is pushed down by `normalize`, meaning is given by `evaluate` (rows) and `skipping` (files).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .literals import Literal


@dataclass(frozen=True, slots=True, order=True)
class ColumnRef:
    """A column by its path: `("payload", "user")` is field `user` of struct `payload`."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The dotted name; a part that holds a dot, a backtick, a blank or nothing is quoted by backticks as Spark does."""
        return ".".join(_quoted(part) for part in self.parts)

    def __str__(self) -> str:
        return self.name


def _quoted(part: str) -> str:
    if part and not any(c in part for c in ".` "):
        return part
    return "`" + part.replace("`", "``") + "`"


class Op(Enum):
    """Comparison operators; the value is the SQL text."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NULL_SAFE_EQ = "<=>"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column op value`. A NULL literal makes the answer NULL, save for `<=>`."""

    column: ColumnRef
    op: Op
    value: Literal


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (values)`; NULL among the values makes a miss NULL."""

    column: ColumnRef
    values: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    column: ColumnRef


@dataclass(frozen=True, slots=True)
class IsNan:
    """`isnan(column)`; false for NULL, as in Spark."""

    column: ColumnRef


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`column LIKE 'prefix%'`, by bytes."""

    column: ColumnRef
    prefix: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """What could not be read: nothing is known of it, so it keeps every file."""

    text: str
    columns: tuple[ColumnRef, ...] = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Predicate, ...]


Leaf = Comparison | In | IsNull | IsNan | StartsWith | Opaque | Constant
Predicate = Leaf | Not | And | Or
