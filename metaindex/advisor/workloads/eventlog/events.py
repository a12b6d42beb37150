"""Reads event logs line by line, and only the head of a line unless it is of a query: from the starts of queries, the
plans that they change to while they run, and their ends."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from metaindex.advisor.workloads.gathering import Gathering
from metaindex.advisor.workloads.template import PlanReads, reads_of
from metaindex.advisor.workloads.text_files import MOST_CHARACTERS, byte_lines, is_lzf, read_pieces
from metaindex.core import MetaIndexError, StorageError, dataclass
from metaindex.expressions import StatementReads

from .plans import plan_of, plan_reads

MOST_OPEN: Final = 10_000
MOST_HELD: Final = 128 << 20
"""Queries whose ends are waited for, and bytes of their events: of more the oldest counts as it is."""
_MOST_PLANS: Final = 1_000  # of one query
_ZONE: Final = "spark.sql.session.timeZone"
_CALL_SITE: Final = re.compile(r"\S+ at \S+:\d+")
"""Where a program asked, which stands where no text is kept."""
_LONGEST_MS: Final = 1 << 50


@dataclass(slots=True)
class _OpenQuery:
    """A query with what Spark ran for it."""

    text: str = ""
    started_ms: int | None = None
    plans: dict[int, PlanReads] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)  # of the events that told them
    zones: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Executions:
    """Collects queries from events, which come in their order; each query goes to `gathering` once."""

    gathering: Gathering
    time_zone: str
    zone: str | None = None  # of the application
    seen: int = 0
    _held: int = 0
    _open: OrderedDict[int, _OpenQuery] = field(default_factory=OrderedDict)
    _roots: OrderedDict[int, int] = field(default_factory=OrderedDict)

    def environment(self, event: Mapping[str, Any], size: int) -> None:
        """Take the time zone of sessions that do not set their own."""
        for part, name in (("Spark Properties", _ZONE), ("System Properties", "user.timezone")):
            properties = event.get(part)
            if isinstance(properties, Mapping) and isinstance(properties.get(name), str):
                self.zone = properties[name]
                return

    def start(self, event: Mapping[str, Any], size: int) -> None:
        number = _number(event.get("executionId"))
        if number is None:
            return
        root = _number(event.get("rootExecutionId"))
        root = number if root is None else root
        query = self._query(root)
        self._roots[number] = root
        if number == root:
            self.seen += 1
            query.text = str(event.get("description") or "")[: MOST_CHARACTERS + 1]
            query.started_ms = _number(event.get("time"))
        settings = event.get("modifiedConfigs")
        zone = settings.get(_ZONE) if isinstance(settings, Mapping) else None
        if isinstance(zone, str):
            query.zones[number] = zone
        self._plan(query, number, event, size)

    def update(self, event: Mapping[str, Any], size: int) -> None:
        """A plan as it is run: it stands in the place of the one before, once it reads anything."""
        number = _number(event.get("executionId"))
        query = None if number is None else self._open.get(self._roots.get(number, -1))
        if number is not None and query is not None:
            self._plan(query, number, event, size)

    def end(self, event: Mapping[str, Any], size: int) -> None:
        number = _number(event.get("executionId"))
        if number is None or self._roots.get(number) != number or number not in self._open:
            return
        self._close(number, _number(event.get("time")))

    def finish(self) -> None:
        """Close the log: open executions have no end."""
        for number in [*self._open]:
            self._close(number, None)
        self._roots.clear()

    def _query(self, root: int) -> _OpenQuery:
        if root not in self._open:
            self._open[root] = _OpenQuery()
        while len(self._open) > MOST_OPEN:
            self._close(next(iter(self._open)), None)
        while len(self._roots) > 4 * MOST_OPEN:
            self._roots.popitem(last=False)
        return self._open[root]

    def _plan(self, query: _OpenQuery, number: int, event: Mapping[str, Any], size: int) -> None:
        zone = query.zones.get(number) or self.zone or self.time_zone
        try:
            plan = plan_reads(plan_of(event.get("sparkPlanInfo")), zone)
        except (MetaIndexError, RecursionError) as error:
            reason = str(error) if isinstance(error, MetaIndexError) else "a plan of an event log is nested too deeply"
            plan = PlanReads(StatementReads(()), (reason,))
        if (plan.reads.tables or number not in query.plans) and len(query.plans) < _MOST_PLANS:
            query.plans[number] = plan
            self._held += size - query.sizes.get(number, 0)
            query.sizes[number] = size
        while self._held > MOST_HELD and len(self._open) > 1:
            self._close(next(iter(self._open)), None)

    def _close(self, root: int, ended_ms: int | None) -> None:
        query = self._open.pop(root)
        self._held -= sum(query.sizes.values())
        if not query.plans:
            return
        known = PlanReads.merged([query.plans[number] for number in sorted(query.plans)])
        seconds = _seconds(query.started_ms, ended_ms)
        text = (
            _statement_of(query.text, self.zone or self.time_zone) if known.untold or not known.reads.tables else None
        )
        if text is not None:
            self.gathering.reads(text, query.text, seconds=seconds)
            return
        if known.reads.tables:
            self.gathering.reads(known.reads, query.text, seconds=seconds)
        for reason in known.untold:
            self.gathering.problem(reason, query.text)


def _statement_of(text: str, time_zone: str) -> StatementReads | None:
    """Return what the text reads if it is SQL that can be parsed."""
    if _CALL_SITE.fullmatch(text) or len(text) > MOST_CHARACTERS or not StatementReads.begins(text):
        return None
    try:
        return reads_of(text, time_zone)
    except MetaIndexError:
        return None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LONGEST_MS else None


def _seconds(started_ms: int | None, ended_ms: int | None) -> float | None:
    if started_ms is None or ended_ms is None or ended_ms < started_ms:
        return None
    return (ended_ms - started_ms) / 1000


MOST_BYTES: Final = 16 << 20
"""Of an event: that of a large plan has some megabytes."""
_HEAD: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"((?:[^"\\]|\\.){1,300})"')
_SQL: Final = b"org.apache.spark.sql.execution.ui.SparkListenerSQL"
_TAKEN: Final[Mapping[bytes, Callable[[Executions, Mapping[str, Any], int], None]]] = {
    _SQL + b"ExecutionStart": Executions.start,
    _SQL + b"AdaptiveExecutionUpdate": Executions.update,
    _SQL + b"ExecutionEnd": Executions.end,
    b"SparkListenerEnvironmentUpdate": Executions.environment,
}
_NO_EVENT: Final = "a line of an event log is an event in JSON; one is none, or is cut; it is left out"
_TOO_LONG: Final = f"an event has {MOST_BYTES:,} bytes at most; one has more; it is left out"
_NO_QUERY: Final = "an event log tells of SQL queries and DataFrames; this one has none; give another"


def read_event_logs(path: Path, gathering: Gathering, time_zone: str) -> None:
    """Read the queries of the logs at a path. Unreadable ones are reported; a log that is cut counts up to the cut."""
    for log in event_logs(path):
        _read(log, gathering, time_zone)


def _read(log: EventLog, gathering: Gathering, time_zone: str) -> None:
    executions = Executions(gathering, time_zone)
    for note in log.notes:
        gathering.problem(note, str(log.path))
    for file in log.files:
        try:
            _read_file(file, executions, gathering)
        except StorageError as error:
            gathering.problem(f"an event log is read to where it is cut or damaged: {error}", str(file))
        except OSError as error:
            gathering.problem(f"an event log is read from files; one cannot be read: {error.strerror}", str(file))
    executions.finish()
    if not executions.seen:
        gathering.problem(_NO_QUERY, str(log.path))


def _read_file(file: Path, executions: Executions, gathering: Gathering) -> None:
    for line in byte_lines(file, MOST_BYTES):
        if line is None:
            gathering.problem(_TOO_LONG, str(file))
            continue
        head = _HEAD.match(line, 0, 400)
        if head is None:
            if line.strip():
                gathering.problem(_NO_EVENT, str(file))
        elif head[1] in _TAKEN:
            event = _event(line)
            if event is None:
                gathering.problem(_NO_EVENT, str(file))
            else:
                _TAKEN[head[1]](executions, event, len(line))


def _event(line: bytes) -> Mapping[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


_ROLLED: Final = re.compile(r"eventlog_v2_.")
_EVENTS: Final = re.compile(r"events_(\d{1,18})_")
_BEGIN: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"')
_NAME: Final = re.compile(r"[^.]+(?:\.(?:zstd|lz4|lzf|snappy|gz))?(?:\.inprogress)?")
"""Of a log in a folder: the names of applications have no dots, those of data files do."""
_COMPACT: Final = ".compact"
_MOST_ENTRIES: Final = 100_000


@dataclass(frozen=True, slots=True)
class EventLog:
    """The log of one application. `files`: in the order in which they were written; `notes`: what is missing of it."""

    path: Path
    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def event_logs(path: Path) -> Iterator[EventLog]:
    """Yield the event logs at a path, if any. Links in a folder are skipped."""
    if path.is_dir():
        if _ROLLED.match(path.name):
            yield _rolled(path)
            return
        for entry in _entries(path):
            if entry.is_dir() and _ROLLED.match(entry.name):
                yield _rolled(entry)
            elif _NAME.fullmatch(entry.name) and entry.is_file() and _begins_so(entry):
                yield EventLog(entry, (entry,))
    elif path.is_file() and _begins_so(path):
        yield EventLog(path, (path,))


def is_event_log(path: Path) -> bool:
    """Return whether the path holds an event log. Raises OSError if it cannot be read."""
    return next(event_logs(path), None) is not None


def _entries(folder: Path) -> list[Path]:
    """A folder of data may be any folder: of a very large one the first files are looked at."""
    entries: list[Path] = []
    for entry in folder.iterdir():
        if not entry.name.startswith(".") and not entry.is_symlink():
            entries.append(entry)
        if len(entries) >= _MOST_ENTRIES:
            break
    return sorted(entries)


def _begins_so(path: Path) -> bool:
    try:
        if is_lzf(path):
            return True  # what is wrong with it is told when it is read
        return _BEGIN.match(next(read_pieces(path), b"")) is not None
    except OSError:
        return False


def _rolled(folder: Path) -> EventLog:
    """Return a log in several files; one that Spark has compacted replaces the files up to it."""
    numbered: dict[int, Path] = {}
    compacted = 0
    for entry in _entries(folder):
        named = _EVENTS.match(entry.name)
        if named is None or not entry.is_file():
            continue
        number = int(named[1])
        if entry.name.endswith(_COMPACT):
            compacted = max(compacted, number)
            numbered[number] = entry
        elif number not in numbered:
            numbered[number] = entry
    kept = sorted(number for number in numbered if number >= compacted)
    missing = len(range(max(compacted, 1), kept[-1] + 1)) - len(kept) if kept else 0
    notes = (f"an event log in several files has all of them; {missing:,} are missing",) if missing else ()
    return EventLog(folder, tuple(numbered[number] for number in kept), notes)
