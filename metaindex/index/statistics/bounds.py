"""Statistics of a column in every file of a snapshot, each file's from the best source that has them. No data page is
read.

    source       what it has                                                                     as
    partition    the value of an identity partition: the same in every row of the file           a fact
    an index     column statistics of exactly these bytes, computed from rows, or of footers     a fact
    footers      of Parquet files that no index covers, where they were asked for                a fact
    the log      of Delta or Iceberg, be it copied into an index                                 a claim
    partitions   of a transform (Iceberg's days, truncate): loose, and better than nothing       a claim

What was computed from rows comes before what a footer says, and indexes that recorded the version before others.
**Answers rest on facts**: whoever wrote a log may have been wrong, and nobody sees it where no row is read. Claims
leave files out, as in every reader of the format, and say what is worth asking. A file that no source bounds stays
unknown. What goes wrong in an index leaves that index out, and is told.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector
from metaindex.expressions import ColumnBounds, convert_bounds
from metaindex.formats import Footer, Format, Leaf, Snapshot, Trust
from metaindex.index.keys import FileIdentities
from metaindex.index.kinds.different import bound_values
from metaindex.index.kinds.facts import facts_of, replace_rows, take_bounds, unknown_facts
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn, RunRef
from metaindex.index.open_index import OpenIndex, Ordinals
from metaindex.storage import Storage

logger = logging.getLogger("metaindex")
_T = TypeVar("_T")

PARTITION, LOG, FOOTERS = "partition", "log", "footers"
_LEAVES = 16
"""So many columns are asked of the log at a time."""
_THREADS = 16
_OF_BOUNDS = ("lower", "upper", "null_count", "nan_count", "value_count", "lower_exact", "upper_exact")
"""The facts that are `ColumnBounds`, in the order of its fields."""
_OfFooters = tuple[Ordinals, dict[tuple[str, ...], pa.Table]]
"""Files, and the facts of columns in them."""


@dataclass(slots=True)
class ColumnFacts:
    """The facts of one column (`kinds.facts`), a row a file, how many files each source gave, and which indexes are
    among these."""

    leaf: Leaf
    facts: pa.Table
    sources: dict[str, int] = field(default_factory=dict)
    indexes: tuple[str, ...] = ()

    @classmethod
    def unknown(cls, leaf: Leaf, count: int) -> ColumnFacts:
        """Nothing is known of the column in any of `count` files."""
        return cls(leaf, unknown_facts(leaf.type, count))

    def bounds(self, side: str) -> pa.Array | None:
        """Return the bounds as values of the column. None if they say less than the values did (nanoseconds)."""
        return bound_values(Vector(self.facts.column(side)).array, self.leaf.type)

    @property
    def as_bounds(self) -> ColumnBounds:
        """Return the facts as a walk asks them."""
        return ColumnBounds(self.leaf.type, *(Vector(self.facts.column(name)).array for name in _OF_BOUNDS))

    @property
    def all_null(self) -> Mask:
        """Return a mask of the files whose rows are all NULL there, or that have none."""
        return self._in(StatState.ALL_NULL)

    @property
    def bounded(self) -> Mask:
        """Return a mask of the files that have values, all of them bounded; there are no bounds where all are NaN."""
        return self._in(StatState.VALUES)

    @property
    def unknown_files(self) -> Mask:
        """Return a mask of the files whose values are not bounded."""
        return self._in(StatState.UNKNOWN)

    def _in(self, state: StatState) -> Mask:
        there: Mask = Vector(self.facts.column("state")).numbers == state
        return there

    def take(self, source: str, rows: Ordinals, said: pa.Table | ColumnBounds, index: str | None = None) -> None:
        """Take a source's facts, or claims as bounds, for those of the files `rows` of which nothing is known yet, or
        only by a weaker one; and counts alone where there are none."""
        said = facts_of(said, len(rows), Trust.LOG) if isinstance(said, ColumnBounds) else said
        mine, unknown = self.facts.take(pa.array(rows)), self.unknown_files[rows]
        bounded = Vector(said.column("state")).numbers != StatState.UNKNOWN
        weaker = Vector(mine.column("trust")).numbers < Vector(said.column("trust")).numbers
        counted = [np.asarray(table.column("value_count").is_valid()) for table in (mine, said)]
        better = np.flatnonzero((bounded & (unknown | weaker)) | (~bounded & unknown & ~counted[0] & counted[1]))
        if len(better):
            self.facts = replace_rows(self.facts, rows[better].astype(np.int64), said.take(pa.array(better)))
            self.sources[source] = self.sources.get(source, 0) + len(better)
            if index is not None and index not in self.indexes:
                self.indexes += (index,)


class _LeftOut(Exception):
    """Raised when what an index keeps is damaged: it was left out, and what is known has to be collected again."""


@dataclass(slots=True)
class FileStatistics:
    """Statistics of a snapshot's files, column by column. Indexes know a file by its full identity; what goes wrong in
    one leaves it out, and is told."""

    snapshot: Snapshot
    indexes: Sequence[OpenIndex]
    notes: list[str] = field(default_factory=list)
    storage: Storage | None = None  # whose footers are read, where nothing else tells of files
    claims: bool = True  # whether they are heard
    _located: dict[tuple[str, str], Ordinals] = field(default_factory=dict)
    _left_out: set[str] = field(default_factory=set)
    _files: FileIdentities | None = None
    _asked: _OfFooters | None = None

    def places(self, index: OpenIndex, run: RunRef) -> Ordinals:
        """Return the ordinal of each file in the run, or -1."""
        key = (index.name, run.run)
        if key not in self._located:
            self._files = self._files or FileIdentities.of(self.snapshot)
            self._located[key] = index.locate(run, self._files)
        return self._located[key]

    def asked_of(self, index: OpenIndex, ask: Callable[[], list[_T]]) -> list[_T]:
        """Ask an index; a failure is reported, returns nothing, and leaves the index out from then on."""
        if index.name in self._left_out:
            return []
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - whatever is stored: the index is left out, and told
            self._leave_out(index, error)
            return []

    @contextmanager
    def damage_leaves_out(self, index: OpenIndex) -> Iterator[None]:
        """Leave out the index if what is read of it inside is damaged: `settled` asks again then."""
        try:
            yield
        except Exception as error:
            self._leave_out(index, error)
            raise _LeftOut from error

    def settled(self, ask: Callable[[], _T]) -> _T:
        """Return the answer to a question about what indexes keep of files (`Kept`): asked again while one of them
        turns out to be damaged, each of which is left out once."""
        while True:
            try:
                return ask()
            except _LeftOut:
                continue

    def _leave_out(self, index: OpenIndex, error: Exception) -> None:
        self._left_out.add(index.name)
        self.notes.append(f"index {index.name} is left out: {OpenIndex.why_not(error)}")
        logger.warning("index %r is not asked what it knows of files: %s", index.name, error)

    def columns(self, leaves: Sequence[Leaf]) -> Iterator[ColumnFacts]:
        """Yield the facts of each column, in order. A column's are released before the next ones are collected."""
        plain = not Format.named(self.snapshot.format).has_log and self._file_format == "parquet"
        inside = [leaf for leaf in leaves if not leaf.field.partition]
        whole = self.storage if self.claims and plain and inside else None
        footers = self._asked if whole is None else self._uncovered(whole, inside)
        for start in range(0, len(leaves), _LEAVES):
            some = leaves[start : start + _LEAVES]
            for leaf, logged in zip(some, self._log_bounds(some), strict=True):
                yield self._column(leaf, logged, footers)

    def ask_footers(self, files: Mask, leaves: Sequence[Leaf]) -> bool:
        """Read the footers of some files: one read each, once. False if they have none, or there is no column."""
        in_files = [leaf for leaf in self.snapshot.schema.leaves() if not leaf.field.partition]
        leaves = [leaf for leaf in leaves if not leaf.field.partition] or in_files[:1]  # one is enough to count rows
        if self.storage is None or self._asked is not None or self._file_format != "parquet" or not leaves:
            return False
        self._asked = self._footers(self.storage, np.flatnonzero(files), leaves)
        return True

    @property
    def footer_rows(self) -> pa.Array:
        """Return the rows of each file by its footer; NULL where that was not asked."""
        counts: pa.Array = pa.nulls(len(self.snapshot.files), pa.int64())
        if self._asked is None:
            return counts
        rows, facts = self._asked
        there = np.isin(np.arange(len(counts)), rows)
        return pc.replace_with_mask(counts, there, Vector(next(iter(facts.values())).column("value_count")).array)

    def indexed(self, leaf: Leaf) -> ColumnFacts:
        """Return what the indexes alone know of a column."""
        known = ColumnFacts.unknown(leaf, len(self.snapshot.files))
        self._take_indexed(known)
        return known

    def _take_indexed(self, known: ColumnFacts) -> None:
        for index in self._in_order():
            for rows, said in self._of_index(index, known.leaf):
                known.take(f"index {index.name}", rows, said, index.name)

    @property
    def _file_format(self) -> object:
        return self.snapshot.details.read_options().get("file_format", "parquet")

    def _column(self, leaf: Leaf, logged: ColumnBounds | None, footers: _OfFooters | None) -> ColumnFacts:
        count = len(self.snapshot.files)
        known = ColumnFacts.unknown(leaf, count)
        everything = np.arange(count)
        bounds = self.snapshot.details.partition_bounds(leaf) if self.claims or leaf.field.partition else None
        placed = None if bounds is None else _of_one_row(facts_of(bounds, count, Trust.LOG))
        if placed is not None and leaf.field.partition:
            known.take(PARTITION, everything, placed)
        self._take_indexed(known)
        if footers is not None and leaf.parts in footers[1]:
            known.take(FOOTERS, footers[0], footers[1][leaf.parts])
        if logged is not None:
            known.take(LOG, everything, logged)
        if placed is not None and not leaf.field.partition:
            known.take("partitions", everything, placed)
        return known

    def _log_bounds(self, leaves: Sequence[Leaf]) -> list[ColumnBounds | None]:
        return self.snapshot.details.many_log_bounds(leaves) if self.claims else [None] * len(leaves)

    def _in_order(self) -> list[OpenIndex]:
        """The indexes that recorded the version first."""
        return sorted(self.indexes, key=lambda index: (index.versions.find(self.snapshot.version) is None, index.name))

    def _of_index(self, index: OpenIndex, leaf: Leaf) -> list[tuple[Ordinals, pa.Table]]:
        """Return what the runs of an index know: files, and the column's facts in them."""

        def said() -> list[tuple[Ordinals, pa.Table]]:
            by_rows = []
            for run in index.entry.content.runs:
                covered = _covered(index, run, leaf)
                if covered is not None and len(rows := np.flatnonzero(self.places(index, run) >= 0)):
                    facts = _stored_facts(index, run, covered, leaf, self.places(index, run)[rows], self.claims)
                    if facts is not None:
                        by_rows.append((rows, facts))
            return by_rows

        return self.asked_of(index, said)

    def _uncovered(self, storage: Storage, leaves: Sequence[Leaf]) -> _OfFooters:
        """Return the footer statistics of the files that the indexes do not cover in all of these columns."""
        uncovered = np.zeros(len(self.snapshot.files), np.bool_)
        for leaf in leaves:
            uncovered |= ~self.covering(leaf)
        return self._footers(storage, np.flatnonzero(uncovered), leaves)

    def _footers(self, storage: Storage, rows: Ordinals, leaves: Sequence[Leaf]) -> _OfFooters:
        some = self.snapshot.files.take(pa.array(rows)).table
        paths, sizes = some.column("path").to_pylist(), some.column("size_bytes").to_pylist()
        threads = _THREADS if "://" in storage.root else min(4, os.cpu_count() or 1)
        read = Footer.of_files(storage, paths, leaves, sizes=sizes, threads=threads)
        failed = [text for text in read.failures.to_pylist() if text is not None]
        if failed:
            self.notes.append(f"of {len(failed):,} files the footer cannot be read; the first: {failed[0]}")
        return rows, {c.leaf.parts: facts_of(c.bounds, len(rows), Trust.FOOTER) for c in read.columns}

    def covering(self, leaf: Leaf) -> Mask:
        """The files of which some index has statistics of the column."""
        known = np.zeros(len(self.snapshot.files), np.bool_)
        for index in self.indexes:
            try:
                for run in index.entry.content.runs:
                    if _covered(index, run, leaf) is not None:
                        known |= self.places(index, run) >= 0
            except Exception as error:  # noqa: BLE001 - told when it is asked
                logger.warning("index %r is not asked how files overlap: %s", index.name, error)
        return known


