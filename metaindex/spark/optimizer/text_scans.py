"""CSV and JSON in a Spark plan: checks that Spark reads of the files what the index was built from.

The bytes of a text file mean what schema and reader options make of them, so both have to be those of the index: the
same columns in the same order with the same types, and every option that has a say, with Spark's default where nothing
is said. Options that the index's own reader does not honour (`metaindex.formats.text`) are never equal: modes that drop
or refuse records, corrupt records as a column, patterns that it cannot read. Settings of the session that change what a
text means count as options; its time zone does for columns of instants.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Cure, MetaIndexError, UnsupportedFeatureError, one_line
from metaindex.formats import (
    At,
    ReadOptions,
    Schema,
    TextReader,
)
from metaindex.index import IndexLogEntry
from metaindex.spark.frames import each_of
from metaindex.table import Table, handle_of

from .request import Files, Session, SparkColumns, SparkScan

logger = logging.getLogger("metaindex")
_HARMLESS: Final = re.compile(
    r"spark\.sql\.((csv|json)\.filterPushdown\.enabled|csv\.parser\.columnPruning\.enabled)", re.IGNORECASE
)
_EXPECTED: Final = {
    "spark.sql.legacy.timeparserpolicy": "corrected",
    "spark.sql.columnnameofcorruptrecord": "_corrupt_record",
}
_OF_TYPES: Final = ("schema", "inferschema")
_CORRUPT: Final = "_corrupt_record"


def usual_session(session: Session | None) -> bool:
    """Return whether no setting of the session changes what texts mean. `session` is None if the relation belongs to
    another one."""
    if session is None:
        return False
    for key, value in session.settings.items():
        expected = _EXPECTED.get(key.lower())
        if expected is not None:
            if value.strip().lower() != expected:
                return False
        elif not _HARMLESS.fullmatch(key):
            return False
    return True


def as_spark_reads(table: Table, file_format: str, scan: Files) -> Table | None:
    """Return the table opened with the options of an index of it, if those mean what Spark's mean; None if there is no
    such index. Of several those whose columns are the scan's go first.

    `table` is the same as it is opened without any option.
    """
    asked = ReadOptions.of_spark(file_format, scan.options)
    first: Table | None = None
    for entry in handle_of(table).entries():
        built = ReadOptions.of(entry.table.options)
        if entry.readable and built.file_format == file_format and built.rows == asked.rows:
            opened = _opened(table, entry, built)
            if opened is None or not _is_read_alike(built, opened):
                continue
            if all(same_columns(schema, file_format, scan) for _, schema in handle_of(opened).recorded()):
                return opened
            first = first or opened
    return first


def as_indexed(table: Table, relation: Any) -> Table:
    """Return the table of a relation, opened as the index that a query of the relation uses was built, so that
    statements describe what the query finds; without one, with the relation's options that are not Spark's defaults."""
    handle = handle_of(table)
    if handle.ref.patterns:
        return table
    scan = _scan_of(relation)
    file_format = scan.text
    assert file_format is not None, "a table of texts"
    try:
        indexed = as_spark_reads(Table(handle.with_options(file_format, {}, trust_index=False)), file_format, scan)
        if indexed is not None and _is_of_scan(indexed, file_format, scan):
            header = "header" in ReadOptions.of_spark(file_format, scan.options).rows
            return _with_header(indexed, file_format) if header else indexed
    except MetaIndexError as error:
        logger.warning("statements tell of no index of %s what queries find: %s", table.path, error)
    telling = handle.read.telling
    options = {name: value for name, value in handle.ref.options.items() if name in telling}
    return Table(handle.with_options(file_format, options, trust_index=False))


def check_refreshed(table: Table, name: str, relation: Any) -> None:
    """Raise UnsupportedFeatureError if an index was built with other reader options than those of the relation that
    `table` is opened for (`as_indexed`), or has other types: only of options that were given, for Spark's relations
    have a schema whether one was given or not."""
    handle = handle_of(table)
    entry = handle.indexes().log(name).latest()
    if entry is None or not entry.readable or not handle.ref.options:
        return  # the verb tells
    built, asked = ReadOptions.of(entry.table.options), handle.read
    said = {key: value for key, value in asked.said.items() if key.lower() not in _OF_TYPES}
    types = {key: value for key, value in built.said.items() if key.lower() in _OF_TYPES}
    alike = ReadOptions(asked.file_format, said | types)
    rule = "an index is refreshed with the reader options that it was built with"
    if other := built.why_not(alike):
        raise UnsupportedFeatureError(f"{rule}; of {name!r} {other}; {built.cure(alike)} {Cure('same_name')}")
    if not built.differing(asked) or not entry.content.versions:
        return
    theirs = {field.name: field for field in _scan_of(relation).schema.types}
    for field in entry.content.schemas[entry.content.versions[-1].schema]:
        here = theirs.get(field.name)
        if here is not None and as_compared(here.type, built.file_format) != as_compared(field.type, built.file_format):
            now, then = type_said(here.type), type_said(field.type)
            raise UnsupportedFeatureError(
                f"an index is refreshed with the types that it was built with; of {name!r} the column {field.name} was"
                f" {then}, and Spark reads it as {now}; name its type where the table or view is created, or create"
                f" another index {Cure('same_name')}"
            )


def type_said(type_: pa.DataType) -> str:
    """Return the type's name in SQL."""
    return as_compared(type_, None).removeprefix("? ").removeprefix("`t` ").upper()


def _with_header(table: Table, file_format: str) -> Table:
    """Open the table with `header`, as the relation has it: files need not show that they have one."""
    handle = handle_of(table)
    said = {name: value for name, value in handle.ref.options.items() if name.lower() not in ("format", "header")}
    return Table(handle.with_options(file_format, {**said, "header": "true"}, trust_index=False))


