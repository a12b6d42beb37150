"""A Spark query explained: its plan with and without the indexes, what each index does for each scan or why not, the
files expected, and when it was run those read."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from metaindex.core import ArgumentError, MetaIndexError, Plain, Shown, human_bytes
from metaindex.formats import At
from metaindex.query import PruneResult
from metaindex.table import handle_of

from .covers import Cover
from .enabling import Enabled, rule_of
from .executed import ScanRead
from .executed import run as executed
from .reasons import Reason, Unasked
from .request import SparkScan
from .scan_planner import Planned, Taken
from .settings import DisplayMode, RuleConfig
from .why_not import IndexVerdict, verdicts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_NARROWED: Final = re.compile(r"fewer by joins on ([^>]*)>")  # `RuntimeFilter.java`


_TAGS: dict[DisplayMode, tuple[str, str]] = {
    "plaintext": ("<----", "---->"),
    "console": ("\x1b[42m", "\x1b[0m"),
    "html": ('<b style="background: rgba(46, 160, 67, .25)">', "</b>"),
}
_CHANGING = re.compile(r"#\d+L?|plan_id=\d+|\*\(\d+\) |\[id=\S+\]")


@dataclass(frozen=True, slots=True)
class Display:
    """A mode and its tags; those of the mode where none are given."""

    mode: DisplayMode = "plaintext"
    begin: str = ""
    end: str = ""

    def titled(self, sections: Sequence[tuple[str, Sequence[str]]], marked: frozenset[str]) -> str:
        """Sections of lines under titles; `marked` lines between the tags."""
        if self.mode == "html":
            shown = "".join(
                f"<h4>{self._plain(title)}</h4><pre>{chr(10).join(self._line(line, marked) for line in lines)}</pre>"
                for title, lines in sections
            )
            return f"<div>{shown}</div>"
        blocks = [[f"{title}:", *(f"  {self._line(line, marked)}" for line in lines)] for title, lines in sections]
        return "\n\n".join("\n".join(block) for block in blocks)

    def _plain(self, text: str) -> str:
        return html.escape(text, quote=False) if self.mode == "html" else text

    def _line(self, line: str, marked: frozenset[str]) -> str:
        if line not in marked:
            return self._plain(line)
        own = bool(self.begin or self.end)
        begin, end = (self.begin, self.end) if own else _TAGS[self.mode]
        bare = line.lstrip(" :+-")
        return f"{self._plain(line[: len(line) - len(bare)])}{begin}{self._plain(bare)}{end}"


def differing(text_: str, other: str) -> frozenset[str]:
    """Lines of two plans that the other does not have, whatever the numbers of expressions and stages."""
    lines = [text.splitlines() for text in (text_, other)]
    had = [Counter(_shape(line) for line in some) for some in lines]
    return frozenset(
        line for some, against in zip(lines, reversed(had), strict=True) for line in some if not against[_shape(line)]
    )


def _shape(line: str) -> str:
    return _CHANGING.sub("", line).lstrip(" :+-")


@dataclass(frozen=True, slots=True, repr=False)
class ExplainedScan(Shown):
    """The plan of one scan: what is expected of it, or why no index helps, and for each index of its table the same.
    `cover`: the covering index that is read in its place. `taken`: what is proved if the plan takes the first rows of
    an order, an aggregate, or some rows of it, or why nothing is; None if it takes all, or settings forbid that.
    `joins`: columns whose keys in other sides of joins may skip more files once the query runs; `unasked`: those whose
    keys skip none, and why; `whole`: files and bytes of all that it could read, if they are known."""

    scan: str
    result: PruneResult | None
    reason: Reason | None
    indexes: tuple[IndexVerdict, ...] = ()
    cover: Cover | None = None
    taken: Taken | Reason | None = None
    joins: tuple[str, ...] = ()
    unasked: Mapping[str, Unasked] = field(default_factory=dict)
    whole: tuple[int, int] | None = field(default=None, compare=False)

    @property
    def refused(self) -> dict[str, Reason]:
        """The indexes that are not used."""
        return {verdict.index: verdict.reason for verdict in self.indexes if verdict.reason is not None}

    def _printed(self) -> str:
        on = ", ".join(self.joins)
        may = [f"once it runs, the keys of a join on {on} may leave files out"] if on else []
        return "; ".join([self._planned(), *may, *self._of_keys])

    @property
    def expected(self) -> PruneResult | None:
        """The files that are expected to be read: where the plan takes some of its rows, for these."""
        if self.cover is None and self.taken is not None and not isinstance(self.taken, Reason):
            return self.taken.result
        return self.result

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why what the plan takes, and the keys of joins, leave nothing more out."""
        taken = [f"{self.taken.name}: {self.taken.value}"] if isinstance(self.taken, Reason) else []
        return (*(taken if self.cover is None else ()), *self._of_keys)

    @property
    def _of_keys(self) -> list[str]:
        return [
            f"the keys of a join on {name} leave nothing out: {why.name}: {why.value}"
            for name, why in self.unasked.items()
        ]

    def _planned(self) -> str:
        if self.cover is not None:
            return f"{self.scan}: {self.cover}"
        if self.taken is not None and not isinstance(self.taken, Reason):
            return f"{self.scan}: {_reads(self.taken.result, _told(self.taken, self._filtered))}"
        more = f"; {self.taken.name}: {self.taken.value}" if self.taken is not None else ""
        if self.result is None:
            assert self.reason is not None
            return f"{self.scan}: read whole: {self.reason.name}: {self.reason.value}{more}"
        return f"{self.scan}: {_reads(self.result, self._filtered)}{more}"

    @property
    def _filtered(self) -> str:
        """Name the indexes that skip files; none that the table does without."""
        if self.result is None:
            return ""
        own = {verdict.index for verdict in self.indexes if verdict.reason is Reason.TABLES_OWN}
        helped = [report for report in self.result.indexes if report.used and report.dropped_files]
        named = [f"{report.name} by {', '.join(report.columns)}" for report in helped if report.name not in own]
        return ", ".join(named) or ("the table's own statistics" if helped else "")

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        result = (
            None
            if self.result is None
            else {name: value for name, value in self.result.to_json().items() if name != "paths"}
        )
        indexes = [
            {
                "index": verdict.index,
                "reason": verdict.reason.name if verdict.reason else None,
                "detail": verdict.detail,
            }
            for verdict in self.indexes
        ]
        reason = self.reason.name if self.reason else None
        covering = self.cover.to_json() if self.cover is not None else None
        return {
            "scan": self.scan,
            "reason": reason,
            "result": result,
            "covering": covering,
            "taken": self._taken_json(),
            "joins": list(self.joins),
            "unasked": {name: why.name for name, why in self.unasked.items()},
            "indexes": indexes,
        }

    def _taken_json(self) -> dict[str, object] | None:
        taken = self.taken
        if taken is None or isinstance(taken, Reason):
            return None if taken is None else {"reason": taken.name}
        return {"what": str(taken), "indexes": list(taken.indexes), "read_files": taken.result.kept_files}


