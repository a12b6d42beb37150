"""Answers the optimizer's rule: the files of its scans that hold no row that passes the filters.

A request is a list of scans, each with the table's place, the version that Spark has pinned and the filters above it; a
reply names, for some of them, files by full identity (path, size and time; in Iceberg path, size and sequence number)
that an index proves out. Spark's own list decides what is read: a file that is not in the reply stays. For plain files
the newest version that an index recorded answers, without a listing: a file that was written since is not in the proof,
one that was replaced has another identity, which is looked at (`replaced`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

import pyarrow as pa

from metaindex.core import (
    TELEMETRY,
    Config,
    NotATableError,
    QueryLog,
    TooLate,
    UnknownColumnError,
    UnsupportedFeatureError,
    VersionNotFoundError,
    Words,
    first_line,
)
from metaindex.expressions import And, ColumnRef, IsNull, Opaque, Predicate
from metaindex.formats import FileTable
from metaindex.query import PruneResult, Queries
from metaindex.table import Table, handle_of

from . import scans, seen_parts, text_scans
from .alike import are_rows_alike, is_read_as_written, judged_of_files
from .answer_counts import AnswerCounts
from .candidates import Offered, offered
from .covers import Cover, cover_now, cover_reply, ranked
from .reasons import Reason
from .replaced import proved_now
from .replies import packed, signed
from .request import AggregateAsked, Files, FirstAsked, Iceberg, Request, Requests, SparkScan
from .scans import at_version
from .settings import RuleConfig
from .tables import Tables
from .whole_files import Answered, CertainFirst, FirstFound, scan_files

if TYPE_CHECKING:
    from .noting import NotedScan

Taken: TypeAlias = FirstFound | Answered | CertainFirst
Asked = ParamSpec("Asked")
Found = TypeVar("Found")
_PARTS = {FirstFound: "first", Answered: "aggregate", CertainFirst: "certain"}


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of one scan of a query. `refused`: the covering indexes that do not stand for it; `damaged`: what is
    wrong with some of them."""

    skipping: PruneResult | Reason
    cover: Cover | None
    refused: Mapping[str, Reason]
    table: Table | None
    asked: PruneResult | Reason  # the same, with an answer that proves nothing for what it is
    taken: Taken | Reason | None = None  # for what the plan takes of its rows; None: all of them
    damaged: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ScanPlanner:
    """Plans the scans of a session's requests. Several threads of Spark may ask at once."""

    config: Config
    storage_options: Mapping[str, str]
    counts: AnswerCounts
    cores: int | None = None  # that work on a query
    skips_only: bool = False  # whole files: no covering index, no answer from an index, no join, no row group
    tables: Tables = field(init=False)
    _noting: QueryLog | None = field(init=False)
    _requests: Requests = field(default_factory=Requests)
    _broken: frozenset[str] = frozenset()  # runs of covering indexes that queries of the session failed to read

    def __post_init__(self) -> None:
        self.tables = Tables(self.config, self.storage_options)
        self._noting = self.config.query_log_settings

    def read(self, text: str) -> Request:
        """Read a request. Raises ArgumentError for what is none."""
        request = self._requests.read(text)
        self._note(request.broken)
        return request

    def _note(self, broken: Mapping[str, str]) -> None:
        """Note parts that Spark failed to read: this session does not read them again, and all who plan look at them
        again."""
        new = {run: part for run, part in broken.items() if run not in self._broken}
        if not new:
            return
        self._broken |= new.keys()
        seen_parts.forget(new)
        for part in new.values():
            index = part.partition("/")[0]
            self.counts.failure(
                f"a part of an index is as its manifest says; Spark could not read {part}, and its query failed; run it"
                " again: this session reads the table instead; "
                f"verify_index({index!r}) tells what is wrong, repair_index({index!r}) mends it",
                "a Spark query failed because of an index: %s",
            )

    def answer(self, asked: Request, rule: RuleConfig) -> tuple[str, Sequence[NotedScan]]:
        """Return the reply, and what is noted of the query once that is given."""
        if not rule.enabled:
            return "", ()
        started = time.perf_counter()
        with self.tables.looked_at_once():
            if asked.running is not None:
                return json.dumps({str(at): self._narrowed(scan, rule) for at, scan in enumerate(asked.scans)}), ()
            plans = self.plan(asked.scans, rule)
            told = [self._reply(scan, planned, rule) for scan, planned in zip(asked.scans, plans, strict=True)]
        replies = {str(number): reply for number, reply in enumerate(told) if reply}
        noting = (self._noting is not None or rule.query_log or TELEMETRY.is_listening()) and not asked.explained
        noted = self._noted(asked, plans, rule, time.perf_counter() - started) if noting else ()
        return (json.dumps(replies) if replies else ""), noted

    def _reply(self, scan: SparkScan, planned: Planned, rule: RuleConfig) -> dict[str, object]:
        skips, taken, reply = planned.skipping, planned.taken, dict[str, object]()
        few = isinstance(skips, PruneResult) and skips.kept_files <= 1
        if isinstance(skips, PruneResult):
            reply = {"label": _by(skips), "dropped": packed(signed(skips.dropped, skips.table))}
        if planned.cover is not None and planned.table is not None:
            reply["cover"] = cover_reply(planned.cover, scan, handle_of(planned.table).root(None))
        elif taken is not None and not isinstance(taken, Reason):
            reply[_PARTS[type(taken)]] = taken.reply(str(reply.get("label", "")))
        else:
            reply = self._groups(scan, planned.asked, rule) | reply
        keys = self.joinable(scan, rule) if scan.joins and rule.joins and not few else ()
        return reply | {"joins": join_reply(keys, rule)} if keys else reply

    def _groups(self, scan: SparkScan, result: PruneResult | Reason, rule: RuleConfig) -> dict[str, object]:
        """Return where the row groups lie that are left of kept files, and the indexes that may have said so."""
        if isinstance(result, Reason) or scan.text is not None or self.skips_only:
            return {}
        left = self._tried(self._spans, scan, result, rule)
        if isinstance(left, Reason) or not left:
            return {}
        files = FileTable(result.files.table.take([row for row, _ in left]))
        places = pa.array([" ".join(str(place) for span in spans for place in span) for _, spans in left])
        by = ", ".join(each.name for each in result.indexes if each.used)
        return {"groups": packed(signed(files, result.table, places)), "label": by}

    def _spans(
        self, scan: SparkScan, result: PruneResult, rule: RuleConfig
    ) -> Sequence[tuple[int, list[tuple[int, int]]]] | Reason:
        table = self.tables.usable(scan, rule)
        return table if isinstance(table, Reason) else handle_of(table).made(Queries).row_group_spans(result)

    def _noted(self, asked: Request, plans: Sequence[Planned], rule: RuleConfig, seconds: float) -> Sequence[NotedScan]:
        from .noting import noted_scans, setting_of  # most sessions note nothing

        try:
            setting = setting_of(self._noting, rule.query_log)
            if setting is None and not TELEMETRY.is_listening():
                return ()
            tables = [self.tables.held(scan) for scan in asked.scans]
            answers = [(planned.asked, planned.cover) for planned in plans]
            return noted_scans(setting, asked.scans, answers, tables, seconds, asked.limit)
        except Exception as error:  # noqa: BLE001 - a query never fails of its log
            self.counts.unsupported(error, "queries of a Spark session are not noted: %s")
            return ()

    def plan(self, scans: Sequence[SparkScan], rule: RuleConfig) -> list[Planned]:
        """Return for each scan of a query what is proved about its files, which covering index stands for it, and why
        every other one does not."""
        pruned = [self.pruned(scan, rule) for scan in scans]
        decided = [decided_by(answer) for answer in pruned]
        taken = [self._tried(self._taken, scan, rule) for scan in scans]
        offers = [self._offered(scan, skipping, rule) for scan, skipping in zip(scans, decided, strict=True)]
        chosen = ranked(scans, [some for _, some in offers], rule)
        now = [
            cover
            if cover is None or table is None or not scan.plain
            else cover_now(cover, handle_of(table).root(None), some, rule)
            for scan, cover, (table, some) in zip(scans, chosen, offers, strict=True)
        ]
        return [_planned(*parts) for parts in zip(decided, now, offers, pruned, taken, strict=True)]

    def _taken(self, scan: SparkScan, rule: RuleConfig) -> Taken | Reason | None:
        """Return what is proved for the first rows of an order, an aggregate, or some rows, if the plan takes only
        those."""
        asked = (scan.first if rule.top_k else None) or (scan.aggregate if rule.aggregates else None)
        if self.skips_only or (asked is None and not (scan.any and rule.limit)):
            return None
        table = self.tables.usable(scan, rule)
        if isinstance(table, Reason):
            return table
        allowed = self._allowed(table, rule)
        known = Reason.NOT_ALLOWED if allowed == [] else scan_files(table, scan, allowed)
        if isinstance(known, Reason):
            return known
        match asked:
            case FirstAsked():
                return known.first(asked)
            case AggregateAsked():
                return known.aggregate(asked)
            case _:
                return known.certain_first()

    def _allowed(self, table: Table, rule: RuleConfig) -> list[str] | None:
        """Names of the indexes that may be used; None: all."""
        opened = handle_of(table).open_indexes(None)[0] if rule.restricted else []
        return [index.name for index in opened if rule.allows(index.name)] if rule.restricted else None

    def _offered(
        self, scan: SparkScan, skipping: PruneResult | Reason, rule: RuleConfig
    ) -> tuple[Table | None, Offered]:
        """The covering indexes that may stand for a scan."""
        offer = self._tried(self._offer, scan, skipping, rule)
        return (None, Offered()) if isinstance(offer, Reason) else offer

    def _offer(self, scan: SparkScan, skipping: PruneResult | Reason, rule: RuleConfig) -> tuple[Table | None, Offered]:
        source = scan.source
        if self.skips_only or (isinstance(source, Files) and source.catalog) or not is_read_as_written(source):
            return None, Offered()
        table = self.tables.usable(scan, rule)
        if isinstance(table, Reason) or not are_rows_alike(table, source):
            return None, Offered()
        kept = skipping.kept_bytes if isinstance(skipping, PruneResult) else None
        some = offered(table, scan, rule, kept, self._broken, self.cores)
        for error in some.damaged.values():
            self.counts.raised(error)
        if scan.text is not None:
            lists = [[candidate.serving.files.paths] for candidate in some.candidates]
            told = [text_scans.tabs_are_told(table, paths) for paths in lists]
            some.candidates = [candidate for candidate, said in zip(some.candidates, told, strict=True) if said]
        return table, some

    def joinable(self, scan: SparkScan, rule: RuleConfig, index: str | None = None) -> tuple[str, ...]:
        """Return the join key columns that a usable index (or `index`) can look up."""
        columns = self._tried(self._joinable, scan, rule, index)
        return () if isinstance(columns, Reason) else columns

    def _joinable(self, scan: SparkScan, rule: RuleConfig, index: str | None) -> tuple[str, ...]:
        source = scan.source
        if (
            self.skips_only
            or (isinstance(source, Iceberg) and source.version is None)
            or not is_read_as_written(source)
        ):
            return ()
        table = self.tables.usable(scan, rule)
        allowed = None if isinstance(table, Reason) else self._allowed(table, rule)
        if isinstance(table, Reason) or allowed == []:
            return ()
        usable = allowed if index is None else [index]
        return tuple(name for name in scan.joins if _is_known(name, table, scan, usable))

    def _narrowed(self, scan: SparkScan, rule: RuleConfig) -> dict[str, object]:
        """Return what is skipped in a scan that runs."""
        result = self.pruned(scan, rule)
        if not isinstance(result, PruneResult) or not result.dropped_files:
            return {}
        return {"dropped": packed(signed(result.dropped, result.table)), "by": _by(result)}

    def pruned(self, scan: SparkScan, rule: RuleConfig) -> PruneResult | Reason:
        """Return what is proved about one scan of a request, even if it drops no file, or why nothing is."""
        return self._tried(self._scan, scan, rule)

    def _tried(self, ask: Callable[Asked, Found], *asked: Asked.args, **more: Asked.kwargs) -> Found | Reason:
        """Ask about one scan; the others are answered, whatever comes of it."""
        TooLate.check()
        try:
            return ask(*asked, **more)
        except Exception as error:  # noqa: BLE001 - the plan stays as it was
            scan = asked[0]
            if isinstance(scan, SparkScan) and self.tables.renew(scan):
                return self._tried(ask, *asked, **more)
            if isinstance(error, UnsupportedFeatureError):
                self.counts.unsupported(error)
                return Reason.UNSUPPORTED
            if isinstance(error, NotATableError | VersionNotFoundError):
                return Reason.OTHER_TABLE  # Spark plans a table that is gone, or has begun anew
            self.counts.raised(error)
            return Reason.FAILED

    def _scan(self, scan: SparkScan, rule: RuleConfig) -> PruneResult | Reason:
        filters = [each for each in scan.conditions if not isinstance(each, Opaque) and each.columns]
        if not filters:
            return Reason.NOT_UNDERSTOOD if scan.filters else Reason.NO_FILTER
        if isinstance(scan.source, Iceberg) and scan.source.version is None:
            return Reason.NO_VERSION
        if not is_read_as_written(scan.source):
            return Reason.READER_OPTIONS
        table = self.tables.usable(scan, rule)
        if isinstance(table, Reason):
            return table
        allowed = self._allowed(table, rule)
        if allowed == []:
            return Reason.NOT_ALLOWED
        if not isinstance(scan.source, Files):
            return _pruned(table, filters, scan, allowed)
        asked = judged_of_files(table, filters, scan.source)
        result = asked if isinstance(asked, Reason) else _pruned(table, asked, scan, allowed)
        if isinstance(result, Reason):
            return result
        if scan.text and not text_scans.tabs_are_told(table, (result.files.paths, result.dropped.paths)):
            return Reason.READER_OPTIONS
        return proved_now(result)


