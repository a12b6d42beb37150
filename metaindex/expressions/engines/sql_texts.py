"""Functions of texts out of SQL, by the parser's classes. UnknownMeaning for what may be meant otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlglot import exp

from metaindex.expressions.literals import NotReadable
from metaindex.expressions.scalars.building import UnknownMeaning, text, whole
from metaindex.expressions.scalars.nodes import Fixed, Scalar
from metaindex.expressions.scalars.types import INT

from .sql_nodes import ReadsNodes, only
from .sql_values import pattern_parts


def like(reader: ReadsNodes, node: exp.Expression, escape: str = "\\") -> Scalar:
    only(node, "this", "expression", "negate")
    asked, pattern = reader.side(node.this), reader.read(node.expression)
    if not isinstance(pattern, Fixed) or not isinstance(pattern.value.value, str):
        raise UnknownMeaning("a pattern that differs from row to row")
    try:
        _ = [*pattern_parts(pattern.value.value, escape)]
    except NotReadable:
        raise UnknownMeaning("a pattern that Spark does not take") from None
    if type(node) is exp.ILike:
        asked, pattern = reader.builder.call("lower", asked), reader.builder.call("lower", pattern)
        if not isinstance(pattern, Fixed):
            raise UnknownMeaning("a pattern of ILIKE with a character whose case is not known")
    matched = reader.builder.call("like", asked, pattern, text(escape))
    return reader.builder.call("not", matched) if node.args.get("negate") else matched


def escape(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression")
    read = reader.read(node.expression)
    value = read.value.value if isinstance(read, Fixed) else None
    if not isinstance(value, str) or len(value) != 1 or type(node.this) not in (exp.Like, exp.ILike):
        raise UnknownMeaning("an escape that is not one character")
    if type(node.this) is exp.ILike:
        raise UnknownMeaning("an escape of ILIKE")
    return like(reader, node.this, value)


def trim(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "position")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim", "": "trim"}
    return reader.builder.call(name[str(node.args.get("position") or "").upper()], reader.read(node.this))


def substring(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "start", "length")
    return _part(reader, node.this, node.args.get("start"), node.args.get("length"))


def left(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression")
    return _part(reader, node.this, None, node.expression)


def _part(
    reader: ReadsNodes, of: exp.Expression, start: exp.Expression | None, length: exp.Expression | None
) -> Scalar:
    first = 1 if start is None else _number(reader, start)
    count = (1 << 31) - 1 if length is None else _number(reader, length)
    if first < 0 or count < 0:
        raise UnknownMeaning("a part of a text that is counted from its end")
    return reader.builder.call("substring", reader.read(of), whole(max(first, 1), INT), whole(count, INT))


def _number(reader: ReadsNodes, node: exp.Expression) -> int:
    read = reader.read(node)
    value = read.value.value if isinstance(read, Fixed) else None
    if type(value) is not int:
        raise UnknownMeaning("a place in a text that is no whole number")
    return value


def concat(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "expressions", "safe")
    parts = [reader.read(part) for part in node.expressions]
    return reader.joined("concat", parts)


def replaced(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression", "replacement")
    other = node.args.get("replacement")
    parts = [reader.read(node.this), reader.read(node.expression), text("") if other is None else reader.read(other)]
    return reader.builder.call("replace", *parts)


def position(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "substr")
    sought = reader.read(node.args["substr"])
    if not isinstance(sought, Fixed) or not sought.value.value:
        raise UnknownMeaning("the place of a text that may be empty")
    return reader.builder.call("instr", reader.read(node.this), sought)


TEXTS: Final[Mapping[type, Callable[[Any, Any], Scalar]]] = {
    exp.Like: like,
    exp.ILike: like,
    exp.Escape: escape,
    exp.Trim: trim,
    exp.Substring: substring,
    exp.Left: left,
    exp.Concat: concat,
    exp.Replace: replaced,
    exp.StrPosition: position,
}
