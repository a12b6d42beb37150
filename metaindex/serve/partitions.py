"""Exact evaluation of a filter on partition values, at the end of each plan.

Spark drops a condition that selects whole partitions, and counts their rows from the tasks: a file kept in doubt would
be counted whole. So every file that is left is judged by its partition values, as Iceberg's own planner does
("inclusive projection"):

    identity              the leaf itself, on the value
    year month day hour   the leaf on the period of the literal; negative ones reach one further, as old writers rounded
    truncate              texts by their beginning, numbers by the number that they are cut to
    any, and a term of it  `bucket(4, a) = 1`: compared with the value of the field `bucket[4]` of `a`

What no partition field decides is true here. Where Spark takes a condition for one that selects whole partitions, this
answer is that of each row of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask
from metaindex.expressions import Constant, Leaf, Opaque

from .filters import Filter, Term, Value
from .refusal import Refusal
from .served import PartitionColumn

_PERIODS: Final = {"year": "Y", "month": "M", "day": "D", "hour": "h"}
_FIXED: Final = ("year", "month", "hour")
EVALUATED: Final = frozenset({"identity", "void", "bucket", "truncate", *_PERIODS})
"""The transforms of which it is known what a client makes of them. A table with another one plans in the client."""


def may_match(asked: Filter, partitions: Sequence[PartitionColumn], files: npt.NDArray[np.int64]) -> Mask:
    """Return which of the files some row of may match, by partition values alone. Raises Refusal for a term that no
    client evaluates rightly."""
    fields, compared = list[tuple[PartitionColumn, Mask, pa.Array]](), {term.column for term in asked.terms.values()}
    for field in partitions:
        known = np.ones(len(files), np.bool_) if field.known is None else field.known[files]
        if field.column in compared and known.any():
            fields.append((field, known, field.values.take(pa.array(files[known]))))

    def leaf(node: Leaf) -> Mask:
        answer = np.ones(len(files), np.bool_)
        if isinstance(node, Constant):
            return answer & bool(node.value)
        term = asked.terms.get(node) if isinstance(node, Opaque) else None
        for field, known, values in fields:
            if term is not None and field.column == term.column:
                answer[known] &= _field(term, field, values)
        return answer

    return asked.tree.fold(leaf, np.logical_not, np.logical_and.reduce, np.logical_or.reduce)


def _field(term: Term, field: PartitionColumn, values: pa.Array) -> Mask:
    """Evaluate a leaf on the values of one partition field, all of which are known."""
    name, _, width = field.transform.rstrip("] ").partition("[")
    if term.transform and term.transform != "identity":
        if name == "identity":
            raise Refusal(
                f"a transform of a column is evaluated by the partition field that it makes; {term.column.name!r} is a"
                f" partition column itself, of which clients take {term.transform} for the value; compare the column"
            )
        alike = term.transform.replace(" ", "") == field.transform.replace(" ", "")
        return _compared(term, values) if alike else _all(values)
    if name == "identity" or (term.op in ("is-null", "not-null") and name in EVALUATED - {"void"}):
        return _compared(term, values)
    if name in _PERIODS:
        return _period(term, values, name)
    if name == "truncate" and width.strip().isdigit():
        return _truncated(term, values, int(width))
    return _all(values)


def _all(values: pa.Array) -> Mask:
    return np.ones(len(values), np.bool_)


def _period(term: Term, values: pa.Array, name: str) -> Mask:
    """A leaf on a date or time, by the period of its literal."""
    unit = "D" if pa.types.is_date(term.type) else "us"
    if term.op not in ("lt", "lt-eq", "gt", "gt-eq", "eq", "in") or (name == "hour" and unit == "D"):
        return _all(values)
    step = {"lt": -1, "gt": 1}.get(term.op, 0)
    moments = np.array([int(value) + step for value in term.values], np.int64).astype(f"datetime64[{unit}]")
    periods = moments.astype(f"datetime64[{_PERIODS[name]}]").astype(np.int64)
    fixed = name in _FIXED or unit == "us"  # days of dates were never rounded
    literals = [int(period) for period in periods]
    op = {"lt": "lt-eq", "gt": "gt-eq", "eq": "in"}.get(term.op, term.op)
    if op == "in" and fixed:
        literals += [period + 1 for period in literals if period < 0]
    if op == "lt-eq" and fixed:
        literals = [period + (period < 0) for period in literals]
    return _compared(Term(op, term.column, pa.int64(), "", tuple(literals)), values.cast(pa.int64()))


def _truncated(term: Term, values: pa.Array, width: int) -> Mask:
    texts = pa.types.is_string(term.type)
    if texts and term.op in ("starts-with", "not-starts-with"):
        prefix = str(term.values[0])
        if term.op == "not-starts-with" and len(prefix) > width:
            return _all(values)
        return _compared(Term(term.op, term.column, term.type, "", (prefix[:width],)), values)
    numbers = pa.types.is_integer(term.type)
    if width < 1 or not (texts or numbers) or term.op not in ("lt", "lt-eq", "gt", "gt-eq", "eq", "in"):
        return _all(values)
    step = {"lt": -1, "gt": 1}.get(term.op, 0) if numbers else 0
    moved = [value + step if isinstance(value, int) else value for value in term.values]
    cut = tuple(v - v % width if isinstance(v, int) else str(v)[:width] for v in moved)
    if numbers and any(abs(int(v)) >= 2**31 - width for v in moved):
        return _all(values)  # the lowest numbers wrap round when they are cut
    op = {"lt": "lt-eq", "gt": "gt-eq"}.get(term.op, term.op)
    return _compared(Term(op, term.column, term.type, "", cut), values)


# Values ---------------------------------------------------------------------------------------------------------------


def _compared(term: Term, values: pa.Array) -> Mask:
    """Evaluate an operator on values of a type. NULL matches `is-null`, and the negated operators that some readers
    take to be true of it."""
    null = np.asarray(values.is_null(), np.bool_)
    if term.op in ("is-null", "not-null"):
        return null if term.op == "is-null" else ~null
    if term.op in ("is-nan", "not-nan"):
        nan = _nan(values)
        return nan if term.op == "is-nan" else ~nan
    if term.op in ("starts-with", "not-starts-with"):
        starts = _mask(pc.starts_with(values, str(term.values[0])))
        return starts if term.op == "starts-with" else ~starts
    held = _comparable(values)
    if term.op in ("in", "eq", "not-in", "not-eq"):
        literals = [literal.as_py() for literal in _literals(term.values, held.type) if literal is not None]
        if pa.types.is_floating(held.type):  # a set tells -0.0 from 0.0
            literals += [0.0, -0.0] if 0.0 in literals else []
        among = _mask(pc.is_in(held, pa.array(literals, held.type)))
        if any(literal != literal for literal in literals):
            among = among | _nan(values)
        return among if term.op in ("in", "eq") else ~among
    (literal,) = _literals(term.values, held.type)
    if literal is None:  # beyond all values of the type
        below = term.op in ("lt", "lt-eq")
        return ~null if below == (_sign(term.values[0]) > 0) else np.zeros(len(values), np.bool_)
    answer = _mask(_OPS[term.op](held, literal))
    if pa.types.is_floating(held.type):  # NaN is above all to Spark
        nan = _nan(values)
        if literal.as_py() != literal.as_py():
            return {"lt": ~nan, "lt-eq": ~null, "gt": np.zeros_like(nan), "gt-eq": nan}[term.op] & ~null
        answer = answer | nan if term.op in ("gt", "gt-eq") or term.turned else answer & ~nan
    return answer & ~null


_OPS = {"lt": pc.less, "lt-eq": pc.less_equal, "gt": pc.greater, "gt-eq": pc.greater_equal}


def _mask(answer: pa.Array) -> Mask:
    return np.asarray(answer.fill_null(False), np.bool_)


def _nan(values: pa.Array) -> Mask:
    return _mask(pc.is_nan(values)) if pa.types.is_floating(values.type) else np.zeros(len(values), np.bool_)


def _comparable(values: pa.Array) -> pa.Array:
    """Return values as Arrow compares them with literals in physical form."""
    of = values.type
    if isinstance(of, pa.UuidType):
        return values.storage.cast(pa.binary())
    if pa.types.is_boolean(of):
        return values.cast(pa.int8())
    if pa.types.is_date32(of) or (pa.types.is_time(of) and of.bit_width == 32):
        return values.view(pa.int32()).cast(pa.int64())
    if pa.types.is_temporal(of):
        return values.view(pa.int64())
    if pa.types.is_integer(of):
        return values.cast(pa.int64())
    if pa.types.is_floating(of):
        return values.cast(pa.float64())
    if pa.types.is_fixed_size_binary(of) or pa.types.is_large_binary(of):
        return values.cast(pa.binary())
    return values


def _literals(values: Sequence[Value], of: pa.DataType) -> list[pa.Scalar | None]:
    """Return the literals; None for numbers beyond the type."""
    made: list[pa.Scalar | None] = []
    for value in values:
        try:
            made.append(pa.scalar(int(value) if isinstance(value, bool) else value, of))
        except (pa.ArrowInvalid, OverflowError):
            made.append(None)
    return made


def _sign(value: Value) -> int:
    return 1 if not isinstance(value, str | bytes) and value > 0 else -1
