"""A Spark query explained: its plan with and without the indexes, which of them leave files out of which scan, and for every other scan why not."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metaindex.pruning.result import PruneResult, human_bytes

from .covers import Cover
from .enabling import rule_of
from .reasons import Reason
from .skipping import Planned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MARK = re.compile(r"&lt;metaindex .*?&gt;|metaindex = [^\])]*")  # in Parquet's and Delta's scans, and in Iceberg's


@dataclass(frozen=True, slots=True)
class ExplainedScan:
    """One scan: what an index proved about it, or why nothing."""

    scan: str
    result: PruneResult | None
    reason: Reason | None
    cover: Cover | None = None  # the covering index that stands for the scan
    refused: Mapping[str, Reason] = field(default_factory=dict)  # the other covering indexes

    def __str__(self) -> str:
        return "\n".join(
            [
                self._read(),
                *(f"  index {name!r} is not used: {why.name}: {why.value}" for name, why in self.refused.items()),
            ]
        )

    def _read(self) -> str:
        if self.cover is not None:
            return f"{self.scan}: {self.cover}"
        if self.result is None:
            assert self.reason is not None
            return f"{self.scan}: read whole: {self.reason.name}: {self.reason.value}"
        kept, every = self.result.kept_files, self.result.total_files
        by = ", ".join(
            f"{one.name} by {', '.join(one.columns)}" for one in self.result.indexes if one.used and one.dropped_files
        )
        return (
            f"{self.scan}: reads {kept:,} of {every:,} files, {human_bytes(self.result.kept_bytes)} of {human_bytes(self.result.total_bytes)}, "
            f"at version {self.result.version}: {by}"
        )

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        found = (
            None
            if self.result is None
            else {name: value for name, value in self.result.to_json().items() if name != "paths"}
        )
        return {
            "scan": self.scan,
            "reason": self.reason.name if self.reason else None,
            "result": found,
            "covering": self.cover.to_json() if self.cover is not None else None,
            "refused": {name: why.name for name, why in self.refused.items()},
        }


@dataclass(frozen=True, slots=True)
class QueryExplanation:
    """`print` it, or let a notebook show it. Files are as expected before the query runs: Spark and the formats prune by themselves as well."""

    scans: tuple[ExplainedScan, ...]
    with_indexes: str  # physical plan
    without_indexes: str

    def __str__(self) -> str:
        lines = ["Scans:", *(f"  {one}" for one in self.scans or ("none",))]
        for title, plan in (("Plan with indexes:", self.with_indexes), ("Plan without indexes:", self.without_indexes)):
            lines += ["", title, *(f"  {line}" for line in plan.splitlines())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        def shown(plan: str) -> str:
            return _MARK.sub(r"<b style='background: #d7f5dd'>\g<0></b>", html.escape(plan, quote=False))

        items = "".join(f"<li>{html.escape(str(one))}</li>" for one in self.scans)
        return (
            f"<ul>{items}</ul><table><tr><th>with indexes</th><th>without</th></tr>"
            f"<tr><td><pre>{shown(self.with_indexes)}</pre></td><td><pre>{shown(self.without_indexes)}</pre></td></tr></table>"
        )

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "scans": [one.to_json() for one in self.scans],
            "with_indexes": self.with_indexes,
            "without_indexes": self.without_indexes,
        }


def explain(query: DataFrame) -> QueryExplanation:
    """How Spark would run the query with and without the indexes. Nothing is run. ValueError where its session is not enabled."""
    found = rule_of(query.sparkSession)
    before = found.planned(query, rewritten=False)
    survey = json.loads(found.survey(before))
    rule = found.settings()
    if "refused" in survey or not rule.enabled:
        reason = Reason[survey["refused"]] if rule.enabled else Reason.DISABLED
        scans = [ExplainedScan("the whole query", None, reason)]
    else:
        planned = found.plan(survey["scans"], rule)
        scans = [_explained(scan, one) for scan, one in zip(survey["scans"], planned, strict=True)]
        scans += [ExplainedScan(one["scan"], None, Reason[one["why"]]) for one in survey["passed"]]
    after = found.planned(query, rewritten=True)
    return QueryExplanation(tuple(scans), _text(after), _text(before))


def _explained(scan: dict[str, Any], planned: Planned) -> ExplainedScan:
    name, answer = f"{scan['kind']} {scan['root']}", planned.skipping
    if isinstance(answer, Reason):
        return ExplainedScan(name, None, answer, planned.cover, planned.refused)
    return ExplainedScan(name, answer, None, planned.cover, planned.refused)


def _text(execution: Any) -> str:
    return str(execution.executedPlan().toString()).rstrip()
