"""Verdicts on each index of a table for one scan of a query: used, or why not, by a code from a closed list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metaindex.core import MetaIndexError, counted, human_bytes
from metaindex.formats import Schema
from metaindex.index import KINDS
from metaindex.query import PruneResult, Queries
from metaindex.table import Table, handle_of

from . import text_scans
from .reasons import Reason
from .request import Files, SparkScan
from .scan_planner import Planned, ScanPlanner
from .settings import RuleConfig
from .text_scans import as_compared, built_apart, type_said

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
    planner: ScanPlanner, scan: SparkScan, planned: Planned, rule: RuleConfig, joins: tuple[str, ...] = ()
) -> tuple[IndexVerdict, ...]:
    """Return the verdict on every index of the scan's table, by name. `joins`: columns whose keys in other sides of
    joins may skip files once the query runs."""
    if planned.skipping is Reason.FAILED:
        return ()
    answer = planner.pruned(scan, rule) if planned.skipping in _PROVED_NOTHING else planned.skipping
    table = planner.tables.table_of(scan, rule)
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
            asked = planner.joinable(replace(scan, joins=joins), rule, info.name) if joins else ()
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
        return IndexVerdict(name, Reason.NOTHING_PROVED, report.reason)
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


_MOST: Final = 3
_AS_HERE: Final = "or create another index of the table as it is read here"


def types_apart(table: Table, index: str, scan: SparkScan) -> str:
    """Describe the columns that are read otherwise; empty if unknown. `table` is as it is opened for the scan."""
    source = scan.source
    if not isinstance(source, Files):
        return ""
    try:
        ours = _recorded(table, index)
    except MetaIndexError:
        return ""
    theirs, partitions = source.schema.types, source.partitions.types
    if ours is None:
        return ""
    return _of_columns(ours, theirs, partitions, source) or _of_zone(table, ours, source)


def _recorded(table: Table, index: str) -> Schema | None:
    """The columns of the newest version that the index recorded."""
    opened = next((each for each in handle_of(table).open_indexes(None)[0] if each.name == index), None)
    newest = None if opened is None else opened.versions.newest()
    version = None if opened is None or newest is None else opened.versions.find(newest.version)
    return None if version is None else version.schema


def _of_columns(ours: Schema, theirs: pa.Schema, partitions: pa.Schema, source: Files) -> str:
    here = {field.name: field.type for field in (*theirs, *partitions)}
    apart = [
        f"{field.name} as {type_said(field.type)}, and the query reads it as {type_said(here[field.name])}"
        for field in ours
        if field.name in here and as_compared(field.type, source.text) != as_compared(here[field.name], source.text)
    ]
    if apart:
        more = f" (and {len(apart) - _MOST:,} more so)" if len(apart) > _MOST else ""
        return f"the index has {'; '.join(apart[:_MOST])}{more}; read them as the index has them, {_AS_HERE}"
    if source.text is None:
        return ""
    names, asked = [f.name for f in ours if not f.partition], list(theirs.names)
    if names == asked or (source.text == "json" and sorted(names) == sorted(asked)):
        return ""
    return f"the index has the columns {_listed(names)}, and the query {_listed(asked)}; read those, {_AS_HERE}"


def _of_zone(table: Table, ours: Schema, source: Files) -> str:
    instants = [".".join(leaf.parts) for leaf in ours.leaves() if text_scans.has_instants(leaf.type)]
    if source.text is None or source.session is None or not instants or text_scans.same_zone(table, source):
        return ""
    built, here = text_scans.zones(table, source)
    return (
        f"times without a zone ({_listed(instants)}) are of {built} to the index, and of {here} to the query; set"
        f" spark.sql.session.timeZone = {built}, {_AS_HERE}"
    )


def _listed(names: list[str]) -> str:
    more = len(names) - 2 * _MOST
    return ", ".join(names[: 2 * _MOST]) + (f" and {more:,} more" if more > 0 else "")
