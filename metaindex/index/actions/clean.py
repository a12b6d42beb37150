"""clean: removes what no query can be reading any more and no writer may still commit. docs/operation-log.md says why
each step is safe.

No entry is written and no operation is under way for it: it goes beside everything. All ages are by the store's clock.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from functools import partial

from metaindex.core import Cure, DamagedIndexError, ForeignIndexError, ObjectNotFoundError, counted, dataclass
from metaindex.index.log.entry import Content, IndexLogEntry, ObjectRef
from metaindex.index.log.liveness import heartbeat_path
from metaindex.index.log.operation_log import EntryListing, OperationLog, Tombstone, entry_path, tombstone_path
from metaindex.index.log.record_codec import decode_segment
from metaindex.index.store.reader import ReadCount, RunReader, StoreCache
from metaindex.storage import Storage, each_at

from .action import Outcome, missing
from .removal import abandoned, heartbeats, leftovers, on_storage, remove, version_objects

RETENTION_SECONDS = 7 * 24 * 3600
KEPT_ENTRIES = 256
"""Entries that stay in the log, whatever their age. Older ones are removed although they may be younger than the
retention: the tombstone keeps what they say of runs."""

_TRIES = 8


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Counts of what a clean removed."""

    runs: int = 0
    objects: int = 0
    entries: int = 0
    unfinished: int = 0
    waiting: int = 0  # runs out of use that stay for now
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.objects or self.entries or self.unfinished)


def clean(
    log: OperationLog, name: str, retention_seconds: float = RETENTION_SECONDS, keep_entries: int = KEPT_ENTRIES
) -> Outcome:
    """Removes runs that are out of use for longer than the retention, what dead operations left behind, and old log
    entries. IndexNotFoundError, StorageError."""
    for _ in range(_TRIES):
        try:
            cleaned, latest = _clean(log, name, retention_seconds, keep_entries)
        except ObjectNotFoundError:  # another clean removed entries that were about to be read
            continue
        if not cleaned:
            idle = () if cleaned.waiting else ("nothing is out of use",)
            return Outcome(name, "clean", False, latest, (*idle, *cleaned.notes))
        what = f"{counted(cleaned.runs, 'run')} ({counted(cleaned.objects, 'object')})"
        what += f" and {counted(cleaned.entries, 'log entry')} removed"
        what += f", and what {counted(cleaned.unfinished, 'killed write')} left" if cleaned.unfinished else ""
        return Outcome(name, "clean", True, latest, (what, *cleaned.notes))
    raise DamagedIndexError(f"the log of an index has no gaps; that of {name!r} has; recreate the index")


def _clean(log: OperationLog, name: str, retention_seconds: float, keep_entries: int) -> tuple[Cleaned, IndexLogEntry]:
    storage = log.storage
    # Listed first, the latest entry is read after that: what is listed and not named there is of nobody who may still
    # commit.
    stored = on_storage(storage)
    objects = stored.runs
    left = leftovers(storage)
    named = version_objects(storage)
    beats = heartbeats(storage)
    latest = log.latest()
    if latest is None:
        raise missing("clean", name)
    listing = log.listing()
    if latest.id not in listing.entries:
        raise ObjectNotFoundError("the latest entry was cleaned meanwhile")
    now_ns = _now_ns(storage)
    horizon = now_ns - int(retention_seconds * 1e9)
    lowest = _lowest(latest, keep_entries)
    usage = _Usage(storage, log.tombstone(listing.lowest), lowest)
    for number, entry in _entries(log, [n for n in listing.entries if n <= latest.id]):
        usage.add(entry, listing.entries[number])
    spared = usage.spared(latest, horizon)
    garbage = [run for run in objects if run not in spared]
    writers = {run for mark in latest.under_way for run in mark.runs}
    loose = [p for p in named if p not in spared and p.split("/")[1] not in writers]
    removed = [path for run in garbage for path in objects[run]] + loose
    removed += [*_strays(storage, latest.content, objects), *listing.strays]
    remove(storage, removed)
    unfinished = abandoned(left, writers, now_ns)
    remove(storage, unfinished)
    live_beats = {heartbeat_path(mark.nonce) for mark in latest.under_way}
    remove(storage, [path for path in beats if path not in live_beats])
    entries = _bury(
        log, listing, Tombstone(lowest, {name: at for name, at in usage.outdated.items() if name in spared})
    )
    notes = stored.strangers()
    if young := len(left) - len(unfinished):
        notes += (
            f"{young:,} writes are under way, or were killed within the hour: what they left is for the next clean",
        )
    live = {run.run for run in latest.content.runs} | writers
    waiting = sum(run in spared and run not in live for run in objects)
    if waiting:
        notes = (_said_of_waiting(waiting, retention_seconds, held=bool(latest.under_way)), *notes)
    return Cleaned(len(garbage), len(removed), entries, len(unfinished), waiting, notes), latest


def _said_of_waiting(runs: int, retention_seconds: float, *, held: bool) -> str:
    """Why these stay. `held`: some operation is under way, which may have begun when they were in use."""
    days = retention_seconds / 86_400
    kept = counted(round(days), "day") if days >= 1 and days == round(days) else f"{retention_seconds:,g} seconds"
    them, stay = ("it", "stays") if runs == 1 else ("them", "stay")
    if held:
        return (
            f"{counted(runs, 'run')} out of use (merged or replaced) {stay}, for {kept} and until the operation that is"
            f" under way has ended, as it may read {them}: cancel it where its writer is dead"
        )
    return (
        f"{counted(runs, 'run')} out of use (merged or replaced) {stay} for {kept}, as queries that began before may"
        f" read {them}: a shorter retention ({Cure('argument', 'retention', 0)} is none) removes {them} sooner"
    )


