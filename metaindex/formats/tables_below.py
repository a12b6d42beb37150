"""Tables of a lake, found by names alone: no file is opened, and of a large folder no more is listed than it takes to
know what it is.

A table of a format with a log is a folder with the format's `mark` in it. A plain one is a folder with Parquet, CSV or
JSON files in it, with folders of partitions (`day=1`), or with folders named by dates (2024/01/31) that have such files
below them.

Nothing is looked for below a table, in folders of indexes, in hidden folders (`_`, `.`), and behind links. A folder
that has files of data beside tables with a log is no table: these are; nor is one whose folders of partitions or dates
hold such tables. How many folders are looked at is bounded, and told where that cuts something off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import ClassVar, Final

from metaindex.core import StorageError, dataclass
from metaindex.storage import Storage, is_remote

from .files.options import SUFFIXES_OF_DATA
from .files.owners import glances
from .names import FILES
from .registry import formats_with_logs

_AT_ONCE: Final = 32
"""Requests to a store."""
_DATED: Final = re.compile(r"(19|20|21)\d\d([-_]?\d\d){0,3}\Z|\d\d\Z")
Places = tuple[tuple[str, int], ...]
"""Folders, and how deep they lie."""


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table, by its folder below the root ("": the root itself). `format`: its name; empty for a folder that cannot
    be looked into, with the `problem`."""

    folder: str
    format: str
    problem: str = ""

    @property
    def guessed(self) -> bool:
        """Return whether files of data alone make it a table."""
        return self.format == FILES


