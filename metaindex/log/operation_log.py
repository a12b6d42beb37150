"""The operation log: numbered immutable entries, created put-if-absent. The numbers are the only truth; there is no pointer to the latest.

<index>/_log/00000000000000000007.json
<index>/_log/tombstone-00000000000000000005.json     entries below 5 were removed by `clean`

Old entries go behind a tombstone, written before the first of them is removed. A writer that stalled can then create one of the old numbers anew; it asks for the
tombstone after its put, and finds that it wrote below it: its entry counts for nothing, and it fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field

from expressions.errors import ObjectExistsError, ObjectNotFoundError, StorageError, StoragePermissionError
from expressions.records import dataclass
from formats.back_off import back_off
from formats.storage import Storage
from metaindex.errors import ConcurrentWriteError, DamagedIndexError

from .codec import decode, encode
from .entry import IndexLogEntry

_NAME = re.compile(r"(?:^|/)(\d{20})\.json$")
_TOMBSTONE = re.compile(r"(?:^|/)tombstone-(\d{20})\.json$")
_BEHIND_ENTRIES = "_log/99999999999999999999.json"
_PUTS = 4
_READS = 8


@dataclass(frozen=True, slots=True)
class Listing:
    """The log's objects: entry numbers with the store's time of their creation, ascending, and those below the tombstone, which count for nothing."""

    entries: Mapping[int, int]  # number -> nanoseconds
    buried: tuple[int, ...] = ()
    tombstones: tuple[int, ...] = ()  # ascending; the last one governs

    @property
    def lowest(self) -> int:
        return self.tombstones[-1] if self.tombstones else 1


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of removed entries. `outdated`: runs that they named and the entry `lowest` does not, with the store's time (ns) at which each went out of use."""

    lowest: int = 1
    outdated: Mapping[str, int] = field(default_factory=dict)


class OperationLog:
    """The log of one index. `storage` is rooted at the index folder."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._cached: IndexLogEntry | None = None
        self._cached_ns: int | None = None  # when it was created, by the store's clock; None: not known yet

    def listing(self, above: int = 0) -> Listing:
        """The entries above a number, and the tombstones. One listing."""
        entries, tombstones = {}, []
        for info in self.storage.list("_log", recursive=False, start_after=entry_path(above) if above > 0 else ""):
            if match := _NAME.search(info.path):
                entries[int(match[1])] = info.modified_ns
            elif match := _TOMBSTONE.search(info.path):
                tombstones.append(int(match[1]))
        tombstones.sort()
        lowest = tombstones[-1] if tombstones else 0
        live = {n: entries[n] for n in sorted(entries) if n >= lowest}
        return Listing(live, tuple(sorted(n for n in entries if n < lowest)), tuple(tombstones))

    def numbers(self) -> list[int]:
        """All entry numbers, ascending. One listing."""
        return list(self.listing().entries)

    def latest(self) -> IndexLogEntry | None:
        """The entry with the highest number: one listing, and one read unless it is the one read before. None: no such index."""
        for attempt in range(_READS):
            above = self._cached.id - 1 if self._cached is not None else 0
            found = self.listing(above).entries or (self.listing().entries if above else {})
            if not found:
                self._cached = None
                return None
            highest = next(reversed(found))
            # Somebody may have removed the folder and begun anew: then the same number is another entry.
            if self._cached is not None and self._cached.id == highest and self._cached_ns in (None, found[highest]):
                self._cached_ns = found[highest]
                return self._cached
            try:
                self._cached, self._cached_ns = self.entry(highest), found[highest]
                return self._cached
            except ObjectNotFoundError:  # others wrote on, and cleaned, since the listing
                if attempt == _READS - 1:
                    raise
        raise AssertionError

    def entry(self, number: int) -> IndexLogEntry:
        path = entry_path(number)
        return decode(self.storage.read(path), f"{self.storage.uri(path)}")

    def append(self, entry: IndexLogEntry) -> None:
        """Creates the entry under its number. ConcurrentWriteError when the number is taken by somebody else, or was and is removed by now.

        A put that fails without saying whether it took effect is made again: the nonce tells an answer that was lost from a race that was. StorageError after some tries;
        whether the entry is there, or will be, is then not known.
        """
        path, data = entry_path(entry.id), encode(entry)
        for attempt in range(_PUTS):
            try:
                self.storage.put_if_absent(path, data)
            except ObjectExistsError as error:
                if self._nonce(entry.id) != entry.nonce:
                    raise ConcurrentWriteError(
                        f"an entry number is taken once; {entry.id} of index {entry.name!r} was taken by another writer; read the log and try again"
                    ) from error
            except StorageError as error:
                if attempt == _PUTS - 1 or isinstance(error, StoragePermissionError):
                    raise
                back_off(attempt, 0.02)
                continue
            break
        if entry.id < self.lowest():
            raise ConcurrentWriteError(
                f"an entry number is taken once; {entry.id} of index {entry.name!r} was taken and cleaned away while this writer stood still; read the log and try again"
            )
        self._cached, self._cached_ns = entry, None

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
            value = json.loads(self.storage.read(path))
            return Tombstone(int(value["lowest"]), {str(run): int(until) for run, until in value["outdated"].items()})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DamagedIndexError(
                f"a tombstone says the lowest entry and outdated runs; {self.storage.uri(path)} does not ({error}); recreate the index"
            ) from error

    def bury(self, stone: Tombstone) -> None:
        """Writes a tombstone: from now on the entries below count for nothing, there or not. One written before under the same number stays."""
        text = json.dumps({"format_version": 1, "lowest": stone.lowest, "outdated": dict(stone.outdated)}, indent=1)
        try:
            self.storage.put_if_absent(tombstone_path(stone.lowest), text.encode())
        except ObjectExistsError:
            return

    def _nonce(self, number: int) -> str | None:
        try:
            return self.entry(number).nonce
        except ObjectNotFoundError:
            return None  # taken by another, and cleaned away already


def entry_path(number: int) -> str:
    return f"_log/{number:020d}.json"


def tombstone_path(lowest: int) -> str:
    return f"_log/tombstone-{lowest:020d}.json"
