"""The row groups of kept files that may match parts of a predicate, found without reading data: by the indexes, and by
the files' footers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, MetaIndexError, ObjectNotFoundError, StorageError
from metaindex.expressions import CompositeStatistics, Predicate, PruningStatistics, may_match
from metaindex.formats import Footer, Layouts, Leaf, Schema
from metaindex.query.pruning.result import PruneResult
from metaindex.storage import Storage

from .row_groups import footer_statistics


@dataclass(frozen=True, slots=True)
class KeptGroups:
    """The row groups of a file: rows of each, and which are kept. A file without row groups, or whose footer cannot be
    read, is one of no number."""

    rows: tuple[int | None, ...]
    kept: Mask
    numbered: bool = True

    def __iter__(self) -> Iterator[tuple[int | None, int | None]]:
        """Number and rows of each that is kept."""
        return ((at if self.numbered else None, self.rows[at]) for at in np.flatnonzero(self.kept).tolist())

    def holding(self, first: int) -> int | None:
        """The number of the row group in which the row at a place of the file lies."""
        if not self.numbered:
            return None
        ends = np.cumsum([rows or 0 for rows in self.rows])
        return int(np.searchsorted(ends, first, side="right"))


@dataclass(slots=True)
class FooterGroups:
    """Reads each footer once, whatever version of the table it is asked for. `remembered`: of so many sets of columns
    the statistics of a file are kept."""

    storage: Storage
    remembered: int = 1
    _read: dict[str, Footer | None] = field(default_factory=dict)
    _stated: dict[str, dict[tuple[Leaf, ...], list[PruningStatistics[Mask]]]] = field(default_factory=dict)

    def of(self, result: PruneResult, path: str, parts: Sequence[Predicate]) -> list[KeptGroups]:
        """Return the kept row groups of a kept file, for each part of the predicate that was answered. Raises
        ObjectNotFoundError for a file that is gone, StorageError if the store does not answer."""
        footer = self.footer(path)
        if footer is None:
            return [KeptGroups((None,), self._judged(part, result, path, 1, []), False) for part in parts]
        metadata = footer.metadata
        rows = tuple(metadata.row_group(at).num_rows for at in range(metadata.num_row_groups))
        stated = self._said(path, footer, _leaves(result.schema, parts)) if rows else []
        return [KeptGroups(rows, self._judged(part, result, path, len(rows), stated)) for part in parts]

    def _said(self, path: str, footer: Footer, leaves: tuple[Leaf, ...]) -> list[PruningStatistics[Mask]]:
        """The statistics of these columns."""
        known = self._stated.setdefault(path, {})
        if leaves in known:
            return known[leaves]
        try:
            stated: list[PruningStatistics[Mask]] = [footer_statistics(footer, Layouts(leaves))]
        except (MetaIndexError, pa.ArrowException, ValueError, TypeError, ArithmeticError, LookupError):
            stated = []  # whatever a footer says that cannot be understood proves nothing
        if len(known) >= self.remembered:
            del known[next(iter(known))]
        known[leaves] = stated
        return stated

    def knows(self, path: str) -> bool:
        """Return whether the footer of a file was read."""
        return path in self._read

    def chunk_bytes(self, path: str) -> dict[str, int]:
        """Return the compressed size of each leaf's chunks, by its dotted path in the file; encrypted leaves are
        missing, and all if the footer cannot be read."""
        footer = self.footer(path)
        try:
            return {} if footer is None else footer.chunk_bytes()
        except MetaIndexError:
            return {}

    def _judged(
        self, part: Predicate, result: PruneResult, path: str, count: int, stated: Sequence[PruningStatistics[Mask]]
    ) -> Mask:
        known = result.in_file(path, count)
        sources = [*stated, *([] if known is None else [known])]
        return may_match(part, CompositeStatistics(sources)) if sources else np.ones(count, np.bool_)

    def footer(self, path: str) -> Footer | None:
        """Return the footer of a file; None of what is no Parquet file, or damaged. Raises as `of`."""
        if path not in self._read:
            try:
                with self.storage.open_input(path) as source:
                    self._read[path] = Footer.of(source)
            except (ObjectNotFoundError, StorageError):
                raise
            except (MetaIndexError, pa.ArrowException, OSError):
                self._read[path] = None  # no Parquet, or damaged
        return self._read[path]


def _leaves(schema: Schema, parts: Sequence[Predicate]) -> tuple[Leaf, ...]:
    asked = {ref.parts for part in parts for ref in part.columns}
    return tuple(
        leaf for leaf in schema.leaves() if leaf.parts in asked and not any(level.partition for level in leaf.path)
    )
