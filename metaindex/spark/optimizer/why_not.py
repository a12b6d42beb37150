"""Verdicts on each index of a table for one scan of a query: used, or why not, by a code from a closed list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metaindex.core import counted, human_bytes
from metaindex.index import KINDS
from metaindex.query import PruneResult, Queries
from metaindex.table import Table, handle_of

from .reasons import Reason
from .request import SparkScan
from .scan_planner import Planned, ScanPlanner
from .settings import RuleConfig
from .text_scans import built_apart
from .types_apart import types_apart

if TYPE_CHECKING:
    from metaindex.query import Credit
    from metaindex.table import IndexInfo


_PROVED_NOTHING = (Reason.NOTHING_PROVED, Reason.CHANGED)


@dataclass(frozen=True, slots=True)
class IndexVerdict:
    """The verdict on one index for one scan. `reason` is None if the index is used; `detail`: for people, what it does,
    or what the reason's sentence leaves open."""

    index: str
    reason: Reason | None
    detail: str = ""

    def __str__(self) -> str:
        if self.reason is None:
            return f"{self.index}: used: {self.detail}"
        return f"{self.index}: {self.reason.name}: {self.reason.value}" + (f" ({self.detail})" if self.detail else "")


def verdicts(
    skipping: ScanPlanner, scan: SparkScan, planned: Planned, rule: RuleConfig, joins: tuple[str, ...] = ()
) -> tuple[IndexVerdict, ...]:
    """Return the verdict on every index of the scan's table, by name. `joins`: columns whose keys in other sides of
    joins may skip files once the query runs."""
    if planned.skipping is Reason.FAILED:
        return ()
    answer = skipping.pruned(scan, rule) if planned.skipping in _PROVED_NOTHING else planned.skipping
    table = skipping.table_of(scan, rule)
    helps = isinstance(answer, PruneResult) and answer.dropped_files > 0
    credit = handle_of(table).made(Queries).credit(answer) if helps and isinstance(answer, PruneResult) else None
    infos = table.indexes(staleness=False)
    unusable = _unusable(table, scan, infos, answer)
    told = []
    for info in infos:
        if not rule.allows(info.name):
            told.append(IndexVerdict(info.name, Reason.NOT_ALLOWED))
        else:
            verdict = unusable.get(info.name) or _verdict(info, answer, planned, credit)
            if verdict.reason is Reason.OTHER_TYPES:
                verdict = replace(verdict, detail=types_apart(table, info.name, scan))
            asked = skipping.joinable(replace(scan, joins=joins), rule, info.name) if joins else ()
            told.append(_with_keys(verdict, asked) if info.name not in unusable else verdict)
    return tuple(told)


def _with_keys(verdict: IndexVerdict, joins: tuple[str, ...]) -> IndexVerdict:
    """An index that filters have no use for may be asked by keys."""
    if verdict.reason is None or not joins:
        return verdict
    keys = f"the keys of a join on {', '.join(joins)} may be asked of it once the query runs"
    return replace(verdict, detail="; ".join(part for part in (verdict.detail, keys) if part))


def _unusable(
    table: Table, scan: SparkScan, infos: Iterable[IndexInfo], answer: PruneResult | Reason
) -> dict[str, IndexVerdict]:
    """Return verdicts on the indexes that no query uses of the table as it is opened for the scan; on all of them if
    none was built with the scan's options. An intact one was built with others; any other reason is the index's own."""
    why = {report.name: report.reason for report in handle_of(table).open_indexes(None)[1]}
    entries = {entry.name: entry for entry in handle_of(table).entries()}
    told = {}
    for info in infos:
        if info.name not in why and answer is not Reason.READER_OPTIONS:
            continue
        entry = entries.get(info.name)
        if info.problem or entry is None or not entry.readable:
            broken = info.problem or info.state + ("" if info.enabled else ", disabled")
            told[info.name] = IndexVerdict(info.name, Reason.NOT_USABLE, broken)
            continue
        other = built_apart(table, entry, scan, none_fits=answer is Reason.READER_OPTIONS)
        if other or answer is Reason.READER_OPTIONS:
            told[info.name] = IndexVerdict(info.name, Reason.READER_OPTIONS, other)
        else:
            told[info.name] = IndexVerdict(info.name, Reason.NOT_USABLE, why[info.name])
    return told


def _verdict(info: IndexInfo, answer: PruneResult | Reason, planned: Planned, credit: Credit | None) -> IndexVerdict:
    name, cover = info.name, planned.cover
    if cover is not None and cover.index == name:
        expected = (
            f"about {human_bytes(cover.read_bytes)} of the needed columns in place of {human_bytes(cover.source_bytes)}"
        )
        more = f"; {cover.all_the_same}" if cover.all_the_same else ""
        return IndexVerdict(name, None, f"stands for the scan, {expected}{more}")
    taken = planned.taken
    if taken is not None and not isinstance(taken, Reason) and name in taken.indexes:
        return IndexVerdict(name, None, str(taken))
    refused = planned.refused.get(name)
    if refused is not None and all(KINDS.serves_rows(kind) for kind in info.kinds):
        return IndexVerdict(name, refused, planned.damaged.get(name, "") if refused is Reason.NOT_USABLE else "")
    if isinstance(answer, Reason):
        return IndexVerdict(name, answer)
    report = next((report_ for report_ in answer.indexes if report_.name == name), None)
    if report is not None and report.left_out:
        return IndexVerdict(name, Reason.NOT_USABLE, report.reason)
    if report is None or not report.used:
        return IndexVerdict(name, Reason.OTHER_COLUMNS)
    if not report.dropped_files:
        return IndexVerdict(name, Reason.NOTHING_PROVED)
    if not answer.dropped_files:
        return IndexVerdict(name, Reason.CHANGED)
    if cover is not None:
        return IndexVerdict(name, Reason.COSTS_MORE)
    columns = ", ".join(report.columns)
    gained = report.dropped_files if credit is None else credit.beyond.get(name, report.dropped_files)
    if not gained:
        return IndexVerdict(name, Reason.TABLES_OWN)
    out = min(gained, answer.dropped_files)
    columns += " more than the table's own statistics" if gained < report.dropped_files else ""
    changed = f"; {answer.changed_files:,} more were changed since, so they are read: refresh it"
    return IndexVerdict(
        name, None, f"leaves out {counted(out, 'file')} by {columns}" + (changed if answer.changed_files else "")
    )
