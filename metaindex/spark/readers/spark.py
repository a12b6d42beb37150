"""A scan as a Spark DataFrame: Spark's own readers read the kept files and nothing else, on the executors.

    plain files   spark.read over the list of files, with the snapshot's schema and options; so for Spark Connect
    Delta         Delta's own relation of the version, over the `add` actions of the kept files (deletion vectors,
                  column mapping)
    Iceberg       scan tasks of the kept files, staged for a scan of the table (delete files, field ids)

Spark asks the table for its schema and its protocol, not for its files: those are given to it, with all that the log
says of them. Plain files have no log: a file that was replaced since it was listed is refused here; one that is
replaced between this call and Spark's job is not noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from metaindex.core import ScanError, SparkDriver, dataclass
from metaindex.expressions import And, Opaque, Predicate, conjuncts, to_spark
from metaindex.formats import Format, ReadOptions, Snapshot, TableRef
from metaindex.query import Scan, refuse_replaced

from .jvm import delta_frame, iceberg_frame, java_list

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame, SparkSession


# Of our own making, and nothing to Spark's readers.
_NOT_FOR_SPARK = {"file_format", "columns_by", "name_mapping", "partition_columns", "partition_types", "schema"}
_WORDS = {"spark.sql.parser.escapedStringLiterals": "\\", "spark.sql.ansi.doubleQuotedIdentifiers": '"'}
"""Settings by which the session's parser takes a mark otherwise than Spark does by default."""

# By which Spark shows other values than stand in Parquet files: another calendar, another zone, columns by field ids.
_ANY_CALENDAR: Final = frozenset({"corrected", "exception"})  # days as they are written; old ones, or none
CALENDARS: Final = {"datetimerebasemode": _ANY_CALENDAR, "int96rebasemode": _ANY_CALENDAR}
"""Options of a reader, by their names in small letters, and the values that leave everything as it is written."""

SETTINGS: Final = {
    "spark.sql.parquet.datetimeRebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.legacy.parquet.datetimeRebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.parquet.int96RebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.legacy.parquet.int96RebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.parquet.int96TimestampConversion": frozenset({"false"}),
}
"""The same of a session."""

NAMES: Final = {
    "spark.sql.parquet.fieldId.read.enabled": frozenset({"false"}),
    "spark.sql.caseSensitive": frozenset({"false"}),
}
"""Settings by which Spark finds other columns in plain files than we do; Delta has its own way to find them."""

_FOR_FILES: Final = {name.lower(): values for name, values in (SETTINGS | NAMES).items()}
_FOR_DELTA: Final = {name.lower(): values for name, values in SETTINGS.items()}


@dataclass(frozen=True, slots=True)
class _Reader:
    """A reader of Spark for the files of a format. `settings`: those of the session that would change values of files;
    `just_the_columns`: whether a frame may have the table's columns and no others."""

    frame: Callable[[Scan, npt.NDArray[np.int64], SparkSession], DataFrame]
    settings: tuple[str, ...] = ()
    just_the_columns: bool = True


def data_frame(scan: Scan, spark: SparkSession) -> DataFrame:
    """The scan's rows; nothing is read yet."""
    SparkDriver(spark).check_running()
    if not SparkDriver(spark).is_here and Format.named(scan.snapshot.format).has_log:
        raise ScanError(
            "a Spark Connect server is given names of plain files; those of Delta and Iceberg have rows that were"
            " deleted, and names of columns, of which its driver is told inside; use .to_arrow(), a session of this"
            " process, or a server that leaves files out by itself (mi.enable(spark) says how)"
        )
    reader = _READERS.get(scan.snapshot.format)
    if reader is None:
        raise ScanError(
            "Spark is given the files of formats that it is told how to read;"
            f" {scan.snapshot.table} is {scan.snapshot.format}; read it with .to_arrow()"
        )
    _refuse_missing_files(spark)
    _refuse_other_values(reader.settings, spark)
    scan = _known_to_spark(scan)
    snapshot = scan.snapshot
    rows = scan.file_rows
    frame = reader.frame(scan, rows, spark) if len(rows) else _no_rows(snapshot, spark)
    frame = _filtered(scan, frame)
    if reader.just_the_columns and _has_just_the_columns(scan):
        return frame
    return frame.select(*(_quoted(f.name) for f in scan.fields))


