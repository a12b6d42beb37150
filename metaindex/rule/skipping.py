"""Answers the optimizer's rule: which files of these scans hold no row that their filters let pass?

A request is a list of scans, each with the table's place, the version that Spark has pinned and the filters above it; a
reply names, for some of them, files by full identity (path, size and time; in Iceberg path, size and sequence number)
that an index proves out. Spark's own list decides what is read: a file that is not in the reply stays. For plain files
the newest version that an index recorded answers, without a listing: a file that was written since is not in the proof,
one that was replaced has another identity, which is looked at (`replaced`).
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.config import Config
from metaindex.expressions.deadline import TooLate, look, until
from metaindex.expressions.errors import UnknownColumnError, UnsupportedFeatureError
from metaindex.expressions.references import columns
from metaindex.expressions.tree import And, Opaque, Predicate
from metaindex.formats.model import Schema
from metaindex.pruning.result import PruneResult
from metaindex.table.face import Table, handle_of, queries_of

from . import parquet_scans, scans, seen_parts, text_scans
from .candidates import Offered, offered
from .cover_reply import told
from .covers import Cover, cover_now, ranked
from .ranking import CORES
from .reasons import Reason
from .replaced import proved_now
from .replies import normal, packed, signs
from .scans import at_version, conditions
from .settings import RuleConfig

logger = logging.getLogger("metaindex")
_HELD_LENGTH = 8 << 20  # characters of requests
_TOLD = 1_000  # of what is not supported: more is not told


@dataclass(slots=True)
class Counts:
    """Of the answers of one session."""

    failed: int = 0
    timed_out: int = 0
    stopped: int = 0  # of those, how many were being computed: their threads are free again
    bad_settings: int = 0
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """How one scan of a query is to be read. `refused`: the covering indexes that do not stand for it."""

    skipping: PruneResult | Reason
    cover: Cover | None
    refused: Mapping[str, Reason]
    table: Table | None


class Requests:
    """The last requests as they were read: the same query is planned again and again, and its filters may be long. What
    is read of one (`scans.conditions`) stays with it."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._length = 0
        self._lock = threading.Lock()

    def read(self, request: str) -> dict[str, Any]:
        """The request. ValueError where it is no JSON."""
        with self._lock:
            held = self._held.get(request)
            if held is not None:
                self._held.move_to_end(request)
                return held
        read: dict[str, Any] = json.loads(request)
        with self._lock:
            if request not in self._held and len(request) <= _HELD_LENGTH:
                self._held[request] = read
                self._length += len(request)
            while self._length > _HELD_LENGTH:
                self._length -= len(self._held.popitem(last=False)[0])
        return read


