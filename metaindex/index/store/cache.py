"""Cache of what was read from runs. Everything is immutable, so a cache can never be stale.

Row groups that are decoded together stay together: they share their memory, so they are kept, counted and let go as
one.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow._parquet import FileMetaData

from metaindex.core import BoundedCache, DamagedIndexError, dataclass, first_line
from metaindex.formats import StatedColumn
from metaindex.index.store.layout import PartInfo, run_of
from metaindex.index.store.pages import PlacedPages

_K = TypeVar("_K")
_V = TypeVar("_V")
_NOTHING: Any = object()
_OBJECTS = 64
"""Version objects that stay: a chain of recorded versions needs a few."""
_WHOLE_BYTES = 4 << 20


@dataclass(slots=True)
class Decoded:
    """Columns of some row groups of a part, concatenated. `places`: of each group, its first row and number of rows."""

    path: str
    columns: dict[str, pa.ChunkedArray]
    places: dict[int, tuple[int, int]]

    @property
    def size_bytes(self) -> int:
        return sum(column.get_total_buffer_size() for column in self.columns.values())

    def rows(self, group: int, column: str) -> pa.ChunkedArray:
        first, count = self.places[group]
        return self.columns[column].slice(first, count)


@dataclass(slots=True)
class StoreCache:
    """Cache of immutable data, by path; decoded columns up to `limit_bytes` (`BoundedCache`). The rest is small and
    bounded by the runs in use, which the owner sets (`keep_only`)."""

    limit_bytes: int = 128 << 20
    manifests: dict[str, tuple[PartInfo, ...]] = field(default_factory=dict)
    footers: dict[str, Footer] = field(default_factory=dict)
    whole: BoundedCache[str, bytes] = field(default_factory=partial(BoundedCache, limit_bytes=_WHOLE_BYTES))
    """Small objects of a store, byte for byte: to check a digest is up to who takes one."""
    derived: dict[tuple[str, str], Any] = field(default_factory=dict)  # small things computed from immutable parts
    _being_made: dict[object, threading.RLock] = field(default_factory=dict)
    _holders: dict[tuple[str, str, int], Decoded] = field(default_factory=dict)  # by path, column and group
    _decoded: BoundedCache[int, Decoded] = field(default_factory=BoundedCache)

    def __post_init__(self) -> None:
        forget = partial(_forget, self._holders)
        self._decoded = BoundedCache(limit_bytes=self.limit_bytes, let_go=forget)

    def once(self, held: dict[_K, _V], key: _K, make: Callable[[], _V]) -> _V:
        """Return what is held by a key, or else what is made now: by one thread, for which others that ask for it
        wait."""
        value: _V = held.get(key, _NOTHING)
        if value is _NOTHING:
            place = id(held), key
            try:
                with self._being_made.setdefault(place, threading.RLock()):
                    value = held.get(key, _NOTHING)
                    if value is _NOTHING:
                        value = held[key] = make()
            finally:
                self._being_made.pop(place, None)
        return value

    def keep_only(self, runs: Collection[str]) -> None:
        """Forgets what is small of all other runs: they are out of use. Who reads one of them still reads it again. Of
        version objects the last ones stay."""
        for path in list(self.manifests):
            if path.rpartition("/")[2].removesuffix(".json") not in runs:
                self.manifests.pop(path, None)
        for path in list(self.footers):
            if run_of(path.partition("/")[0], path) not in runs:
                self.footers.pop(path, None)
        held = list(self.derived)
        objects = [key for key in held if "/" in key[0]]
        for key in [*(key for key in held if "/" not in key[0] and key[0] not in runs), *objects[:-_OBJECTS]]:
            self.derived.pop(key, None)

    def find(self, path: str, groups: Sequence[int], columns: Sequence[str]) -> dict[tuple[str, int], Decoded]:
        """Return the holders of the requested (column, group) pairs that are cached."""
        out: dict[tuple[str, int], Decoded] = {}
        if not self._holders:
            return out
        for column in columns:
            for group in groups:
                decoded = self._holders.get((path, column, group))
                if decoded is not None:
                    out[(column, group)] = decoded
                    self._decoded.find(id(decoded))
        return out

    def keep(self, decoded: Decoded) -> None:
        size = decoded.size_bytes
        if size > self.limit_bytes // 4:
            return
        for column in decoded.columns:
            for group in decoded.places:
                self._holders[(decoded.path, column, group)] = decoded
        self._decoded.keep(id(decoded), decoded, size)


def _forget(holders: dict[tuple[str, str, int], Decoded], decoded: Decoded) -> None:
    for column in decoded.columns:
        for group in decoded.places:
            if holders.get((decoded.path, column, group)) is decoded:
                holders.pop((decoded.path, column, group), None)


_Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class GroupRange:
    """Ranges of one column in every row group of a part: least and greatest value and null count; `known` is False if
    the footer lacks them."""

    least: list[Any]
    greatest: list[Any]
    nulls: _Ints
    known: npt.NDArray[np.bool_]


@dataclass(slots=True)
class Footer:
    """A parsed footer, and the row-group ranges taken from it so far."""

    path: str
    metadata: FileMetaData
    columns: dict[str, int]
    rows: _Ints
    end: bytes  # its offset index, if the part has one, and the footer
    ranges: dict[str, GroupRange] = field(default_factory=dict)
    derived: dict[object, Any] = field(default_factory=dict)  # what readers compute from the ranges
    stated: dict[str, StatedColumn] = field(default_factory=dict)

    def pages(self, size: int) -> PlacedPages | None:
        """Return the pages of the part, of so many bytes; None where they are not told."""
        if len(self.end) == self.metadata.serialized_size + 8:
            return None
        if "pages" not in self.derived:
            try:
                self.derived["pages"] = PlacedPages(self.end, size, self.metadata, self.column)
            except (ValueError, LookupError):
                self.derived["pages"] = None
        pages: PlacedPages | None = self.derived["pages"]
        return pages

    def range(self, column: str) -> GroupRange:
        range_ = self.ranges.get(column)
        if range_ is None:
            range_ = self.ranges[column] = self._load(column)
        return range_

    def column(self, name: str) -> StatedColumn:
        """Return what the footer states of a column in each row group. Arrow is not asked: it may end the process."""
        stated = self.stated.get(name)
        if stated is None:
            place = self.columns[name]
            footer = self.end[-8 - self.metadata.serialized_size : -8]
            with self.readable():
                stated = StatedColumn.of(footer, self.metadata.schema.column(place), place, len(self.rows))
            self.stated[name] = stated
        return stated

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Raise DamagedIndexError where the footer states what no footer does."""
        try:
            yield
        except (ValueError, LookupError, ArithmeticError, struct.error) as error:
            raise DamagedIndexError.for_repair(
                f"a part of an index is as its manifest says; {self.path}: its footer is not ({first_line(error)})"
            ) from error

    def _load(self, column: str) -> GroupRange:
        stated = self.column(column)
        with self.readable():
            counts, least, greatest = stated.statistics()
            nulls = np.array(counts, np.int64)
        known = np.array([bound is not None for bound in least], np.bool_)
        return GroupRange(least, greatest, nulls, known | (nulls == self.rows))  # only nulls: nothing to bound