def _known_to_spark(scan: Scan) -> Scan:
    """Return the scan with all file facts that Spark needs. For plain files without reader options the index has
    them."""
    plain = not Format.named(scan.snapshot.format).has_log and not ReadOptions.of(scan.ref.options).said
    return scan if plain else scan.whole()


def _has_just_the_columns(scan: Scan) -> bool:
    """Return whether a frame of the whole table has the columns of the result, in their order. Naming each to Spark
    takes longer than finding the rows.

    Spark puts partition columns of folders behind the others, and Delta may leave out columns without a type.
    """
    fields = scan.snapshot.schema.fields
    moved = not Format.named(scan.snapshot.format).has_log and any(f.partition for f in fields)
    return scan.columns is None and not moved and not any(pa.types.is_null(f.type) for f in fields)


def _filtered(scan: Scan, frame: DataFrame) -> DataFrame:
    """The rows that match, whatever Spark's readers make of a condition that is pushed into them: by footers that know
    nothing of NaN, and hold -0.0 for less than 0.0, the one of Parquet leaves out row groups with rows that match;
    those of CSV and JSON leave out broken records, which are rows of NULLs."""
    predicate = scan.predicate
    if predicate is None:
        return frame
    texts = scan.snapshot.details.read_options().get("file_format") in ("csv", "json")
    floats = {leaf.parts for leaf in scan.snapshot.schema.leaves() if pa.types.is_floating(leaf.type)}
    opaque = [leaf for leaf in predicate.leaves() if isinstance(leaf, Opaque)]
    _refuse_other_arithmetic(opaque, frame.sparkSession)
    if opaque and scan.predicate_text is None and all(leaf.scalar is not None for leaf in opaque):
        _refuse_other_zone(scan, predicate, frame.sparkSession)
        return frame.where(_held_back(to_spark(predicate, session=frame.sparkSession)))
    if not opaque and texts:
        return frame.where(_held_back(to_spark(predicate, session=frame.sparkSession)))
    if not opaque:
        of_floats: list[Predicate] = []
        others: list[Predicate] = []
        for part in conjuncts(predicate):
            (of_floats if any(ref.parts in floats for ref in part.columns) else others).append(part)
        if not of_floats:
            return frame.where(to_spark(predicate, session=frame.sparkSession))
        return frame.where(to_spark(And(tuple(others))) & _held_back(to_spark(And(tuple(of_floats)))))
    if scan.predicate_text is None:
        raise ScanError(
            f"every part of a predicate is applied to the rows; {opaque[0].text!r} is not SQL text that Spark was"
            " given; write the predicate as SQL"
        )
    _refuse_other_zone(scan, predicate, frame.sparkSession)
    _refuse_other_words(scan.predicate_text, frame.sparkSession)
    condition = to_spark(scan.predicate_text, session=frame.sparkSession)
    return frame.where(_held_back(condition) if texts or floats else condition)


def _held_back(condition: Column) -> Column:
    """Wrap a condition so that no reader of files takes it, and the optimizer does not undo that."""
    from pyspark.sql import functions

    return functions.array_contains(functions.array(condition), True)


def _refuse_other_zone(scan: Scan, predicate: Predicate, spark: SparkSession) -> None:
    """Spark reads the whole text in its session's zone; the files were chosen in the table's."""
    zone = spark.conf.get("spark.sql.session.timeZone") or ""
    types = {leaf.parts: leaf.type for leaf in scan.snapshot.schema.leaves()}
    temporal = [c for c in predicate.columns if c.parts in types and pa.types.is_temporal(types[c.parts])]
    if temporal and zone != scan.time_zone:
        raise ScanError(
            f"times without a zone mean the same when files are chosen and when rows are; {temporal[0].name!r} is"
            f" compared in {scan.time_zone} here and in {zone} by the session; set spark.sql.session.timeZone, or"
            f" Config(time_zone={zone!r})"
        )


def _refuse_other_arithmetic(parts: Sequence[Opaque], spark: SparkSession) -> None:
    """A number that does not fit is an error here, and so no file is read for what it would be without its highest
    bits."""
    for part in parts:
        if part.scalar is not None and (spark.conf.get("spark.sql.ansi.enabled", "true") or "").lower() == "false":
            raise ScanError(
                "arithmetic and functions mean what they mean in ANSI mode, where what does not fit is an error; the"
                f" session has spark.sql.ansi.enabled=false, and {part.text[:200]!r} may mean something else; set it to"
                " true, or compare columns alone"
            )


