"""Notes the queries of a table in its query log and reports them to OpenTelemetry. Nothing is loaded for that before a
table has a log or the process is traced; and no query fails because of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metaindex.core import TELEMETRY, MetaIndexError, QueryLog, first_line
from metaindex.query.handle import Handle

if TYPE_CHECKING:
    from metaindex.query.pruning.result import PruneResult
    from metaindex.query.readers.plan import ScanPlan

    from .files import LogPlace
    from .row import QueryRow
    from .writer import Recorder

logger = logging.getLogger("metaindex")


def recorder_of(handle: Handle, setting: QueryLog) -> Recorder | None:
    """Return the writer of a table's query log. None, with a warning, if its place cannot be found."""
    from .writer import WRITER

    try:
        return WRITER.recorder(place_of(handle), setting)
    except MetaIndexError as error:
        logger.warning("queries of %s are not noted: %s", handle.path, first_line(error))
        return None


def place_of(handle: Handle) -> LogPlace:
    """Return the place of the query log: beside the indexes of the table, and of its namespace."""
    from .files import LogPlace

    indexes = handle.indexes()
    return LogPlace(indexes.path, indexes.home, indexes.table, tuple(sorted(handle.storage_options.items())))


class Noting:
    """The receivers of a table's queries: its query log, if it has one, and OpenTelemetry, if the process is traced."""

    def __init__(self, handle: Handle, setting: QueryLog | None) -> None:
        self._handle, self._setting = handle, setting

    @property
    def wanted(self) -> bool:
        return self._setting is not None or TELEMETRY.is_listening()

    def prune(self, result: PruneResult) -> None:
        """A query for the files to read."""
        if self.wanted:
            from .noted import pruned

            self._note(lambda: pruned(result, "prune"))

    def scan(self, scan: ScanPlan, engine: str, columns: Sequence[str] | None) -> None:
        """A scan that is read now."""
        if self.wanted:
            from .noted import scanned

            self._note(lambda: scanned(scan, engine, columns))

    def _note(self, make: Callable[[], QueryRow]) -> None:
        try:
            row = make()
            if self.recorder is not None:
                self.recorder.note(row)
            if TELEMETRY.is_listening():
                tell(self._handle.path, row)
        except Exception as error:  # noqa: BLE001 - a query never fails of who is told
            logger.debug("a query was not noted: %s", first_line(error))

    @cached_property
    def recorder(self) -> Recorder | None:
        return None if self._setting is None else recorder_of(self._handle, self._setting)


def tell(table: str, row: QueryRow) -> None:
    """OpenTelemetry of a query."""
    TELEMETRY.query(
        table,
        row.engine,
        None if row.milliseconds is None else row.milliseconds / 1000,
        files=(row.files_read, row.files_left_out),
        size_bytes=(row.bytes_read, row.bytes_left_out),
        index_used=bool(row.indexes),
    )
