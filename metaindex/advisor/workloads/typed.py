"""Texts that a condition compares with columns of other types, as values of these: Spark casts them so in SQL, and an
event log prints some values without their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from metaindex.expressions import And, Comparison, In, Leaf, Literal, Not, NotReadable, Or, Predicate, cast_value, fold


def typed(predicate: Predicate, types: Mapping[tuple[str, ...], pa.DataType], time_zone: str) -> Predicate:
    """`types`: by the columns' names in small letters. A text that is no value of its column's type stays."""

    def of_leaf(leaf: Leaf) -> Predicate:
        if not isinstance(leaf, Comparison | In):
            return leaf
        name = _spark_name(types.get(tuple(part.lower() for part in leaf.column.parts)))
        if name is None:
            return leaf
        try:
            if isinstance(leaf, Comparison):
                return replace(leaf, value=_cast(leaf.value, name, time_zone))
            return replace(leaf, values=tuple(_cast(value, name, time_zone) for value in leaf.values))
        except (NotReadable, ValueError, OverflowError, KeyError):  # KeyError: of a zone that nobody knows
            return leaf

    return fold(predicate, of_leaf, Not, lambda parts: And(tuple(parts)), lambda parts: Or(tuple(parts)))


def _cast(literal: Literal, name: str, time_zone: str) -> Literal:
    return Literal(cast_value(literal.value, name, time_zone)) if isinstance(literal.value, str) else literal


def _spark_name(type_: pa.DataType | None) -> str | None:
    """None for texts, and for what no text is cast to."""
    is_ = pa.types
    if type_ is None or is_.is_nested(type_):
        return None
    if is_.is_integer(type_):
        return "bigint"
    if is_.is_floating(type_):
        return "double"
    if is_.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if is_.is_timestamp(type_):
        return "timestamp" if type_.tz is not None else "timestamp_ntz"
    return "boolean" if is_.is_boolean(type_) else "date" if is_.is_date(type_) else None
