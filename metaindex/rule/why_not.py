"""Of each index of a table, what it does for one scan of a query: used, or why not, by a code from a closed list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaindex.expressions.shown import counted
from metaindex.kinds.registry import serves_rows
from metaindex.pruning.result import PruneResult, human_bytes
from metaindex.table.face import handle_of, queries_of

from .reasons import Reason
from .request import SparkScan
from .settings import RuleConfig
from .skipping import Planned, Skipping

if TYPE_CHECKING:
    from metaindex.views.explanation import Credit
    from metaindex.views.info import IndexInfo


_PROVED_NOTHING = (Reason.NOTHING_PROVED, Reason.CHANGED)


@dataclass(frozen=True, slots=True)
class IndexVerdict:
    """One index and one scan. `reason` is None where the index is used; `detail`: for people, what it does, or what the
    reason's sentence leaves open."""

    index: str
    reason: Reason | None
    detail: str = ""

    def __str__(self) -> str:
        if self.reason is None:
            return f"{self.index}: used: {self.detail}"
        return f"{self.index}: {self.reason.name}: {self.reason.value}" + (f" ({self.detail})" if self.detail else "")


def verdicts(skipping: Skipping, scan: SparkScan, planned: Planned, rule: RuleConfig) -> tuple[IndexVerdict, ...]:
    """Of every index of the scan's table, by name."""
    if planned.skipping is Reason.FAILED:
        return ()
    answer = skipping.pruned(scan, rule) if planned.skipping in _PROVED_NOTHING else planned.skipping
    table = skipping.table_of(scan, rule)
    helps = isinstance(answer, PruneResult) and answer.dropped_files > 0
    credit = queries_of(table).credit(answer) if helps and isinstance(answer, PruneResult) else None
    usable = frozenset(handle_of(table).usable_indexes())
    infos = table.indexes(staleness=False)
    return tuple(_verdict(info, info.name in usable, answer, planned, rule, credit) for info in infos)


def _verdict(
    info: IndexInfo,
    usable: bool,
    answer: PruneResult | Reason,
    planned: Planned,
    rule: RuleConfig,
    credit: Credit | None,
) -> IndexVerdict:
    name, cover = info.name, planned.cover
    if not rule.allows(name):
        return IndexVerdict(name, Reason.NOT_ALLOWED)
    if not usable and answer is not Reason.READER_OPTIONS:
        return IndexVerdict(
            name, Reason.NOT_USABLE, info.problem or info.state + ("" if info.enabled else ", disabled")
        )
    if cover is not None and cover.index == name:
        expected = f"about {human_bytes(cover.read_bytes)} in place of {human_bytes(cover.source_bytes)}"
        return IndexVerdict(name, None, f"stands for the scan, {expected}")
    taken = planned.taken
    if taken is not None and not isinstance(taken, Reason) and name in taken.indexes:
        return IndexVerdict(name, None, str(taken))
    refused = planned.refused.get(name)
    if refused is not None and all(serves_rows(kind) for kind in info.kinds):
        return IndexVerdict(name, refused)
    if isinstance(answer, Reason):
        return IndexVerdict(name, answer)
    report = next((report_ for report_ in answer.indexes if report_.name == name), None)
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
