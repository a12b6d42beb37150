"""What a process found out, written beside the indexes by the thread that writes query logs; and the objects kept
within their bounds, behind the same thread.

Writers only add objects under names that nobody else has. A merge writes a new object and removes those that it holds;
cut short, it leaves things said twice, which says nothing else. Nothing but objects of that name is removed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from metaindex.config import RememberFilters
from metaindex.errors import DamagedIndexError
from metaindex.expressions.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from metaindex.formats.storage import ObjectInfo, Storage
from metaindex.formats.storage_opening import is_remote
from metaindex.formats.storage_own import own_folder
from metaindex.querylog.files import LogPlace
from metaindex.querylog.writer import Waiting, Writer

from .memory import kept, listed, read
from .stored import FOLDER, MOST_BYTES, MOST_SECTIONS, FilterSection, Noted, encoded, new_name, sections, time_ms

_MANY = 16
"""Objects: more are merged."""


def storage_of(place: LogPlace) -> Storage:
    """Where filters of a table are remembered."""
    options = dict(place.options) if is_remote(place.folder) else None
    return own_folder(f"{place.folder}/{FOLDER}", place.home, place.table, options)


class FilterRecorder(Waiting[Noted]):
    """Of one table."""

    what = "filters"
    most_waiting = 100_000

    def __init__(
        self, place: LogPlace, storage: Storage, setting: RememberFilters, secret: bytes | None, writer: Writer
    ) -> None:
        super().__init__(place, writer, setting.flush_files, setting.flush_seconds)
        self._storage, self._setting, self._secret = storage, setting, secret

    def write(self, rows: Sequence[Noted]) -> None:
        for some in _portions(sections(rows)):
            put(self._storage, some, self._secret, time.time_ns() // 1_000_000)
        tidy(self._storage, self._setting, self._secret)


def put(storage: Storage, some: Sequence[FilterSection], secret: bytes | None, ms: int) -> str:
    """A new object; its name."""
    name = new_name(ms)
    with suppress(ObjectExistsError):  # no two have one name: the answer to a put that was made again was lost
        storage.put_if_absent(name, encoded(some, secret))
    return name


def remove_all(storage: Storage) -> int:
    """Removes every object; how many there were. StorageError."""
    every = listed(storage)
    for info in every:
        storage.delete(info.path)
    return len(every)


def tidy(storage: Storage, setting: RememberFilters, secret: bytes | None) -> None:
    """Removes what is beyond the bounds, and makes few objects of many. StorageError."""
    every = listed(storage)
    within = kept(every, setting)
    names = {info.path for info in within}
    for info in every:
        if info.path not in names:
            storage.delete(info.path)
    small = [info for info in within if info.size_bytes < MOST_BYTES // 4]
    if len(small) > _MANY:
        _merge(storage, small, secret)


def _merge(storage: Storage, infos: Sequence[ObjectInfo], secret: bytes | None) -> None:
    rows: list[Noted] = []
    held: list[ObjectInfo] = []
    keys: set[bytes] = set()
    size = 0
    for info in infos:  # the oldest first: what is said last counts
        if size + info.size_bytes > MOST_BYTES // 2:
            break
        try:
            some = read(storage, info, secret)
        except ObjectNotFoundError:
            return  # another process merges
        except DamagedIndexError:
            continue  # it goes by its age
        except StorageError:
            return
        keys.update(section.key for section in some)
        if len(keys) > MOST_SECTIONS:
            break
        rows += (row for section in some for row in section.noted())
        held.append(info)
        size += info.size_bytes
    if len(held) < 2:
        return
    put(storage, sections(rows), secret, max(time_ms(info.path) or 0 for info in held))
    for info in held:
        storage.delete(info.path)


def _portions(some: Sequence[FilterSection]) -> list[list[FilterSection]]:
    """As many as go into an object; what does not by itself is left out."""
    out: list[list[FilterSection]] = [[]]
    size = 0
    for section in some:
        if section.size_bytes > MOST_BYTES // 2:
            continue
        if size + section.size_bytes > MOST_BYTES // 2 or len(out[-1]) == MOST_SECTIONS:
            out.append([])
            size = 0
        out[-1].append(section)
        size += section.size_bytes
    return [portion for portion in out if portion]
