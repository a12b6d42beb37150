"""Hypothesis strategies: types, values, rows, predicates over them, and what statistics may say of files of rows.

Values are drawn from few, close together and at the edges, so that predicates hit and miss: NaN, both zeros,
infinities, the ends of every integer type, emoji and surrogate-adjacent text, dates at the ends of the calendar, wide
decimals.
"""

import datetime as dt
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from metaindex.expressions import (
    And,
    ColumnBounds,
    ColumnRef,
    Comparison,
    Constant,
    Family,
    In,
    IsNan,
    IsNull,
    Leaf,
    Literal,
    Not,
    Op,
    Or,
    Predicate,
    StartsWith,
    physical_type,
    to_physical,
)
from tests.evaluate import compare_values
from tests.scalar_statistics import FileFacts

TYPES: tuple[pa.DataType, ...] = (
    pa.bool_(),
    pa.int8(),
    pa.int32(),
    pa.int64(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.decimal128(9, 2),
    pa.decimal128(18, 6),
    pa.decimal128(38, 10),
    pa.date32(),
    pa.timestamp("s"),
    pa.timestamp("us"),
    pa.timestamp("us", tz="UTC"),
    pa.string(),
    pa.binary(),
)
"""A type of every physical encoding."""

TEXTS = (
    "",
    "a",
    "ab",
    "b",
    "az",
    "aé",
    "~",
    "\x00",
    "\x7f",
    "é",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "😀",
    "😀a",
    "\U0010ffff",
)
_TEXT = st.sampled_from(TEXTS) | st.text(st.sampled_from("ab\x7fé\ud7ff\ue000😀\U0010ffff"), max_size=4)
_ALL_TEXT = _TEXT | _TEXT | st.text(max_size=9)
_DATES = st.sampled_from([dt.date.min, dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date.max]) | st.dates(
    dt.date(2020, 1, 1), dt.date(2020, 1, 9)
)
_MOMENTS = st.sampled_from(
    [dt.datetime.min, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime.max]
) | st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 9))
_FLOATS = st.sampled_from([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, 1.5, 2.0**53, 2.0**53 + 2])


def values(t: pa.DataType) -> st.SearchStrategy[object]:
    """Non-null Python values of a column of the type."""
    is_ = pa.types
    if is_.is_boolean(t):
        return st.booleans()
    if is_.is_integer(t):
        low, high = integer_range(t)
        edges = [v for v in (low, low + 1, high - 1, high, 2**53, 2**53 + 1) if low <= v <= high]
        return st.integers(max(low, -4), 9) | st.sampled_from(edges)
    if is_.is_floating(t):
        held = np.float32 if t.bit_width == 32 else np.float64  # a column holds what its width can say
        near = st.sampled_from([0.1, 1 / 3, 16777216.0]).map(lambda v: float(held(v)))
        return (
            _FLOATS.map(lambda v: float(held(v))) | near | st.integers(-4, 9).map(float) | st.floats(width=t.bit_width)
        )
    if is_.is_decimal(t):
        top = 10**t.precision - 1
        unscaled = st.integers(-400, 900) | st.sampled_from([-top, top]) | st.integers(-top, top)
        return unscaled.map(lambda n: Decimal(n).scaleb(-t.scale, _WIDE))
    if is_.is_date(t):
        return _DATES
    if is_.is_timestamp(t):
        moments = _MOMENTS if t.unit != "s" else _MOMENTS.map(lambda m: m.replace(microsecond=0))
        return moments if t.tz is None else moments.map(lambda m: m.replace(tzinfo=dt.UTC))
    if is_.is_string(t) or is_.is_large_string(t):
        return _ALL_TEXT
    if is_.is_binary(t) or is_.is_large_binary(t):
        return _TEXT.map(str.encode) | st.binary(max_size=6)
    raise NotImplementedError(str(t))


_WIDE = Context(prec=80)


def integer_range(t: pa.DataType) -> tuple[int, int]:
    if pa.types.is_unsigned_integer(t):
        return 0, 2**t.bit_width - 1
    return -(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1) - 1


