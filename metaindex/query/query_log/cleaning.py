"""clean of a query log: files beyond an age or a size go, small ones of a day become one.

A merge writes the new file, then removes those that it holds: rows keep their ids, by which a reader counts each once,
so a crash in between loses and doubles nothing, and the next clean ends it. It goes beside writers, which only add
files, and beside other cleans. Nothing but files of the log is removed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

import pyarrow as pa

from metaindex.core import (
    DamagedIndexError,
    ForeignIndexError,
    ObjectExistsError,
    ObjectNotFoundError,
    Plain,
    QueryLog,
    Shown,
    StorageError,
    StorageUnavailableError,
    counted,
    dataclass,
    human_bytes,
)
from metaindex.storage import KeepsLeftovers, ObjectInfo, Storage, meant_by

from .files import MOST_MEMORY, listed, new_name, plain, read, time_ms, written
from .reading import once

DAY_MS = 24 * 3600 * 1000
SMALL_BYTES = 4 << 20
_MERGED_BYTES = 16 << 20
_MERGED_ROWS = 200_000
_DEAD_NS = 3600 * 10**9


@dataclass(frozen=True, slots=True, repr=False)
class QueriesCleaned(Shown, Plain):
    """The outcome of cleaning a query log: files removed as too old or too many, files merged, files left as they
    cannot be read, and what is there now."""

    removed: int = 0
    merged: int = 0
    left: tuple[str, ...] = ()
    files: int = 0
    size_bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.removed or self.merged)

    def _printed(self) -> str:
        return (
            f"query log: {counted(self.removed, 'file')} removed, {self.merged:,} merged;"
            f" {counted(self.files, 'file')}, {human_bytes(self.size_bytes)}, left"
        )


def clean(storage: Storage, setting: QueryLog) -> QueriesCleaned:
    """Raises StorageError if the log cannot be listed, or a file not written or removed."""
    now_ms = time.time_ns() // 1_000_000
    horizon = now_ms - int(setting.keep_days * DAY_MS)
    kept, outdated, size = [], [], 0
    infos, odd = listed(storage)
    for info in reversed(infos):  # the newest first
        size += info.size_bytes
        if time_ms(info.path) < horizon or size > setting.keep_bytes:
            outdated.append(info)
        else:
            kept.append(info)
    _remove(storage, outdated)
    merged = 0
    left = [*odd.values()]
    for some in _groups(reversed(kept)):
        merged += _merge(storage, some, left)
    _remove(storage, _dead(storage, left))
    there = listed(storage)[0] if kept or outdated else []
    told = tuple(dict.fromkeys(left))
    return QueriesCleaned(len(outdated), merged, told, len(there), sum(info.size_bytes for info in there))


def _dead(storage: Storage, left: list[str]) -> list[ObjectInfo]:
    """Return the leftovers of killed writers; none, with the reason in `left`, if a link lies among the files."""
    try:
        leftovers = list(storage.leftovers()) if isinstance(storage, KeepsLeftovers) else []
    except StorageUnavailableError:
        raise
    except StorageError as error:
        left.append(str(error))
        return []
    return [info for info in leftovers if _is_dead(info)]


def _groups(infos: Iterable[ObjectInfo]) -> list[list[ObjectInfo]]:
    """Small files of one day, oldest first, as many as go into one."""
    groups: list[list[ObjectInfo]] = []
    day, size = -1, 0
    for info in infos:
        if info.size_bytes >= SMALL_BYTES:
            continue
        on = time_ms(info.path) // DAY_MS
        if on != day or size + info.size_bytes > _MERGED_BYTES:
            groups.append([])
            day, size = on, 0
        groups[-1].append(info)
        size += info.size_bytes
    return [group for group in groups if len(group) > 1]


def _merge(storage: Storage, infos: Sequence[ObjectInfo], left: list[str]) -> int:
    """Merge some files and return how many they were; do nothing if one has gone meanwhile: another clean took it."""
    parts: list[pa.Table] = []
    held: list[ObjectInfo] = []
    for info in infos:
        try:
            part = read(storage, info)
        except ObjectNotFoundError:
            return 0
        except StorageUnavailableError:
            raise
        except (DamagedIndexError, ForeignIndexError, StorageError) as error:
            left.append(str(error))
            continue
        part = plain(part)
        rows, held_bytes = (sum(map(of, [*parts, part])) for of in (len, _size))
        if parts and (rows > _MERGED_ROWS or held_bytes > MOST_MEMORY):
            break
        parts.append(part)
        held.append(info)
    if len(held) < 2:
        return 0
    data = written(once(pa.concat_tables(parts)).sort_by("at"))
    with suppress(ObjectExistsError):  # no two have one name: the answer to a put that was made again was lost
        storage.put_if_absent(new_name(max(time_ms(info.path) for info in held)), data)
    _remove(storage, held)
    return len(held)


def _size(table: pa.Table) -> int:
    return int(table.nbytes)


def _remove(storage: Storage, infos: Sequence[ObjectInfo]) -> None:
    for info in infos:
        storage.delete(info.path)


def _is_dead(info: ObjectInfo) -> bool:
    """Return whether a killed writer left the file. A living one that loses its file writes it again."""
    return meant_by(info.path).endswith(".queries") and time.time_ns() - info.modified_ns > _DEAD_NS
