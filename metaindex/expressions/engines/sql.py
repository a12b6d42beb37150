"""A SQL condition becomes a predicate; `to_sql` (sql_text.py) is the way back.

What the tree can say exactly, under Spark's meaning of the text, becomes nodes. Everything else that parses
(functions, arithmetic, a column against a column, subqueries) becomes `Opaque`, which keeps every file. Only text
that does not parse is an error, and the error says where. Nodes are read by an allow-list of the parser's classes and
arguments: what a later parser adds is Opaque until somebody proves it.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property, lru_cache, partial
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from metaindex.expressions.literals import Literal, LiteralValue, NotReadable
from metaindex.expressions.physical import Family
from metaindex.expressions.scalars.building import UnknownMeaning
from metaindex.expressions.scalars.conditions import condition_of_scalar
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

from .casts import keeps_values, type_by_any_case
from .nullness import are_plain, is_plain, null_of
from .sql_nodes import COMPARISONS, only, path, type_name
from .sql_plain import plain_condition, reads_as_column
from .sql_scalars import ScalarReader
from .sql_syntax import refuse_quoted_names, syntax_tree
from .sql_text import to_sql
from .sql_values import blob_value, cast_value, like_pattern, number_value

__all__ = ["parse", "to_sql"]

_MOST_ASKED: Final = 20


def parse(
    text: str,
    dialect: str = "spark",
    *,
    timezone: str = "UTC",
    schema: pa.Schema | None = None,
    now: dt.datetime | None = None,
) -> Predicate:
    """Read the text of a WHERE condition.

    `timezone` is the session zone, which gives `TIMESTAMP '2020-01-01 00:00:00'` its instant. With a `schema` a cast of
    a column that loses nothing (`CAST(an_int AS BIGINT)`) is seen through, functions of a column become ranges of it
    where that is a proof, and what the tree cannot say can be applied to rows; without one all that is Opaque. `now`:
    what `now()` and its kin are; the present moment.
    """
    plain = plain_condition(text, partial(_is_column, dialect))
    return _parsed(text, dialect, timezone, schema, now) if plain is None else plain


@lru_cache(4096)
def _is_column(dialect: str, name: str) -> bool:
    return reads_as_column(name, lambda text: _parsed(text, dialect, "UTC", None))


def condition_of(node: exp.Expression, timezone: str) -> Predicate:
    """Return the predicate of a condition inside a parsed statement."""
    return _SqlReader("spark", timezone, None, hex_is_binary=False).predicate(node)


def _parsed(
    text: str, dialect: str, timezone: str, schema: pa.Schema | None, now: dt.datetime | None = None
) -> Predicate:
    tree = syntax_tree(text, dialect)
    if schema is not None:
        refuse_quoted_names(text, tree, schema, dialect)
    return _SqlReader(dialect, timezone, schema, hex_is_binary=not _HEX_NUMBER.search(text), now=now).predicate(tree)


_HEX_NUMBER: Final = re.compile(r"\b0[xX]")


class _SqlReader:
    """Reads the parser's tree in one walk. `NotReadable` inside a node makes the nearest predicate Opaque."""

    def __init__(
        self,
        dialect: str,
        timezone: str,
        schema: pa.Schema | None,
        *,
        hex_is_binary: bool,
        now: dt.datetime | None = None,
    ) -> None:
        self.dialect, self.timezone, self.schema, self.now = dialect, timezone, schema, now
        self.pairs: dict[Opaque, tuple[ColumnRef, ColumnRef]] = {}
        self.hex_is_binary = hex_is_binary  # the parser reads X'1F' and 0x1F, which is a name to Spark, as one

    def predicate(self, node: exp.Expression) -> Predicate:
        node = node.unnest()
        try:
            return self._read(node)
        except NotReadable:
            return self._of_scalars(node)
        except (RecursionError, SqlglotError):  # the parser says the first in words of the second
            return Opaque(self._text(node), _columns(node))

    def _of_scalars(self, node: exp.Expression) -> Predicate:
        """Read a comparison of more than a column and a value."""
        text, named = self._text(node), _columns(node)
        if self._scalars is None:
            return Opaque(text, named)
        try:
            return condition_of_scalar(self._scalars.boolean(node), text, named)
        except UnknownMeaning as error:
            return Opaque(text, named, why=str(error))
        except (RecursionError, SqlglotError):
            return Opaque(text, named)

    @cached_property
    def _scalars(self) -> ScalarReader | None:
        if self.schema is None or self.dialect != "spark":
            return None
        return ScalarReader(self.schema, self.timezone, self.now or dt.datetime.now(dt.UTC))

    def _read(self, node: exp.Expression) -> Predicate:
        kind = type(node)
        if kind is exp.And:
            return And(tuple(self.predicate(part) for part in node.flatten()))
        if kind is exp.Or:
            return Or(tuple(self.predicate(part) for part in node.flatten()))
        if kind is exp.Not:
            return Not(self.predicate(node.this))
        if kind in COMPARISONS:
            return self._comparison(node, COMPARISONS[kind])
        if kind is exp.NullSafeNEQ:
            return Not(self._comparison(node, Op.NULL_SAFE_EQ))
        read: Callable[[_SqlReader, exp.Expression], Predicate] | None = _READERS.get(kind)
        if read is None:
            raise NotReadable
        return read(self, node)

    def _comparison(self, node: exp.Expression, op: Op) -> Predicate:
        only(node, "this", "expression")
        left, right = node.this.unnest(), node.expression.unnest()
        if not _reads_column(left):
            if not _reads_column(right):
                return _fold(self._value(left), op, self._value(right))
            left, right, op = right, left, op.mirrored
        elif op is not Op.NULL_SAFE_EQ and _reads_column(right):
            return self._of_two(node, self._column(left), self._column(right))
        return Comparison(self._column(left), op, Literal(self._value(right)))

    def _of_two(self, node: exp.Expression, left: ColumnRef, right: ColumnRef) -> Predicate:
        """Read a comparison of two columns as Opaque, and note the pair, whose types tell when it is NULL."""
        opaque = self._of_scalars(node)
        if isinstance(opaque, Opaque) and are_plain(self._type(left), self._type(right)):
            self.pairs[opaque] = left, right
        return opaque

    def _between(self, node: exp.Expression) -> Predicate:
        only(node, "this", "low", "high")
        try:
            column = self._column(node.this.unnest())
            low, high = Literal(self._value(node.args["low"])), Literal(self._value(node.args["high"]))
        except NotReadable:
            if self._scalars is None:
                raise
            ends = ((exp.GTE, "low"), (exp.LTE, "high"))
            sides = [side(this=node.this.copy(), expression=node.args[end].copy()) for side, end in ends]
            return And(tuple(self.predicate(side) for side in sides))
        return And((Comparison(column, Op.GE, low), Comparison(column, Op.LE, high)))

    def _in(self, node: exp.Expression) -> Predicate:
        only(node, "this", "expressions")
        values = [self._value(value) for value in node.expressions]
        kinds = {type(value) for value in values if value is not None}
        if not values or (len(kinds) > 1 and kinds != {int, Decimal}):
            raise NotReadable  # Spark first casts column and values to one type: which, depends on the column
        return In(self._column(node.this.unnest()), tuple(Literal(value) for value in values))

    def _is(self, node: exp.Expression) -> Predicate:
        only(node, "this", "expression")
        asked, what = node.this.unnest(), node.expression
        if _asks_too_often(asked):
            raise NotReadable
        if isinstance(what, exp.Null):
            return self._is_null(asked)
        if not isinstance(what, exp.Boolean):
            raise NotReadable
        if _may_be_column(asked):
            return Comparison(self._column(asked), Op.NULL_SAFE_EQ, Literal(bool(what.this)))
        said = self.predicate(asked)
        return And((said if what.this else Not(said), Not(self._null_of(said))))

    def _is_null(self, node: exp.Expression) -> Predicate:
        if _may_be_column(node):
            return IsNull(self._column(node))
        said = self.predicate(node)
        if isinstance(said, Opaque) and said.scalar is None and self._scalars is not None:
            raise NotReadable  # it may be no condition: `upper(s) IS NULL`
        return self._null_of(said)

    def _null_of(self, p: Predicate) -> Predicate:
        return null_of(p, self.pairs, lambda column, value: is_plain(value, self._type(column), self.timezone))

    def _type(self, column: ColumnRef) -> pa.DataType | None:
        return None if self.schema is None else type_by_any_case(self.schema, column.parts)

    def _like(self, node: exp.Expression, escape: str | None = None) -> Predicate:
        only(node, "this", "expression", "negate")
        column = self._column(node.this.unnest(), text=True)
        if escape is None:
            escape = "" if self.dialect == "duckdb" else "\\"
        text, is_prefix = like_pattern(self._string(node.expression), escape)
        known = self._type(column)
        if known is not None and Family.of(known) not in (Family.TEXT, Family.BYTES):
            raise NotReadable  # the text of a number or a moment is matched: 1 is not LIKE '01'
        matched = StartsWith(column, text) if is_prefix else Comparison(column, Op.EQ, Literal(text))
        return Not(matched) if node.args.get("negate") else matched

    def _escape(self, node: exp.Expression) -> Predicate:
        only(node, "this", "expression")
        escape = self._string(node.expression)
        if type(node.this) is not exp.Like or len(escape) != 1:
            raise NotReadable
        return self._like(node.this, escape)

    def _starts_with(self, node: exp.Expression) -> Predicate:
        only(node, "this", "expression")
        return StartsWith(self._column(node.this.unnest(), text=True), self._string(node.expression))

    def _is_nan(self, node: exp.Expression) -> Predicate:
        only(node, "this")
        column = self._column(node.this.unnest())
        # DuckDB says NULL of NULL, as `= NaN` does; Spark says false.
        return Comparison(column, Op.EQ, Literal(math.nan)) if self.dialect == "duckdb" else IsNan(column)

    def _flag(self, node: exp.Expression) -> Predicate:
        return Comparison(self._column(node), Op.EQ, Literal(True))

    def _boolean(self, node: exp.Expression) -> Predicate:
        return Constant(bool(node.this))

    def _null(self, node: exp.Expression) -> Predicate:
        return Constant(None)

    def _named_function(self, node: exp.Expression) -> Predicate:
        name = str(node.this).lower()
        if name not in {"isnull", "isnotnull"} or len(node.expressions) != 1:
            raise NotReadable
        is_null = self._is_null(node.expressions[0].unnest())
        return is_null if name == "isnull" else Not(is_null)

    def _column(self, node: exp.Expression, *, text: bool = False) -> ColumnRef:
        """The column that the node reads; a cast of it only where the schema says that it loses nothing."""
        if type(node) in {exp.Cast, exp.TryCast}:
            only(node, "this", "to", "safe")
            column = self._column(node.this.unnest(), text=text)
            if self.schema is None or not keeps_values(self.schema, column, type_name(node.args["to"])):
                raise NotReadable
            return column
        return ColumnRef(path(node))

    def _string(self, node: exp.Expression) -> str:
        value = self._value(node.unnest())
        if not isinstance(value, str):
            raise NotReadable
        return value

    def _value(self, node: exp.Expression) -> LiteralValue:
        node = node.unnest()
        kind = type(node)
        if kind is exp.Literal:
            return str(node.this) if node.is_string else number_value(str(node.this))
        if kind is exp.RawString:
            return str(node.this)
        if kind is exp.Null:
            return None
        if kind is exp.Boolean:
            return bool(node.this)
        if kind is exp.HexString and self.hex_is_binary and not node.args.get("is_integer"):
            digits = str(node.this)
            try:
                return bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
            except ValueError:
                raise NotReadable from None
        if kind is exp.Neg:
            return self._negated(node.this.unnest())
        if kind in {exp.Cast, exp.TryCast}:
            only(node, "this", "to", "safe")
            name, value = type_name(node.args["to"]), self._value(node.this)
            if name == "BINARY" and self.dialect == "duckdb" and isinstance(value, str):
                return blob_value(value)
            return cast_value(value, name, self.timezone)
        raise NotReadable

    def _negated(self, node: exp.Expression) -> LiteralValue:
        """The sign belongs to the number before its type is checked: -9223372036854775808L is a bigint, its positive
        twin is none."""
        if type(node) in {exp.Cast, exp.TryCast} and type(node.this) is exp.Literal:
            return cast_value(f"-{node.this.this}", type_name(node.args["to"]), self.timezone)
        value = self._value(node)
        if value is None or isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            raise NotReadable
        if isinstance(value, Decimal):
            return value.copy_negate() if value else value  # a minus would round to the 28 digits of Python's context
        return -value if value or isinstance(value, float) else value

    def _text(self, node: exp.Expression) -> str:
        try:
            return str(node.sql(dialect=self.dialect, comments=False))
        except (SqlglotError, RecursionError, ValueError):
            return f"<{type(node).__name__}>"


