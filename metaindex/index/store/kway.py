"""Streams of sorted rows: those of a run, a few row groups at a time, and the merge of several, window by window.
What is in memory is a chunk of each stream, however long they are."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.index.store.cache import Footer
from metaindex.index.store.reader import RunReader


def merged(streams: Sequence[Iterator[pa.Table]], keys: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of all streams in order of the keys, NULL first. Each stream is in that order; equal rows stay in order
    of their streams, and in one table."""
    waiting = [_KeyStream(stream, keys) for stream in streams]
    while True:
        for stream in waiting:
            if not stream.rows:
                stream.load()
        waiting = [stream for stream in waiting if stream.rows]
        if not waiting:
            return
        open_ = [stream for stream in waiting if not stream.ended]
        if not open_:
            yield in_order([stream.take(stream.rows) for stream in waiting], keys)
            return
        bound = min(stream.key(stream.rows - 1) for stream in open_)
        counts = [stream.below(bound) for stream in waiting]
        if not any(counts):  # nothing but rows of this key: the stream has more of them, or goes on behind it
            next(stream for stream in open_ if stream.key(stream.rows - 1) == bound).load()
            continue
        yield in_order([stream.take(count) for stream, count in zip(waiting, counts, strict=True) if count], keys)


def few_or_merged(streams: Sequence[Iterator[pa.Table]], keys: Sequence[str], rows: int) -> Iterator[pa.Table]:
    """Like `merged`, but few rows, of so many, at once: calls are what they cost."""
    if rows > _AT_ONCE:
        yield from merged(streams, keys)
    elif tables := [table for stream_ in streams for table in stream_]:
        yield in_order(tables, keys)


_AT_ONCE = 1 << 16


class _KeyStream:
    def __init__(self, tables: Iterator[pa.Table], keys: Sequence[str]) -> None:
        self._tables, self._keys = tables, keys
        self._buffer: pa.Table | None = None
        self._columns: list[pa.ChunkedArray] = []
        self.ended = False

    @property
    def rows(self) -> int:
        return self._buffer.num_rows if self._buffer is not None else 0

    def load(self) -> None:
        """Append the next rows to those in memory."""
        for table in self._tables:
            if table.num_rows:
                self._hold(table if not self.rows else pa.concat_tables([self._buffer, table]))
                return
        self.ended = True

    def key(self, row: int) -> tuple[Any, ...]:
        values = (column[row].as_py() for column in self._columns)
        return tuple((value is not None, value) if value is not None else (False,) for value in values)

    def below(self, bound: tuple[Any, ...]) -> int:
        return bisect_left(range(self.rows), bound, key=self.key)

    def take(self, count: int) -> pa.Table:
        assert self._buffer is not None
        taken = self._buffer.slice(0, count)
        self._hold(self._buffer.slice(count))
        return taken

    def _hold(self, table: pa.Table) -> None:
        self._buffer = table
        self._columns = [table.column(key) for key in self._keys]


def in_order(pieces: list[pa.Table], keys: Sequence[str]) -> pa.Table:
    """The rows of all pieces in order of the keys, NULL first; equal rows stay in order of their pieces."""
    table = pa.concat_tables(pieces)
    if len(pieces) == 1:
        return table
    return table.take(pc.sort_indices(table, [(key, "ascending", "at_start") for key in keys]))


MOST_ROWS = 1 << 19
"""Of all streams together."""
_SMALL_PART_ROWS = 1 << 14


def stream(
    source: RunReader,
    kind: str,
    schema: pa.Schema,
    leading: int | None,
    among: int,
    most: int = MOST_ROWS,
    later: str = "",
) -> Iterator[pa.Table]:
    """Stream these columns of a metadata partition; with a value, only the rows that have it in the column that they
    are sorted by first, which is then the first of the schema. `among`: how many streams share the memory. Small parts
    hold many such values and stay in the cache. `later`: the last column, where parts of an older metaindex lack it; it
    is NULL there."""
    names = schema.names
    rows_at_once = most // max(among, 1)
    for part in source.parts(kind):
        if leading is not None and (
            part.first_key is None or part.last_key is None or not part.first_key <= leading <= part.last_key
        ):
            continue
        footer = source.footer(part)
        lacks = later in names and later not in footer.columns
        groups = list(range(len(footer.rows)))
        at_once = max(1, rows_at_once // max(int(footer.rows.max(initial=1)), 1))
        if leading is not None:
            ids = footer.range(names[0])
            groups = [g for g in groups if not ids.known[g] or ids.least[g] <= leading <= ids.greatest[g]]
        for start in range(0, len(groups), at_once):
            table = source.read(
                part,
                groups[start : start + at_once],
                names[:-1] if lacks else names,
                keep=part.rows <= _SMALL_PART_ROWS,
            )
            if leading is not None:
                table = table.filter(pc.equal(table.column(names[0]), leading))
            if lacks:
                table = table.append_column(later, pa.nulls(table.num_rows, schema.field(later).type))
            yield table.cast(schema)


def groups_holding(footer: Footer, column: str, keys: Sequence[int] | Sequence[bytes]) -> list[int]:
    """Row groups whose range holds one of the keys."""
    ranges = footer.range(column)
    return [
        group
        for group in range(len(footer.rows))
        if not ranges.known[group] or any(ranges.least[group] <= key <= ranges.greatest[group] for key in keys)
    ]
