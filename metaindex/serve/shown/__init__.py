"""Delta tables and folders of Parquet files, shown to Iceberg's clients as Iceberg tables, read only."""

from __future__ import annotations

from metaindex.formats import At
from metaindex.query import Handle
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import ServedTable

from .table import ShownTable
from .vectors import Vectors


def shown(handle: Handle, cache: str | None = None) -> ServedTable:
    """Return a table that is none of Iceberg's as one. `cache`: a folder that clients can read, for Puffin files of
    deletion vectors. Raises Refusal, with the reason, for a table that cannot be shown."""
    kind = handle.format
    if handle.table_format.shown_as_iceberg:
        options = handle.table_format.read_options(handle.ref) or handle.snapshot(At()).details.read_options()
        kind = str(options["file_format"])
    if kind != "parquet":
        raise Refusal(
            f"Delta tables and folders of Parquet files are shown to Iceberg's clients, which read Parquet;"
            f" {handle.path} is {kind}; read it by metaindex itself"
        )
    return ShownTable(handle, None if cache is None else Vectors(cache, handle.path))
