"""The first rows of a scan: files are read one after the other until there are enough, and no other is opened.

Which file comes first was decided before (`ScanPlan.rows` is in that order). That there are enough rows is seen in the
rows themselves: no count that somebody wrote can make an answer short. Of an order, the row that is the last of those
taken so far tells which files cannot have a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import dataclass
from metaindex.query.order import Direction, sorted_places
from metaindex.query.order_places import OrderPlace, OrderPlaces, place_of

Files: TypeAlias = npt.NDArray[np.int64]
ReadFiles: TypeAlias = Callable[[Files], Iterator[pa.RecordBatch]]

_AHEAD = 16


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column that rows are sorted by."""

    column: str
    direction: Direction

    def __str__(self) -> str:
        way = "desc" if self.direction.descending else "asc"
        return f"{self.column} {way} nulls {'first' if self.direction.nulls_first else 'last'}"


@dataclass(frozen=True, slots=True)
class FirstRows:
    """A limit: at most `limit` rows, from files in the order of the plan. `certain`: so many files at the beginning
    hold matching rows only. `keys`: the rows are the first ones in this order, and come in it; `best` then says where
    the best row of each file stands by the first key, the best file first."""

    limit: int
    certain: int = 0
    keys: tuple[SortKey, ...] = ()
    best: OrderPlaces | None = field(default=None, compare=False)  # follows from the files

    def __str__(self) -> str:
        if self.keys:
            return f"the first {self.limit:,} rows by {', '.join(map(str, self.keys))}"
        known = f"; {self.certain:,} files hold no other rows and are read first" if self.certain else ""
        return f"at most {self.limit:,} rows{known}"


def first_batches(first: FirstRows, files: Files, read: ReadFiles) -> Iterator[pa.RecordBatch]:
    """The first rows that `read` gives of the files. It is given one file, then twice as many each time: what is read
    ahead of its turn is at most as much as was needed so far."""
    left = first.limit
    for some in _growing(files) if left else ():
        with closing(_generator(read(some))) as batches:
            for batch in batches:
                yield batch.slice(0, left)
                left -= min(left, batch.num_rows)
                if not left:
                    return


def best_batches(
    first: FirstRows, files: Files, read: ReadFiles, shown: pa.Schema, *, ahead: bool
) -> Iterator[pa.RecordBatch]:
    """The first rows in the order of the keys, with the columns `shown`. `read` gives those and the keys. `ahead`:
    several files are handed to it at once, as it reads them side by side."""
    assert first.best is not None, "who sorts has places of the files"
    taken: pa.Table | None = None
    last: OrderPlace | None = None
    start, size = 0, 1
    while start < len(files) and first.limit:
        end = min(len(files), start + size)
        while last is not None and end > start and _no_better(first, first.best[end - 1], last):
            end -= 1
        if end == start:
            break
        for batch in read(files[start:end]):
            taken, last = _taken(first, taken, batch)
        start, size = end, min(_AHEAD, 2 * size) if ahead else 1
    if taken is not None:
        yield from taken.select(shown.names).cast(shown).to_batches()


def _no_better(first: FirstRows, file: OrderPlace, last: OrderPlace) -> bool:
    """Return whether no row of the file beats `last`. With more keys, a file equal in the first may have one."""
    return file.is_behind(last, first.keys[0].direction, or_level=len(first.keys) == 1)


def _taken(first: FirstRows, before: pa.Table | None, batch: pa.RecordBatch) -> tuple[pa.Table, OrderPlace | None]:
    """Merge the first rows with these, sorted; return them, and the place of the last, if there are enough."""
    rows = pa.Table.from_batches([batch])
    rows = rows if before is None else pa.concat_tables([before, rows])
    columns = [rows.column(key.column) for key in first.keys]
    rows = rows.take(sorted_places(columns, [key.direction for key in first.keys])[: first.limit])
    key = first.keys[0]
    if rows.num_rows < first.limit:
        return rows, None
    worst = rows.column(key.column).slice(first.limit - 1)
    return rows, place_of(worst, worst.type, key.direction)


def _growing(files: Files) -> Iterator[Files]:
    start, size = 0, 1
    while start < len(files):
        yield files[start : start + size]
        start, size = start + size, 2 * size


def _generator(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, None]:
    yield from batches
