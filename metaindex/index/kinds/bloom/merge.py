"""Filters of several runs as those of one: blocks are turned back from bits by files into filters by files, put in the
new order, and sliced again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metaindex.index.kinds.kind import KeyRows
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink

from .stored import stored_pieces
from .writer import FilterWriter


def merge_filters(
    key: CoveredKey, sources: Sequence[KeyRows], sink: RunSink, number: Callable[[int], int]
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Merge filters; see `StoredKind.merge`."""
    pieces = [piece for run, _, places in sources for piece in stored_pieces(run, key.key_id, places)]
    writer = FilterWriter(key.key_id, pieces)
    return writer.layout, [writer.write(part, sink, number(part)) for part in range(writer.parts)]
