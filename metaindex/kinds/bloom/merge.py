"""Filters of several runs as those of one: blocks are turned back from bits by files into filters by files, put in the new order, and sliced again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metaindex.store.layout import PartInfo
from metaindex.store.reader import RunReader
from metaindex.store.writer import RunSink

from .blocks import Ints
from .stored import stored_pieces
from .writer import FilterWriter


def merge_filters(
    key_id: int, sources: Sequence[tuple[RunReader, Ints]], sink: RunSink, number: Callable[[int], int]
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Writes one key of a run. Of each source: the new ordinal of every file, -1 where its filter is not taken. `number`: of the part that is the key's n-th. The layout, and the parts."""
    writer = FilterWriter(key_id, [piece for run, places in sources for piece in stored_pieces(run, key_id, places)])
    return writer.layout, [writer.write(part, sink, number(part)) for part in range(writer.parts)]
