"""Partial answers of many batches and files, put together group by group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

import pyarrow as pa

from metaindex.core import dataclass
from metaindex.formats import Field
from metaindex.query.order import Direction, as_compared, as_shown, compared_type, sorted_places

from .measures import Measure

_HELD_ROWS = 1 << 16
"""So many rows are held before they are put together."""


@dataclass(slots=True)
class Pile:
    """Tables of one schema, put together whenever they have come to many rows. `together`: as fewer rows that say the
    same."""

    schema: pa.Schema
    together: Callable[[pa.Table], pa.Table]
    _held: list[pa.Table] = field(default_factory=list)
    _rows: int = 0
    _limit: int = _HELD_ROWS

    def add(self, columns: Sequence[pa.Array]) -> None:
        self._hold(self.together(pa.Table.from_arrays(columns, schema=self.schema)))
        if self._rows > self._limit:
            self._limit = max(_HELD_ROWS, 2 * self.settled())  # of many: each is put together a few times

    @property
    def rows(self) -> int:
        """Return how many rows are held; merging them may leave fewer."""
        return self._rows

    def settled(self) -> int:
        """Merge the held rows and return how many are left."""
        whole = self.whole()
        self._held, self._rows = [], 0
        self._hold(whole)
        return self._rows

    def whole(self) -> pa.Table:
        """Return all rows, merged."""
        return self.together(pa.concat_tables([self.schema.empty_table(), *self._held]))

    def _hold(self, table: pa.Table) -> None:
        self._held.append(table)
        self._rows += table.num_rows


class PartialAnswers:
    """Answers of groups. `keys`: the columns whose values make a group; without any, all rows are one group, which is
    there without rows, too."""

    def __init__(self, keys: Sequence[Field], measures: Sequence[Measure]) -> None:
        self.keys, self.measures = keys, measures
        compared = [pa.field(f"k{i}", compared_type(key.type)) for i, key in enumerate(keys)]
        partials = [pa.field(f"m{i}", m.partial_type) for i, m in enumerate(measures)]
        self._pile = Pile(pa.schema([*compared, *partials]), self._merged)

    def add_rows(self, columns: dict[str, pa.Array], rows: int) -> None:
        """Rows as they were read: columns by name."""
        if not rows:
            return
        keys = [as_compared(columns[key.name]) for key in self.keys]
        self.add(keys, [m.partial(None if m.field is None else columns[m.field.name], rows) for m in self.measures])

    def add(self, keys: Sequence[pa.Array], partials: Sequence[pa.Array]) -> None:
        """A partial answer a row: of its group, by the keys as they are compared."""
        self._pile.add([*keys, *partials])

    def table(self) -> pa.Table:
        """The answers: a row a group, in the order of the keys (NULL first, NaN last)."""
        merged = self.merged()
        arrays = [as_shown(merged.column(i), key.type) for i, key in enumerate(self.keys)]
        arrays += [m.answer(merged.column(len(self.keys) + i)) for i, m in enumerate(self.measures)]
        fields = [pa.field(key.name, key.type) for key in self.keys]
        fields += [pa.field(m.name, m.type) for m in self.measures]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def merged(self) -> pa.Table:
        """A row a group, in the order of the keys, which come first, as they are compared."""
        merged = self._pile.whole()
        if not self.keys:
            return merged
        keys = [merged.column(i) for i in range(len(self.keys))]
        return merged.take(sorted_places(keys, [Direction()] * len(keys)))

    def _merged(self, table: pa.Table) -> pa.Table:
        schema = table.schema
        names = schema.names[: len(self.keys)]
        asked = [(f"m{i}", m.merge) for i, m in enumerate(self.measures)]
        merged = table.group_by(names, use_threads=False).aggregate(asked)
        named = merged.select([*names, *(f"{name}_{how}" for name, how in asked)]).rename_columns(schema.names)
        return named.cast(schema)