def _covered(index: OpenIndex, run: RunRef, leaf: Leaf) -> CoveredColumn | None:
    """The column as the run has statistics of it, in the files themselves."""
    column = next((column_ for column_ in run.columns if column_.stable == leaf.stable and not column_.partition), None)
    if column is None:
        return None
    stored = column.type
    return column if stored is not None and (stored == leaf.type or not index.of_text) else None


def _of_one_row(facts: pa.Table) -> pa.Table:
    """Facts whose counts are of one row, as they are of any number: how many are such is known where none is."""
    for name in ("null_count", "nan_count", "value_count"):
        counts = facts.column(name)
        none = pa.nulls(len(counts), pa.int64())
        kept = none if name == "value_count" else pc.if_else(pc.equal(counts, 0), counts, none)
        facts = facts.set_column(facts.schema.get_field_index(name), name, kept)
    return facts


def _stored_facts(
    index: OpenIndex, run: RunRef, column: CoveredColumn, leaf: Leaf, ordinals: Ordinals, claims: bool
) -> pa.Table | None:
    """Return the run's facts of the column in these files, under the type that it has now."""
    stored = column.type
    assert stored is not None
    table = index.column_rows(run, column)
    place = np.full(run.files, -1, np.int64)
    place[Vector(table.column("ordinal")).numbers] = np.arange(table.num_rows)
    rows = place[ordinals]
    if (rows < 0).any():
        return None  # there is one row a file; where there is not, nothing is believed

    trust = Vector(table.column("trust")).array
    copied = pc.fill_null(pc.less_equal(trust, int(Trust.LOG)), True)

    def said(name: str) -> pa.Array:
        values = Vector(table.column(name)).array
        return values if claims else pc.if_else(copied, pa.scalar(None, values.type), values)

    bounds = take_bounds(ColumnBounds(stored, *map(said, _OF_BOUNDS)), rows)
    carried = bounds if stored == leaf.type else convert_bounds(bounds, leaf.type, back=True)
    return None if carried is None else facts_of(carried, len(rows), trust.take(pa.array(rows)))
