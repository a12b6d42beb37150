"""A query of one table, as its thread notes it: facts at hand, no text made yet and nothing written."""

from __future__ import annotations

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.expressions import And, In, Not, Opaque, Or, Predicate

SCHEMA = pa.schema(
    [
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("engine", pa.string()),
        pa.field("predicate", pa.string()),
        pa.field("columns", pa.list_(pa.string())),
        pa.field("join_keys", pa.list_(pa.string())),
        pa.field("group_keys", pa.list_(pa.string())),
        pa.field("order", pa.list_(pa.string())),
        pa.field("limit", pa.int64()),
        pa.field("files_read", pa.int64()),
        pa.field("files_left_out", pa.int64()),
        pa.field("bytes_read", pa.int64()),
        pa.field("bytes_left_out", pa.int64()),
        pa.field("indexes", pa.list_(pa.string())),
        pa.field("version", pa.string()),
        pa.field("milliseconds", pa.float64()),
    ]
)
"""A row of the query log."""

SUMMED = ("files_read", "files_left_out", "bytes_read", "bytes_left_out")
"""Columns that are summed: as floating-point numbers, exact to 2**53, of which a stranger's rows overflow none."""

MOST_NODES = 1_000
"""Leaves and values of a predicate that is noted whole."""


@dataclass(frozen=True, slots=True)
class QueryRow:
    """`predicate`: None if the query has none. What is not known is None. `order`: columns, those from the last to the
    first with " DESC" behind them; `limit`: of the whole query. `indexes`: those that left something out, or were read
    in the table's place. `milliseconds`: of planning."""

    at_us: int
    engine: str
    predicate: Predicate | None
    columns: tuple[str, ...] = ()
    join_keys: tuple[str, ...] = ()
    group_keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    limit: int | None = None
    files_read: int | None = None
    files_left_out: int | None = None
    bytes_read: int | None = None
    bytes_left_out: int | None = None
    indexes: tuple[str, ...] = ()
    version: str | None = None
    milliseconds: float | None = None


def bounded(predicate: Predicate | None) -> Predicate | None:
    """The predicate, or of one with very many parts its columns alone: rows wait in memory."""
    if predicate is None:
        return None
    left, todo = MOST_NODES, [predicate]
    while todo:
        node = todo.pop()
        left -= 1
        match node:
            case And() | Or():
                left -= len(node.parts)
                if left >= 0:
                    todo += node.parts
            case Not():
                todo.append(node.child)
            case In():
                left -= len(node.values)
            case Opaque():
                left -= len(node.text) >> 6
        if left < 0:
            return Opaque("", predicate.columns)
    return predicate
