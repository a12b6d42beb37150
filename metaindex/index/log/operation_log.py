"""The operation log: numbered immutable entries, created put-if-absent. The numbers are the only truth; there is no
pointer to the latest.

<index>/_log/00000000000000000007.json
<index>/_log/tombstone-00000000000000000005.json     entries below 5 were removed by `clean`

Old entries go behind a tombstone, written before the first of them is removed. A writer that stalled can then create
one of the old numbers anew; it asks for the tombstone after its put, and finds that it wrote below it: its entry counts
for nothing, and it fails.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial
from os import urandom
from typing import ClassVar, Final

from metaindex.core import (
    ConcurrentWriteError,
    Cure,
    DamagedIndexError,
    ForeignIndexError,
    IndexStateError,
    MetaIndexError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
    StorageUnavailableError,
    dataclass,
)
from metaindex.index.store.layout import run_named
from metaindex.storage import Storage, back_off, both_at

from .codec import check_readable, decode, encode
from .entry import MAX_NUMBER, IndexLogEntry, UnderWay
from .fields import Fields
from .liveness import heartbeat_path, is_nonce
from .sealed import CURE, MAX_BYTES, digest, from_text, is_sealed, one_line, to_text
from .states import Operation

_NAME = re.compile(r"(?:^|/)(\d{20,})\.json$", re.ASCII)
_TOMBSTONE = re.compile(r"(?:^|/)tombstone-(\d{20})\.json$", re.ASCII)
_BEHIND_ENTRIES = "_log/99999999999999999999.json"
_PUTS = 4
_READS = 8
_COUNTING = threading.Lock()
_APPENDED: Final[Counter[str]] = Counter()
"""Entries that this process has written, by the folder of a table's indexes."""


@dataclass(frozen=True, slots=True)
class EntryListing:
    """The log's objects: entry numbers with the store's time of their creation, ascending, and those below the
    tombstone, which count for nothing."""

    entries: Mapping[int, int]  # number -> nanoseconds
    buried: tuple[int, ...] = ()
    tombstones: tuple[int, ...] = ()  # ascending; the last one governs
    strays: tuple[str, ...] = ()  # objects whose name is a number that no entry has: they count for nothing

    @property
    def lowest(self) -> int:
        return self.tombstones[-1] if self.tombstones else 1


@dataclass(frozen=True, slots=True)
class Tombstone:
    """State of removed entries. `outdated`: runs that they named and the entry `lowest` does not, with the store's time
    (ns) at which each went out of use."""

    lowest: int = 1
    outdated: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _HeldEntry:
    """An entry that was read or written before: when it was created by the store's clock (None: not known yet), and the
    digest of its bytes."""

    entry: IndexLogEntry
    created_ns: int | None
    digest: str
    sealed: bool


