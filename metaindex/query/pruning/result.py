"""The result of pruning: kept and dropped files, the indexes that proved it, and the cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, Plain, Shown, TextTable, counted, dataclass, human_bytes
from metaindex.expressions import Opaque, Predicate, PruningStatistics, may_match
from metaindex.formats import FileTable, Schema, Version

from .report import IndexReport, prune_grids
from .sources import FileSource

if TYPE_CHECKING:
    from metaindex.core import Element

    from .walk import LeafReport, Walked


@dataclass(frozen=True, repr=False)
class PruneResult(Shown, Plain):
    """Files to read, files proved out, files whose every row matches. A reader drops a file only if this proves it:
    what it does not name is read."""

    table: str
    format: str
    version: Version
    predicate: Predicate
    files: FileTable
    total_files: int
    total_bytes: int
    indexes: tuple[IndexReport, ...]
    seconds: float
    not_understood: tuple[str, ...]  # parts of the predicate that no index can use
    _walked: Walked = field(repr=False, compare=False)  # who answers for it: not the same here and where it was sent
    changed_files: int = 0  # kept as they are others now than those that were proved out (`reading`)
    keys: str = ""  # what rows must have, too, where keys of another table were asked (`of_keys`): for people

    @property
    def paths(self) -> list[str]:
        """Return the kept files as an engine opens them: absolute local paths, or URIs."""
        root = self.table.rstrip("/")
        return [p if p.startswith("/") or "://" in p else f"{root}/{p}" for p in self.files.paths.to_pylist()]

    @cached_property
    def dropped(self) -> FileTable:
        """Return the dropped files. Loaded on demand: it may be a million rows. Raises DamagedIndexError if the index's
        list of files cannot be read then."""
        return self._walked.dropped()

    @cached_property
    def certain(self) -> FileTable:
        """The kept files whose every *physical* row matches, by facts and not by what the table's log claims; deleted
        rows are the reader's business."""
        return self.files.filter(self._walked.certain())

    @property
    def claimed(self) -> FileTable:
        """Return the kept files whose every row matches if what the table's log claims is true: worth looking at first,
        and no answer."""
        return self.files.filter(self._walked.certain(claims=True))

    @cached_property
    def leaves(self) -> tuple[LeafReport, ...]:
        """Return, for each kind of each index and each part of the predicate, the files that it proved out; computed on
        demand."""
        reports: dict[tuple[Predicate, str, str], LeafReport] = {}
        for report in self._walked.leaves():
            key = (report.leaf, report.index, report.kind)
            had = reports.get(key)
            if had is not None:
                dropped, answered = had.dropped_files + report.dropped_files, had.answered or report.answered
                report = replace(had, dropped_files=dropped, answered=answered)
            reports[key] = report
        return tuple(reports.values())

    @property
    def walked(self) -> Predicate:
        """The predicate with the parts that keys of several columns answer."""
        return self._walked.walked

    @property
    def schema(self) -> Schema:
        """The table's columns at the version."""
        return self._walked.schema

    @property
    def knows_row_groups(self) -> bool:
        """True if a key answered that may tell the row groups of a file apart."""
        return self._walked.knows_row_groups

    def in_file(self, path: str, groups: int) -> PruningStatistics[Mask] | None:
        """Return what the indexes know of the row groups of a kept file (its path as in `files`) that has so many. None
        if the file is not kept."""
        row = self._rows.get(path)
        return None if row is None else self._walked.row_groups(row, groups)

    def row_groups(self, path: str, groups: int) -> list[int]:
        """The row groups of a kept file (its path as in `files`) that may hold matching rows, as far as the indexes
        tell them apart; a reader's own look at the file's footer may drop more. `groups`: how many the file has. All of
        them for a file that the answer does not name."""
        statistics = self.in_file(path, groups)
        if statistics is None:
            return list(range(groups))
        return [int(group) for group in np.flatnonzero(may_match(self.walked, statistics))]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {path: row for row, path in enumerate(self.files.paths.to_pylist())}

    @property
    def helpers(self) -> tuple[str, ...]:
        """Return the indexes that left files out."""
        return tuple(index.name for index in self.indexes if index.helped)

    def timed(self, seconds: float) -> PruneResult:
        """Return the result with the time that the caller saw."""
        return replace(self, seconds=seconds)

    def reading(self, more: Mask) -> PruneResult:
        """Return the result with these dropped files kept, too: they changed, and nothing is known of them now."""
        dropped, before, kept = self.dropped, self._walked, len(self.files)
        left, changed = dropped.filter(pa.array(~more)), dropped.filter(pa.array(more))
        walked = replace(
            before,
            dropped=lambda: left,
            certain=lambda **of: pa.concat_arrays([before.certain(**of), pa.repeat(False, len(changed))]),
            row_groups=lambda row, groups: before.row_groups(row, groups) if row < kept else FileSource(groups, [], 0),
        )
        files = FileTable(pa.concat_tables([self.files.table, changed.table]))
        return replace(self, files=files, _walked=walked, changed_files=self.changed_files + len(changed))

    def of_keys(self, told: str, *, exact: bool) -> PruneResult:
        """Return the result as the answer to keys, which the predicate approximates by file. `exact`: only rows with
        one of the keys match it."""
        if exact:
            return replace(self, keys=told)
        none = pa.array(np.zeros(len(self.files), np.bool_))
        return replace(self, keys=told, _walked=replace(self._walked, certain=lambda **_: none))

    def without(self, more: Mask) -> PruneResult:
        """Return the result without these kept files, dropped for another reason than the predicate."""
        before, out, rows = self._walked, self.files.filter(pa.array(more)), np.flatnonzero(~more)
        walked = replace(
            before,
            dropped=lambda: FileTable(pa.concat_tables([before.dropped().table, out.table], promote_options="default")),
            certain=lambda **of: before.certain(**of).filter(pa.array(~more)),
            row_groups=lambda row, groups: before.row_groups(int(rows[row]), groups),
        )
        return replace(self, files=self.files.filter(pa.array(~more)), _walked=walked)

    @property
    def kept_files(self) -> int:
        return len(self.files)

    @property
    def kept_bytes(self) -> int:
        return self.files.size_bytes

    @property
    def dropped_files(self) -> int:
        return self.total_files - self.kept_files

    @property
    def pictured(self) -> Sequence[str | TextTable | Element]:
        return (str(self), *self.grids)

    @property
    def grids(self) -> tuple[Element, ...]:
        """Return drawings of what is read, and of who dropped the rest."""
        files, sizes = (self.kept_files, self.total_files), (self.kept_bytes, self.total_bytes)
        return prune_grids(files, sizes, [(report, self._how(report)) for report in self.indexes])

    def _printed(self) -> str:
        lines = [
            f"{self.table} ({self.format}) at version {self.version}: read {self.kept_files:,} of {self.total_files:,}"
            f" files, {human_bytes(self.kept_bytes)} of {human_bytes(self.total_bytes)}, planned in"
            f" {self.seconds * 1000:.1f} ms"
        ]
        if self.keys:
            lines.append(f"  rows with one of {self.keys}")
        for index in self.indexes:
            if index.used:
                lines.append(
                    f"  {index.name}: dropped {counted(index.dropped_files, 'file')},"
                    f" {human_bytes(index.dropped_bytes)}, {self._how(index)};"
                    f" {counted(index.reads, 'read')},"
                    f" {human_bytes(index.bytes_read)}, {index.seconds * 1000:.1f} ms"
                    + (f" ({index.reason})" if index.reason else "")
                )
            else:
                lines.append(f"  {index.name}: not used: {index.reason}")
        lines.extend(f"  no index answers, keeps every file: {text}" for text in self.not_understood)
        return "\n".join(lines)

    def _how(self, index: IndexReport) -> str:
        """Return the columns by which an index answered; none of a part that was understood only partly."""
        understood = [leaf for leaf in self.predicate.leaves() if not isinstance(leaf, Opaque)]
        named = {ref.name for leaf in understood for ref in leaf.columns}
        by = [name for name in index.columns if name in named or not self.not_understood]
        return f"by {', '.join(by) or 'nothing it knows'}"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        of_files = "total_files total_bytes kept_files kept_bytes dropped_files paths seconds not_understood"
        keys = "keys" if self.keys else ""
        return self._plain(f"table format version=version.id {of_files} {keys} indexes")
