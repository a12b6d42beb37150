"""The timeline: instants by the names of their files, from one listing.

An instant is requested, inflight, and then completed, each a file of its own. Only what is completed counts; what is
pending, failed or rolled back has no completed file. A file beside them whose name is not known may mean anything:
then the timeline is not read.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass

import xxhash

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.storage import ObjectInfo, Storage

from .properties import FOLDER, TableConfig

_NAME = re.compile(
    r"(?P<begun>\d+)(?:_(?P<done>\d+))?(?:\.(?P<action>[a-z]+))?(?:\.(?P<state>requested|inflight))?\Z", re.ASCII
)
WRITES = frozenset({"commit", "replacecommit"})
_OTHERS = frozenset({"clean", "rollback", "savepoint", "indexing"})
"""Actions that leave the live files as they are: a rollback takes back what is pending, or what it unpublished."""
_PENDING = frozenset({"clustering", "restore"})
"""Actions beside the others that may be pending."""
LOGS = frozenset({"deltacommit", "compaction", "logcompaction"})
_EDGE = 16_384


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """A completed action that wrote or replaced files. `begun`: its id, the time at which it was requested; `done`:
    when it was completed, "" where the timeline does not say (before table version 8)."""

    begun: str
    done: str
    action: str
    info: ObjectInfo | None = None  # of its file; None: it was archived

    @property
    def order(self) -> tuple[str, str]:
        """The key in whose order instants are applied: that of their completion, where the timeline tells it."""
        return (self.done or self.begun, self.begun)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Instants of the active timeline: completed ones that wrote, by id and in the order of their ids, and the ids of
    those that are pending."""

    completed: Mapping[str, Instant]
    pending: frozenset[str]
    utc: bool

    def until(self, id_: str) -> list[Instant]:
        """The instants that make a version, as Hudi reads a table as of an instant: all that are completed now and
        were begun by then."""
        return [instant for begun, instant in self.completed.items() if begun <= id_]

    def fingerprint(self, storage: Storage, id_: str) -> str:
        """A sign of the files of a version: instants that were begun before it and completed after it change it. The
        newest instant's first bytes name its files, which no other table has."""
        newest = self.completed[id_]
        assert newest.info is not None
        said = [f"{i.begun} {i.done} {i.action} {i.info.size_bytes}" for i in self.until(id_) if i.info is not None]
        head = storage.read(newest.info.path, 0, _EDGE)
        return xxhash.xxh64_hexdigest("\n".join(said).encode() + b"\0" + head)

    def times(self) -> dict[str, int]:
        """Milliseconds of each version, never less than of the one before: the instant where the timeline is in UTC,
        else the time of its file, as nobody wrote down which zone it is in."""
        out: dict[str, int] = {}
        last = 0
        for begun, instant in self.completed.items():
            assert instant.info is not None
            last = max(last, milliseconds(begun) if self.utc else instant.info.modified_ns // 1_000_000)
            out[begun] = last
        return out


def read_timeline(storage: Storage, table: str, config: TableConfig) -> Timeline:
    """List the timeline. Raises UnsupportedFeatureError where it cannot be read with certainty."""
    if config.version >= 8:
        for info in storage.list(FOLDER, recursive=False):
            if _name(info.path)[:1].isdigit():
                raise UnsupportedFeatureError(
                    f"instants of a Hudi table of version {config.version} are in {config.timeline}; {table} has"
                    f" {_name(info.path)!r} in {FOLDER}: its upgrade was not finished; finish it with Hudi"
                )
    done: dict[str, Instant] = {}
    pending: dict[str, str] = {}
    ended: set[str] = set()
    for info in storage.list(config.timeline, recursive=False):
        name = _name(info.path)
        if not name[:1].isdigit():
            continue  # the table's properties, and what Hadoop leaves beside its files
        match = _NAME.match(name)
        if match is None or (match["action"] is None) or not _is_time(match["begun"]):
            raise _unknown(table, name)
        begun, action, state = match["begun"], match["action"], match["state"] or ""
        if action == "inflight" and not state:
            action, state = "commit", "inflight"
        _check_action(table, name, action, state)
        if begun.startswith("0000"):
            raise UnsupportedFeatureError(
                f"rows of a bootstrap table are partly in files of another table; {table} has the instant {name!r};"
                " read it with Hudi"
            )
        if state:
            if match["done"] is not None:
                raise _unknown(table, name)
            pending[begun] = action
            continue
        if (config.version >= 8) != (match["done"] is not None and _is_time(match["done"])):
            raise _unknown(table, name)
        ended.add(begun)
        if action in WRITES:
            if begun in done:
                raise CorruptTableError(
                    f"an instant is completed once; {table} has {_name(_info(done[begun]).path)!r} and {name!r}"
                )
            if not info.size_bytes:
                raise CorruptTableError(
                    f"a completed instant says which files it wrote; {name!r} of {table} is empty: its writer failed;"
                    " roll it back with Hudi"
                )
            done[begun] = Instant(begun, match["done"] or "", action, info)
    open_ = pending.keys() - ended
    if restores := sorted(begun for begun in open_ if pending[begun] == "restore"):
        raise UnsupportedFeatureError(
            f"a table is read when it is not being restored; {table} has the pending restore {restores[0]!r}; let Hudi"
            " finish it"
        )
    return Timeline({begun: done[begun] for begun in sorted(done)}, frozenset(open_), config.utc)


def milliseconds(instant: str) -> int:
    """The time that an instant names, in UTC; one without milliseconds is the end of its second."""
    text = instant if len(instant) == 17 else f"{instant}999"
    try:
        time = dt.datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=dt.UTC)
    except ValueError:
        return 0
    return int(time.timestamp()) * 1000 + int(text[14:])


def _is_time(text: str) -> bool:
    return len(text) in (14, 17)


def _check_action(table: str, name: str, action: str, state: str) -> None:
    if action in LOGS:
        raise UnsupportedFeatureError(
            f"Hudi tables are read if no row is merged from log files; {table} has the instant {name!r}, so it is or"
            " was a merge-on-read table; read it with Hudi"
        )
    if action not in WRITES | _OTHERS and not (action in _PENDING and (state or action == "restore")):
        raise _unknown(table, name)


def _unknown(table: str, name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"each file of a timeline is known by its name; {table} has {name!r}, which may change its files; read it with"
        " Hudi"
    )


def _info(instant: Instant) -> ObjectInfo:
    assert instant.info is not None
    return instant.info


def _name(path: str) -> str:
    return path.rpartition("/")[2]