class OperationLog:
    """The log of one index. `storage` is rooted at the index folder. `name`: the index's, where it is known; entries of
    another one are refused. `key`: seals what is written and read (`log.sealed`)."""

    SUSPECT_SECONDS: ClassVar[float] = 180.0
    """Without a sign of life for so long, a writer is suspected to be dead."""

    def __init__(
        self,
        storage: Storage,
        name: str | None = None,
        key: bytes | None = None,
        *,
        guess: tuple[int, int] | None = None,
    ) -> None:
        """`guess`: the number of the latest entry and when it was created, as they were a moment ago."""
        self.storage = storage
        self._name = name
        self._key = key
        self._guess = guess
        self._held: _HeldEntry | None = None

    @property
    def seen(self) -> bool:
        """Return whether an entry was read, written or listed here before."""
        return self._held is not None or self._guess is not None

    @property
    def held(self) -> IndexLogEntry | None:
        """Return the entry that was read or written last."""
        return None if self._held is None else self._held.entry

    def listing(self, above: int = 0) -> EntryListing:
        """The entries above a number, and the tombstones. One listing."""
        entries: dict[int, int] = {}
        tombstones: list[int] = []
        strays: list[str] = []
        for info in self.storage.list("_log", recursive=False, start_after=entry_path(above) if above > 0 else ""):
            if match := _NAME.search(info.path):
                if len(match[1]) == 20 and 1 <= int(match[1]) <= MAX_NUMBER:
                    entries[int(match[1])] = info.modified_ns
                else:
                    strays.append(info.path)
            elif match := _TOMBSTONE.search(info.path):
                if int(match[1]) <= MAX_NUMBER:
                    tombstones.append(int(match[1]))
                else:
                    strays.append(info.path)
        tombstones.sort()
        lowest = tombstones[-1] if tombstones else 0
        live = {n: entries[n] for n in sorted(entries) if n >= lowest}
        return EntryListing(live, tuple(sorted(n for n in entries if n < lowest)), tuple(tombstones), tuple(strays))

    def numbers(self) -> list[int]:
        """Return all entry numbers, ascending, by one listing."""
        return list(self.listing().entries)

    def latest(self) -> IndexLogEntry | None:
        """The entry with the highest number: one listing, and one read unless it is the one read before. None: no such
        index."""
        for attempt in range(_READS):
            held = self._held
            above = held.entry.id - 1 if held is not None else 0
            guess, self._guess = self._guess, None
            listing, ahead = both_at(self.storage.root, partial(self.listing, above), partial(self._read_ahead, guess))
            entries = listing.entries or (self.listing().entries if above else {})
            if not entries:
                self._held = None
                return None
            highest = next(reversed(entries))
            # Somebody may have removed the folder and begun anew: then the same number is another entry.
            if held is not None and held.entry.id == highest and held.created_ns in (None, entries[highest]):
                self._held = _HeldEntry(held.entry, entries[highest], held.digest, held.sealed)
                return held.entry
            try:
                data = ahead if ahead is not None and guess == (highest, entries[highest]) else self.read(highest)
            except ObjectNotFoundError:  # others wrote on, and cleaned, since the listing
                if attempt == _READS - 1:
                    raise
                continue
            self._held = _HeldEntry(self.decoded(highest, data), entries[highest], digest(data), is_sealed(data))
            return self._held.entry
        raise AssertionError

    def _read_ahead(self, guess: tuple[int, int] | None) -> bytes | None:
        try:
            return None if guess is None else self.read(guess[0])
        except MetaIndexError:
            return None

    def entry(self, number: int) -> IndexLogEntry:
        """DamagedIndexError where it is not the entry of this number, of this index."""
        return self.decoded(number, self.read(number))

    def read(self, number: int) -> bytes:
        """The bytes of an entry's object, whatever they are. DamagedIndexError where they are more than an entry
        has."""
        path = entry_path(number)
        data = self.storage.read(path, 0, MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DamagedIndexError(
                f"a log entry has at most {MAX_BYTES:,} bytes; {self.storage.uri(path)} has more; {CURE}"
            )
        return data

    def decoded(self, number: int, data: bytes) -> IndexLogEntry:
        """The entry in the bytes of its object."""
        where = self.storage.uri(entry_path(number))
        entry = decode(data, where, self._key)
        if entry.id != number:
            raise DamagedIndexError(
                f"a log entry has the number of its object; {where} has number {entry.id}: it is a copy, or was"
                f" renamed; {CURE}"
            )
        if self._name is not None and entry.name != self._name:
            raise DamagedIndexError(
                f"a log entry has the name of its index; {where} is of {entry.name!r}: it is a copy, or the folder was"
                f" renamed; {CURE}"
            )
        return entry

    def append(self, entry: IndexLogEntry) -> None:
        """Create the entry under its number. Raises ConcurrentWriteError if another writer took the number, or did and
        removed it.

        A put that fails without saying whether it took effect is made again: the nonce tells an answer that was lost
        from a race that was. StorageError after some tries; whether the entry is there, or will be, is then not known.
        """
        if entry.id > MAX_NUMBER:
            raise IndexStateError(
                f"an entry number is at most {MAX_NUMBER}; the log of index {entry.name!r} is at its end; recreate the"
                " index"
            )
        previous, sealed = self._before(entry.id)
        if sealed and self._key is None:
            raise ForeignIndexError(
                f"a sealed index is changed by who has its key; index {entry.name!r} is sealed and no key is given;"
                f" give it as {Cure('setting', 'Config(seal_key=...)', 'METAINDEX_SEAL_KEY')}"
            )
        entry = replace(entry, previous=previous)
        path, data = entry_path(entry.id), encode(entry, self._key)
        if len(data) > MAX_BYTES:
            raise IndexStateError(
                f"a log entry has at most {MAX_BYTES:,} bytes; the next one of index {entry.name!r} would have"
                f" {len(data):,}; optimize the index, or recreate it"
            )
        check_readable(data, f"the next entry of index {entry.name!r}")
        for attempt in range(_PUTS):
            try:
                self.storage.put_if_absent(path, data)
            except ObjectExistsError as error:
                nonce = self._nonce(entry.id)
                if nonce is None and not self._taken(entry.id):
                    raise IndexStateError(
                        f"an entry is an object of the log; at {self.storage.uri(path)} lies something that is none;"
                        " remove it"
                    ) from error
                if nonce != entry.nonce:
                    raise ConcurrentWriteError(
                        f"an entry number is taken once; {entry.id} of index {entry.name!r} was taken by another"
                        " writer; read the log and try again"
                    ) from error
            except StorageError as error:
                if attempt == _PUTS - 1 or isinstance(error, StoragePermissionError):
                    raise
                back_off(attempt, 0.02)
                continue
            break
        if entry.id < self.lowest():
            raise ConcurrentWriteError(
                f"an entry number is taken once; {entry.id} of index {entry.name!r} was taken and cleaned away while"
                " this writer stood still; read the log and try again"
            )
        self._held = _HeldEntry(entry, None, digest(data), self._key is not None)
        with _COUNTING:
            _APPENDED[self.storage.root.rpartition("/")[0]] += 1

    def _taken(self, number: int) -> bool:
        """Return whether an entry of this number or a later one exists or existed."""
        listing = self.listing()
        return listing.lowest > number or any(there >= number for there in listing.entries)

    def _before(self, number: int) -> tuple[str, bool]:
        """The digest of the entry before a number, and whether it is sealed."""
        held = self._held
        if held is not None and held.entry.id == number - 1:
            return held.digest, held.sealed
        if number == 1:
            return "", False
        try:
            data = self.read(number - 1)
            return digest(data), is_sealed(data)
        except StorageUnavailableError:
            raise
        except (StorageError, DamagedIndexError):  # cleaned meanwhile, or not to be read at all
            return "", False

    def lowest(self) -> int:
        """The lowest number that counts. One listing, of tombstones only."""
        names = (
            _TOMBSTONE.search(info.path)
            for info in self.storage.list("_log", recursive=False, start_after=_BEHIND_ENTRIES)
        )
        return max((int(match[1]) for match in names if match), default=1)

    def tombstone(self, lowest: int) -> Tombstone:
        """Reads the tombstone of a listing. DamagedIndexError where it cannot be understood."""
        if lowest <= 1:
            return Tombstone()
        path = tombstone_path(lowest)
        try:
            data = self.storage.read(path, 0, MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
            value = Fields(from_text(data), "the tombstone")
            value.whole("format_version", 1, 1)
            said, outdated = value.whole("lowest", 1, MAX_NUMBER), value.plain("outdated")
            value.done()
            if said != lowest or not all(type(until) is int for until in outdated.values()):
                raise ValueError("it says another number, or no times")
            return Tombstone(said, outdated)
        except (ValueError, RecursionError) as error:
            raise DamagedIndexError(
                f"a tombstone says the lowest entry and outdated runs; {self.storage.uri(path)} does not"
                f" ({one_line(error)}); recreate the index"
            ) from error

    def bury(self, stone: Tombstone) -> None:
        """Writes a tombstone: from now on the entries below count for nothing, there or not. One written before under
        the same number stays."""
        data = to_text({"format_version": 1, "lowest": stone.lowest, "outdated": dict(stone.outdated)})
        try:
            self.storage.put_if_absent(tombstone_path(stone.lowest), data)
        except ObjectExistsError:
            return

    def stored_bytes(self, entry: IndexLogEntry) -> tuple[int, int]:
        """Return the bytes of all objects of the index, and of those of runs that the entry does not name and no
        operation under way writes. One listing."""
        used = {run.run for run in entry.content.runs} | {run for mark in entry.under_way for run in mark.runs}
        sizes = [(run_named(info.path), info.size_bytes) for info in self.storage.list("")]
        return sum(size for _, size in sizes), sum(size for run, size in sizes if run and run not in used)

    def newest_readable(self) -> IndexLogEntry | None:
        """Return the newest entry that can be read: the latest, unless that is damaged."""
        for number in reversed(self.numbers()):
            try:
                return self.entry(number)
            except MetaIndexError:
                continue
        return None

    def revive(self, newest: IndexLogEntry, under_way: tuple[UnderWay, ...] = ()) -> IndexLogEntry:
        """Append an entry behind those that cannot be read, with the content of the newest one that can. What they hold
        is lost by it: so it raises where they may only not be for this program to read (a newer version's, under
        another seal), or not now."""
        numbers = self.numbers()
        for number in numbers:
            if number > newest.id:
                try:
                    self.entry(number)
                except (ForeignIndexError, StorageUnavailableError, StoragePermissionError):
                    raise
                except MetaIndexError:
                    continue
        number = numbers[-1] + 1
        nonce = f"{urandom(8).hex()}.{number}"
        entry = replace(newest, id=number, nonce=nonce, under_way=under_way, written_by="repair")
        self.append(entry)
        return entry

    def mended(self) -> IndexLogEntry | None:
        """Go on from the newest entry that can be read, with what was under way there, where the latest cannot. None
        where nothing has to be done; raises where no entry can be read."""
        try:
            self.latest()
        except (DamagedIndexError, StorageError):
            newest = self.newest_readable()
            if newest is None:
                raise
            return self.revive(newest, newest.under_way)
        return None

    def suspected(self, mark: UnderWay, now_ms: int | None = None, seconds: float | None = None) -> bool:
        """Return whether its writer gave no sign of life for so long (SUSPECT_SECONDS). False if that is unknown."""
        seconds = self.SUSPECT_SECONDS if seconds is None else seconds
        last_ms = mark.since_ms
        try:
            if is_nonce(mark.nonce):
                last_ms = max(last_ms, self.storage.head(heartbeat_path(mark.nonce)).modified_ns // 1_000_000)
        except FileNotFoundError:
            pass
        except StorageError:
            return False
        return (int(time.time() * 1000) if now_ms is None else now_ms) - last_ms > seconds * 1000

    def refreshed_by(self, entry: IndexLogEntry, patience_seconds: float) -> str:
        """Return who brings the index up already: the writer of a refresh with a heartbeat, or one that began a moment
        ago. Empty: nobody, as far as can be seen."""
        refreshes = (mark for mark in entry.under_way if mark.operation is Operation.REFRESH)
        return next((mark.who for mark in refreshes if not self.suspected(mark, seconds=patience_seconds)), "")

    @staticmethod
    def appended_here(folder: str) -> int:
        """Return how many entries this process wrote to the indexes in a folder, so that a cached "no usable index" can
        be checked again."""
        return _APPENDED[folder]

    def _nonce(self, number: int) -> str | None:
        try:
            return self.entry(number).nonce
        except (
            ObjectNotFoundError,
            DamagedIndexError,
        ):  # taken by another, and cleaned away already, or not to be understood
            return None


def entry_path(number: int) -> str:
    return f"_log/{number:020d}.json"


def tombstone_path(lowest: int) -> str:
    return f"_log/tombstone-{lowest:020d}.json"
