"""Columns that a scan of plain files reads otherwise than an index, and the cure."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from metaindex.core import MetaIndexError
from metaindex.formats import Schema
from metaindex.table import Table, handle_of

from . import text_scans
from .request import Files, SparkScan
from .text_scans import as_compared, type_said

_MOST: Final = 3
_AS_HERE: Final = "or create another index of the table as it is read here"


def types_apart(table: Table, index: str, scan: SparkScan) -> str:
    """Describe the columns that are read otherwise; empty if unknown. `table` is as it is opened for the scan."""
    from pyspark.errors import PySparkException

    source = scan.source
    if not isinstance(source, Files):
        return ""
    try:
        ours = _recorded(table, index)
        theirs, partitions = source.schema.types[1], source.partitions.types[1]
    except (MetaIndexError, PySparkException):  # the latter: a type that Arrow has not
        return ""
    if ours is None:
        return ""
    return _of_columns(ours, theirs, partitions, source) or _of_zone(table, ours, source)


def _recorded(table: Table, index: str) -> Schema | None:
    """The columns of the newest version that the index recorded."""
    opened = next((each for each in handle_of(table).open_indexes(None)[0] if each.name == index), None)
    newest = None if opened is None else opened.versions.newest()
    version = None if opened is None or newest is None else opened.versions.find(newest.version)
    return None if version is None else version.schema


def _of_columns(ours: Schema, theirs: pa.Schema, partitions: pa.Schema, source: Files) -> str:
    here = {field.name: field.type for field in (*theirs, *partitions)}
    apart = [
        f"{field.name} as {type_said(field.type)}, and the query reads it as {type_said(here[field.name])}"
        for field in ours
        if field.name in here and as_compared(field.type, source.text) != as_compared(here[field.name], source.text)
    ]
    if apart:
        more = f" (and {len(apart) - _MOST:,} more so)" if len(apart) > _MOST else ""
        return f"the index has {'; '.join(apart[:_MOST])}{more}; read them as the index has them, {_AS_HERE}"
    if source.text is None:
        return ""
    names, asked = [f.name for f in ours if not f.partition], list(theirs.names)
    if names == asked or (source.text == "json" and sorted(names) == sorted(asked)):
        return ""
    return f"the index has the columns {_listed(names)}, and the query {_listed(asked)}; read those, {_AS_HERE}"


def _of_zone(table: Table, ours: Schema, source: Files) -> str:
    instants = [".".join(leaf.parts) for leaf in ours.leaves() if text_scans.has_instants(leaf.type)]
    if source.text is None or source.session is None or not instants or text_scans.same_zone(table, source):
        return ""
    built, here = text_scans.zones(table, source)
    return (
        f"times without a zone ({_listed(instants)}) are of {built} to the index, and of {here} to the query; set"
        f" spark.sql.session.timeZone = {built}, {_AS_HERE}"
    )


def _listed(names: list[str]) -> str:
    more = len(names) - 2 * _MOST
    return ", ".join(names[: 2 * _MOST]) + (f" and {more:,} more" if more > 0 else "")
