"""Exact numbers of different values by group: from the values that an index keeps of whole files, and from rows that
are read; each value counts once a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, TooLate, Vector
from metaindex.formats import Field
from metaindex.index import DistinctKeys
from metaindex.query.order import as_compared, as_shown, compared_type

from .known import KnownFiles
from .measures import Measure
from .partial import Pile

Rows = npt.NDArray[np.int64]


class TooManyValues(Exception):
    """Raised for more values than may be held, or read from an index."""


class EachValue:
    """The different values of a column, group by group, all held in memory: up to `most`, if given. `entries`: how many
    may be read from indexes; None: any number."""

    def __init__(
        self, keys: Sequence[Field], measure: Measure, most: int | None = None, entries: int | None = None
    ) -> None:
        self.keys, self.measure, self._most, self._entries = keys, measure, most, entries
        compared = [pa.field(name, compared_type(key.type)) for name, key in zip(self._names, keys, strict=True)]
        self._pile = Pile(pa.schema([*compared, pa.field("value", self._distinct.type)]), _once)

    def add_files(self, keys: Sequence[pa.Array], rows: Rows, files: KnownFiles) -> Mask:
        """Add whole files: `keys` as they are compared, a row a file; `rows`: of the snapshot. Return a mask over all
        files, True if not every value is known after all. Raises TooManyValues."""
        count = len(files.deletes)
        unsaid, place = np.zeros(count, np.bool_), np.full(count, -1, np.int64)
        place[rows] = np.arange(len(rows))
        column, kept = files.columns.get(self._field), files.values.get(self._field)
        wanted = place >= 0
        if column is not None:
            constant = column.constant
            at = np.flatnonzero(wanted & constant.known)
            values = as_shown(constant.values.take(Vector.arrow(at, None, pa.int64())), self._field.type)
            there = at[~np.asarray(Vector(pc.is_null(values)).array)]
            self._add(_taken(keys, place[there]), self._distinct.of(values))
            wanted &= ~constant.known
        if kept is not None and wanted.any():
            worth = kept.worth(wanted, files.live.values)
            unsaid |= wanted & ~worth
            wanted &= worth
            if self._entries is not None and kept.entries(wanted) > self._entries:
                raise TooManyValues
        for of_rows, values in kept.each_value(wanted) if kept is not None and wanted.any() else ():
            TooLate.check()
            some = DistinctKeys.may_be_cut(values)
            unsaid[of_rows[some]] = True
            whole = Vector.arrow(np.flatnonzero(~some), None, pa.int64())
            self._add(_taken(keys, place[of_rows[~some]]), values.take(whole))
        return unsaid

    def add_rows(self, columns: dict[str, pa.Array], rows: int) -> None:
        """Rows as they were read: columns by name."""
        values = columns[self._field.name]
        there = np.flatnonzero(~np.asarray(Vector(pc.is_null(values)).array))
        keys = _taken([as_compared(columns[key.name]) for key in self.keys], there)
        self._add(keys, self._distinct.of(values))

    def counts(self, groups: pa.Table) -> pa.Array:
        """Return the counts of groups, whose keys are their first columns, as they are compared."""
        each = self._pile.whole()
        if not self.keys:
            return pa.array([each.num_rows], pa.int64())
        names = self._names
        here = pa.table(groups.columns[: len(names)], names=names)
        here = here.append_column("value", pa.nulls(groups.num_rows, each.schema.field("value").type))
        here = here.append_column("place", Vector.arrow(np.arange(groups.num_rows), None, pa.int64()))
        rows = pa.concat_tables([here, each.append_column("place", pa.nulls(each.num_rows, pa.int64()))])
        counted = rows.group_by(names, use_threads=False).aggregate([("place", "max"), ("value", "count")])
        # Each value is of a row, and each row of a group: no group is without a place.
        return counted.sort_by("place_max").column("value_count").combine_chunks().cast(pa.int64())

    def different(self) -> list[pa.Array] | None:
        """Return each value once a group: the keys, as they are compared, then the values, as the column has them. None
        if an index holds a value that is not of its type. Raises TooManyValues."""
        each = self._pile.whole()
        if self._most is not None and each.num_rows > self._most:
            raise TooManyValues
        values = self._distinct.values(Vector(each.column("value")).array)
        return None if values is None else [*(Vector(each.column(name)).array for name in self._names), values]

    @property
    def _field(self) -> Field:
        assert self.measure.field is not None
        return self.measure.field

    @property
    def _distinct(self) -> DistinctKeys:
        return DistinctKeys(self._field.type)

    @property
    def _names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    def _add(self, keys: Sequence[pa.Array], values: pa.Array) -> None:
        """Values that are no NULL, each with the keys of its group."""
        if len(values):
            self._pile.add([*keys, values])
        if self._most is not None and self._pile.rows > 2 * self._most and self._pile.settled() > self._most:
            raise TooManyValues


def _once(table: pa.Table) -> pa.Table:
    """Return the distinct rows."""
    return table.group_by(table.column_names, use_threads=False).aggregate([]).select(table.column_names)


def _taken(keys: Sequence[pa.Array], places: Rows) -> list[pa.Array]:
    at = Vector.arrow(places, None, pa.int64())
    return [Vector(key.take(at)).array for key in keys]