@dataclass(slots=True)
class Walk:
    """State of a walk through folders: what it visits, and what it skipped. `most`: folders that are looked at, `cut`:
    was that not all? `container`: the root may hold files beside its tables."""

    DEPTH: ClassVar[int] = 12
    """Folders below each other."""

    storage: Storage
    most: int
    container: bool = False
    looked: int = 0
    cut: bool = False
    deep: list[str] = field(default_factory=list)  # below which nothing was looked at

    def tables(self) -> Iterator[FoundTable]:
        """Found one after the other; of a disk in the order of their folders. StorageError where the root cannot be
        looked into."""
        if is_remote(self.storage.root):
            yield from self._wide()
        else:
            yield from self._below("", 0)

    def _below(self, folder: str, depth: int) -> Iterator[FoundTable]:
        """Depth first."""
        todo = [(folder, depth)]
        while todo:
            folder, depth = todo.pop()
            if not self._room():
                return
            seen = self._seen(folder)
            if isinstance(seen, FoundTable):
                yield seen
                continue
            more = self._beside(seen, depth)
            if isinstance(more, list):
                yield from more
                continue
            todo += reversed(more)

    def _wide(self) -> Iterator[FoundTable]:
        """Walk folders at equal depth in parallel, since each takes a store's time."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            level, depth = [""], 0
            while level:
                following: list[str] = []
                for start in range(0, len(level), 8 * _AT_ONCE):
                    some = [folder for folder in level[start : start + 8 * _AT_ONCE] if self._room()]
                    for seen in pool.map(self._seen, some):
                        if isinstance(seen, FoundTable):
                            yield seen
                            continue
                        more = self._beside(seen, depth)
                        if isinstance(more, list):
                            yield from more
                        else:
                            following += [folder for folder, _ in more]
                level, depth = following, depth + 1

    def _room(self) -> bool:
        self.looked += 1
        self.cut = self.cut or self.looked > self.most
        return self.looked <= self.most

    def _seen(self, folder: str) -> FoundTable | PlainFolder:
        try:
            seen = look(self.storage, folder, self.most)
        except StorageError as error:
            if not folder:
                raise
            return FoundTable(folder, "", str(error))
        self.cut = self.cut or (isinstance(seen, PlainFolder) and len(seen.inside) >= self.most)
        return seen

    def _beside(self, seen: PlainFolder, depth: int) -> list[FoundTable] | Places:
        """The tables below a folder that is none with a log (a list), or the folders to look into."""
        if depth >= self.DEPTH and seen.inside:
            self.deep.append(seen.folder)
        names = sorted(seen.inside) if depth < self.DEPTH else []
        inside = tuple((seen.path(name), depth + 1) for name in names)
        leading = seen.leading if names else ""
        parted = bool(leading) and self._leads_to_data(seen.path(leading), depth + 1)
        if not (seen.data or parted):
            return inside
        plain = [FoundTable(seen.folder, FILES)]
        if (parted and seen.dated) or all(map(_is_partition, names)):
            return plain
        # A stray file, or a folder with a sign of equality in its name, makes no table of what holds the lake's tables.
        others = [place for place in inside if not (parted and _is_partition(place[0].rpartition("/")[2]))]
        below = [table for folder, deeper in others for table in self._below(folder, deeper)]
        logged = any(table.format and not table.guessed for table in below)
        holds = bool(below) and (logged or not seen.data or (self.container and not seen.folder))
        return [*below, *self._apart(inside, others)] if holds else plain

    def _apart(self, inside: Places, others: Sequence[tuple[str, int]]) -> Iterator[FoundTable]:
        """The tables below those folders that are no others."""
        for folder, deeper in inside:
            if (folder, deeper) not in others:
                yield from self._below(folder, deeper)

    def _leads_to_data(self, folder: str, depth: int) -> bool:
        """Return whether a folder of a partition or date has data files, or such a folder that does. The first one
        stands for all."""
        while depth <= self.DEPTH and self._room():
            seen = self._seen(folder)
            if isinstance(seen, FoundTable):
                return False
            if seen.data:
                return True
            if not seen.leading:
                return False
            folder, depth = seen.path(seen.leading), depth + 1
        return False


@dataclass(frozen=True, slots=True)
class PlainFolder:
    """A folder that is no table with a log. `inside`: its folders that are not hidden; `data`: are files of data
    in it?"""

    folder: str
    inside: frozenset[str]
    data: bool

    @property
    def dated(self) -> bool:
        """Return whether all of its folders are named by dates, or parts of dates."""
        return bool(self.inside) and all(map(_DATED.match, self.inside))

    @property
    def leading(self) -> str:
        """The first of its folders that may be a part of a plain table; empty where none may."""
        parts = self.inside if self.dated else set(filter(_is_partition, self.inside))
        return min(parts, default="")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name


def look(storage: Storage, folder: str, most: int) -> FoundTable | PlainFolder:
    """Classify a folder by names alone; with more than `most` folders in it some are ignored. Raises StorageError if it
    cannot be read."""
    folders: set[str] = set()
    data = False
    formats = [each for each in formats_with_logs() if each.mark]
    alone = {each.mark: each.name for each in formats if not each.mark_files}
    for glance in glances(storage, folder):
        folders.update(glance.folders)
        for mark in alone.keys() & folders:
            return FoundTable(folder, alone[mark])
        data = data or any(map(is_data, glance.files))
        if data or any(map(_is_partition, glance.folders)) or len(folders) > most:
            # The rest of a large folder is not listed: what would make another table of it is asked for by name.
            folders |= {each.mark for each in formats if next(_names(storage, _below(folder, each.mark)), None)}
            break
    for each in formats:
        names = _names(storage, _below(folder, each.mark))
        if each.mark in folders and (not each.mark_files or any(name.endswith(each.mark_files) for name in names)):
            return FoundTable(folder, each.name)
    if {"_log", "_manifests"} <= folders:  # an index of ours, wherever it was put
        return PlainFolder(folder, frozenset(), False)
    return PlainFolder(folder, frozenset(name for name in folders if not name.startswith(("_", "."))), data)


def _names(storage: Storage, folder: str) -> Iterator[str]:
    return (name for glance in glances(storage, folder) for name in (*glance.folders, *glance.files))


def is_data(name: str) -> bool:
    """Return whether it could be a file of a plain table."""
    return name.lower().endswith(SUFFIXES_OF_DATA) and not name.startswith(("_", "."))


def _is_partition(name: str) -> bool:
    return "=" in name[1:] and not name.startswith(("_", "."))


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
