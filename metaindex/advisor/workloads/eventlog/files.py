"""Files of event logs: one, or a folder of those that Spark rolled over, or a folder of several logs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from metaindex.advisor.workloads.text_files import is_lzf, read_pieces
from metaindex.core import dataclass

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
