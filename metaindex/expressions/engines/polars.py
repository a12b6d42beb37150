"""Predicates as Polars expressions; `polars_reading` is the way back. Polars orders NaN as the tree does; `is_nan`
answers NULL elsewhere, which is spelt out."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, assert_never
from uuid import UUID

import pyarrow as pa

from metaindex.core import ExpressionError
from metaindex.expressions.literals import Literal
from metaindex.expressions.normal_form import halved
from metaindex.expressions.physical import Family
from metaindex.expressions.tree import (
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Op,
    Opaque,
    Predicate,
    StartsWith,
)

if TYPE_CHECKING:
    import polars as pl


def to_polars(predicate: Predicate, schema: pa.Schema | None = None) -> pl.Expr:
    """An expression with the reference semantics, in all three values. Bind the predicate first; Opaque raises
    ExpressionError.

    Polars refuses `is_nan` on a column without NaN: with a `schema` it is written as the constant that it is.
    """
    import polars as pl

    def column(ref: ColumnRef) -> pl.Expr:
        expression = pl.col(ref.parts[0])
        for part in ref.parts[1:]:
            expression = expression.struct.field(part)
        return expression

    def value(literal: Literal) -> pl.Expr:
        # Polars rounds a bare number to the column's type; a double that is said to be one is compared as a double.
        held = literal.value.bytes if isinstance(literal.value, UUID) else literal.value
        return pl.lit(held, dtype=pl.Float64 if isinstance(held, float) else None)

    def is_nan(ref: ColumnRef) -> pl.Expr:
        known = ref.type_in(schema)
        if known is not None and not pa.types.is_floating(known):
            return pl.lit(False)
        return column(ref).is_nan().fill_null(False)

    def leaf(node: Leaf) -> pl.Expr:
        match node:
            case Comparison(ref, op, literal):
                if op is Op.NULL_SAFE_EQ:
                    return column(ref).eq_missing(value(literal))
                compared: pl.Expr = op.holds(column(ref), value(literal))
                return compared
            case In(ref, values):
                return joined([column(ref) == value(literal) for literal in values], False)
            case IsNull(ref):
                return column(ref).is_null()
            case IsNan(ref):
                return is_nan(ref)
            case StartsWith(ref, prefix):
                known = ref.type_in(schema)
                if known is not None and Family.of(known) is Family.BYTES:
                    return column(ref).bin.starts_with(prefix.encode())
                return column(ref).str.starts_with(prefix)
            case Constant(truth):
                return pl.lit(truth, dtype=pl.Boolean)
            case Opaque(text):
                raise ExpressionError(
                    f"{text!r} was not understood and cannot be written for Polars; apply it in the engine it came from"
                )
            case _:
                assert_never(node)

    def joined(parts: list[pl.Expr], every: bool) -> pl.Expr:
        return halved(parts, operator.and_ if every else operator.or_) if parts else pl.lit(every)

    written: pl.Expr = predicate.fold(
        leaf, lambda child: ~child, lambda parts: joined(parts, True), lambda parts: joined(parts, False)
    )
    return written
