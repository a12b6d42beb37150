"""Small random tables, and the rows that the reference semantics keep of them."""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from metaindex.core import ExpressionError
from metaindex.expressions import Opaque, Predicate, bind
from tests.evaluate import matches
from tests.strategies import Schema

VALUES: dict[str, st.SearchStrategy[object]] = {
    "i": st.integers(-3, 3),
    "f": st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1.5]),
    "s": st.sampled_from(["", "a", "ab", "b", 'it\'s "q" \\', "😀", "é"]),
    "d": st.sampled_from([Decimal("1.10"), Decimal("-2.00"), Decimal("0.00")]),
    "t": st.sampled_from([dt.datetime(2020, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    "z": st.sampled_from([dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2021, 1, 1, tzinfo=dt.UTC)]),
    "day": st.sampled_from([dt.date(2020, 1, 1), dt.date.max]),
    "x": st.sampled_from([b"", b"\x00\xff", b"a"]),
    "yes": st.booleans(),
}
SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "d": pa.decimal128(9, 2),
        "t": pa.timestamp("us"),
        "z": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "x": pa.binary(),
        "yes": pa.bool_(),
    }
)
ROWS = st.lists(st.fixed_dictionaries({n: st.none() | v for n, v in VALUES.items()}), min_size=1, max_size=6)


def joined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An engine's conditions, joined by its operators."""
    pairs = st.tuples(inner, inner)
    return st.one_of(inner.map(lambda e: ~e), pairs.map(lambda p: p[0] & p[1]), pairs.map(lambda p: p[0] | p[1]))


def arrow_schema(schema: Schema) -> pa.Schema:
    fields: dict[str, pa.DataType] = {}
    for column, t in schema.items():
        fields[column.parts[0]] = t if len(column.parts) == 1 else pa.struct([(column.parts[1], t)])
    return pa.schema(fields)


def bound(p: Predicate, schema: pa.Schema) -> Predicate:
    """As the rest of the product sees it; what `bind` refuses or cannot say is another test's business."""
    try:
        found = bind(p, schema)
    except ExpressionError:
        assume(False)
    assume(not any(isinstance(leaf, Opaque) for leaf in found.leaves()))
    return found


def understood(p: Predicate) -> bool:
    return not any(isinstance(leaf, Opaque) for leaf in p.leaves())


def expected(p: Predicate, table_rows: Sequence[Mapping[str, object]]) -> list[int]:
    return [i for i, row in enumerate(table_rows) if matches(p, row) is True]


def table_of(table_rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in table_rows], schema=schema)
