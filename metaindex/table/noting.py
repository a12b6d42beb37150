"""Queries of a table, noted for its query log. Nothing is loaded for that before a table has one; and a query never
fails of it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaindex.config import QueryLog
from metaindex.expressions.errors import MetaIndexError, first_line
from metaindex.store.layout import namespace_folder

from .handle import Handle

if TYPE_CHECKING:
    from metaindex.pruning.result import PruneResult
    from metaindex.querylog.files import LogPlace
    from metaindex.querylog.writer import Recorder
    from metaindex.readers.plan import ScanPlan

logger = logging.getLogger("metaindex")


def recorder_of(handle: Handle, setting: QueryLog) -> Recorder | None:
    """Who writes the query log of a table. None where its place cannot be told, which is said."""
    from metaindex.querylog.writer import WRITER

    try:
        return WRITER.recorder(place_of(handle), setting)
    except MetaIndexError as error:
        logger.warning("queries of %s are not noted: %s", handle.path, first_line(error))
        return None


def place_of(handle: Handle) -> LogPlace:
    """Where the query log lies: beside the indexes of the table, and of its namespace."""
    from metaindex.querylog.files import LogPlace

    root = handle.root(None)
    home = handle.indexes_folder(root)
    folder = namespace_folder(home, handle.config.namespace)
    return LogPlace(folder, home, root, tuple(sorted(handle.storage_options.items())))


def note_prune(recorder: Recorder | None, result: PruneResult) -> None:
    """A query for the files to read."""
    from metaindex.querylog.noted import pruned

    try:
        if recorder is not None:
            recorder.note(pruned(result, "prune"))
    except Exception as error:  # noqa: BLE001 - a query never fails of its log
        logger.debug("a query was not noted: %s", first_line(error))


def note_scan(recorder: Recorder | None, scan: ScanPlan, engine: str, columns: Sequence[str] | None) -> None:
    """A scan that is read now."""
    from metaindex.querylog.noted import scanned

    try:
        if recorder is not None:
            recorder.note(scanned(scan, engine, columns))
    except Exception as error:  # noqa: BLE001 - a query never fails of its log
        logger.debug("a query was not noted: %s", first_line(error))
