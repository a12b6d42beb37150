"""Reads pyarrow expressions as predicates: exactly, or Opaque. The other direction, and how the two sides differ, is
`arrow`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import LiteralTypeError
from metaindex.expressions.literals import Literal, NotReadable
from metaindex.expressions.tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

from .arrow_calls import Call, FieldRef, Node, NotSerializable, Value, calls
from .casts import keeps_values, may_hold_nan
from .nullness import are_plain, coalesced, null_of
from .sql_values import like_pattern


def from_arrow(expression: pc.Expression, schema: pa.Schema | None = None) -> Predicate:
    """The predicate that passes the rows that pyarrow's filter passes; what cannot be read is Opaque, never an error.

    Without a `schema` every numeric column may be a float, and a cast of a column is Opaque.
    """
    try:
        tree = calls(expression)
    except NotSerializable:
        return Opaque(_shown(expression))
    return _ArrowReader(schema).predicate(tree)


def names_read(expression: pc.Expression) -> set[str] | None:
    """Return the top-level columns that an expression reads; None if that is unknown."""
    try:
        tree = calls(expression)
    except NotSerializable:
        return None
    return {column.parts[0] for column in _fields(tree)}


def _shown(expression: pc.Expression) -> str:
    """Return the expression's text for messages. pyarrow cuts long texts, even inside a character."""
    try:
        return " ".join(str(expression).split())
    except UnicodeDecodeError:
        return "an expression of pyarrow"


class _ArrowReader:
    def __init__(self, schema: pa.Schema | None) -> None:
        self.schema = schema
        self._pairs: dict[Opaque, tuple[ColumnRef, ColumnRef]] = {}

    def predicate(self, node: Node) -> Predicate:
        try:
            return self._read(node)
        except (NotReadable, RecursionError):
            opaque = Opaque(_node_text(node), tuple(dict.fromkeys(_fields(node))))
            if isinstance(node, Call) and node.function in _OPS and (pair := self._pair(node.arguments)) is not None:
                self._pairs[opaque] = pair
            return opaque

    def _pair(self, nodes: Sequence[Node]) -> tuple[ColumnRef, ColumnRef] | None:
        """Two columns of which a comparison is NULL where one of them is, and nowhere else."""
        try:
            left, right = map(self._column, nodes)
        except (NotReadable, ValueError):
            return None
        types = [column.type_in(self.schema) for column in (left, right)]
        return (left, right) if are_plain(*types) else None

    def _read(self, node: Node) -> Predicate:
        match node:
            case FieldRef():
                return Comparison(self._column(node), Op.EQ, Literal(True))
            case Value(scalar):
                value = _literal(scalar).value
                if value is None or isinstance(value, bool):
                    return Constant(value)
                raise NotReadable
            case Call("and_kleene", (left, right)):
                return self.predicate(left) & self.predicate(right)
            case Call("or_kleene", (left, right)):
                return self.predicate(left) | self.predicate(right)
            case Call("invert", (child,)):
                return Not(self.predicate(child))
            case Call(function, (Value(scalar), right)) if function in _OPS:
                op = _OPS[function]
                return self._comparison(self._column(right), op.mirrored, _literal(scalar))
            case Call(function, (left, Value(scalar))) if function in _OPS:
                return self._comparison(self._column(left), _OPS[function], _literal(scalar))
            case Call("is_valid", (child,)):
                return Not(self._is_null(child))
            case Call("is_null", (child,), options):
                is_null, nan_too = self._is_null(child), _option(options, "nan_is_null") is True
                if nan_too and isinstance(is_null, IsNull) and may_hold_nan(self.schema, is_null.column, 0.0):
                    return Or((is_null, IsNan(is_null.column)))
                return is_null
            case Call("coalesce", (child, Value(scalar))):
                return coalesced(self.predicate(child), self._is_null(child), self._read(Value(scalar)))
            case Call("is_nan", (child,)):
                # pyarrow says NULL for NULL where the tree's IsNan says false: `= NaN` says NULL.
                return Comparison(self._column(child), Op.EQ, Literal(math.nan))
            case Call("starts_with", (child,), options):
                return StartsWith(self._column(child), _pattern(options))
            case Call("match_like", (child,), options):
                pattern = _pattern(options)
                if "\\" in pattern:
                    raise NotReadable
                text, is_prefix = like_pattern(pattern, "")
                column = self._column(child)
                return StartsWith(column, text) if is_prefix else Comparison(column, Op.EQ, Literal(text))
            case Call("is_in", (child,), options):
                return self._is_in(self._column(child), options)
            case _:
                raise NotReadable

    def _is_null(self, node: Node) -> Predicate:
        """Read IS NULL of a column, or of a condition: in pyarrow a comparison is NULL exactly if one of its sides is
        (a cast that fails is an error)."""
        try:
            return IsNull(self._column(node))
        except NotReadable:
            return null_of(self.predicate(node), self._pairs, lambda _column, _value: True)

    def _comparison(self, column: ColumnRef, op: Op, value: Literal) -> Predicate:
        if isinstance(value.value, float) and math.isnan(value.value):
            # Never true against NaN, save for !=, which is always: <= NaN is true for every value, > NaN for none.
            return Comparison(column, Op.LE if op is Op.NE else Op.GT, value)
        compared = Comparison(column, op, value)
        if op in {Op.GT, Op.GE} and may_hold_nan(self.schema, column, value.value):
            return And((compared, Not(IsNan(column))))
        return compared

    def _is_in(self, column: ColumnRef, options: pa.Scalar | None) -> Predicate:
        given = options["value_set"] if options is not None else None
        nulls = _option(options, "null_matching_behavior")
        if given is None or not given.is_valid or nulls not in {0, 1}:
            raise NotReadable
        values = [_literal(scalar) for scalar in given.values]
        present = tuple(value for value in values if value.value is not None)
        if any(isinstance(value.value, float) and value.value == 0.0 for value in present):
            raise NotReadable  # is_in tells -0.0 from 0.0, the tree does not
        if len(present) < len(values) and nulls == 0:
            return Or((In(column, present), IsNull(column))) if present else IsNull(column)
        return And((In(column, present), Not(IsNull(column)))) if present else Constant(False)

    def _column(self, node: Node) -> ColumnRef:
        match node:
            case FieldRef(path):
                return ColumnRef(path)
            case Call("struct_field", (child,), options):
                steps = str(_option(options, "field_ref") or "").split(".")
                if steps[0] or len(steps) < 2 or not all(step.isidentifier() for step in steps[1:]):
                    raise NotReadable
                return ColumnRef((*self._column(child).parts, *steps[1:]))
            case Call("cast", (child,), options) if options is not None:
                column = self._column(child)
                if self.schema is None or not keeps_values(self.schema, column, options.type.field("to_type").type):
                    raise NotReadable
                return column
            case _:
                raise NotReadable


