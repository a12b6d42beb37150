"""Small random tables, and the rows that the reference semantics keep of them."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from hypothesis import assume

from metaindex.core import ExpressionError
from metaindex.expressions import Opaque, Predicate, bind
from metaindex.expressions.evaluate import matches
from tests.strategies import Schema


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


def expected(p: Predicate, table_rows: Sequence[Mapping[str, object]]) -> list[int]:
    return [i for i, row in enumerate(table_rows) if matches(p, row) is True]


def table_of(table_rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in table_rows], schema=schema)
