"""A scalar expression: columns, values and calls of functions, each with its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, assert_never

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.expressions.column_ref import ColumnRef
from metaindex.expressions.literals import Literal


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """The value of a column in the row."""

    column: ColumnRef
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Fixed:
    """A constant: the same value in every row. Instants are aware datetimes in UTC."""

    value: Literal
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function of `functions.TABLE`, by its name there."""

    function: str
    arguments: tuple[Scalar, ...]
    type: pa.DataType


Scalar: TypeAlias = ColumnValue | Fixed | FunctionCall


def inputs(scalar: Scalar) -> tuple[ColumnValue, ...]:
    """The columns that are read, each once, in order of first use."""
    return tuple(dict.fromkeys(node for node in _nodes(scalar) if isinstance(node, ColumnValue)))


def renamed(scalar: Scalar, name: Callable[[ColumnValue], ColumnValue]) -> Scalar:
    """Return the scalar with its columns replaced."""
    match scalar:
        case ColumnValue():
            return name(scalar)
        case Fixed():
            return scalar
        case FunctionCall():
            return FunctionCall(scalar.function, tuple(renamed(part, name) for part in scalar.arguments), scalar.type)
        case _:
            assert_never(scalar)


def _nodes(scalar: Scalar) -> Iterator[Scalar]:
    todo: list[Scalar] = [scalar]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, FunctionCall):
            todo += reversed(node.arguments)