_OPS: Final = {
    "equal": Op.EQ,
    "not_equal": Op.NE,
    "less": Op.LT,
    "less_equal": Op.LE,
    "greater": Op.GT,
    "greater_equal": Op.GE,
}


def _literal(scalar: pa.Scalar) -> Literal:
    if pa.types.is_time64(scalar.type) and scalar.is_valid and scalar.type.unit == "ns" and scalar.value % 1000:
        raise NotReadable  # Python's time would be cut
    try:
        return Literal.of(scalar.as_py())
    except (LiteralTypeError, ValueError, OverflowError):
        raise NotReadable from None  # finer than Python's times, of a year that it has not, or no value


def _option(options: pa.Scalar | None, name: str) -> object:
    if options is None or not pa.types.is_struct(options.type) or options.type.get_field_index(name) < 0:
        raise NotReadable
    return options[name].as_py()


def _pattern(options: pa.Scalar | None) -> str:
    pattern = _option(options, "pattern")
    if not isinstance(pattern, str) or _option(options, "ignore_case") is not False:
        raise NotReadable
    return pattern


def _fields(node: Node) -> list[ColumnRef]:
    match node:
        case FieldRef(path):
            return [ColumnRef(path)]
        case Call(_, arguments):
            return [field for argument in arguments for field in _fields(argument)]
        case Value():
            return []
        case _:
            assert_never(node)


def _node_text(node: Node) -> str:
    match node:
        case FieldRef(path):
            return ColumnRef(path).name
        case Call(function, arguments):
            return f"{function}({', '.join(_node_text(argument) for argument in arguments)})"
        case Value(scalar):
            try:
                return str(scalar)
            except (ValueError, OverflowError):
                return f"a {scalar.type}"  # finer than Python's times, or of a year that it has not
        case _:
            assert_never(node)