def literals(t: pa.DataType) -> st.SearchStrategy[Literal]:
    """Non-null literals that compare with the type's values: mostly its own, and what lies between or beyond them."""
    own = values(t)
    is_ = pa.types
    if is_.is_integer(t):
        beyond = st.sampled_from(
            [3.5, -0.5, float("inf"), float("nan"), 10**30, -(10**30), Decimal("3.5"), Decimal("1e40")]
        )
        return (own | own | beyond).map(Literal)
    if is_.is_floating(t):
        between = st.sampled_from(
            [0.1, 1 / 3, 1 + 2.0**-30, 2.0**53 + 2, 1e300, -1e-300, 16777217.0, float(np.float32(0.1))]
        )
        return (own | own | between).map(Literal)
    if is_.is_decimal(t):
        return (own | own | st.sampled_from([3, 10**40, Decimal("0.0000000000001"), Decimal("-1e50")])).map(Literal)
    if is_.is_date(t):
        return (own | own | _MOMENTS).map(Literal)
    if is_.is_timestamp(t) and t.tz is None:
        return (own | own | _MOMENTS | _DATES).map(Literal)
    if is_.is_string(t):
        return (own | own | st.sampled_from([b"a", b"\xff", b"\xed\xa0\x80"])).map(Literal)
    return own.map(Literal)


Schema = Mapping[ColumnRef, pa.DataType]


@st.composite
def schemas(draw: st.DrawFn, types: Sequence[pa.DataType] = TYPES, max_columns: int = 3) -> Schema:
    drawn = draw(st.lists(st.sampled_from(types), min_size=1, max_size=max_columns))
    return {ColumnRef((f"c{i}",) if i != 1 else ("s", "c1")): t for i, t in enumerate(drawn)}


def leaves(schema: Schema, *, constants: bool = True) -> st.SearchStrategy[Leaf]:
    """Leaves over the columns; `constants` lets TRUE, FALSE, NULL and comparisons with NULL in."""
    return st.sampled_from(list(schema.items())).flatmap(functools.partial(_leaf, constants=constants))


def _leaf(item: tuple[ColumnRef, pa.DataType], *, constants: bool) -> st.SearchStrategy[Leaf]:
    column, t = item
    lit = literals(t)
    lit_or_null = lit | lit | lit | st.just(Literal(None)) if constants else lit
    choices: list[st.SearchStrategy[Leaf]] = [
        st.builds(Comparison, st.just(column), st.sampled_from(Op), lit_or_null),
        st.builds(Comparison, st.just(column), st.sampled_from(Op), lit),
        st.builds(In, st.just(column), st.lists(lit_or_null, max_size=4).map(tuple)),
        st.builds(In, st.just(column), st.lists(lit, min_size=4, max_size=6).map(_long_list)),
        st.just(IsNull(column)),
    ]
    if Family.may_be_nan(t):
        choices.append(st.just(IsNan(column)))
    if pa.types.is_string(t) or pa.types.is_binary(t):
        choices.append(st.builds(StartsWith, st.just(column), _TEXT))
    if constants:
        choices.append(st.builds(Constant, st.sampled_from([True, False, None])))
    return st.one_of(choices)


def _long_list(some: Sequence[Literal]) -> tuple[Literal, ...]:
    """More values than are compared one by one: those drawn, and neighbours of the numbers and texts among them."""
    more = [
        Literal(value + 2 + i if isinstance(value, int) else value + chr(97 + i))
        for value in (lit.value for lit in some)
        for i in range(5)
        if (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, str)
    ]
    return (*some, *more)


def predicates(schema: Schema, *, max_leaves: int = 6, constants: bool = True) -> st.SearchStrategy[Predicate]:
    """Trees over the columns, as a user or a parser would make them (not normalized)."""
    return st.recursive(
        leaves(schema, constants=constants),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=0 if constants else 2, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=0 if constants else 2, max_size=3).map(lambda parts: Or(tuple(parts))),
        ),
        max_leaves=max_leaves,
    )


Row = Mapping[str, object]


def rows(schema: Schema) -> st.SearchStrategy[Row]:
    """One row; every column may be NULL, a struct too."""
    columns = [st.none() | values(t) | values(t) | values(t) for t in schema.values()]
    return st.tuples(*columns).map(lambda row: _nested(schema, row))


