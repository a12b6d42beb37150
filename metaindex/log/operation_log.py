"""The operation log: numbered immutable entries, created put-if-absent. The numbers are the only truth; there is no pointer to the latest.

<index>/_log/00000000000000000007.json
"""

from __future__ import annotations

import re

from expressions.errors import ObjectExistsError
from formats.storage import Storage
from metaindex.errors import ConcurrentWriteError

from .codec import decode, encode
from .entry import IndexLogEntry

_NAME = re.compile(r"(?:^|/)(\d{20})\.json$")


class OperationLog:
    """The log of one index. `storage` is rooted at the index folder."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._cached: IndexLogEntry | None = None

    def numbers(self) -> list[int]:
        """All entry numbers, ascending. One listing."""
        found = (_NAME.search(info.path) for info in self.storage.list("_log", recursive=False))
        return sorted(int(match[1]) for match in found if match)

    def latest(self) -> IndexLogEntry | None:
        """The entry with the highest number: one listing, and one read unless it is the one read before. None: no such index."""
        numbers = self.numbers()
        if not numbers:
            return None
        if self._cached is None or self._cached.id != numbers[-1]:
            self._cached = self.entry(numbers[-1])
        return self._cached

    def entry(self, number: int) -> IndexLogEntry:
        path = entry_path(number)
        return decode(self.storage.read(path), f"{self.storage.uri(path)}")

    def append(self, entry: IndexLogEntry) -> None:
        """Creates the entry under its number. ConcurrentWriteError when the number is taken by somebody else; a put whose answer was lost is recognized by its nonce."""
        try:
            self.storage.put_if_absent(entry_path(entry.id), encode(entry))
        except ObjectExistsError as error:
            if self.entry(entry.id).nonce != entry.nonce:
                raise ConcurrentWriteError(
                    f"an entry number is taken once; {entry.id} of index {entry.name!r} was taken by another writer; read the log and try again"
                ) from error
        self._cached = entry


def entry_path(number: int) -> str:
    return f"_log/{number:020d}.json"
