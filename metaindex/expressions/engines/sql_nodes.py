"""Base of all readers of SQL nodes: a node's name for messages, its arguments, and the readers inside it."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final, Protocol

from sqlglot import exp

from metaindex.expressions.literals import NotReadable
from metaindex.expressions.scalars.building import ScalarBuilder, UnknownMeaning
from metaindex.expressions.scalars.nodes import Scalar
from metaindex.expressions.tree import Op

COMPARISONS: Final[dict[type, Op]] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
    exp.NullSafeEQ: Op.NULL_SAFE_EQ,
}
_MOST_PARTS: Final = 64
_FUNCTION: Final = re.compile(r"(\w+)\(")


class ReadsNodes(Protocol):
    """`ScalarReader`, for those that it asks about texts and times. `zone`: the session's; `now`: the moment that a
    query asks for."""

    zone: str
    now: dt.datetime
    builder: ScalarBuilder

    def read(self, node: exp.Expression) -> Scalar: ...

    def side(self, node: exp.Expression) -> Scalar: ...

    def joined(self, name: str, parts: list[Scalar]) -> Scalar: ...


def path(node: exp.Expression) -> tuple[str, ...]:
    """The names of a column and of the fields of structs below it. NotReadable for what is no such thing."""
    if type(node) is exp.Dot:
        only(node, "this", "expression")
        above, name = path(node.this.unnest()), node.expression
        if type(name) is not exp.Identifier or len(above) > _MOST_PARTS:
            raise NotReadable
        return (*above, str(name.this))
    if type(node) is not exp.Column or not all(type(part) is exp.Identifier for part in node.parts):
        raise NotReadable
    only(node, "this", "table", "db", "catalog")
    return tuple(str(part.this) for part in node.parts)


def only(node: exp.Expression, *known: str) -> None:
    """An argument that we do not know may change what the node means."""
    unknown = [name for name, value in node.args.items() if value and name not in known]
    if unknown:
        raise UnknownMeaning(named(node))


def type_name(to: exp.Expression) -> str:
    """Return the type's name as Spark writes it; sqlglot would write a time of day as a timestamp."""
    return "TIME" if to.this is exp.DataType.Type.TIME else str(to.sql(dialect="spark"))


def named(node: exp.Expression) -> str:
    """Return a node's name for messages."""
    if isinstance(node, exp.Query | exp.Exists) or any(isinstance(part, exp.Query) for part in node.args.values()):
        return "a subquery"
    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this).lower()}"
    written = str(node.sql(dialect="spark", comments=False))
    function = _FUNCTION.match(written)
    return f"the function {function[1].lower()}" if function else written[:80]