@dataclass(frozen=True, slots=True, repr=False)
class QueryExplanation(Shown, Plain):
    """The explanation of a query: `print` it, or let a notebook show it. Files are as expected before the query runs:
    Spark and the formats prune by themselves as well. `read`: what its scans did read, if it was run; `read_bytes`:
    what its tasks read in all, of the needed columns alone."""

    JSON = "scans with_indexes without_indexes read read_bytes expected_bytes missing dropped_scans"
    scans: tuple[ExplainedScan, ...]
    with_indexes: str  # physical plan
    without_indexes: str
    read: tuple[ScanRead, ...] | None = None
    read_bytes: int | None = None
    display: Display = field(default_factory=Display)
    missing: tuple[str, ...] = ()
    """What this Spark lacks, and how it plans without."""
    dropped_scans: tuple[str, ...] = ()
    """Scans of the plan that Spark dropped as the query ran."""

    @property
    def expected_bytes(self) -> int | None:
        """Return what the ranker expects the scans to read of the needed columns; None unless a covering index stands
        for each of them: the bytes of whole files say nothing about columns."""
        covers = [scan.cover.read_bytes for scan in self.scans if scan.cover is not None]
        return sum(covers) if covers and len(covers) == len(self.scans) else None

    @property
    def brief(self) -> str:
        return "; ".join(map(str, self.scans)) or "no scan"

    def _printed(self) -> str:
        return self._shown(self.display)

    def text(self, mode: DisplayMode) -> str:
        """Return the text in another mode than the session's setting."""
        return self._shown(Display(mode))

    def _repr_html_(self) -> str:
        own = self.display if self.display.mode == "html" else Display("html")
        return self._shown(own)

    def _shown(self, display: Display) -> str:
        told = [
            (f"{scan.scan}: " if len(self.scans) > 1 else "", verdict)
            for scan in self.scans
            for verdict in scan.indexes
            if scan.indexes
        ]
        sections = [
            ("Scans, as expected", [str(scan) for scan in self.scans] or ["none"]),
            ("Indexes used", [f"{of}{verdict}" for of, verdict in told if verdict.reason is None] or ["none"]),
            ("Indexes not used", [f"{of}{verdict}" for of, verdict in told if verdict.reason is not None] or ["none"]),
            *([("Not to be had in this Spark", list(self.missing))] if self.missing else []),
            *([("Scans, as read", self._as_read(self.read))] if self.read is not None else []),
            ("Plan with indexes", self.with_indexes.splitlines()),
            ("Plan without indexes", self.without_indexes.splitlines()),
        ]
        return display.titled(sections, differing(self.with_indexes, self.without_indexes))

    def _as_read(self, read: Sequence[ScanRead]) -> list[str]:
        dropped = [
            f"{scan}: dropped from the plan as the query ran, which needs no row of it; what it had read is in the sum"
            for scan in self.dropped_scans
        ]
        expected = f", {human_bytes(self.expected_bytes)} expected" if self.expected_bytes is not None else ""
        in_all = f"in all: {human_bytes(self.read_bytes or 0)} of the needed columns and of footers{expected}"
        return [*map(str, read), *dropped, in_all]


