"""How many different values each group has, exactly: the values that an index keeps of whole files, and those that are
read, each once a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.order import as_compared, as_shown, compared_type
from metaindex.expressions.records import dataclass
from metaindex.expressions.vectors import Mask, from_vector, one_array
from metaindex.formats.model import Field
from metaindex.kinds.different import keys_type, may_be_cut, value_keys

from .known import KnownFiles
from .measures import Measure

Rows = npt.NDArray[np.int64]
_HELD_ROWS = 1 << 16
"""So many values are held before each is kept once."""


@dataclass(slots=True)
class EachValue:
    """The different values of a column, group by group. All of them are held in memory."""

    keys: Sequence[Field]
    measure: Measure
    _held: list[pa.Table] = field(default_factory=list)
    _rows: int = 0
    _limit: int = _HELD_ROWS

    def add_files(self, keys: Sequence[pa.Array], rows: Rows, files: KnownFiles) -> Mask:
        """Of whole files: `keys` as they are compared, a row a file; `rows`: of the snapshot. True, of all files, for
        those of which not every value is known after all."""
        count = len(files.deletes)
        unsaid, place = np.zeros(count, np.bool_), np.full(count, -1, np.int64)
        place[rows] = np.arange(len(rows))
        column, kept = files.columns.get(self._field.name), files.values.get(self._field.name)
        wanted = place >= 0
        if column is not None:
            constant = column.constant
            at = np.flatnonzero(wanted & constant.known)
            values = as_shown(constant.values.take(from_vector(at, None, pa.int64())), self._field.type)
            there = at[~np.asarray(one_array(pc.is_null(values)))]
            self._add(_taken(keys, place[there]), value_keys(values, self._field.type))
            wanted &= ~constant.known
        if kept is not None and wanted.any():
            worth = kept.worth(wanted, files.live.values)
            unsaid |= wanted & ~worth
            wanted &= worth
        for of_rows, values in kept.each(wanted) if kept is not None and wanted.any() else ():
            some = may_be_cut(values)
            unsaid[of_rows[some]] = True
            whole = from_vector(np.flatnonzero(~some), None, pa.int64())
            self._add(_taken(keys, place[of_rows[~some]]), values.take(whole))
        return unsaid

    def add_rows(self, columns: dict[str, pa.Array], rows: int) -> None:
        """Rows as they were read: columns by name."""
        values = columns[self._field.name]
        there = np.flatnonzero(~np.asarray(one_array(pc.is_null(values))))
        keys = _taken([as_compared(columns[key.name]) for key in self.keys], there)
        self._add(keys, value_keys(values, self._field.type))

    def counts(self, groups: pa.Table) -> pa.Array:
        """Of groups, whose keys come first, as they are compared."""
        each = self._once(pa.concat_tables([self._schema.empty_table(), *self._held]))
        if not self.keys:
            return pa.array([each.num_rows], pa.int64())
        names = self._names
        here = pa.table(groups.columns[: len(names)], names=names)
        here = here.append_column("value", pa.nulls(groups.num_rows, self._schema.field("value").type))
        here = here.append_column("place", from_vector(np.arange(groups.num_rows), None, pa.int64()))
        rows = pa.concat_tables([here, each.append_column("place", pa.nulls(each.num_rows, pa.int64()))])
        counted = rows.group_by(names, use_threads=False).aggregate([("place", "max"), ("value", "count")])
        # Each value is of a row, and each row of a group: no group is without a place.
        return counted.sort_by("place_max").column("value_count").combine_chunks().cast(pa.int64())

    @property
    def _field(self) -> Field:
        assert self.measure.field is not None
        return self.measure.field

    @property
    def _names(self) -> list[str]:
        return [f"k{i}" for i in range(len(self.keys))]

    @property
    def _schema(self) -> pa.Schema:
        keys = [pa.field(name, compared_type(key.type)) for name, key in zip(self._names, self.keys, strict=True)]
        return pa.schema([*keys, pa.field("value", keys_type(self._field.type))])

    def _add(self, keys: Sequence[pa.Array], values: pa.Array) -> None:
        """Values that are no NULL, each with the keys of its group."""
        if not len(values):
            return
        self._hold(self._once(pa.Table.from_arrays([*keys, values], schema=self._schema)))
        if self._rows > self._limit:
            together = self._once(pa.concat_tables(self._held))
            self._held, self._rows = [], 0
            self._hold(together)
            self._limit = max(_HELD_ROWS, 2 * self._rows)  # of many values: each is looked at a few times

    def _hold(self, table: pa.Table) -> None:
        self._held.append(table)
        self._rows += table.num_rows

    def _once(self, table: pa.Table) -> pa.Table:
        return table.group_by(table.column_names, use_threads=False).aggregate([]).select(table.column_names)


def _taken(keys: Sequence[pa.Array], places: Rows) -> list[pa.Array]:
    at = from_vector(places, None, pa.int64())
    return [one_array(key.take(at)) for key in keys]
