"""Which row groups of a Parquet file can hold rows that match: asked of the footer, which the reader needs anyway.

Any doubt keeps the row group. Row positions count from the file's first row, so that deletes by position find their rows behind row groups left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from expressions.arrow_statistics import ArrowStatistics
from expressions.errors import MetaIndexError
from expressions.references import columns
from expressions.skipping import may_match
from expressions.tree import ColumnRef, Predicate
from formats.footer_file import Layouts, open_footer
from formats.footers import row_group_columns
from formats.model import Schema

SMALL_BYTES = 1 << 20  # a file that is read sooner than its statistics are judged
# Whatever a footer can make of its reader: no reason to lose a query.
_DOUBTS = (MetaIndexError, pa.ArrowException, OSError, ValueError, TypeError, ArithmeticError, LookupError)


class RowGroups:
    """The choice for the files of one scan. Columns that the partition gives are no columns of the file."""

    def __init__(self, predicate: Predicate | None, schema: Schema) -> None:
        self._predicate = predicate
        asked = set() if predicate is None else {column.parts for column in columns(predicate)}
        leaves = [leaf for leaf in schema.leaves() if leaf.parts in asked and not any(f.partition for f in leaf.path)]
        self._layouts = Layouts(tuple(leaves))

    def open(self, source: pa.NativeFile) -> tuple[pq.ParquetFile, list[range]]:
        """The file, and the runs of neighbouring row groups to read."""
        metadata, kept = None, None
        if self._predicate is not None and self._layouts.leaves and source.size() > SMALL_BYTES:
            try:
                footer, metadata = open_footer(lambda start, length: source.read_at(length, start), source.size())
                kept = self._kept(footer, metadata)
            except _DOUBTS:
                pass  # the reader below finds out what is wrong with the file, if anything
        file = pq.ParquetFile(source, metadata=metadata, coerce_int96_timestamp_unit="us", pre_buffer=True)
        every = np.ones(file.num_row_groups, np.bool_) if kept is None else kept
        return file, list(_runs(every))

    def _kept(self, footer: bytes, metadata: pq.FileMetaData) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
        if not metadata.num_row_groups:
            return None
        assert self._predicate is not None
        bounds = {
            ColumnRef(found.leaf.parts): found.bounds for found in row_group_columns(footer, metadata, self._layouts)
        }
        return np.asarray(may_match(self._predicate, ArrowStatistics(metadata.num_row_groups, bounds)), np.bool_)


def _runs(kept: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[range]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8))).tolist()
    return (range(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True))
