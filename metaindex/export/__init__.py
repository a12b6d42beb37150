"""The live rows of an index as plain Delta or Iceberg tables, for tools that know nothing of indexes: BI, notebooks,
Trino.

    <target>/files         one row for each live file that the index covers
    <target>/column_stats  one row for each of them and each covered column, with their names; of partition columns,
                           their value
    <target>/keys          one row for each of them and each key (`Values`, `ValueList`, `Bloom`): is it keyed, and how
                           large its filter is
    <target>/key_values    one row for each value (`Values(by="value")`, `ValueList`) or hash (`Values`) that a live
                           file holds

The last two are there where the index has keys. What is read of the index is checked as for a query, and written part
by part. An export is a copy of one moment: it goes into a folder where no table is, or becomes a new version of the
tables of an earlier export.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import numpy as np
import pyarrow as pa

from metaindex.expressions.errors import ArgumentError, StorageError
from metaindex.expressions.records import dataclass
from metaindex.expressions.shown import Shown
from metaindex.expressions.statistics import Mask
from metaindex.formats.storage import Storage
from metaindex.formats.storage_local import ANOTHER_PLACE
from metaindex.kinds.registry import FACT_ROWS, keyed
from metaindex.log.entry import RunRef
from metaindex.pruning.open_index import OpenIndex

from . import delta, key_rows, rows
from .parts import write_parts

ExportFormat = Literal["delta", "iceberg"]


@dataclass(frozen=True, slots=True, repr=False)
class Exported(Shown):
    """What was written: rows by table, and the version of the indexed table whose live files they are (None: none is
    recorded, and all files of the runs are there)."""

    target: str
    rows: dict[str, int]
    version: str | None

    def _printed(self) -> str:
        said = ", ".join(f"{name} ({count:,} rows)" for name, count in self.rows.items())
        return f"exported to {self.target}: {said}" + (f", as of version {self.version}" if self.version else "")


def export(index: OpenIndex, target: Storage, format_: ExportFormat = "delta", *, overwrite: bool = False) -> Exported:
    """Writes the tables. ArgumentError where something is there already that is no export, or is one and `overwrite` is
    not said; DamagedIndexError where the index is."""
    newest = index.versions.newest()
    recorded = index.versions.resolve(newest.version) if newest is not None else None

    def live(run: RunRef) -> Mask:
        return np.ones(run.files, np.bool_) if recorded is None else recorded.live.mask(run)

    tables: dict[str, tuple[pa.Schema, Iterator[pa.Table]]] = {
        "files": (rows.FILES, rows.files(index, live)),
        FACT_ROWS.name: (FACT_ROWS.shown, rows.facts(index, live)),
    }
    if any(keyed(run) for run in index.entry.content.runs):
        tables["keys"] = key_rows.KEYS, key_rows.keys(index, live)
        tables["key_values"] = key_rows.KEY_VALUES, key_rows.key_values(index, live)
    commit = _commit(format_)
    _check_no_table(target)
    for name in tables:
        commit.check(target, name, overwrite)
    counts = {}
    for name, (schema, some) in tables.items():
        parts = write_parts(target, f"{name}/{commit.DATA}" if commit.DATA else name, schema, some)
        try:
            commit.commit(target, name, schema, parts)
        except BaseException:
            for part in parts:
                target.delete(part.path)
            raise
        counts[name] = sum(part.rows for part in parts)
    return Exported(target.root, counts, None if newest is None else newest.version.id)


@contextmanager
def unwritten_export() -> Iterator[None]:
    """Inside, the cure of a folder that takes no files is another target: it has nothing to do with where indexes
    are."""
    try:
        yield
    except StorageError as error:
        said, cure = str(error), "export to another folder"
        if not said.startswith("cannot write"):
            raise
        said = said.replace(ANOTHER_PLACE, cure)
        raise type(error)(said if cure in said else f"{said}; {cure}") from error


def _check_no_table(target: Storage) -> None:
    """ArgumentError where the folder itself is a table: the export would be files that its log does not know."""
    table_file = next(iter(target.list("_delta_log")), None) or next(
        (info for info in target.list("metadata") if info.path.endswith(".metadata.json")), None
    )
    if table_file is not None:
        raise ArgumentError(
            f"an export goes into a folder of its own; {target.root} is a table, as {table_file.path} says; choose"
            " another folder"
        )


def _commit(format_: str) -> delta.Commits:
    match format_:
        case "delta":
            return delta.DeltaTables()
        case "iceberg":
            from metaindex.formats.iceberg.written import IcebergTables

            return IcebergTables()
        case _:
            raise ArgumentError(f"an export is of 'delta' or 'iceberg' tables; got {format_!r}; name one of them")