@dataclass(slots=True)
class Skipping:
    """Called with a request, gives a reply; an empty one where nothing is known. Never raises. Several threads of Spark
    may ask at once."""

    config: Config
    storage_options: Mapping[str, str]
    rule: RuleConfig
    cores: int = CORES  # that work on a query
    counts: Counts = field(default_factory=Counts)
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(4, thread_name_prefix="metaindex-rule")
    )
    _local: threading.local = field(default_factory=threading.local)
    _requests: Requests = field(default_factory=Requests)
    _read: tuple[dict[str, str], RuleConfig] | None = None  # the session's settings of ours, as they were last
    _told: set[str] = field(default_factory=set)  # what is not supported, of the tables that were asked
    _told_lock: threading.Lock = field(default_factory=threading.Lock)
    _broken: frozenset[str] = frozenset()  # runs of covering indexes that queries of the session failed to read

    def __call__(self, request: str) -> str:
        rule = self.rule
        try:
            asked = self._requests.read(request)
            rule = self.settings(asked["settings"])
            self._note(asked.get("broken", {}))
            late = time.monotonic() + rule.timeout_seconds
            answer = self._pool.submit(self._answer_until, late, asked["scans"], rule)
            try:
                return answer.result(rule.timeout_seconds)
            finally:
                answer.cancel()  # where no thread has begun with it
        except (LateError, TooLate):
            self.counts.timed_out += 1
            self.counts.last_error = f"no answer within {rule.timeout_seconds} s"
            logger.warning("a Spark query is planned without indexes: %s", self.counts.last_error)
        except Exception as error:  # noqa: BLE001 - a query never fails because of an index
            self._failed(error)
        return ""

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _note(self, broken: Mapping[str, str]) -> None:
        """What Spark failed to read is not read again, by this session; whoever else plans with it looks at it
        again."""
        new = {run: part for run, part in broken.items() if run not in self._broken}
        if not new:
            return
        self._broken |= new.keys()
        seen_parts.forget(new)
        for part in new.values():
            index = part.partition("/")[0]
            self.counts.failed += 1
            self.counts.last_error = (
                f"a part of an index is as its manifest says; Spark could not read {part}, and its query failed; run it again: this session reads the table instead; "
                f"verify_index({index!r}) tells what is wrong, repair_index({index!r}) mends it"
            )
            logger.warning("a Spark query failed because of an index: %s", self.counts.last_error)

    def settings(self, conf: dict[str, str]) -> RuleConfig:
        """Those of `enable` with what the session's configuration says now; what cannot be read there is counted once,
        and as if it were not there."""
        read = self._read
        if read is None or read[0] != conf:
            rule, bad = self.rule.with_conf(conf)
            for one in bad:
                self.counts.bad_settings += 1
                self.counts.last_error = f"a setting is left out: {one}"
                logger.warning("a setting of the Spark session is left out: %s", one)
            read = self._read = conf, rule
        return read[1]

    def _answer_until(self, late: float, scans: list[dict[str, Any]], rule: RuleConfig) -> str:
        """An answer that nobody waits for any more is not computed to its end."""
        try:
            with until(late):
                return self._answer(scans, rule)
        except TooLate:
            self.counts.stopped += 1
            raise

    def _answer(self, scans: list[dict[str, Any]], rule: RuleConfig) -> str:
        if not rule.enabled:
            return ""
        replies = {}
        for number, (scan, one) in enumerate(zip(scans, self.plan(scans, rule), strict=True)):
            reply: dict[str, object] = {}
            if isinstance(one.skipping, PruneResult):
                names = ", ".join(each.name for each in one.skipping.indexes if each.used and each.dropped_files)
                reply = {"label": names, "dropped": _dropped(one.skipping)}
            if one.cover is not None and one.table is not None:
                reply["cover"] = told(one.cover, scan, handle_of(one.table).root(None))
            if reply:
                replies[str(number)] = reply
        return json.dumps(replies) if replies else ""

    def plan(self, scans: Sequence[dict[str, Any]], rule: RuleConfig) -> list[Planned]:
        """Of each scan of a query what is proved about its files, which covering index stands for it, and of every
        other covering index why not."""
        with ExitStack() as once:
            self._local.once = once
            try:
                found = [self.decide(scan, rule) for scan in scans]
                look()
                offers = [self._offered(scan, one, rule) for scan, one in zip(scans, found, strict=True)]
            finally:
                self._local.once = None
        chosen = ranked(scans, [some for _, some in offers], rule)
        now = [
            cover
            if cover is None or table is None or not _plain(scan)
            else cover_now(cover, handle_of(table).root(None), some, rule)
            for scan, cover, (table, some) in zip(scans, chosen, offers, strict=True)
        ]
        return [
            Planned(one, cover, some.refused, table)
            for one, cover, (table, some) in zip(found, now, offers, strict=True)
        ]

    def _offered(
        self, scan: dict[str, Any], skipping: PruneResult | Reason, rule: RuleConfig
    ) -> tuple[Table | None, Offered]:
        """The covering indexes that may stand for a scan."""
        try:
            plain = scan["kind"] == "files"
            if scan.get("catalog"):
                return None, Offered()
            text = scans.TEXT_FORMATS.get(scan["format"]) if plain else None
            if not _read_as_written(scan, text):
                return None, Offered()
            table = self._table(scan, text, rule)
            if not isinstance(table, Reason) and (text is None or _rows_alike(table, text, scan)):
                kept = skipping.kept_bytes if isinstance(skipping, PruneResult) else None
                some = offered(table, scan, rule, kept, self._broken, self.cores)
                for error in some.damaged:
                    self._failed(error)
                if text is not None:
                    lists = [[one.serving.files.paths] for one in some.candidates]
                    told = [text_scans.tabs_are_told(table, one) for one in lists]
                    some.candidates = [one for one, said in zip(some.candidates, told, strict=True) if said]
                return table, some
        except UnsupportedFeatureError as error:
            self._say_once(error)
        except Exception as error:  # noqa: BLE001 - the other scans are still answered
            self._failed(error)
        return None, Offered()

    def decide(self, scan: dict[str, Any], rule: RuleConfig) -> PruneResult | Reason:
        """What is proved about one scan of a request, or why nothing is."""
        found = self.pruned(scan, rule)
        if isinstance(found, Reason) or found.dropped_files:
            return found
        return Reason.CHANGED if found.changed_files else Reason.NOTHING_PROVED

    def pruned(self, scan: dict[str, Any], rule: RuleConfig) -> PruneResult | Reason:
        """The same, with an answer that proves nothing for what it is."""
        look()
        try:
            return self._scan(scan, rule)
        except UnsupportedFeatureError as error:
            self._say_once(error)
            return Reason.UNSUPPORTED
        except Exception as error:  # noqa: BLE001 - the other scans are still answered
            self._failed(error)
            return Reason.FAILED

    def _say_once(self, error: UnsupportedFeatureError) -> None:
        """What is not read here is no failure, and is so at every query."""
        with self._told_lock:
            new = str(error) not in self._told and len(self._told) < _TOLD
            self._told |= {str(error)} if new else set()
        if new:
            logger.warning("Spark queries of a table are planned without indexes: %s", error)

    def _failed(self, error: Exception) -> None:
        self.counts.failed += 1
        self.counts.last_error = (str(error).splitlines() or [type(error).__name__])[0]
        logger.warning("a Spark query is planned without indexes, which reads more: %s", self.counts.last_error)

    def _scan(self, scan: dict[str, Any], rule: RuleConfig) -> PruneResult | Reason:
        filters = [one for one in conditions(scan) if not isinstance(one, Opaque) and columns(one)]
        plain = scan["kind"] == "files"
        if not filters:
            return Reason.NOT_UNDERSTOOD if scan["filters"] else Reason.NO_FILTER
        if scan.get("version") == "null":
            return Reason.NO_VERSION
        text = scans.TEXT_FORMATS.get(scan["format"]) if plain else None
        if not _read_as_written(scan, text):
            return Reason.READER_OPTIONS
        table = self._table(scan, text, rule)
        if isinstance(table, Reason):
            return table
        allowed = [name for name in handle_of(table).usable_indexes() if rule.allows(name)] if rule.restricted else None
        if allowed == []:
            return Reason.NOT_ALLOWED
        if scan.get("catalog"):
            filters = [one for one in filters if not _of_partitions(one, scan)]
            if not filters:
                return Reason.NOTHING_PROVED  # the catalog has left out what its partitions say
        if plain:
            types = parquet_scans.types_of(scan)
            schemas = [schema for _, schema in handle_of(table).recorded()]
            if text and not all(text_scans.same_columns(schema, text, scan) for schema in schemas):
                return Reason.OTHER_TYPES
            if text and not text_scans.same_zone(table, scan):
                types = {parts: one for parts, one in types.items() if not text_scans.has_instants(one)}
            filters = [one for one in filters if all(_as_spark_reads(one, schema, types) for schema in schemas)]
            if not filters:
                return Reason.OTHER_TYPES
        result = _pruned(table, filters, scan, allowed)
        if (
            text
            and isinstance(result, PruneResult)
            and not text_scans.tabs_are_told(table, (result.files.paths, result.dropped.paths))
        ):
            return Reason.READER_OPTIONS
        return proved_now(result) if plain and isinstance(result, PruneResult) else result

    def table_of(self, scan: Mapping[str, Any], rule: RuleConfig) -> Table:
        """A handle of this thread's own on the table of a scan, whether an index can be used or not."""
        text = scans.TEXT_FORMATS.get(scan["format"]) if scan["kind"] == "files" else None
        return self._held(scan, text, rule).table

    def _table(self, scan: Mapping[str, Any], text: str | None, rule: RuleConfig) -> Table | Reason:
        """The same; or, for some seconds, why no index can be used."""
        held = self._held(scan, text, rule)
        return held.table if held.why is None else held.why

    def _held(self, scan: Mapping[str, Any], text: str | None, rule: RuleConfig) -> _Held:
        tables: dict[str, _Held] = self._local.__dict__.setdefault("tables", {})
        place = _place(scan["root"])
        key = f"{place}\0{text}\0{sorted(scan['options'].items())}" if text else place
        held = tables.get(key)
        if held is None or (held.why is not None and time.monotonic() >= held.until):
            held = tables[key] = self._opened(place, scan, text)
        once: ExitStack | None = self._local.__dict__.get("once")
        if once is not None and held.why is None:  # all scans of a query by one look at the indexes
            once.enter_context(handle_of(held.table).looked_at_once())
        if held.why is None and not handle_of(held.table).recorded():
            held = tables[key] = _Held(held.table, Reason.NO_INDEX)
        if held.why is not None and held.until == 0.0:
            held.until = time.monotonic() + rule.cache_expiry_seconds
        return held

    def _opened(self, place: str, scan: Mapping[str, Any], text: str | None) -> _Held:
        from metaindex.table.opening import open_table

        kind = scan["kind"]
        table = open_table(
            place,
            format=kind if kind != "files" else text or "parquet",
            storage_options=self.storage_options,
            config=self.config,
            **({"trust_index": True} if kind == "files" else {}),
        )
        if text is None:
            return _Held(table, None)
        found = text_scans.as_spark_reads(table, text, scan)
        if found is not None:
            return _Held(found, None)
        return _Held(table, Reason.READER_OPTIONS if handle_of(table).entries() else Reason.NO_INDEX)


