"""Row groups of a Parquet file that can hold rows that match, by the keys of indexes, and by the footer, which the
reader needs anyway.

Any doubt keeps the row group. Row positions count from the file's first row, so that deletes by position find their
rows behind row groups left out.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.core import Mask
from metaindex.expressions import (
    ArrowStatistics,
    ColumnRef,
    CompositeStatistics,
    In,
    Predicate,
    PruningStatistics,
    Question,
    may_match,
)
from metaindex.formats import Footer, HeldFooters, Layouts, OpenedFile, Schema
from metaindex.query.pruning.sources import FileSource
from metaindex.storage import ObjectInfo

if TYPE_CHECKING:
    from metaindex.query.pruning.result import PruneResult

MOST_VALUES = 1_000  # of a predicate that is judged row group by row group
SMALL_BYTES = 1 << 20  # of a file, or of row groups that are left: read sooner than statistics are judged


class RowGroups:
    """The choice for the files of one scan. `result`: the answer that chose them, whose keys may tell row groups apart.
    Columns that the partition gives are no columns of the file. `apart`: row groups are not read together, so that a
    batch is of one. `held`: footers that were read before."""

    def __init__(
        self,
        predicate: Predicate | None,
        schema: Schema,
        result: PruneResult | None = None,
        *,
        apart: bool = False,
        held: HeldFooters | None = None,
    ) -> None:
        self._predicate = predicate
        self._apart = apart
        self._held = HeldFooters(0) if held is None else held
        # What another predicate was answered by says nothing of this one. Of very many values some is in every row
        # group, and to find that out again for each file takes its time.
        known = result is not None and result.knows_row_groups and result.predicate == predicate
        self._result = result if known and values_in(predicate) <= MOST_VALUES else None
        asked = set() if predicate is None else {column.parts for column in predicate.columns}
        asked_leaves = [
            leaf for leaf in schema.leaves() if leaf.parts in asked and not any(f.partition for f in leaf.path)
        ]
        self._layouts = Layouts(tuple(asked_leaves))
        self._question: Question | None = (
            None  # what the predicate comes down to for each file, where it is one question
        )

    def open(
        self, source: pa.NativeFile, path: str = "", now: ObjectInfo | None = None
    ) -> tuple[OpenedFile, list[range]]:
        """Open the file, and return the runs of neighbouring row groups to read. `path`: as the answer names the file.
        `now`: what it is since it was opened, if its footer may be cached."""
        # What keys leave of a local file is little: to gather its reads first costs more than the reads.
        gather = self._result is None or not isinstance(source, pa.OSFile)
        worth = (
            bool(self._layouts.leaves) and source.size() > SMALL_BYTES
        )  # statistics are judged sooner than it is read
        file = self._held.open(source, now, gather=gather, stated=worth and self._result is None)
        count = file.footer.metadata.num_row_groups
        kept = np.ones(count, np.bool_)
        if self._predicate is not None and count:
            with suppress(*OpenedFile.DOUBTS):
                if self._result is not None:
                    kept = self._by_keys(self._result, source if worth else None, file, path)
                elif file.footer.raw:
                    kept = may_match(self._predicate, self._stated(file.footer.raw, file))
        return file, [range(at, at + 1) for at in np.flatnonzero(kept).tolist()] if self._apart else _runs(kept)

    def _stated(self, raw: bytes, file: OpenedFile) -> ArrowStatistics:
        return footer_statistics(Footer(raw, file.footer.metadata), self._layouts)

    def _by_keys(self, result: PruneResult, source: pa.NativeFile | None, file: OpenedFile, path: str) -> Mask:
        """Prune by the keys first: what they leave is mostly so little that statistics do not pay. `source`: of a file
        whose statistics may pay."""
        count = file.footer.metadata.num_row_groups
        known = result.in_file(path, count)
        if count == 1 and known is not None:
            return np.ones(1, np.bool_)  # the file was kept by what is known of it
        kept = np.ones(count, np.bool_) if known is None else self._known(known, result.walked)
        if source is not None and file.footer.bytes_of(np.flatnonzero(kept).tolist()) > SMALL_BYTES:
            stated = self._stated(file.raw_footer(source), file)
            sources = [stated] if known is None else [stated, known]
            kept = may_match(result.walked, CompositeStatistics(sources))
        return kept

    def _known(self, known: PruningStatistics[Mask], walked: Predicate) -> Mask:
        if not isinstance(known, FileSource):
            return may_match(walked, known)
        if self._question is None:
            kept, self._question = known.may_match(walked)
            return kept
        return known.told(self._question)


def values_in(predicate: Predicate | None) -> int:
    """Return how many values its lists have."""
    return 0 if predicate is None else sum(len(leaf.values) for leaf in predicate.leaves() if isinstance(leaf, In))


def footer_statistics(footer: Footer, layouts: Layouts) -> ArrowStatistics:
    """Return a footer's statistics of the file's row groups."""
    bounds = {ColumnRef(column.leaf.parts): column.bounds for column in footer.columns(layouts)}
    return ArrowStatistics(footer.metadata.num_row_groups, bounds)


def spans_left(
    result: PruneResult, held: HeldFooters, source: pa.NativeFile, path: str, now: ObjectInfo | None
) -> list[tuple[int, int]] | None:
    """Return the bytes of each row group of a kept file that keys leave (`OpenedFile.group_spans`); None: all of it. By
    keys alone: what a footer states is judged by whoever reads by it. `now`: as for `HeldFooters.open`."""
    with suppress(*OpenedFile.DOUBTS):
        file = held.open(source, now, gather=False, stated=True)
        count = file.footer.metadata.num_row_groups
        kept = result.row_groups(path, count)
        spans = file.group_spans(source) if len(kept) < count else None
        return None if spans is None else [spans[group] for group in kept]
    return None


def _runs(kept: Mask) -> list[range]:
    """Neighbours as one."""
    out: list[range] = []
    for at in np.flatnonzero(kept).tolist():
        if out and out[-1].stop == at:
            out[-1] = range(out[-1].start, at + 1)
        else:
            out.append(range(at, at + 1))
    return out