def _refuse_other_words(text: str, spark: SparkSession) -> None:
    """Spark reads the whole text as its session's parser does; the files were chosen by Spark's default one."""
    for name, mark in _WORDS.items():
        if mark in text and (spark.conf.get(name, "false") or "false").lower() == "true":
            raise ScanError(
                f"a condition means the same when files are chosen and when rows are; the session reads {mark} in"
                f" {text[:200]!r} otherwise, as it has {name}=true; set it to false"
            )


def _refuse_missing_files(spark: SparkSession) -> None:
    for name in ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"):
        if (spark.conf.get(name, "false") or "false").lower() == "true":
            raise ScanError(
                f"a scan returns every row of its files or fails; the session has {name}=true; set it to false"
            )


def _refuse_other_values(settings: Sequence[str], spark: SparkSession) -> None:
    for name in settings:
        value = spark.conf.get(name, min(SETTINGS[name]))  # Spark refuses a default that the setting could not have
        if value and value.strip().lower() not in SETTINGS[name]:
            raise ScanError(
                "files are chosen by the values that stand in them; the session shows others, as it has"
                f" {name}={value}; unset it"
            )


def _files(scan: Scan, rows: npt.NDArray[np.int64], spark: SparkSession) -> DataFrame:
    from pyspark.sql import DataFrame

    snapshot = scan.snapshot
    refuse_replaced(scan.storage, snapshot, rows.tolist())
    paths = snapshot.files.paths.take(pa.array(rows)).to_pylist()
    options = dict(snapshot.details.read_options())
    file_format = str(options.get("file_format", "parquet"))
    reader = spark.read.format(file_format).schema(SparkDriver.schema_of(snapshot.schema.arrow()))
    if file_format in ("csv", "json"):
        reader = reader.option(
            "timeZone", "UTC"
        )  # as indexes and the Arrow reader take texts without a zone; the table's own option wins
    for name, value in options.items():
        if name.lower() not in _NOT_FOR_SPARK and value is not None:
            reader = reader.option(name, value if isinstance(value, bool | int | float) else str(value))
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    if file_format == "parquet":
        for name in CALENDARS:
            reader = reader.option(name, "CORRECTED")
    if any(f.partition for f in snapshot.schema) and "basepath" not in options:
        reader = reader.option("basePath", snapshot.table)
    named = [TableRef.literal(snapshot.uri(path)) for path in paths]  # Spark takes a path for a pattern
    if not SparkDriver(spark).is_here:
        return reader.load(named)
    java_paths = java_list(SparkDriver(spark).jvm, named)
    return DataFrame(reader._jreader.load(SparkDriver(spark).jvm.PythonUtils.toSeq(java_paths)), spark)


def _no_rows(snapshot: Snapshot, spark: SparkSession) -> DataFrame:
    """A local relation: asking it runs no job, where a list of Python rows would be handed to workers first."""
    from pyspark.sql import DataFrame

    if not SparkDriver(spark).is_here:
        return spark.createDataFrame([], SparkDriver.schema_of(snapshot.schema.shown.arrow()))
    session = spark._jsparkSession
    schema = session.parseDataType(SparkDriver.schema_of(snapshot.schema.shown.arrow()).json())
    return DataFrame(session.createDataFrame(java_list(SparkDriver(spark).jvm, []), schema), spark)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def as_written(set_: Mapping[str, str], options: Mapping[str, str], *, delta: bool) -> bool:
    """Return whether Spark shows what stands in the files. `set_`: what is set in the session, by its names; `options`:
    of the reader."""
    settings = _FOR_DELTA if delta else _FOR_FILES
    return all(_neutral(settings.get(name.lower()), value) for name, value in set_.items()) and all(
        _neutral(CALENDARS.get(name.lower()), value) for name, value in options.items()
    )


def _neutral(values: frozenset[str] | None, value: str) -> bool:
    return values is None or value.strip().lower() in values


_READERS: Mapping[str, _Reader] = {
    "delta": _Reader(delta_frame, tuple(SETTINGS)),
    "iceberg": _Reader(iceberg_frame, just_the_columns=False),  # those of row lineage are there, too
    "files": _Reader(_files, ("spark.sql.parquet.int96TimestampConversion",)),  # the calendar is told to the reader
}