_READERS: Final[dict[type, Callable[[Any, Any], Predicate]]] = {
    exp.Between: _SqlReader._between,
    exp.In: _SqlReader._in,
    exp.Is: _SqlReader._is,
    exp.Like: _SqlReader._like,
    exp.Escape: _SqlReader._escape,
    exp.StartsWith: _SqlReader._starts_with,
    exp.IsNan: _SqlReader._is_nan,
    exp.Column: _SqlReader._flag,
    exp.Dot: _SqlReader._flag,
    exp.Boolean: _SqlReader._boolean,
    exp.Null: _SqlReader._null,
    exp.Anonymous: _SqlReader._named_function,
}


def _asks_too_often(node: exp.Expression) -> bool:
    """`a IS NULL IS NULL ...`: each level would be tried anew where the one below cannot be read."""
    for _ in range(_MOST_ASKED):
        if type(node) is not exp.Is:
            return False
        node = node.this.unnest()
    return True


def _may_be_column(node: exp.Expression) -> bool:
    return type(node) in {exp.Cast, exp.TryCast, exp.Dot, exp.Column}


def _reads_column(node: exp.Expression) -> bool:
    return node.find(exp.Column) is not None


def _columns(node: exp.Expression) -> tuple[ColumnRef, ...]:
    """Return the columns that an Opaque reads, as far as known: those of a subquery are its own."""
    refs: dict[ColumnRef, None] = {}
    for column in node.walk(prune=lambda part: isinstance(part, exp.Query | exp.Lambda)):
        if isinstance(column, exp.Column) and all(type(part) is exp.Identifier for part in column.parts):
            refs[ColumnRef(tuple(str(part.this) for part in column.parts))] = None
    return tuple(refs)


def _fold(left: LiteralValue, op: Op, right: LiteralValue) -> Predicate:
    """Fold `1 = 1` and its like, between values with an undisputed order."""
    if type(left) is not type(right) or not isinstance(left, (int, str)) or not isinstance(right, (int, str)):
        raise NotReadable
    first, other = (side.encode("utf-8", "surrogatepass") if isinstance(side, str) else side for side in (left, right))
    return Constant(bool(op.holds(first, other)))
