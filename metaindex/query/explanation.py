"""A pruning answer explained to a person: the predicate as understood, what each index covers of the version asked,
what it proved."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from metaindex.core import Plain, Shown, TextTable, Vector, counted, dataclass
from metaindex.expressions import Opaque, Predicate, conjuncts
from metaindex.formats import Schema, Snapshot
from metaindex.index import OpenIndex
from metaindex.query.described import describe

from .pruning.result import PruneResult

if TYPE_CHECKING:
    from metaindex.core import Element

logger = logging.getLogger("metaindex")


@dataclass(frozen=True, slots=True, repr=False)
class Coverage(Shown, Plain):
    """The files of a version that an index covers. `recorded`: it recorded exactly this version, so that the table's
    log is not read; else its files are found one by one, by identity, whatever version they were indexed at. `columns`:
    for each column of the predicate, the files whose values the index knows; the others are read."""

    index: str
    recorded: bool
    files: int
    total_files: int
    columns: dict[str, int] = field(default_factory=dict)
    newest: str = ""  # the version that was recorded last
    problem: str = ""

    def _printed(self) -> str:
        if self.problem:
            return f"{self.index}: cannot be told: {self.problem}"
        how = (
            "the version is recorded"
            if self.recorded
            else f"the version is not recorded (newest: {self.newest or 'none'}), files are known by identity"
        )
        lines = f"{self.index}: covers {self.files:,} of {self.total_files:,} files; {how}"
        less = [
            f"{name} is known in {f'{count:,}' if count else 'none'} of these"
            for name, count in self.columns.items()
            if count < self.files
        ]
        return lines + (f"; column {', '.join(less)}" if less else "")


@dataclass(frozen=True, slots=True)
class Credit(Plain):
    """The gain of the indexes for a query. `own_files`: files that the table's own statistics and partitions drop
    without an index; `beyond`: by index, how many others it drops by itself."""

    own_files: int
    beyond: Mapping[str, int]


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Shown, Plain):
    """The plan of a query. `print` it, or let a notebook show it. `credit`: None if the table could not be asked
    without its indexes."""

    result: PruneResult
    coverage: tuple[Coverage, ...] = ()
    credit: Credit | None = None

    @property
    def brief(self) -> str:
        return self.result.brief

    @property
    def understood(self) -> str:
        """Return the predicate as it was understood, as SQL."""
        return describe(self.result.predicate)

    def _printed(self) -> str:
        lines = ["Predicate, as understood:"]
        for part in conjuncts(self.result.predicate):
            opaque = any(isinstance(leaf, Opaque) for leaf in part.leaves())
            lines.append(f"  {describe(part)}" + ("   (keeps every file: no index answers it)" if opaque else ""))
        answers = self._answers()
        if answers:
            lines += ["", "Answered, part by part (files proved to hold no such row, by each kind alone):", *answers]
        if self.coverage:
            lines += ["", f"Covered at version {self.result.version}:", *(f"  {covered}" for covered in self.coverage)]
        if self.credit is not None and self.credit.beyond:
            lines += ["", *self._credited(self.credit)]
        return "\n".join([*lines, "", str(self.result)])

    def _credited(self, credit: Credit) -> list[str]:
        """Describe the gain of each index."""
        own = f"{counted(credit.own_files, 'file')} of {self.result.total_files:,}" if credit.own_files else "no file"
        lines = [f"Left out without an index, by the table's own statistics: {own}"]
        for name, files in credit.beyond.items():
            gained = counted(files, "file") if files else "none, so it gains this query nothing"
            lines.append(f"  {name} leaves out of the others: {gained}")
        return lines

    @property
    def pictured(self) -> Sequence[str | TextTable | Element]:
        return (str(self), *self.result.pictured[1:])

    def _answers(self) -> list[str]:
        """Return a line for each part of the predicate that some source knows."""
        lines: dict[str, list[str]] = {}
        for report in self.result.leaves:
            told = lines.setdefault(report.part, [])
            if report.dropped_files:
                told.append(f"{report.kind} of {report.index} {report.dropped_files:,}")
            elif not report.answered:
                told.append(f"{report.kind} of {report.index} does not answer that")
        return [f"  {part}: {', '.join(told) or 'nobody can prove any out'}" for part, told in lines.items()]

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        credit = {"own_files": None, "beyond": None} if self.credit is None else self.credit.to_json()
        told = self._plain("answered=result.leaves coverage")
        return {"predicate": self.understood, **self.result.to_json(), **told, **credit}


def coverage(index: OpenIndex, result: PruneResult, snapshot: Callable[[], Snapshot]) -> Coverage:
    """Return the coverage of one index. `snapshot` (of the version) is called if the index has not recorded it."""
    newest = index.versions.newest()
    name = newest.version.id if newest is not None else ""
    try:
        recorded = index.versions.find(result.version)
        if recorded is not None:
            counts = {run.run: int(recorded.live.mask(run).sum()) for run in index.entry.content.runs}
            schema = recorded.schema
        else:
            counts, schema = _known(index, snapshot()), snapshot().schema
        covering = {run.run for run in index.entry.content.runs if not run.listed_only}
        files = sum(count for run, count in counts.items() if run in covering)
        each = {} if index.unasked_because else _by_column(index, counts, result.predicate, schema)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with an index is told
        return Coverage(index.name, False, 0, result.total_files, newest=name, problem=OpenIndex.why_not(error))
    return Coverage(index.name, recorded is not None, files, result.total_files, each, name)


def _known(index: OpenIndex, snapshot: Snapshot) -> dict[str, int]:
    """Count the snapshot's files that each run knows; one that two know counts for the first."""
    files = index.identities(snapshot)
    unknown = np.ones(len(files), np.bool_)
    counts = {}
    for run in index.entry.content.runs:
        if not run.listed_only:
            mine = (index.locate(run, files) >= 0) & unknown
            unknown &= ~mine
            counts[run.run] = int(mine.sum())
    return counts


def _by_column(index: OpenIndex, counts: dict[str, int], predicate: Predicate, schema: Schema) -> dict[str, int]:
    stable = {leaf.parts: leaf.stable for leaf in schema.leaves()}
    out = {}
    for ref in predicate.columns:
        known = [run.run for run in index.entry.content.runs if stable.get(ref.parts) in index.covered_columns(run)]
        out[".".join(ref.parts)] = sum(counts.get(run, 0) for run in known)
    return out


def credited(result: PruneResult, ask: Callable[[list[str]], PruneResult]) -> Credit | None:
    """Return the credit of each index. `ask`: the same question at the same version, to these indexes alone. None if
    the table does not answer by itself: an explanation goes without."""
    helped = [report for report in result.indexes if report.helped]
    try:
        own = ask([])
        if own.total_files != result.total_files:
            return None
        if not own.dropped_files:
            return Credit(0, {report.name: report.dropped_files for report in helped})
        return Credit(own.dropped_files, {report.name: _more(own, ask([report.name])) for report in helped})
    except Exception as error:  # noqa: BLE001 - whatever is wrong with the table, its indexes are explained
        logger.debug("what a table's own statistics leave out is not told: %s", error)
        return None


def _more(own: PruneResult, other: PruneResult) -> int:
    """Files that `own` keeps and `other` does not."""
    kept = pc.is_in(Vector(own.files.paths).array, value_set=Vector(other.files.paths).array)
    return len(own.files) - int(pc.sum(kept).as_py() or 0)