def explain(query: DataFrame, *, run: bool = False) -> QueryExplanation:
    """Explain how Spark would run the query with and without the indexes, and for each index of its tables what it
    does, or why it is not used: `print(mi.explain(spark.sql("SELECT ...")))`.

    The query is not run, unless `run=True`: then it runs with the indexes, its rows are thrown away, and `read` has
    what its scans read by Spark's own metrics. Raises ArgumentError if its session is not enabled, and for what is no
    DataFrame.
    """
    return explained(query, run=run)


def explained(query: DataFrame, *, run: bool = False, counted: bool = False) -> QueryExplanation:
    """Implement `explain`. `counted`: files that no index knows are counted, too, for which the table's log is read."""
    if not hasattr(query, "sparkSession"):
        raise ArgumentError(f"an explanation is of a DataFrame; got {query!r}; give one, as spark.sql(...) makes it")
    enabled = rule_of(query.sparkSession)
    before, _ = enabled.planned(query, rewritten=False)
    survey = enabled.survey(before)
    rule = enabled.settings()
    after, wrong = enabled.planned(query, rewritten=True)
    if survey.refused is not None or wrong is not None or not rule.enabled:
        refused = Reason[survey.refused] if survey.refused is not None else wrong
        reason = refused if refused is not None and rule.enabled else Reason.DISABLED
        scans = [ExplainedScan("the whole query", None, reason)]
    else:
        with enabled.handler.planner.tables.looked_at_once():
            scans = _scans(enabled, survey.scans, rule, _narrowed(_text(after)), enabled.unasked(), counted)
        scans += [ExplainedScan(each.scan, None, Reason[each.why], whole=each.listed) for each in survey.passed]
    shown = _text(after)
    read, read_bytes, dropped = executed(query.sparkSession, after) if run else (None, None, ())
    display = Display(rule.display_mode, rule.highlight_begin, rule.highlight_end)
    return QueryExplanation(tuple(scans), shown, _text(before), read, read_bytes, display, enabled.missing, dropped)


def _narrowed(plan: str) -> frozenset[str]:
    """The keys of joins by which scans of a plan leave files out once it runs."""
    return frozenset(name for names in _NARROWED.findall(plan) for name in names.split(", "))


def _scans(
    enabled: Enabled,
    asked: Sequence[SparkScan],
    rule: RuleConfig,
    narrowed: frozenset[str],
    unasked: Mapping[tuple[str, str], Unasked],
    counted: bool,
) -> list[ExplainedScan]:
    scans = []
    for scan, planned in zip(asked, enabled.handler.planner.plan(asked, rule), strict=True):
        answer = planned.skipping
        joins = tuple(name for name in enabled.handler.planner.joinable(scan, rule) if name in narrowed)
        why = {name: why for (root, name), why in unasked.items() if root == scan.root and name not in joins}
        known = enabled.handler.planner.joinable(replace(scan, joins=tuple(why)), rule) if rule.joins else ()
        scans.append(
            ExplainedScan(
                str(scan),
                answer if isinstance(answer, PruneResult) else None,
                answer if isinstance(answer, Reason) else None,
                verdicts(enabled.handler.planner, scan, planned, rule, joins),
                planned.cover,
                planned.taken,
                joins,
                {name: why[name] for name in known},
                _whole(enabled, scan, planned, rule, counted),
            )
        )
    return scans


def _whole(
    enabled: Enabled, scan: SparkScan, planned: Planned, rule: RuleConfig, counted: bool
) -> tuple[int, int] | None:
    if isinstance(planned.asked, PruneResult):
        return planned.asked.total_files, planned.asked.total_bytes
    if scan.listed is not None or scan.plain or scan.source.version is None or not counted:
        return scan.listed
    try:
        table = enabled.handler.planner.tables.table_of(scan, rule)
        files = handle_of(table).snapshot(At.asked(scan.source.version)).files
    except MetaIndexError:
        return None
    return len(files), files.size_bytes


def _reads(result: PruneResult, why: str) -> str:
    return (
        f"reads {result.kept_files:,} of {result.total_files:,} files, {human_bytes(result.kept_bytes)} of"
        f" {human_bytes(result.total_bytes)}, at version {result.version}: {why}"
    )


def _told(taken: Taken, filtered: str) -> str:
    by = f" by {', '.join(taken.indexes)}" if taken.indexes else ""
    return ", ".join(part for part in (filtered, f"{taken}{by}") if part)


def _text(execution: Any) -> str:
    return str(execution.executedPlan().toString()).rstrip()
