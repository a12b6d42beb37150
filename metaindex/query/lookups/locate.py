"""Look-ups: the live files, row groups and rows that match a predicate, at a version of a table, or at every version
that is kept.

A candidate is what the indexes, the table's log and the footers of the kept files cannot prove out; with `exact` the
candidates are read and their rows counted. No other file is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.core import Column, MetaIndexError, Plain, Shown, TextTable, VersionNotFoundError, counted
from metaindex.expressions import Predicate
from metaindex.formats import At, OfSchema
from metaindex.query.described import describe
from metaindex.query.readers.arrow import matching_rows
from metaindex.query.readers.footer_groups import FooterGroups, KeptGroups
from metaindex.query.readers.read_budget import ANY, ReadBudget
from metaindex.query.readers.row_reading import RowReading

from .answer import PLACE, SHOWN, Answer, place

if TYPE_CHECKING:
    from metaindex.query.pruning.result import PruneResult
    from metaindex.query.queries import Asked, Queries
    from metaindex.query.readers.scan import Scan


LOCATED = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("row_group", pa.int32()),
        pa.field("row_count", pa.int64()),
        pa.field("matches", pa.int64()),
        pa.field("versions", pa.list_(pa.string()), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, repr=False)
class Located(Shown, Plain):
    """`table` has one row for each row group that holds, or may hold, matching rows (for each file whose format has
    none: `row_group` is null then): the path as an engine opens it, the physical rows of the row group where known, the
    live rows of it that match (null of a candidate), and the versions of the table of which this is true. `notes`: what
    could not be asked; `reading`: what it takes to read one row of them, None if no footer tells."""

    predicate: str
    exact: bool
    versions: tuple[str, ...]  # that were asked, oldest first
    table: pa.Table
    notes: tuple[str, ...] = ()
    reading: RowReading | None = None

    @property
    def shown(self) -> Sequence[str | TextTable]:
        """Return the output of `metaindex locate`."""
        advice = self.reading.advice if self.reading is not None else ""
        return (*self.answer.shown, *self.notes, *([advice] if advice else []))

    @property
    def answer(self) -> Answer:
        """Return the answer for people."""
        many = len(self.versions)
        at = f"version {self.versions[0]}" if many == 1 else f"{many:,} versions"
        what = "rows that match" if self.exact else "candidates: may hold rows that match (exact reads them)"
        rows = self.table.slice(0, SHOWN).to_pylist()
        columns = (Column("file"), *PLACE, *((Column("versions"),) if many > 1 else ()))
        cells = tuple((row["path"], *place(row), *((_span(row["versions"]),) if many > 1 else ())) for row in rows)
        said = f"{counted(len(self.files), 'file')} at {at}; {what}"
        return Answer((said,), TextTable(columns, cells) if rows else None, self.table.num_rows - len(rows))

    @property
    def files(self) -> list[str]:
        """The paths, each once."""
        return list(dict.fromkeys(self.table.column("path").to_pylist()))

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        files = {"files": len(self.files)}
        return {**self._plain("predicate exact versions"), **files, **self._plain("found=table reading notes")}


def _span(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]} ({len(names):,})"


def locate(queries: Queries, question: Asked, *, all_versions: bool, exact: bool) -> Located:
    """Implement `Table.locate`."""
    question = replace(question, predicate=OfSchema.at_moment(question.predicate))
    places = Places(FooterGroups(queries.handle.ref.storage), queries.budget)
    if not all_versions:
        result = places.add(queries, question, exact)
        return _located(exact, [result], places)
    if question.at != At():
        raise VersionNotFoundError("all versions are asked, or one; leave out all_versions, or the version")
    asked: list[PruneResult] = []
    notes = []
    for version in queries.versions():
        try:
            asked.append(places.add(queries, replace(question, at=At.of(version)), exact))
        except MetaIndexError as error:
            notes.append(f"version {version.id} cannot be asked: {error}")
            failure = error
    if not asked:
        raise failure
    return _located(exact, asked, places, tuple(notes))


def _located(exact: bool, asked: Sequence[PruneResult], places: Places, notes: tuple[str, ...] = ()) -> Located:
    newest, versions = asked[-1], tuple(result.version.id for result in asked)
    reading = RowReading.of(places.footers, places.paths, newest.schema, newest.walked)
    return Located(describe(newest.predicate), exact, versions, places.table(), notes, reading)


_Place = tuple[str, int | None, int | None, int | None]
"""Path, row group, rows, matches."""


@dataclass(slots=True)
class Places:
    """The places found so far, each with the versions that have it. Files that stay from version to version are read
    once."""

    footers: FooterGroups
    budget: ReadBudget
    _found: dict[_Place, list[str]] = field(default_factory=dict)
    _paths: dict[str, None] = field(default_factory=dict)
    _counted: dict[object, list[_Place]] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """Return the files with a place, as their storage knows them."""
        return list(self._paths)

    def table(self) -> pa.Table:
        rows = [(*place, versions) for place, versions in self._found.items()]
        arrays = [
            pa.array([row[at] for row in rows], field_.type)  # typed, as there may be no rows
            for at, field_ in enumerate(LOCATED)
        ]
        return pa.Table.from_arrays(arrays, schema=LOCATED)

    def add(self, queries: Queries, question: Asked, exact: bool) -> PruneResult:
        """Asks a version."""
        if not exact or question.predicate is None:  # a scan of no predicate reads all rows; a place is asked of some
            result = queries.prune(question)
            self.candidates(result, result.walked)
            return result
        scan = queries.scan(question)

        def asked(scan: Scan) -> PruneResult:
            assert scan.result is not None
            assert scan.predicate is not None
            self.exact(scan, scan.predicate)
            return scan.result

        return scan.trying(asked)

    def candidates(self, result: PruneResult, part: Predicate) -> None:
        """The row groups of kept files that may match a part of the predicate that was answered."""
        new = [row for row, path in enumerate(result.files.paths.to_pylist()) if not self.footers.knows(path)]
        self.budget = self.budget.after_footers(result.files, np.array(new, np.int64))
        for row, shown in enumerate(result.paths):
            path = result.files.paths[row].as_py()
            for number, rows in self._groups(result, row, path, part):
                self._paths[path] = None
                self._add((shown, number, rows, None), result.version.id)

    def exact(self, scan: Scan, part: Predicate) -> None:
        """The row groups in which live rows match a part of the predicate that was answered, counted. `scan` is of the
        files that were kept for all of it, and its predicate is the part."""
        files, result = scan.snapshot.files, scan.result
        assert result is not None
        scan = replace(scan, columns=_few_columns(scan))
        asked = _meaning(scan)
        unread: list[int] = []
        held_before: list[_Place] = []
        for row in scan.file_rows.tolist():
            entry = files.entry(row)
            before = self._counted.get((entry.path, entry.size_bytes, entry.modified_ms, entry.deletes, asked))
            if before is None:
                unread.append(row)
            held_before += before or ()
        counts: dict[int, dict[int | None, int]] = {row: {} for row in unread}
        known: dict[int, KeptGroups] = {}
        rows = np.array(unread, np.int64)
        self.budget = self.budget.after_rows(scan.storage, files, rows)
        for row, first, count in matching_rows(replace(scan, rows=rows, budget=ANY)):
            if row not in known:
                (known[row],) = self.footers.of(result, files.paths[row].as_py(), [part])
            if count:
                self._paths[files.paths[row].as_py()] = None
                number = known[row].holding(first)
                counts[row][number] = counts[row].get(number, 0) + count
        for held in held_before:
            self._add(held, result.version.id)
        for row, by_group in counts.items():
            entry = files.entry(row)
            places: list[_Place] = [
                (scan.snapshot.uri(entry.path), n, known[row].rows[n] if n is not None else entry.record_count, count)
                for n, count in by_group.items()
            ]
            self._counted[(entry.path, entry.size_bytes, entry.modified_ms, entry.deletes, asked)] = places
            for held in places:
                self._add(held, result.version.id)

    def _groups(
        self, result: PruneResult, row: int, path: str, part: Predicate
    ) -> Iterable[tuple[int | None, int | None]]:
        (groups,) = self.footers.of(result, path, [part])
        if groups.numbered:
            return groups
        return [(None, result.files.table.column("record_count")[row].as_py()) for _ in groups]

    def _add(self, place: _Place, version: str) -> None:
        self._found.setdefault(place, []).append(version)


def _few_columns(scan: Scan) -> tuple[str, ...]:
    """Return the predicate's columns, or any one: rows are counted and not shown."""
    assert scan.predicate is not None
    named = dict.fromkeys(column.parts[0] for column in scan.predicate.columns)
    return tuple(named) or (scan.snapshot.schema.fields[0].name,)


def _meaning(scan: Scan) -> object:
    """Return what identifies the predicate's question to a file: a name may be another column in another version."""
    assert scan.predicate is not None
    named = {column.parts[0] for column in scan.predicate.columns}
    return scan.predicate, tuple(
        (f.name, f.stable, f.source, str(f.type)) for f in scan.snapshot.schema if f.name in named
    )
