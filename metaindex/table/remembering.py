"""Filters that were read before, as the queries of one table use and add to them. Nothing is loaded for that before a
table is opened so (`Config.remember_filters`); no query fails of it, and what is in doubt is read."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from metaindex.config import RememberFilters, remembering, sealing
from metaindex.expressions.errors import StorageError, first_line
from metaindex.expressions.references import columns
from metaindex.expressions.shown import counted
from metaindex.expressions.statistics import Mask
from metaindex.pruning.result import PruneResult
from metaindex.pruning.told import IndexReport
from metaindex.pruning.walk import REMEMBERED

from .handle import Handle

if TYPE_CHECKING:
    from metaindex.formats.model import FileTable, Schema, Version
    from metaindex.readers.plan import ScanPlan
    from metaindex.readers.watched import Watches
    from metaindex.remembering.key import FilterMeaning
    from metaindex.remembering.memory import FilterMemory, KnownFilters
    from metaindex.remembering.recorder import FilterRecorder

logger = logging.getLogger("metaindex")

T = TypeVar("T")


class RememberedFilters:
    """Of one table as it is opened."""

    def __init__(self, handle: Handle, setting: RememberFilters) -> None:
        self._handle, self._setting = handle, setting
        self._parts: tuple[FilterMemory, FilterRecorder | None] | None = None

    @classmethod
    def of(cls, handle: Handle) -> RememberedFilters | None:
        """None where filters are not remembered, or queries are answered from the table alone. ArgumentError for a
        setting that is none."""
        setting = remembering(handle.config.remember_filters)
        return None if setting is None or not handle.config.use_indexes else cls(handle, setting)

    @property
    def any(self) -> bool:
        """Is anything remembered?"""
        return self.tried(lambda: self._opened[0].any, False)

    def less(self, result: PruneResult) -> PruneResult:
        """An answer without the files of which it is remembered that no row matches its predicate."""
        return self.tried(lambda: self._less(result), result)

    def watching(self, scan: ScanPlan) -> Watches | None:
        """Who is told what the filter of a scan finds."""
        return self.tried(lambda: self._watching(scan), None)

    def _less(self, result: PruneResult) -> PruneResult:
        from metaindex.remembering.files import ids_of

        if not len(result.files):
            return result
        keys = self._meaning(result.version, result.format, result.schema).keys(result.predicate)
        known = self._memory.find(keys) if keys else None
        if not known:
            return result
        out = known.empty(ids_of(result.files))
        if out.any():
            size = np.asarray(result.files.table.column("size_bytes"))[out].sum()
            named = tuple(dict.fromkeys(column.name for column in columns(result.predicate)))
            report = IndexReport(REMEMBERED, True, "", named, int(out.sum()), int(size))
            result = replace(result.without(out), indexes=(*result.indexes, report))
        return replace(result, remembered=RememberedGroups(known, result.files))

    def _watching(self, scan: ScanPlan) -> Watches | None:
        from metaindex.remembering.files import ids_of
        from metaindex.remembering.stored import Noted

        snapshot = scan.snapshot
        if scan.predicate is None:
            return None
        version = replace(snapshot.version, table_uuid=snapshot.table_uuid)
        key = self._meaning(version, snapshot.format, snapshot.schema).key(scan.predicate)
        if key is None:
            return None
        memory, recorder = self._opened
        rows = scan.file_rows
        ids = ids_of(snapshot.files.take(pa.array(rows)))
        told = memory.find((key,), look=False).told(ids, key)
        places = {row: place for place, row in enumerate(rows.tolist())}

        def keep(row: int, may: Mask) -> None:
            noted = Noted.of(key, ids[places[row]].tobytes(), may)
            memory.note(noted)
            if recorder is not None:
                recorder.note(noted)

        return _Watches({row for row, place in places.items() if not told[place]}, keep)

    def _meaning(self, version: Version, table_format: str, schema: Schema) -> FilterMeaning:
        from metaindex.remembering.key import FilterMeaning

        config = self._handle.config
        secret = sealing(config.seal_key) or b""
        secret = hashlib.sha256(b"keys of filters\0" + secret).digest() if secret else b""
        return FilterMeaning(version.table_uuid, table_format, schema, config.time_zone, secret)

    @property
    def _memory(self) -> FilterMemory:
        return self._opened[0]

    @property
    def _opened(self) -> tuple[FilterMemory, FilterRecorder | None]:
        if self._parts is None:
            from metaindex.querylog.writer import WRITER
            from metaindex.remembering.memory import FilterMemory
            from metaindex.remembering.recorder import FilterRecorder, storage_of

            from .noting import place_of

            place, setting = place_of(self._handle), self._setting
            secret = sealing(self._handle.config.seal_key)
            storage = storage_of(place)
            key = ("filters", place, setting, secret)
            recorder = WRITER.one(key, lambda: FilterRecorder(place, storage, setting, secret, WRITER))
            self._parts = FilterMemory(setting, storage, secret), recorder
        return self._parts

    def tried(self, make: Callable[[], T], otherwise: T) -> T:
        """What `make` makes; where it fails, what there is without anything remembered."""
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - no query fails of what might be remembered
            logger.debug("remembered filters were not used: %s", first_line(error))
            return otherwise


def forget(handle: Handle) -> tuple[str, ...]:
    """Removes what is remembered of every filter of the table, by whatever process; says so, or what is left."""
    from metaindex.querylog.writer import WRITER
    from metaindex.remembering.recorder import remove_all, storage_of

    from .noting import place_of

    WRITER.flush()  # what waits in this process would come back
    try:
        removed = remove_all(storage_of(place_of(handle)))
    except StorageError as error:
        return (f"what is remembered of filters is not all removed: {first_line(error)}",)
    return (f"{counted(removed, 'object')} of remembered filters removed",) if removed else ()


class _Watches:
    """Of one scan: files of which nothing was found out before."""

    def __init__(self, wanted: set[int], keep: Callable[[int, Mask], None]) -> None:
        self._wanted, self._keep = wanted, keep

    def wants(self, row: int) -> bool:
        return row in self._wanted

    def keep(self, row: int, may: Mask) -> None:
        from metaindex.remembering.stored import MOST_GROUPS

        if len(may) > MOST_GROUPS:
            return
        try:
            self._keep(row, may)
        except Exception as error:  # noqa: BLE001 - as above
            logger.debug("a filter was not remembered: %s", first_line(error))


class RememberedGroups:
    """Which row groups of the kept files may match."""

    def __init__(self, known: KnownFilters, files: FileTable) -> None:
        self._known, self._files = known, files
        self._told: dict[str, Mask] | None = None

    def __call__(self, path: str, groups: int) -> Mask | None:
        if self._told is None:
            from metaindex.remembering.files import ids_of

            groups_of = self._known.groups(ids_of(self._files))
            paths = self._files.paths
            self._told = {paths[row].as_py(): may for row, may in groups_of.items() if not may.all()}
        may = self._told.get(path)
        return may if may is not None and len(may) == groups else None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled it is None: another process reads the row groups."""
        return _nobody, ()


def _nobody() -> None:
    return None