def _planned(
    skipping: PruneResult | Reason,
    cover: Cover | None,
    offer: tuple[Table | None, Offered],
    answer: PruneResult | Reason,
    taken: Taken | Reason | None,
) -> Planned:
    """Choose what reads less: an index in the scan's place, or files skipped for what the plan takes."""
    table, some = offer
    if taken is not None and not isinstance(taken, Reason):
        if cover is not None and (isinstance(taken, CertainFirst) or taken.result.kept_bytes > cover.read_bytes):
            taken = None
        else:
            cover, answer = None, taken.result
    damaged = {}
    for name, error in some.damaged.items():
        with Words.about(name):
            damaged[name] = first_line(error)
    return Planned(skipping, cover, some.refused, table, answer, taken, damaged)


def decided_by(pruned: PruneResult | Reason) -> PruneResult | Reason:
    """Return what is proved, or why nothing is."""
    if isinstance(pruned, Reason) or pruned.dropped_files:
        return pruned
    return Reason.CHANGED if pruned.changed_files else Reason.NOTHING_PROVED


def _pruned(
    table: Table, filters: Sequence[Predicate], scan: SparkScan, allowed: Sequence[str] | None
) -> PruneResult | Reason:
    """Prune by all filters whose columns are the table's: Spark adds some of its own, and uses partitions and the
    table's statistics by itself."""
    if not filters:
        return Reason.NOT_UNDERSTOOD
    try:
        asked = at_version(And(tuple(filters)), scan)
        result = handle_of(table).made(Queries).proved(asked, scan.source.version, allowed)
        if result is None:
            return Reason.OTHER_COLUMNS
        return result if scans.of_this_table(scan, result.version) else Reason.OTHER_TABLE
    except UnknownColumnError:
        if len(filters) == 1:
            return Reason.NOT_UNDERSTOOD
    known = [
        condition for condition in filters if _pruned(table, [condition], scan, allowed) is not Reason.NOT_UNDERSTOOD
    ]
    return _pruned(table, known, scan, allowed)


def _by(result: PruneResult) -> str:
    """The indexes that left files out, for people."""
    return ", ".join(each.name for each in result.indexes if each.used and each.dropped_files)


def _is_known(name: str, table: Table, scan: SparkScan, allowed: Sequence[str] | None) -> bool:
    """Return whether an index knows in which files a key of joins is."""
    try:
        return handle_of(table).made(Queries).knows(at_version(IsNull(ColumnRef((name,))), scan), allowed)
    except UnknownColumnError:
        return False


def join_reply(columns: Sequence[str], rule: RuleConfig) -> dict[str, object]:
    """Return the rule's reply about a scan under joins (`RuntimeFilter.java`)."""
    return {
        "columns": list(columns),
        "queries": rule.join_queries,
        "keys": rule.join_keys,
        "seconds": rule.join_seconds,
        "side_bytes": rule.join_side_bytes,
        "scan_bytes": rule.join_scan_bytes,
    }