def _strays(storage: Storage, content: Content, objects: Mapping[str, list[str]]) -> list[str]:
    """Objects in the folders of live runs that are no part of them: of a writer that had to write its run anew."""
    out = []
    for run in content.runs:
        if run.unknown is not None:  # of a newer metaindex, which alone knows what is part of it
            continue
        try:
            parts = RunReader(storage, run, StoreCache(), ReadCount()).paths()
        except DamagedIndexError:  # of a deleted index that is being vacuumed, or damaged: not for `clean` to judge
            continue
        out += [path for path in objects.get(run.run, []) if path not in parts]
    return out


def trim(log: OperationLog, keep_entries: int = KEPT_ENTRIES) -> int:
    """Removes old log entries and nothing else; how many. The tombstone keeps what a later clean needs of them."""
    latest = log.latest()
    if latest is None:
        return 0
    listing = log.listing()
    lowest = _lowest(latest, keep_entries)
    if lowest not in listing.entries or lowest == listing.lowest:
        return 0
    usage = _Usage(log.storage, log.tombstone(listing.lowest), lowest)
    for number, entry in _entries(log, [n for n in listing.entries if n <= lowest]):
        usage.add(entry, listing.entries[number])
    return _bury(log, listing, Tombstone(lowest, usage.outdated))


def _lowest(latest: IndexLogEntry, keep_entries: int) -> int:
    """The lowest entry that stays: those of operations under way do."""
    return min([latest.id - max(keep_entries, 1) + 1, *(mark.began for mark in latest.under_way)])


class _Usage:
    """Times when runs and version objects went out of use: the store's time (ns) of the first entry that no longer
    names them."""

    def __init__(self, storage: Storage, stone: Tombstone, lowest: int) -> None:
        self._storage, self._lowest = storage, lowest
        self._until: dict[str, int] = dict(stone.outdated)
        self._used: set[str] = set()
        self._times: dict[int, int] = {}
        self._inside: dict[str, set[str]] = {}  # objects that a segment names
        self.outdated: Mapping[str, int] = stone.outdated
        """What was out of use at the entry `lowest`."""

    def add(self, entry: IndexLogEntry, time_ns: int) -> None:
        used = self._names(entry.content)
        self._until |= dict.fromkeys(self._used - used, time_ns)
        for name in used & self._until.keys():
            del self._until[name]
        self._used = used
        self._times[entry.id] = time_ns
        if entry.id == self._lowest:
            self.outdated = dict(self._until)

    def spared(self, latest: IndexLogEntry, horizon: int) -> set[str]:
        """Return names that may be in use: by the latest entry, by queries that took an entry after the horizon, or by
        operations under way."""
        began = min((self._times.get(mark.began, 0) for mark in latest.under_way), default=horizon + 1)
        kept = {name for name, until in self._until.items() if until > horizon or until >= began}
        return self._names(latest.content) | kept | {run for mark in latest.under_way for run in mark.runs}

    def _names(self, content: Content) -> set[str]:
        """Runs, and the paths of version objects, that a content names."""
        names = {run.run for run in content.runs}
        names |= {record.bits.path for record in content.versions if record.bits is not None}
        for segment in content.segments:
            names |= {segment.object.path} | self._names_inside(segment.object)
        return names

    def _names_inside(self, ref: ObjectRef) -> set[str]:
        paths = self._inside.get(ref.path)
        if paths is None:
            try:
                segment = decode_segment(self._storage.read(ref.path), ref)
                paths = {record.bits.path for record in segment.versions if record.bits is not None}
            except ObjectNotFoundError:  # an older entry's, cleaned before
                paths = set()
            self._inside[ref.path] = paths
        return paths


def _entries(log: OperationLog, numbers: list[int]) -> Iterator[tuple[int, IndexLogEntry]]:
    """Yield the readable entries. A damaged one in the past was followed by others, so nobody can have its runs
    in use."""
    for start in range(0, len(numbers), 1024):
        some = numbers[start : start + 1024]
        for number, entry in zip(some, each_at(log.storage.root, some, partial(_entry, log)), strict=True):
            if entry is not None:
                yield number, entry


def _entry(log: OperationLog, number: int) -> IndexLogEntry | None:
    try:
        return log.entry(number)
    except ForeignIndexError:
        raise
    except DamagedIndexError:
        return None


def _bury(log: OperationLog, listing: EntryListing, stone: Tombstone) -> int:
    """Move old entries behind the tombstone and remove them, with those of an earlier, interrupted clean."""
    old = [n for n in listing.entries if n < stone.lowest]
    stones = listing.tombstones[:-1]
    if old:
        log.bury(stone)
        stones = listing.tombstones
    remove(log.storage, [entry_path(n) for n in (*listing.buried, *old)])
    remove(log.storage, [tombstone_path(n) for n in stones])
    return len(listing.buried) + len(old)


def _now_ns(storage: Storage) -> int:
    """The time by the store's clock: that of an object put just now."""
    path = heartbeat_path(f"clean-{secrets.token_hex(8)}")
    storage.put(path, b"")
    try:
        return storage.head(path).modified_ns
    finally:
        storage.delete(path)
