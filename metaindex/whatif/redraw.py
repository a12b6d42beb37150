"""The same query with other values: those that rows of the sample have in the columns that it compares. How many files
keep them tells what to expect of a value that no file of the sample holds.

A query is drawn anew where all that must hold of it are equalities of columns (with values of one row), or one IN list
(a row a value), beside whatever else it asks, which stays.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from metaindex.advice.sample import of_leaf
from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.literals import literal
from metaindex.expressions.records import dataclass
from metaindex.expressions.references import conjuncts
from metaindex.expressions.tree import And, ColumnRef, Comparison, In, Op, Predicate
from metaindex.formats.model import Leaf, Schema
from metaindex.pruning.condition import bound

from .trial import Rows

Form = tuple[object, ...]

MOST_VALUES = 64
"""Of an IN list that is drawn anew."""


@dataclass(frozen=True, slots=True)
class PredicateShape:
    """A predicate as its parts, those at `places` to be drawn anew. `columns`: of them; `values`: rows a draw."""

    parts: tuple[Predicate, ...]
    places: tuple[int, ...]
    columns: tuple[ColumnRef, ...]
    values: int

    @classmethod
    def of(cls, tree: Predicate, schema: Schema) -> PredicateShape | None:
        """None where there is nothing to draw, or too much."""
        partitions = {leaf.parts for leaf in schema.leaves() if any(level.partition for level in leaf.path)}
        parts = conjuncts(tree)
        places, columns, values = [], [], 1
        for place, part in enumerate(parts):
            match part:
                case Comparison(op=Op.EQ, column=column) if column.parts not in partitions:
                    pass
                case In(column=column, values=several) if column.parts not in partitions:
                    values = max(values, len(several))
                case _:
                    continue
            places.append(place)
            columns.append(column)
        if not places or (values > 1 and len(places) > 1) or values > MOST_VALUES:
            return None
        return cls(parts, tuple(places), tuple(columns), values)

    @property
    def form(self) -> Form:
        """What queries have in common that are drawn anew alike: all but the values at their places."""
        stay = tuple(None if place in self.places else part for place, part in enumerate(self.parts))
        return (stay, self.columns, self.values)

    def leaves(self, schema: Schema) -> list[Leaf]:
        """The columns as the table has them."""
        by_name = {leaf.parts: leaf for leaf in schema.leaves()}
        return [by_name[column.parts] for column in self.columns]

    def each(self, schema: Schema) -> Iterator[Predicate]:
        """Of the values that it names, one at a time."""
        (place,) = self.places
        part = self.parts[place]
        values = part.values if isinstance(part, In) else ()
        for value in dict.fromkeys(values):
            parts = [*self.parts]
            parts[place] = Comparison(self.columns[0], Op.EQ, value)
            yield bound(And(tuple(parts)) if len(parts) > 1 else parts[0], schema)

    def filled(self, rows: Sequence[Sequence[object]], schema: Schema) -> Predicate:
        """With the values of these rows, a value a column. Raises what a literal of no form raises."""
        parts = list(self.parts)
        for at, place in enumerate(self.places):
            several = tuple(literal(row[at]) for row in rows)
            column = self.columns[at]
            parts[place] = Comparison(column, Op.EQ, several[0]) if len(several) == 1 else In(column, several)
        return bound(And(tuple(parts)) if len(parts) > 1 else parts[0], schema)


@dataclass(frozen=True, slots=True)
class Draw:
    """A query with other values, and the rows of the snapshot's files that these are of."""

    tree: Predicate
    homes: frozenset[int]


def draws(
    shape: PredicateShape,
    rows: Rows,
    read: Callable[[int, Sequence[Leaf], int], list[list[object]]],
    schema: Schema,
    many: int,
) -> list[Draw]:
    """Up to `many` of them, with values of rows evenly spread over these files. `read`: so many of a file, as
    `values_of` takes them. Raises what a scan raises."""
    leaves = shape.leaves(schema)
    each = -(-many * shape.values // max(len(rows), 1))
    pool = [(row, values) for row in rows.tolist() for values in read(row, leaves, each)]
    if len(pool) < shape.values:
        return []
    order = np.random.default_rng(len(pool)).permutation(len(pool))
    drawn = []
    for start in range(0, len(pool) - shape.values + 1, shape.values):
        some = [pool[at] for at in order[start : start + shape.values]]
        try:
            tree = shape.filled([values for _, values in some], schema)
        except (MetaIndexError, TypeError, ValueError):
            continue  # a value that predicates have no form for
        drawn.append(Draw(tree, frozenset(row for row, _ in some)))
    return drawn[:many]


def strange(shape: PredicateShape, schema: Schema, many: int) -> list[Draw]:
    """With values that hardly any row has, so that what keeps a file for one does so by chance; none where the types of
    the columns have too few values for that."""
    rng = np.random.default_rng(29)
    makers = [_maker(leaf.type) for leaf in shape.leaves(schema)]
    drawn: list[Draw] = []
    for _ in range(many):
        row = [None if maker is None else maker(rng) for maker in makers]
        if None in row:
            return []
        try:
            drawn.append(Draw(shape.filled([row], schema), frozenset()))
        except (MetaIndexError, TypeError, ValueError):
            return []
    return drawn


def _maker(kind: pa.DataType) -> Callable[[np.random.Generator], object] | None:
    if pa.types.is_int64(kind):
        return lambda rng: int(rng.integers(-(2**62), 2**62))
    if pa.types.is_int32(kind):
        return lambda rng: int(rng.integers(-(2**31), 2**31 - 1))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return lambda rng: rng.bytes(16).hex()
    if pa.types.is_date32(kind):
        return lambda rng: dt.date(int(rng.integers(3000, 9000)), 1 + int(rng.integers(12)), 1 + int(rng.integers(28)))
    return None


def values_of(table: pa.Table, leaves: Sequence[Leaf], many: int) -> list[list[object]]:
    """Of a file's rows without NULL and NaN: half of them evenly spread, so that a value comes as often as rows have
    it, and half evenly spread over what is different, so that one that few rows have comes as often as others."""
    if not table.num_rows:
        return []
    columns = pa.table([of_leaf(table, leaf) for leaf in leaves], names=[str(at) for at in range(len(leaves))])
    different = columns.group_by(columns.column_names, use_threads=False).aggregate([])
    rows = [*_evenly(columns, -(-many // 2)), *_evenly(different, many // 2)]
    return [list(values) for values in rows if not any(map(_is_no_value, values))]


def _evenly(columns: pa.Table, many: int) -> Iterator[tuple[object, ...]]:
    many = min(many, columns.num_rows)
    at = ((np.arange(many) + 0.5) * columns.num_rows / max(many, 1)).astype(np.int64)
    return zip(*(column.to_pylist() for column in columns.take(pa.array(at)).columns), strict=True)


def _is_no_value(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
