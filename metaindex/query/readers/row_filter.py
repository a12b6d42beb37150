"""The rows of a batch that match. Where the predicate asks that a column equals some value, that is compared first, by
itself: rows that differ cannot match, and mostly none is left.

Arrow applies an expression by a whole plan, which costs more than decoding a row group's worth of a few columns; one
comparison of two columns costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector
from metaindex.expressions import And, Comparison, In, Literal, Op, Predicate, ResidualFilter, normalize, to_arrow

_Compare: TypeAlias = Callable[[pa.RecordBatch], pa.Array]


class RowFilter:
    """`predicate` is bound to the schema. What cannot be applied raises ExpressionError here."""

    def __init__(self, predicate: Predicate, schema: pa.Schema) -> None:
        normal = normalize(predicate)
        parts = normal.parts if isinstance(normal, And) else (normal,)
        compared = (equality for part in parts if (equality := _equality(part, schema)) is not None)
        self._first = next(compared, None)
        self._residual = None
        if normal.has_opaque:
            self._residual, self._expression = ResidualFilter(normal, lambda part: _telling(part, schema)), None
            return
        # Of a look-up there is nothing else to apply: its expression is not made, for which Arrow would load pandas.
        self._expression = None if len(parts) == 1 and self._first is not None else to_arrow(normal, schema)

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows for which the predicate is TRUE."""
        left = batch if self._first is None else batch.filter(self._first(batch))
        if self._residual is not None:
            return left.filter(Vector.arrow(self._residual.mask(left))) if left.num_rows else left
        return left if self._expression is None or not left.num_rows else left.filter(self._expression)


def _telling(part: Predicate, schema: pa.Schema) -> Callable[[pa.RecordBatch], Mask]:
    """Tells the rows for which a part is TRUE."""
    expression = to_arrow(part, schema)

    def told(batch: pa.RecordBatch) -> Mask:
        numbered = batch.append_column(_PLACE, Vector.arrow(np.arange(batch.num_rows), None, pa.int64()))
        mask = np.zeros(batch.num_rows, np.bool_)
        mask[Vector(numbered.filter(expression).column(_PLACE)).items(np.int64)] = True
        return mask

    return told


_PLACE = "\x00place"  # no column of a table has that name


def _equality(part: Predicate, schema: pa.Schema) -> _Compare | None:
    """The comparison of a column of integers or texts with a value (or some) of its own type; None for what is not so
    simple."""
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
    name, wanted = part.column.parts[0], _array([value.value for value in values], type_)
    if len(values) == 1:
        return lambda batch: pc.equal(batch.column(name), wanted[0])
    return lambda batch: pc.is_in(batch.column(name), value_set=wanted)


def _array(values: list[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_integer(type_):
        return Vector.arrow(np.array(values, type_.to_pandas_dtype()), None, type_)
    binary = pa.large_binary() if pa.types.is_large_string(type_) else pa.binary()
    return Vector.arrow([value.encode() for value in values], None, binary).view(type_)


def _is_of(value: Literal, type_: pa.DataType) -> bool:
    if pa.types.is_integer(type_):
        if not isinstance(value.value, int) or isinstance(value.value, bool):
            return False
        limits = np.iinfo(type_.to_pandas_dtype())
        return bool(limits.min <= value.value <= limits.max)
    return (pa.types.is_string(type_) or pa.types.is_large_string(type_)) and _is_text(value.value)


def _is_text(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
