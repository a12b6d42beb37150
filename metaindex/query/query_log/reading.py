"""The rows of a query log, each once, as far as they go into memory: the newest ones first."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import (
    DamagedIndexError,
    ForeignIndexError,
    ObjectNotFoundError,
    StorageError,
    StorageUnavailableError,
    dataclass,
)
from metaindex.storage import Storage

from .files import ID, MOST_MEMORY, MOST_ROWS, listed, plain, read, time_ms
from .row import SCHEMA, SUMMED

if TYPE_CHECKING:
    from .summary import QuerySummary

logger = logging.getLogger("metaindex")

MOST_FILES = 10_000
_TRIES = 8


@dataclass(frozen=True, slots=True)
class LoggedQueries:
    """The rows of a query log, oldest first. `refused`: of files that were left out, why; `older`: how many older files
    were not read, as there are too many rows."""

    rows: pa.Table
    refused: Mapping[str, str]
    older: int = 0

    SUMMED: ClassVar = SUMMED

    def summary(self, table: str) -> QuerySummary:
        """Summarize the queries of a table by their templates."""
        from .summary import summary

        return summary(table, self.rows, self.notes)

    @property
    def notes(self) -> list[str]:
        """Return notes on what the rows leave out."""
        said = [f"left out: {why}" for why in self.refused.values()]
        return said + ([f"{self.older:,} older files are not read; clean merges and bounds them"] if self.older else [])


def logged(storage: Storage, since_ms: int = 0, most_rows: int = MOST_ROWS) -> LoggedQueries:
    """`since_ms`: of rows that are younger. A file that cannot be read is left out, with a warning that names it.
    Raises StorageError if the log cannot be listed."""
    parts: dict[str, pa.Table | None] = {}
    refused: dict[str, str] = {}
    older = 0
    for _ in range(_TRIES):
        # A merge writes the new file before it removes the old ones: what has gone stands in one that is listed now.
        infos, odd = listed(storage)
        refused |= {path: why for path, why in odd.items() if time_ms(path) >= since_ms}
        young = [info for info in reversed(infos) if time_ms(info.path) >= since_ms]
        new = [info for info in young if info.path not in parts]
        rows = sum(part.num_rows for part in parts.values() if part is not None)
        held = sum(part.nbytes for part in parts.values() if part is not None)
        missed = older = 0
        for number, info in enumerate(new):
            if rows >= most_rows or held >= MOST_MEMORY or number >= MOST_FILES:
                older = len(new) - number
                break
            try:
                part = plain(read(storage, info))
            except ObjectNotFoundError:
                missed += 1
                continue
            except StorageUnavailableError:
                raise  # of nothing here anything is known
            except (DamagedIndexError, ForeignIndexError, StorageError) as error:
                parts[info.path] = None
                refused[info.path] = str(error)
                continue
            parts[info.path] = part
            rows += part.num_rows
            held += part.nbytes
        if not missed and (older or not new):
            break
    for why in refused.values():
        logger.warning("a part of the query log is left out: %s", why)
    found = [part for part in parts.values() if part is not None]
    table = pa.concat_tables(found) if found else None
    if table is None:
        return LoggedQueries(SCHEMA.empty_table(), refused, older)
    table = once(table).drop_columns([ID])
    if since_ms:
        table = table.filter(pc.greater_equal(table.column("at"), pa.scalar(since_ms * 1000, table.column("at").type)))
    return LoggedQueries(table.sort_by("at"), refused, older)


def once(table: pa.Table) -> pa.Table:
    """Return the rows without duplicates, by their id."""
    ids = table.column(ID).combine_chunks().dictionary_encode()
    if len(ids.dictionary) == table.num_rows:
        return table
    _, first = np.unique(ids.indices.to_numpy(), return_index=True)
    return table.take(pa.array(np.sort(first)))
