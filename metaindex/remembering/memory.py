"""What is remembered of the filters of one table: what this process found out, and what lies beside the indexes.

Objects never change, so each is read once; which there are is looked up for each question. What cannot be read is left
out, and asked for no more: whoever forgets reads more, and loses nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.config import RememberFilters
from metaindex.errors import DamagedIndexError
from metaindex.expressions.errors import ObjectNotFoundError, StorageError, first_line
from metaindex.expressions.records import dataclass
from metaindex.expressions.statistics import Mask
from metaindex.formats.storage import ObjectInfo, Storage, TellsApart

from .files import as_binary
from .stored import MOST_BYTES, MOST_SECTIONS, FilterSection, Ids, Noted, decoded, sections, time_ms

logger = logging.getLogger("metaindex")

DAY_MS = 24 * 3600 * 1000
_MOST_FRESH = 2_000
"""Rows that wait to be put into a section: what is found out of a large table is gathered now and then, not each time
that it is asked."""
_MOST_OBJECTS = 64
_FEW_SECTIONS = 256


ByFilter = Mapping[bytes, Sequence[FilterSection]]
"""By their keys."""


class FilterMemory:
    """For threads. `place`: None where nothing is beside the indexes to be read."""

    def __init__(self, setting: RememberFilters, storage: Storage | None, secret: bytes | None) -> None:
        self._setting, self._storage, self._secret = setting, storage, secret
        self._lock = threading.Lock()
        self._fresh: list[Noted] = []
        self._mine: list[FilterSection] = []  # found out by this process, the oldest first
        self._united_at = _FEW_SECTIONS  # sections, of which those of a filter are made one
        self._read: OrderedDict[str, ByFilter] = OrderedDict()  # by their objects, the oldest first

    def note(self, row: Noted) -> None:
        """A filter was read over a file."""
        with self._lock:
            self._fresh.append(row)
            if len(self._fresh) >= _MOST_FRESH:
                self._gather()

    def find(self, keys: Sequence[bytes], *, look: bool = True) -> KnownFilters:
        """What is known of filters, of those that lie beside the indexes, too. Nothing is raised for an object that is
        none. `look`: which there are by now."""
        if look:
            self._look()
        wanted = set(keys)
        with self._lock:
            self._gather()
            sections = [section for section in self._mine if section.key in wanted]
            sections += (section for by_key in self._read.values() for key in wanted for section in by_key.get(key, ()))
        return KnownFilters(tuple(sections))

    @property
    def any(self) -> bool:
        """Is anything remembered?"""
        self._look()
        with self._lock:
            return bool(self._fresh or self._mine or any(self._read.values()))

    def _gather(self) -> None:
        if not self._fresh:
            return
        fresh, self._fresh = self._fresh, []
        self._mine += sections(fresh)
        if len(self._mine) > self._united_at:
            self._mine = sections(row for section in self._mine for row in section.noted())
            # Not at each question, where there are so many filters.
            self._united_at = max(_FEW_SECTIONS, 2 * len(self._mine))
        self._mine = list(_within(self._mine, self._setting.keep_bytes))

    def _look(self) -> None:
        if self._storage is None:
            return
        there = kept(listed(self._storage), self._setting)
        names = {info.path for info in there}
        with self._lock:
            missing = [info for info in there if info.path not in self._read]
            for path in [path for path in self._read if path not in names]:
                del self._read[path]
        for info in missing:
            opened = self._opened(info)
            with self._lock:
                self._read[info.path] = opened

    def _opened(self, info: ObjectInfo) -> ByFilter:
        assert self._storage is not None, "it was listed"
        out: dict[bytes, list[FilterSection]] = {}
        try:
            for section in read(self._storage, info, self._secret):
                out.setdefault(section.key, []).append(section)
        except ObjectNotFoundError:
            pass  # merged meanwhile
        except (DamagedIndexError, StorageError) as error:
            logger.warning("some remembered filters are not used: %s", first_line(error))
        return out


@dataclass(frozen=True, slots=True)
class KnownFilters:
    """What sections say of the filters that are asked."""

    sections: tuple[FilterSection, ...]

    def __bool__(self) -> bool:
        return bool(self.sections)

    def empty(self, ids: Ids) -> Mask:
        """Of each file: is it remembered that none of its rows matches?"""
        mask = np.zeros(len(ids), np.bool_)
        asked = as_binary(ids)
        for section in self.sections:
            if section.empty.any():
                none = as_binary(section.ids[section.empty])
                mask |= np.asarray(pc.is_in(asked, value_set=none))
        return mask

    def told(self, ids: Ids, key: bytes) -> Mask:
        """Of each file: was this filter read over it?"""
        mask = np.zeros(len(ids), np.bool_)
        asked = as_binary(ids)
        for section in self.sections:
            if section.key == key:
                mask |= np.asarray(pc.is_in(asked, value_set=as_binary(section.ids)))
        return mask

    def groups(self, ids: Ids) -> dict[int, npt.NDArray[np.bool_]]:
        """Of files of which something is remembered, by their places: which of their row groups may match."""
        out: dict[int, npt.NDArray[np.bool_]] = {}
        asked = as_binary(ids)
        for section in self.sections:
            at = pc.index_in(asked, value_set=as_binary(section.ids))
            for row in np.flatnonzero(np.asarray(at.is_valid())).tolist():
                may = section.may(at[row].as_py())
                before = out.get(row)
                if before is None or len(before) == len(may):
                    out[row] = may if before is None else before & may
        return out


def listed(storage: Storage) -> list[ObjectInfo]:
    """The objects, by their names, and so by time; what is no file is passed over."""
    if isinstance(storage, TellsApart):
        infos: Sequence[ObjectInfo] = storage.apart("")[0]
    else:
        infos = list(storage.list("", recursive=False))
    return sorted((info for info in infos if time_ms(info.path) is not None), key=lambda info: info.path)


def kept(infos: Sequence[ObjectInfo], setting: RememberFilters) -> list[ObjectInfo]:
    """Of the objects by time those that are within the bounds, the oldest first."""
    horizon = time.time_ns() // 1_000_000 - int(setting.keep_days * DAY_MS)
    out: list[ObjectInfo] = []
    size = 0
    for info in reversed(infos):
        size += info.size_bytes
        if size > setting.keep_bytes or (time_ms(info.path) or 0) < horizon or len(out) == _MOST_OBJECTS:
            break
        if info.size_bytes <= MOST_BYTES:
            out.append(info)
    return out[::-1]


def read(storage: Storage, info: ObjectInfo, secret: bytes | None) -> list[FilterSection]:
    """What an object says. DamagedIndexError, StorageError, ObjectNotFoundError."""
    data = storage.read(info.path, 0, MOST_BYTES + 1)
    return decoded(data, storage.uri(info.path), secret)


def _within(some: Sequence[FilterSection], most: int) -> Iterator[FilterSection]:
    """The newest that fit, and no more than objects may have."""
    sizes = np.cumsum([section.size_bytes for section in reversed(some)])
    fitting = min(int(np.searchsorted(sizes, most, side="right")), _MOST_OBJECTS * MOST_SECTIONS)
    yield from some[len(some) - fitting :]
