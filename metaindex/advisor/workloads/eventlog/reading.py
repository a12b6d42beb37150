"""The reader of event logs: line by line, and only the head of a line unless it is of a query."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from metaindex.advisor.workloads.gathering import Gathering
from metaindex.advisor.workloads.pieces import byte_lines
from metaindex.core import StorageError

from .executions import Executions
from .files import EventLog, event_logs

MOST_BYTES: Final = 16 << 20
"""Of an event: that of a large plan has some megabytes."""
_HEAD: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"((?:[^"\\]|\\.){1,300})"')
_SQL: Final = b"org.apache.spark.sql.execution.ui.SparkListenerSQL"
_START: Final = _SQL + b"ExecutionStart"
_UPDATE: Final = _SQL + b"AdaptiveExecutionUpdate"
_END: Final = _SQL + b"ExecutionEnd"
_ENVIRONMENT: Final = b"SparkListenerEnvironmentUpdate"
_WANTED: Final = frozenset({_START, _UPDATE, _END, _ENVIRONMENT})
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
        elif head[1] in _WANTED:
            event = _event(line)
            if event is None:
                gathering.problem(_NO_EVENT, str(file))
            else:
                _take(head[1], event, len(line), executions)


def _event(line: bytes) -> Mapping[str, Any] | None:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _take(name: bytes, event: Mapping[str, Any], size: int, executions: Executions) -> None:
    if name == _START:
        executions.start(event, size)
    elif name == _UPDATE:
        executions.update(event, size)
    elif name == _END:
        executions.end(event)
    else:
        executions.environment(event)
