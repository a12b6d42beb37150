"""Results of a query with other values: drawn once for all queries that differ in these values alone, and asked once of
the existing indexes and of each candidate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa

from metaindex.advisor.clustering.sample import of_leaf
from metaindex.core import Mask, MetaIndexError, dataclass
from metaindex.expressions import And, ColumnRef, Comparison, In, Literal, Op, Predicate, conjuncts
from metaindex.formats import Leaf, Schema, Snapshot
from metaindex.query import Scan

from .baseline import Baseline, Rows
from .candidates import in_partition
from .estimates import DrawResult

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
        """Return the shape; None if there is nothing to draw, or too much."""
        partitions = {leaf.parts for leaf in schema.leaves() if in_partition(leaf)}
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
        """Return what queries that are redrawn alike have in common: all but the values at their places."""
        stay = tuple(None if place in self.places else part for place, part in enumerate(self.parts))
        return (stay, self.columns, self.values)

    def leaves(self, schema: Schema) -> list[Leaf]:
        """The columns as the table has them."""
        by_name = {leaf.parts: leaf for leaf in schema.leaves()}
        return [by_name[column.parts] for column in self.columns]

    def filled(self, rows: Sequence[Sequence[object]], schema: Schema) -> Predicate:
        """Return the predicate with the values of these rows, a value a column. Raises what `literal` raises."""
        parts = list(self.parts)
        for at, place in enumerate(self.places):
            several = tuple(Literal.of(row[at]) for row in rows)
            column = self.columns[at]
            parts[place] = Comparison(column, Op.EQ, several[0]) if len(several) == 1 else In(column, several)
        return schema.bound(And(tuple(parts)) if len(parts) > 1 else parts[0])


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


def values_of(table: pa.Table, leaves: Sequence[Leaf], many: int) -> list[list[object]]:
    """Draw from a file's rows without NULL and NaN: half evenly over rows, so that a value comes as often as rows have
    it, and half evenly over distinct values, so that rare ones come as often as others."""
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


_DRAWS = 48
_MOST_DRAWS = 400
_TRIALS = 12_000
"""Draws times files that are asked of each: of few files more draws are asked, up to the most."""
_LEAST_DRAWS = 16
_ANSWERS = 2_000_000
"""Of draws over files that are in memory at a time; of more files fewer draws are asked."""

_Key = tuple[Form, bytes]


@dataclass(frozen=True, slots=True)
class Redrawn:
    """Draws of a query, and which of the sampled files `rows` are read for each: as things stand, of these where a row
    may be by its bounds, and with the candidate."""

    draws: Sequence[Draw]
    rows: Rows
    values: int
    before: Mask
    stands: Mask
    kept: Mask

    @property
    def by_chance(self) -> DrawResult | None:
        """Return how many of the files in which bounds exclude the drawn values the candidate keeps all the same."""
        without = self.before & ~self.stands
        trials = np.count_nonzero(without, axis=1)
        kept = np.count_nonzero(self.kept & without, axis=1)
        return DrawResult(tuple(kept.tolist()), tuple(trials.tolist())) if trials.any() else None

    def by_draws(self) -> DrawResult | None:
        """Return the results over the files but for those that a draw comes from; None if nothing could be drawn, or
        bounds exclude all other files."""
        at = {row: place for place, row in enumerate(self.rows.tolist())}
        others = self.stands.copy()
        for number, draw in enumerate(self.draws):
            others[number, [at[home] for home in draw.homes if home in at]] = False
        kept = np.count_nonzero(self.kept & others, axis=1)
        trials = np.count_nonzero(others, axis=1)
        return DrawResult(tuple(kept.tolist()), tuple(trials.tolist()), self.values) if trials.any() else None

    def homes(self, many: int) -> list[tuple[Predicate, list[int]]]:
        """Return for some draws the files that their values come from, as far as these are read."""
        of_draws = zip(self.draws[:many], self.kept, strict=False)
        return [
            (draw.tree, homes) for draw, mask in of_draws if (homes := sorted(draw.homes.intersection(self.rows[mask])))
        ]


@dataclass(slots=True)
class Redraws:
    """Remembers what was drawn and asked, of the sampled files alone."""

    snapshot: Snapshot
    scan: Callable[[int, Sequence[Leaf]], Scan]
    _values: dict[tuple[object, ...], list[list[object]]] = field(default_factory=dict)
    _draws: dict[_Key, list[Draw]] = field(default_factory=dict)
    _kept: dict[tuple[_Key, tuple[str, ...]], Mask] = field(default_factory=dict)

    def of(self, tree: Predicate, rows: Rows, standing: Baseline, places: Baseline, more: Baseline) -> Redrawn | None:
        """Draw for a query. `rows`: the sampled files that `standing` keeps of it; `places`: with bounds of all files;
        `more`: with the candidate. None if there is nothing to draw."""
        shape = PredicateShape.of(tree, self.snapshot.schema)
        if shape is None or len(rows) < 2:
            return None
        key = (shape.form, rows.tobytes())
        if key not in self._draws:
            self._draws[key] = self._drawn(shape, rows)
        drawn = self._draws[key]
        before, stands, kept = (self._asked_of(each, key, drawn, rows) for each in (standing, places, more))
        return Redrawn(drawn, rows, shape.values, before, stands, kept)

    def _drawn(self, shape: PredicateShape, rows: Rows) -> list[Draw]:
        wanted = np.clip(_TRIALS // (len(rows) - 1), _DRAWS, _MOST_DRAWS)
        many = int(np.clip(_ANSWERS // (len(self.snapshot.files) + 1), _LEAST_DRAWS, wanted))
        try:
            return draws(shape, rows, self._read, self.snapshot.schema, many)
        except (MetaIndexError, OSError):
            return []  # the estimate is wider without

    def _read(self, row: int, leaves: Sequence[Leaf], many: int) -> list[list[object]]:
        key = (row, many, *(leaf.parts for leaf in leaves))
        if key not in self._values:
            self._values[key] = values_of(self.scan(row, leaves).to_arrow(), leaves, many)
        return self._values[key]

    def _asked_of(self, standing: Baseline, key: _Key, drawn: Sequence[Draw], rows: Rows) -> Mask:
        memo = (key, tuple(index.entry.index_uuid for index in standing.indexes))
        if memo not in self._kept:
            masks = standing.kept_each([draw.tree for draw in drawn])
            self._kept[memo] = np.array([mask[rows] for mask in masks], np.bool_).reshape(len(drawn), len(rows))
        return self._kept[memo]
