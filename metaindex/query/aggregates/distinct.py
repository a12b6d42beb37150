"""About how many different values each group has: sketches of whole files, and values that are read, in one sketch a
group (`kinds.sketches.theta`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, dataclass
from metaindex.formats import Field
from metaindex.index import Theta
from metaindex.query.order import as_compared

from .known import KnownFiles
from .measures import Measure

Rows = npt.NDArray[np.int64]
_HELD = 4 * Theta.ENTRIES
"""So many hashes of a group are held before they are put together."""


@dataclass(slots=True)
class _GroupValues:
    """The sketches of one group."""

    waiting: list[Theta] = field(default_factory=list)
    held: int = 0
    empty: bool = False

    def add(self, sketch: Theta, empty: bool) -> None:
        self.empty |= empty
        self.waiting.append(sketch)
        self.held += len(sketch.hashes) + 1
        if self.held > _HELD:
            self.waiting = [Theta.union(self.waiting)]
            self.held = len(self.waiting[0].hashes)

    @property
    def count(self) -> int:
        return round(Theta.union(self.waiting).estimate) + self.empty


@dataclass(slots=True)
class DifferentValues:
    """Different values of a column, group by group. Up to `Theta.ENTRIES` they are counted exactly."""

    keys: Sequence[Field]
    measure: Measure
    _groups: dict[tuple[object, ...], _GroupValues] = field(default_factory=dict)

    def add_files(self, keys: Sequence[pa.Array], rows: Rows, files: KnownFiles) -> Mask:
        """Add whole files: `keys` as they are compared, a row a file; `rows`: of the snapshot. Like
        `EachValue.add_files`, but everything is known of each file."""
        of_rows = dict(zip(rows.tolist(), self._tuples(keys, len(rows)), strict=True))
        for key in of_rows.values():
            self._group(key)  # one of files that hold nothing but NULL is there, too
        kept = files.sketches.get(self._field)
        if kept is not None:
            wanted = np.zeros(len(kept.known), np.bool_)
            wanted[rows] = True
            for row, sketch, empty in kept.each_sketch(wanted):
                self._group(of_rows[row]).add(sketch, empty)
        return np.zeros(len(files.deletes), np.bool_)

    def add_rows(self, columns: dict[str, pa.Array], rows: int) -> None:
        """Rows as they were read: columns by name."""
        if not rows:
            return
        values = columns[self._field.name]
        values = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        if not self.keys:
            self._group(()).add(*Theta.nothing().with_values(values, self._field.type))
            return
        names = [f"k{i}" for i in self._places]
        table = pa.table([as_compared(columns[key.name]) for key in self.keys], names=names)
        table = table.append_column("row", Vector.arrow(np.arange(rows), None, pa.int64()))
        groups = table.group_by(names, use_threads=False).aggregate([("row", "list")])
        lists = groups.column("row_list").combine_chunks()
        in_order = Vector(lists.flatten()).numbers  # rows, group by group
        group_of = np.empty(rows, np.int64)
        group_of[in_order] = np.repeat(np.arange(len(lists)), np.diff(Vector(lists.offsets).numbers))
        held = np.flatnonzero(Vector(values).present)
        hashes = Theta.hash_each(values, self._field.type)
        self._add(self._tuples([groups.column(name) for name in names], len(lists)), group_of[held], hashes)

    def _add(self, keys: Sequence[tuple[object, ...]], group_of: Rows, hashes: npt.NDArray[np.uint64]) -> None:
        """Values by their hashes, 0 of an empty text; `group_of`: the group of each, a place among the keys."""
        order = np.lexsort((hashes, group_of))
        group_of, hashes = group_of[order], hashes[order]
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (group_of[1:] != group_of[:-1]) | (hashes[1:] != hashes[:-1])
        group_of, hashes = group_of[fresh], hashes[fresh]
        ends = np.searchsorted(group_of, np.arange(len(keys) + 1))
        for key, first, last in zip(keys, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            empty = first < last and hashes[first] == 0
            self._group(key).add(Theta(hashes[first + empty : last]).cut(Theta.ENTRIES), bool(empty))

    def counts(self, groups: pa.Table) -> pa.Array:
        """Return the counts of groups, whose keys are their first columns, as they are compared."""
        keys = self._tuples([groups.column(i) for i in self._places], groups.num_rows)
        of_keys = [self._groups.get(key) for key in keys]
        return pa.array([0 if group is None else group.count for group in of_keys], pa.int64())

    @property
    def _places(self) -> range:
        return range(len(self.keys))

    @property
    def _field(self) -> Field:
        assert self.measure.field is not None
        return self.measure.field

    def _group(self, key: tuple[object, ...]) -> _GroupValues:
        return self._groups.setdefault(key, _GroupValues())

    def _tuples(self, keys: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> list[tuple[object, ...]]:
        return list(zip(*map(_plain, keys), strict=True)) if keys else [()] * rows


def _plain(values: pa.Array | pa.ChunkedArray) -> list[object]:
    """Values as Python's, days and times as numbers: Python has none beyond the year 9999."""
    values = Vector(values).array
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    return list(values.to_pylist())
