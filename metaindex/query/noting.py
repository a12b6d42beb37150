"""The query log of one table: queries noted in it and reported to OpenTelemetry, read, and cleaned. Nothing is loaded
for that before a table has a log or the process is traced; and no query fails because of it."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from metaindex.core import TELEMETRY, MetaIndexError, QueryLog, first_line
from metaindex.query.arguments import check_since
from metaindex.storage import Storage

if TYPE_CHECKING:
    from metaindex.query.handle import Handle
    from metaindex.query.pruning.result import PruneResult
    from metaindex.query.readers.plan import ScanPlan

    from .query_log.cleaning import QueriesCleaned
    from .query_log.files import LogPlace
    from .query_log.reading import LoggedQueries
    from .query_log.row import QueryRow
    from .query_log.writer import Recorder

logger = logging.getLogger("metaindex")


class TableQueryLog:
    """The query log of a table, whose queries are noted as its configuration says. Raises ArgumentError for a setting
    that cannot be followed."""

    def __init__(self, handle: Handle) -> None:
        self._handle, self._setting = handle, handle.config.query_log_settings
        if self._setting is not None:
            self._setting.key()

    @property
    def wanted(self) -> bool:
        """Return whether somebody is told of a query: the log, or who traces the process."""
        return self._setting is not None or TELEMETRY.is_listening()

    def prune(self, result: PruneResult) -> None:
        """Note a query for the files to read."""
        if self.wanted:
            self._made(lambda: _pruned(result, "prune"))

    def scan(self, scan: ScanPlan, engine: str, columns: Sequence[str] | None) -> None:
        """Note a scan that is read now. `columns`: those that the engine asks for; None: those of the scan."""
        if self.wanted:
            self._made(lambda: _scanned(scan, engine, columns))

    def _made(self, make: Callable[[], QueryRow]) -> None:
        try:
            self.note(make())
        except Exception as error:  # noqa: BLE001 - a query never fails of who is told
            logger.debug("a query was not noted: %s", first_line(error))

    def note(self, row: QueryRow) -> None:
        """Note a query."""
        if self.recorder is not None:
            self.recorder.note(row)
        if TELEMETRY.is_listening():
            TELEMETRY.query(
                self._handle.path,
                row.engine,
                None if row.milliseconds is None else row.milliseconds / 1000,
                files=(row.files_read, row.files_left_out),
                size_bytes=(row.bytes_read, row.bytes_left_out),
                index_used=bool(row.indexes),
            )

    def with_setting(self, setting: QueryLog | None) -> TableQueryLog:
        """Return the same log for queries that are noted otherwise; None: not at all."""
        other = copy(self)
        other.__dict__.pop("recorder", None)
        other._setting = setting
        return other

    @cached_property
    def recorder(self) -> Recorder | None:
        """The writer of the log. None where nothing is noted, and, with a warning, if its place cannot be found."""
        from .query_log.writer import WRITER

        try:
            return None if self._setting is None else WRITER.recorder(self.place, self._setting)
        except MetaIndexError as error:
            logger.warning("queries of %s are not noted: %s", self._handle.path, first_line(error))
            return None

    @cached_property
    def place(self) -> LogPlace:
        """The place of the log: beside the indexes of the table, and of its namespace."""
        from .query_log.files import LogPlace

        indexes = self._handle.indexes()
        return LogPlace(indexes.path, indexes.home, indexes.table, tuple(sorted(self._handle.storage_options.items())))

    @property
    def storage(self) -> Storage:
        return self.place.storage()

    @property
    def is_kept(self) -> bool:
        """Return whether files of the log exist, whoever wrote them. Raises StorageError."""
        from .query_log.files import listed

        return bool(listed(self.storage)[0])

    def read(
        self, since: dt.timedelta | None = None, most_rows: int | None = None, *, waiting: bool = True
    ) -> LoggedQueries:
        """Return the noted queries, oldest first. `since`: how far back; `most_rows`: the newest ones; `waiting`: rows
        that wait in this process are written first. Raises ArgumentError, StorageError."""
        from .query_log.files import MOST_ROWS
        from .query_log.reading import logged
        from .query_log.writer import WRITER

        check_since(since)
        if waiting:
            WRITER.flush()
        since_ms = 0 if since is None else max(int((time.time() - since.total_seconds()) * 1000), 0)
        return logged(self.storage, since_ms, MOST_ROWS if most_rows is None else most_rows)

    def clean(self, *, keep_days: float | None = None, keep_bytes: int | None = None) -> QueriesCleaned:
        """Remove what is older or larger than the setting allows, or than is given, and merge small files. Raises
        StorageError."""
        from .query_log.cleaning import clean

        setting = self._handle.config.query_log_settings or QueryLog()
        if keep_days is not None:
            setting = replace(setting, keep_days=keep_days)
        if keep_bytes is not None:
            setting = replace(setting, keep_bytes=keep_bytes)
        return clean(self.storage, setting)


def _pruned(result: PruneResult, engine: str, columns: Sequence[str] = ()) -> QueryRow:
    """A query that asked which files to read. `columns`: those that it shows; those of its condition are added."""
    from .query_log.row import QueryRow

    named = (ref.name for ref in result.predicate.columns)
    return QueryRow(
        at_us=time.time_ns() // 1_000,
        engine=engine,
        predicate=result.predicate,
        columns=tuple(dict.fromkeys((*columns, *named))),
        files_read=result.kept_files,
        files_left_out=result.dropped_files,
        bytes_read=result.kept_bytes,
        bytes_left_out=result.total_bytes - result.kept_bytes,
        indexes=result.helpers,
        version=str(result.version.id),
        milliseconds=result.seconds * 1000,
    )


def _scanned(scan: ScanPlan, engine: str, columns: Sequence[str] | None) -> QueryRow:
    from .query_log.row import QueryRow

    shown = columns if columns is not None else scan.columns
    if shown is None:
        shown = [field.name for field in scan.snapshot.schema.shown.fields]
    limit = None if scan.first is None else scan.first.limit
    if scan.result is not None:
        return replace(_pruned(scan.result, engine, shown), limit=limit)
    files = scan.snapshot.files
    return QueryRow(
        at_us=time.time_ns() // 1_000,
        engine=engine,
        predicate=None,
        columns=tuple(shown),
        limit=limit,
        files_read=len(files),
        files_left_out=0,
        bytes_read=files.size_bytes,
        bytes_left_out=0,
        version=str(scan.snapshot.version.id),
    )
