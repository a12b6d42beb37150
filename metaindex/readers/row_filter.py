"""The rows of a batch that match. Where the predicate asks that a column equals some value, that is compared first, by itself: rows that differ cannot match, and mostly none is left.

Arrow applies an expression by a whole plan, which costs more than decoding a row group's worth of a few columns; one comparison of two columns costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from expressions.engines.arrow import to_arrow
from expressions.literals import Literal
from expressions.normalize import normalize
from expressions.tree import And, Comparison, In, Op, Predicate

_Compare: TypeAlias = Callable[[pa.RecordBatch], pa.Array]


class RowFilter:
    """`predicate` is bound to the schema. What cannot be applied raises ExpressionError here."""

    def __init__(self, predicate: Predicate, schema: pa.Schema) -> None:
        self._expression = to_arrow(predicate, schema)
        normal = normalize(predicate)
        parts = normal.parts if isinstance(normal, And) else (normal,)
        compared = [(part, found) for part in parts if (found := _equality(part, schema)) is not None]
        self._first = compared[0][1] if compared else None
        self._whole = len(parts) == 1 and bool(compared)

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows for which the predicate is TRUE."""
        if self._first is None:
            return batch.filter(self._expression)
        left = batch.filter(self._first(batch))
        return left if self._whole or not left.num_rows else left.filter(self._expression)


def _equality(part: Predicate, schema: pa.Schema) -> _Compare | None:
    """The comparison of a column of integers or texts with a value (or some) of its own type; None for what is not so simple."""
    match part:
        case Comparison(op=Op.EQ | Op.NULL_SAFE_EQ):
            values: tuple[Literal, ...] = (part.value,)
        case In():
            values = tuple(value for value in part.values if not value.is_null)
        case _:
            return None
    if len(part.column.parts) > 1 or schema.get_field_index(part.column.parts[0]) < 0 or not values:
        return None
    type_ = schema.field(part.column.parts[0]).type
    if not all(_is_of(value, type_) for value in values):
        return None
    name = part.column.parts[0]
    if len(values) == 1:
        scalar = pa.scalar(values[0].value, type_)
        return lambda batch: pc.equal(batch.column(name), scalar)
    among = pa.array([value.value for value in values], type_)
    return lambda batch: pc.is_in(batch.column(name), value_set=among)


def _is_of(value: Literal, type_: pa.DataType) -> bool:
    if pa.types.is_integer(type_):
        if not isinstance(value.value, int) or isinstance(value.value, bool):
            return False
        try:
            pa.scalar(value.value, type_)
        except (pa.ArrowException, OverflowError):
            return False
        return True
    return (pa.types.is_string(type_) or pa.types.is_large_string(type_)) and _is_text(value.value)


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
