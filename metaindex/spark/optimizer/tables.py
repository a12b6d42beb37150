"""The tables of a session's queries, opened once a thread; those used last are held. Where no index of one can be used,
that is remembered for some seconds, or until this process writes to one of them: who creates one sees it in the next
query."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from metaindex.core import BoundedCache, Config
from metaindex.formats import ReadOptions
from metaindex.query import Handle
from metaindex.table import Table, handle_of

from . import replaced, text_scans
from .reasons import Reason
from .request import Delta, Files, SparkScan
from .settings import RuleConfig

_MOST: Final = 96
"""Tables that a session holds: four threads have their own handle of each."""


@dataclass(slots=True)
class _HeldTable:
    """A table of one thread, and why its indexes are not looked at again until then, or until more was written here.
    `opened_by`: the query for which it was opened."""

    table: Table
    why: Reason | None
    until: float = 0.0
    written: int = 0
    fits: bool = True  # else an index of it was built with other columns than the scan's; one of its own may come
    opened_by: object = None

    @property
    def for_now(self) -> bool:
        """Return whether it has to be looked at again."""
        return self.why is not None or not self.fits


class Tables:
    """`config` and `storage_options` are those of `open_table`, for all of them. For threads: each has its own
    handles."""

    def __init__(self, config: Config, storage_options: Mapping[str, str]) -> None:
        self._config, self._storage_options = config, storage_options
        self._local = threading.local()
        self._held_tables: BoundedCache[object, _HeldTable] = BoundedCache(_MOST)

    @contextmanager
    def looked_at_once(self) -> Iterator[None]:
        """Answer all scans of a query, which this thread plans inside, by one look at each index, version and file."""
        with ExitStack() as once, replaced.looked_at_once():
            self._local.once = once
            try:
                yield
            finally:
                self._local.once = None

    def table_of(self, scan: SparkScan, rule: RuleConfig) -> Table:
        """A handle of this thread's own on the table of a scan, whether an index can be used or not."""
        return self._held(scan, rule).table

    def held(self, scan: SparkScan) -> Table | None:
        """The handle that this thread has, without a look at anything."""
        held = self._held_tables.find(_key(scan))
        return None if held is None else held.table

    def renew(self, scan: SparkScan) -> bool:
        """Let go of the thread's handle. Return whether an earlier query opened it: then the table may be gone since,
        or another one, and a new handle knows."""
        held = self._held_tables.take(_key(scan))
        return held is not None and held.opened_by is not self._local.__dict__.get("once")

    def usable(self, scan: SparkScan, rule: RuleConfig) -> Table | Reason:
        """Return the table; or, for some seconds, why no index can be used."""
        held = self._held(scan, rule)
        return held.table if held.why is None else held.why

    def _held(self, scan: SparkScan, rule: RuleConfig) -> _HeldTable:
        key = _key(scan)
        once: ExitStack | None = self._local.__dict__.get("once")
        held = self._held_tables.find(key)
        # Counted before the look: what comes after it is looked for again.
        written = 0 if held is None or not held.for_now else handle_of(held.table).indexes().appended_here()
        if held is None or (held.for_now and (time.monotonic() >= held.until or written != held.written)):
            held = self._held_tables.keep(key, self._opened(scan))
            held.written, held.opened_by = written, once
        if once is not None and held.why is None:
            once.enter_context(handle_of(held.table).looked_at_once())
        if held.why is None and not handle_of(held.table).recorded():
            held.why, held.written, held.until = Reason.NO_INDEX, written, 0.0
        if held.for_now and held.until == 0.0:
            held.until = time.monotonic() + rule.cache_expiry_seconds
        return held

    def _opened(self, scan: SparkScan) -> _HeldTable:
        source = scan.source
        handle = Handle.open(
            place_of(scan.root),
            format=(source.text or "parquet") if isinstance(source, Files) else source.name,
            storage_options=self._storage_options,
            config=self._config,
            **({"trust_index": True} if scan.plain else {}),
        )
        table = Table(handle)
        if not isinstance(source, Files):
            return _HeldTable(table, None)
        if source.text is None:
            return _HeldTable(_with_schema(table), None)
        as_read = text_scans.as_spark_reads(table, source.text, source)
        if as_read is not None:
            columns = (schema for _, schema in handle_of(as_read).recorded())
            fits = all(text_scans.same_columns(schema, source.text, source) for schema in columns)
            return _HeldTable(as_read, None, fits=fits)
        return _HeldTable(table, Reason.READER_OPTIONS if handle_of(table).entries() else Reason.NO_INDEX)


def _with_schema(table: Table) -> Table:
    """Return Parquet files with the schema that their indexes were built with, if all have the same: versions recorded
    with it differ from those without, and the files may not have the columns."""
    handle = handle_of(table)
    schemas = {str(each.table.options.get("schema", "")): each for each in handle.entries() if each.readable}
    entry = next(iter(schemas.values()), None)
    if entry is None or len(schemas) > 1 or not ReadOptions.of(entry.table.options).lends_schema(handle.read):
        return table
    return Table(handle.with_options("parquet", {"schema": entry.table.options["schema"]}, trust_index=True))


def _key(scan: SparkScan) -> object:
    """Return the key by which this thread holds a table: a place has one for each format that it is read as, for each
    Delta table that was made there, and of text files for the options of their reader and its columns."""
    source, key = scan.source, (threading.get_ident(), place_of(scan.root), scan.source.name)
    match source:
        case Delta():
            return *key, source.table
        case Files() if source.text is not None:
            return *key, source.text, tuple(sorted(source.options.items())), source.schema.text
    return key


def place_of(root: str) -> str:
    """Return Spark's location of a table as `open_table` takes it."""
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/*(?=/)", "", root))
