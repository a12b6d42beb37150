"""Scalar expressions out of SQL: what the parser has read becomes calls of functions whose meaning is known.

By an allow-list of the parser's classes and arguments, as in `sql`. `UnknownMeaning` names what is not in it, or what
this parser may read in another way than Spark does (chains of comparisons without parentheses).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from metaindex.expressions.literals import Literal, NotReadable
from metaindex.expressions.normal_form import halved
from metaindex.expressions.scalars.building import ScalarBuilder, UnknownMeaning, fixed, text, whole
from metaindex.expressions.scalars.nodes import ColumnValue, Fixed, FunctionCall, Scalar
from metaindex.expressions.scalars.types import (
    BIGINT,
    BOOLEAN,
    CLOCK,
    DATE,
    DOUBLE,
    INSTANT,
    INT,
    MOST_DIGITS,
    NULL,
    STRING,
    is_list,
    is_map,
    known_type,
    type_of_name,
)
from metaindex.expressions.tree import ColumnRef

from .casts import type_by_any_case
from .sql_nodes import COMPARISONS, named, only, path, type_name
from .sql_texts import TEXTS
from .sql_times import TIMES, later, now, part_of_time, today
from .sql_values import cast_value, number_value

_DEEPEST: Final = 100
_PREDICATES: Final = (*COMPARISONS, exp.NullSafeNEQ, exp.In, exp.Between, exp.Like, exp.ILike, exp.Is, exp.Not)
_PREDICATES_TOO: Final = (exp.And, exp.Or, exp.Escape)


class ScalarReader:
    """`schema`: the columns' types; `zone`: the session's; `now`: the moment that a query asks for."""

    def __init__(self, schema: pa.Schema, zone: str, now: dt.datetime) -> None:
        self.schema, self.zone, self.now = schema, zone, now
        self.builder = ScalarBuilder(zone)
        self._depth = 0

    def read(self, node: exp.Expression) -> Scalar:
        """UnknownMeaning."""
        node = node.unnest()
        read = _READERS.get(type(node))
        if read is None:
            raise UnknownMeaning(named(node))
        self._depth += 1
        if self._depth > _DEEPEST:
            raise UnknownMeaning("an expression that is nested so deeply")
        try:
            return read(self, node)
        except UnknownMeaning:
            raise
        except NotReadable:
            raise UnknownMeaning(named(node)) from None
        finally:
            self._depth -= 1

    def boolean(self, node: exp.Expression) -> Scalar:
        read = self.read(node)
        if read.type not in (BOOLEAN, NULL):
            raise UnknownMeaning("a condition that is no boolean")
        return read

    def _column(self, node: exp.Expression) -> Scalar:
        if type(node) is exp.Dot and isinstance(node.this.unnest(), exp.Bracket):
            raise UnknownMeaning("a field of an element")
        names = path(node)
        known = type_by_any_case(self.schema, names)
        t = None if known is None else known_type(known)
        if t is None:
            of = "that is not there" if known is None else f"of type {known}"
            raise UnknownMeaning(f"a column {of}")
        return ColumnValue(ColumnRef(names), t)

    def _literal(self, node: exp.Expression) -> Scalar:
        if node.is_string:
            return text(str(node.this))
        value = number_value(str(node.this))
        if isinstance(value, float):
            return fixed(value, DOUBLE)
        if isinstance(value, int):
            for t in (INT, BIGINT):
                if -(1 << t.bit_width - 1) <= value < 1 << t.bit_width - 1:
                    return whole(value, t)
            value = Decimal(value)
        return fixed(value, _decimal_type(value))

    def _negative(self, node: exp.Expression) -> Scalar:
        inner = node.this.unnest()
        if type(inner) is exp.Literal and not inner.is_string:
            positive = self.read(inner)
            value = positive.value.value if isinstance(positive, Fixed) else None
            if isinstance(value, Decimal):
                return fixed(value.copy_negate() if value else value, positive.type)
        return self.builder.call("negative", self.read(inner))

    def _raw(self, node: exp.Expression) -> Scalar:
        return text(str(node.this))

    def _boolean(self, node: exp.Expression) -> Scalar:
        return fixed(bool(node.this), BOOLEAN)

    def _null(self, node: exp.Expression) -> Scalar:
        return Fixed(Literal(None), NULL)

    def _cast(self, node: exp.Expression) -> Scalar:
        only(node, "this", "to")
        name = type_name(node.args["to"])
        t = type_of_name(name)
        if t is None:
            raise UnknownMeaning(f"a cast to {name.lower()}")
        source = self.read(node.this)
        if isinstance(source, Fixed) and source.type == STRING and t != STRING:
            return fixed(cast_value(source.value.value, name, self.zone), t)
        return self.builder.cast(source, t)

    def _call(self, node: exp.Expression) -> Scalar:
        name, *parts = _CALLS[type(node)]
        only(node, *parts, "typed", "safe")
        return self.builder.call(name, *(self.read(node.args[part]) for part in parts))

    def _add(self, node: exp.Expression, sign: int = 1) -> Scalar:
        only(node, "this", "expression")
        left, right = node.this.unnest(), node.expression.unnest()
        if type(right) is exp.Interval:
            return later(self, self.read(left), right, sign)
        if type(left) is exp.Interval and sign > 0:
            return later(self, self.read(right), left, sign)
        first, other = self.read(left), self.read(right)
        if first.type == DATE and other.type == DATE and sign < 0:
            raise UnknownMeaning("an interval between dates")
        if first.type == DATE:
            return self.builder.call("date_add" if sign > 0 else "date_sub", first, other)
        if other.type == DATE and sign > 0:
            return self.builder.call("date_add", other, first)
        return self.builder.call("+" if sign > 0 else "-", first, other)

    def _subtract(self, node: exp.Expression) -> Scalar:
        return self._add(node, -1)

    def _comparison(self, node: exp.Expression) -> Scalar:
        only(node, "this", "expression")
        left, right = (self.side(side) for side in (node.this, node.expression))
        left, right = self._as_times(left, right.type), self._as_times(right, left.type)
        if type(node) is exp.NullSafeNEQ:
            return self.builder.call("not", self.builder.call("<=>", left, right))
        return self.builder.call(COMPARISONS[type(node)].value, left, right)

    def side(self, node: exp.Expression) -> Scalar:
        """Read a side of a comparison; a comparison in it needs parentheses, as engines chain them differently."""
        if isinstance(node, (*_PREDICATES, *_PREDICATES_TOO)):
            raise UnknownMeaning("comparisons of comparisons without parentheses")
        return self.read(node)

    def _as_times(self, scalar: Scalar, other: pa.DataType) -> Scalar:
        """A text beside a date or a time is one."""
        if isinstance(scalar, Fixed) and scalar.type == STRING and other in (DATE, CLOCK, INSTANT):
            name = {DATE: "DATE", CLOCK: "TIMESTAMP_NTZ", INSTANT: "TIMESTAMP"}[other]
            return fixed(cast_value(scalar.value.value, name, self.zone), other)
        return scalar

    def _and(self, node: exp.Expression) -> Scalar:
        return self.joined("and", [self.boolean(part) for part in node.flatten()])

    def _or(self, node: exp.Expression) -> Scalar:
        return self.joined("or", [self.boolean(part) for part in node.flatten()])

    def joined(self, name: str, parts: list[Scalar]) -> Scalar:
        return halved(parts, partial(self.builder.call, name))

    def _not(self, node: exp.Expression) -> Scalar:
        return self.builder.call("not", self.boolean(node.this))

    def _is(self, node: exp.Expression) -> Scalar:
        only(node, "this", "expression")
        asked, what = self.side(node.this), node.expression
        if type(what) is exp.Null:
            return self.builder.call("is null", asked)
        if type(what) is exp.Boolean and asked.type in (BOOLEAN, NULL):
            return self.builder.call("<=>", asked, fixed(bool(what.this), BOOLEAN))
        raise UnknownMeaning("IS of something else than NULL, TRUE and FALSE")

    def _in(self, node: exp.Expression) -> Scalar:
        only(node, "this", "expressions")
        asked = self.side(node.this)
        values = [self._as_times(self.read(value), asked.type) for value in node.expressions]
        return self.builder.call("in", asked, *values)

    def _between(self, node: exp.Expression) -> Scalar:
        only(node, "this", "low", "high")
        asked = self.side(node.this)
        low, high = (self._as_times(self.side(node.args[side]), asked.type) for side in ("low", "high"))
        return self.builder.call("and", self.builder.call(">=", asked, low), self.builder.call("<=", asked, high))

    def _case(self, node: exp.Expression) -> Scalar:
        only(node, "this", "ifs", "default")
        asked = node.args.get("this")
        parts: list[Scalar] = []
        for branch in node.args["ifs"]:
            if asked is None:
                parts.append(self.boolean(branch.this))
            else:
                value = self.read(asked)
                other = self._as_times(self.read(branch.this), value.type)
                parts.append(self.builder.call("=", self._as_times(value, other.type), other))
            parts.append(self.read(branch.args["true"]))
        default = node.args.get("default")
        return self.builder.call("case", *parts, self._null(node) if default is None else self.read(default))

    def _if(self, node: exp.Expression) -> Scalar:
        only(node, "this", "true", "false")
        otherwise = node.args.get("false")
        if otherwise is None:
            raise UnknownMeaning("if() of two arguments")
        return self.builder.call("case", self.boolean(node.this), self.read(node.args["true"]), self.read(otherwise))

    def _nullif(self, node: exp.Expression) -> Scalar:
        only(node, "this", "expression")
        value = self.read(node.this)
        equal = self.builder.call("=", value, self._as_times(self.read(node.expression), value.type))
        return self.builder.call("case", equal, self._null(node), value)

    def _several(self, node: exp.Expression) -> Scalar:
        only(node, "this", "expressions", "ignore_nulls")
        name, parts = _SEVERAL[type(node)], [self.read(part) for part in (node.this, *node.expressions)]
        if len(parts) < 2:
            raise UnknownMeaning(f"{name} of one value")
        return self.builder.call(name, *parts)

    def _floating(self, node: exp.Expression) -> Scalar:
        only(node, "this")
        value = self.read(node.this)
        value = self.builder.cast(value, DOUBLE) if value.type == pa.float32() else value
        return self.builder.call(_FLOATING[type(node)], value)

    def _anonymous(self, node: exp.Expression) -> Scalar:
        name, arguments = str(node.this).lower(), node.expressions
        if name == "now" and not arguments:
            return now(self, node)
        if name == "curdate" and not arguments:
            return today(self, node)
        if name == "cardinality" and len(arguments) == 1:
            return self._one_of("size", arguments[0])
        if name in ("isnull", "isnotnull") and len(arguments) == 1:
            null = self._one_of("is null", arguments[0])
            return null if name == "isnull" else self.builder.call("not", null)
        if name in ("octet_length", "weekday") and len(arguments) == 1:
            return part_of_time(self, name, arguments[0]) if name == "weekday" else self._one_of(name, arguments[0])
        raise UnknownMeaning(f"the function {name}")

    def _one_of(self, name: str, node: exp.Expression) -> Scalar:
        return self.builder.call(name, self.read(node))

    def _bracket(self, node: exp.Expression) -> Scalar:
        only(node, "this", "expressions")
        if len(node.expressions) != 1:
            raise UnknownMeaning("a subscript of several")
        of, key = self.read(node.this), self.read(node.expressions[0])
        if is_list(of.type):
            return self._known_element(self.builder.call("element", of, key))
        if is_map(of.type):
            return self._known_element(self.builder.call("entry", of, key))
        raise UnknownMeaning(f"a subscript of {of.type}")

    def _known_element(self, element: Scalar) -> Scalar:
        t = known_type(element.type)
        if t is None or not isinstance(element, FunctionCall) or pa.types.is_struct(t):
            raise UnknownMeaning(f"an element of type {element.type}")
        return FunctionCall(element.function, element.arguments, t)


def _decimal_type(value: Decimal) -> pa.DataType:
    _, digits, exponent = value.as_tuple()
    scale = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    precision = max(len(digits) + (exponent if isinstance(exponent, int) and exponent > 0 else 0), scale, 1)
    if precision > MOST_DIGITS:
        raise UnknownMeaning("a number of more than 38 digits")
    return pa.decimal128(precision, scale)


_CALLS: Final[dict[type, tuple[str, ...]]] = {
    exp.Mul: ("*", "this", "expression"),
    exp.Div: ("/", "this", "expression"),
    exp.IntDiv: ("div", "this", "expression"),
    exp.Mod: ("%", "this", "expression"),
    exp.StartsWith: ("startswith", "this", "expression"),
    exp.EndsWith: ("endswith", "this", "expression"),
    exp.Contains: ("contains", "this", "expression"),
    exp.DPipe: ("concat", "this", "expression"),
    exp.ArrayContains: ("array_contains", "this", "expression"),
    exp.Upper: ("upper", "this"),
    exp.Lower: ("lower", "this"),
    exp.Length: ("length", "this"),
    exp.Abs: ("abs", "this"),
    exp.ArraySize: ("size", "this"),
}
"""Functions by their names in `functions.TABLE`, and the parser's names of their arguments."""
_FLOATING: Final[dict[type, str]] = {exp.Floor: "floor", exp.Ceil: "ceil", exp.IsNan: "isnan"}
_SEVERAL: Final[dict[type, str]] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}
_R = ScalarReader
_READERS: Final[dict[type, Callable[[Any, Any], Scalar]]] = {
    exp.Column: _R._column,
    exp.Dot: _R._column,
    exp.Literal: _R._literal,
    exp.RawString: _R._raw,
    exp.Boolean: _R._boolean,
    exp.Null: _R._null,
    exp.Neg: _R._negative,
    exp.Cast: _R._cast,
    exp.TryCast: _R._cast,
    exp.Add: _R._add,
    exp.Sub: _R._subtract,
    **dict.fromkeys((*COMPARISONS, exp.NullSafeNEQ), _R._comparison),
    exp.And: _R._and,
    exp.Or: _R._or,
    exp.Not: _R._not,
    exp.Is: _R._is,
    exp.In: _R._in,
    exp.Between: _R._between,
    exp.Case: _R._case,
    exp.If: _R._if,
    exp.Nullif: _R._nullif,
    exp.Anonymous: _R._anonymous,
    exp.Bracket: _R._bracket,
    **dict.fromkeys(_CALLS, _R._call),
    **dict.fromkeys(_FLOATING, _R._floating),
    **dict.fromkeys(_SEVERAL, _R._several),
    **TEXTS,
    **TIMES,
}