def _scan_of(relation: Any) -> Files:
    schema, partitions = (json.loads(struct.json()) for struct in (relation.dataSchema(), relation.partitionSchema()))
    return Files(
        str(relation.fileFormat().getClass().getSimpleName()),
        SparkColumns([field["name"] for field in schema["fields"]], schema),
        SparkColumns([field["name"] for field in partitions["fields"]], partitions),
        session=None,
        options={str(pair._1()): str(pair._2()) for pair in each_of(relation.options().toSeq())},
    )


def _is_of_scan(table: Table, file_format: str, scan: Files) -> bool:
    handle = handle_of(table)
    alike = all(same_columns(schema, file_format, scan) for _, schema in handle.recorded())
    return alike and tabs_are_told(table, (handle.snapshot(At()).files.paths,))


def built_apart(table: Table, entry: IndexLogEntry, scan: SparkScan, *, none_fits: bool) -> str:
    """Describe how an index was built with other reader options than a scan has, and the cure; empty if options do not
    differ. `table` is as it is opened for the scan: with `none_fits` without any option, as no index was built with
    those of the scan."""
    built, opened, source = ReadOptions.of(entry.table.options), handle_of(table).read, scan.source
    if not isinstance(source, Files) or source.text is None or built.file_format != source.text:
        return _in_words(*built.apart(opened))
    ours, theirs = built.rows, ReadOptions.of_spark(source.text, source.options).rows
    differing = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    other_schema = not none_fits and "schema" in built.differing(opened)
    schema = ["another schema"] if other_schema else []
    with_ = [f"{name}='{one_line(ours[name])}'" for name in sorted(differing & ours.keys())]
    told = _in_words([*with_, *schema], sorted(differing - ours.keys()))
    return told if told or none_fits else _in_words(*built.apart(opened))


def _in_words(with_: Sequence[str], without: Sequence[str]) -> str:
    built = ReadOptions.in_words(with_, without)
    return f"built {built}; read the files so, or create another index" if built else ""


def _opened(table: Table, entry: IndexLogEntry, built: ReadOptions) -> Table | None:
    """Open the table with the schema that was given to the index, if that was no text: the one of its newest record."""
    record = entry.content.versions[-1] if entry.content.versions else None
    if record is None:
        return None
    schema = entry.content.schemas[record.schema]
    handle = handle_of(table)
    for more in ({}, {"schema": pa.schema([(f.name, f.type) for f in schema if not f.partition])}):
        options = {**built.in_text, **more}
        opened = handle.with_options(built.file_format, options, trust_index=handle.trust_index)
        if opened.table_format.is_named(opened.ref, record.version):
            return Table(opened)
    return None


def _is_read_alike(built: ReadOptions, table: Table) -> bool:
    """Return whether the reader that makes the index's rows reads alike: an option that it refuses is read otherwise,
    or not known to be read alike. Files that only Spark reads are of an index that it built."""
    try:
        for _, schema in handle_of(table).recorded():
            TextReader(built.file_format, built.rows, schema, by_spark=True)
    except MetaIndexError:
        return False
    return True


def same_columns(schema: Schema, file_format: str, scan: Files) -> bool:
    """Return whether the columns of the files are those of the scan, with their types, and the others partitions in
    both. CSV finds a column by its place, JSON by its name, as the fields of structs."""
    ours = [(f.name, as_compared(f.type, file_format)) for f in schema if not f.partition]
    asked = [(f.name, as_compared(f.type, file_format)) for f in scan.schema.types]
    if file_format == "json":
        ours, asked = sorted(ours), sorted(asked)
    return (
        ours == asked
        and {f.name for f in schema if f.partition} == set(scan.partitions.names)
        and not any(name.lower() == _CORRUPT for name, _ in ours)
    )


def as_compared(type_: pa.DataType, file_format: str | None) -> str:
    """A text of the type that is another's where both read the same values: fields of JSON are in any order (Spark
    infers them by name, other readers as they come)."""
    columns = pa.schema([("t", _by_names(type_) if file_format == "json" else type_)])
    return str(ReadOptions.of({"schema": columns}).said["schema"])


def _by_names(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct(sorted(((f.name, _by_names(f.type)) for f in type_), key=itemgetter(0)))
    if pa.types.is_map(type_):
        return pa.map_(_by_names(type_.key_type), _by_names(type_.item_type))
    return pa.list_(_by_names(type_.value_type)) if pa.types.is_list(type_) else type_


def same_zone(table: Table, scan: Files) -> bool:
    """Return whether texts without a time zone are read in the same one."""
    ours, theirs = zones(table, scan)
    return ours == theirs


def zones(table: Table, scan: Files) -> tuple[str, str]:
    """Return the zones in which texts without one are read: by an index, which takes UTC unless its options name one,
    and by a scan; that of another session is not known."""
    asked = ReadOptions.of_spark(scan.text or "", scan.options)
    return handle_of(table).read.zone("UTC"), "" if scan.session is None else asked.zone(scan.session.zone)


def has_instants(type_: pa.DataType) -> bool:
    """Return whether the value of a text as this type depends on a time zone."""
    return bool(pa.types.is_timestamp(type_) and type_.tz is not None)


def tabs_are_told(table: Table, lists: Sequence[pa.ChunkedArray]) -> bool:
    """Return whether Spark reads tabs, too: without a separator the index does so if all files are called .tsv."""
    return "sep" in handle_of(table).read.meant or not any(
        pc.any(pc.match_substring(paths, ".tsv", ignore_case=True)).as_py() for paths in lists if len(paths)
    )