@dataclass(slots=True)
class _Held:
    """A table of one thread, and why its indexes are not looked at again until then."""

    table: Table
    why: Reason | None
    until: float = 0.0


def _rows_alike(table: Table, text: str, scan: Mapping[str, Any]) -> bool:
    """Are the rows that Spark reads of text files those that an index of them has, column for column?"""
    schemas = [schema for _, schema in handle_of(table).recorded()]
    return text_scans.same_zone(table, scan) and all(text_scans.same_columns(one, text, scan) for one in schemas)


def _place(root: str) -> str:
    """Where Spark says that a table is, as `open_table` takes it."""
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/*(?=/)", "", root))


def _pruned(
    table: Table, filters: Sequence[Predicate], scan: Mapping[str, Any], allowed: Sequence[str] | None
) -> PruneResult | Reason:
    """By all filters whose columns are the table's: Spark adds some of its own, and asks partitions and the table's
    statistics by itself."""
    if not filters:
        return Reason.NOT_UNDERSTOOD
    try:
        asked = at_version(And(tuple(filters)), scan)
        result = queries_of(table).proved(asked, scan.get("version"), allowed)
        if result is None:
            return Reason.OTHER_COLUMNS
        return result if scans.of_this_table(scan, result.version) else Reason.OTHER_TABLE
    except UnknownColumnError:
        if len(filters) == 1:
            return Reason.NOT_UNDERSTOOD
    known = [one for one in filters if _pruned(table, [one], scan, allowed) is not Reason.NOT_UNDERSTOOD]
    return _pruned(table, known, scan, allowed)


def _plain(scan: Mapping[str, Any]) -> bool:
    return bool(scan["kind"] == "files")


def _of_partitions(condition: Predicate, scan: Mapping[str, Any]) -> bool:
    """Does it name a partition column? What that holds the catalog says, which need not be what the folders' names
    say."""
    names = {one["name"].lower() for one in scan["partitions"]["fields"]}
    return any(one.parts[0].lower() in names for one in columns(condition))


def _read_as_written(scan: Mapping[str, Any], text: str | None) -> bool:
    """Does Spark show what stands in the files, as the index was told it? Iceberg reads by itself, whatever the session
    says."""
    if text is not None:
        return text_scans.usual_session(scan["session"])
    return scan["kind"] == "iceberg" or parquet_scans.read_as_written(scan)


def _as_spark_reads(condition: Predicate, schema: Schema, types: Mapping[tuple[str, ...], pa.DataType]) -> bool:
    ours = {leaf.parts: leaf.type for leaf in schema.leaves()}
    return all(
        one.parts in ours and one.parts in types and _alike(ours[one.parts], types[one.parts])
        for one in columns(condition)
    )


def _alike(ours: pa.DataType, theirs: pa.DataType) -> bool:
    """One type to a predicate: timestamps of any unit with a zone (or without), texts and bytes of any width."""
    is_ = pa.types
    if is_.is_timestamp(ours) and is_.is_timestamp(theirs):
        return (ours.tz is None) == (theirs.tz is None)
    for family in (
        (is_.is_string, is_.is_large_string, is_.is_string_view),
        (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary),
    ):
        if any(check(ours) for check in family):
            return any(check(theirs) for check in family)
    return bool(ours == theirs)


def _dropped(result: PruneResult) -> str:
    """The dropped files, path and sign by turns."""
    paths = normal(result.dropped, result.table)
    return packed(pc.binary_join_element_wise(paths, signs(result.dropped), "\0").to_pylist())