def _nested(schema: Schema, row: tuple[object, ...]) -> Row:
    out: dict[str, object] = {}
    for column, value in zip(schema, row, strict=True):
        if len(column.parts) == 1:
            out[column.parts[0]] = value
        else:  # a NULL struct and a struct of NULL are the same for its field
            out[column.parts[0]] = None if value is None else {column.parts[1]: value}
    return out


def value_of(row: Row, column: ColumnRef) -> object:
    found: object = row
    for part in column.parts:
        found = None if found is None else found[part]
    return found


@dataclass(frozen=True)
class Files:
    """Files of rows, with true statistics of them, which may be loose or unknown: as vectors, and file by file."""

    schema: Schema
    rows: list[list[Row]]
    bounds: dict[ColumnRef, ColumnBounds]
    facts: list[dict[ColumnRef, FileFacts]]


@st.composite
def files(draw: st.DrawFn, schema: Schema, max_files: int = 4, max_rows: int = 4) -> Files:
    rows_of_files = draw(st.lists(st.lists(rows(schema), max_size=max_rows), min_size=1, max_size=max_files))
    facts: list[dict[ColumnRef, FileFacts]] = [{} for _ in rows_of_files]
    bounds: dict[ColumnRef, ColumnBounds] = {}
    for column, t in schema.items():
        of_column = [
            draw(_loosened(t, true_facts([value_of(row, column) for row in rows], Family.may_be_nan(t))))
            for rows in rows_of_files
        ]
        for i, one in enumerate(of_column):
            facts[i][column] = one
        if draw(st.integers(0, 9)):  # else: no statistics of this column
            bounds[column] = column_bounds(t, of_column, offset=draw(st.integers(0, 2)))
        else:
            for one_file in facts:
                del one_file[column]
    return Files(schema, rows_of_files, bounds, facts)


def true_facts(column: Sequence[object], has_nan: bool) -> FileFacts:
    """What is true of the values, exactly."""
    nans = [v for v in column if isinstance(v, float) and v != v]
    numbers = [v for v in column if v is not None and not (isinstance(v, float) and v != v)]
    order = functools.cmp_to_key(compare_values)
    return FileFacts(
        lower=min(numbers, key=order) if numbers else None,
        upper=max(numbers, key=order) if numbers else None,
        null_count=sum(v is None for v in column),
        nan_count=len(nans),
        row_count=len(column),
        has_nan=has_nan,
    )


@st.composite
def _loosened(draw: st.DrawFn, t: pa.DataType, facts: FileFacts) -> FileFacts:
    """The same facts, some of them unknown, bounds perhaps wider."""
    lower, upper = facts.lower, facts.upper
    if lower is not None and upper is not None and draw(st.booleans()):
        number = values(t).filter(lambda v: v == v)
        wider = [lower, upper, draw(number)]
        order = functools.cmp_to_key(compare_values)
        lower, upper = min(wider, key=order), max(wider, key=order)
    known = [draw(st.integers(0, 5)) > 0 for _ in range(5)]
    nan_count = facts.nan_count if known[3] else None
    return FileFacts(
        lower if known[0] else None,
        upper if known[1] else None,
        facts.null_count if known[2] else None,
        nan_count,
        facts.row_count if known[4] else None,
        facts.has_nan,
    )


def column_bounds(t: pa.DataType, facts: Sequence[FileFacts], *, offset: int = 0) -> ColumnBounds:
    """Facts of files as vectors in the physical domain; `offset` slices them, as Arrow readers do."""
    assert physical_type(t) is not None
    pad = [None] * offset

    def counts(numbers: list[int | None]) -> pa.Array:
        return pa.array(pad + numbers, pa.int64()).slice(offset)

    return ColumnBounds(
        type=t,
        lower=to_physical(pa.array(pad + [f.lower for f in facts], t).slice(offset), t, upper=False),
        upper=to_physical(pa.array(pad + [f.upper for f in facts], t).slice(offset), t, upper=True),
        null_count=counts([f.null_count for f in facts]),
        nan_count=counts([f.nan_count for f in facts]),
        row_count=counts([f.row_count for f in facts]),
    )
