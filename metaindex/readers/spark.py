"""A scan as a Spark DataFrame: Spark's own readers read the kept files and nothing else, on the executors.

    plain files   spark.read over the list of files, with the snapshot's schema and options
    Delta         the log's own DataFrame over the kept `add` actions of the version (deletion vectors, column mapping)
    Iceberg       the version's own scan tasks of the kept files, staged for a scan of the table (delete files, field ids)

The table's log is asked by Spark once more, for the same version. A kept file that it does not list there is an error.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from expressions.engines.spark import to_spark
from expressions.references import columns, leaves
from expressions.tree import Opaque, Predicate
from formats.model import Field, Schema, Snapshot

from .errors import ScanError
from .scan import Scan, describe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Of our own making, and nothing to Spark's readers.
_NOT_FOR_SPARK = {"file_format", "columns_by", "name_mapping", "partition_columns", "partition_types", "schema"}


def data_frame(scan: Scan, spark: SparkSession) -> DataFrame:
    """The scan's rows; nothing is read yet."""
    if not hasattr(spark, "_jsparkSession"):
        raise ScanError(
            "files are kept or left out inside Spark's driver; a Spark Connect session has no way to it; use .to_arrow(), or a session of this process"
        )
    _refuse_missing_files(spark)
    snapshot = scan.snapshot
    rows = scan.file_rows
    if not len(rows):
        frame = spark.createDataFrame([], _spark_schema(snapshot.schema.arrow()))
    else:
        paths = snapshot.files.paths.take(pa.array(rows)).to_pylist()
        whole = len(rows) == len(snapshot.files)
        match snapshot.format:
            case "delta":
                frame = _delta(snapshot, paths, whole, spark)
            case "iceberg":
                frame = _iceberg(snapshot, paths, spark)
            case _:
                frame = _files(snapshot, paths, spark)
    frame = _filtered(scan, frame)
    return frame.select(*(_quoted(f.name) for f in scan.fields))


def _filtered(scan: Scan, frame: DataFrame) -> DataFrame:
    predicate = scan.predicate
    if predicate is None:
        return frame
    opaque = [leaf for leaf in leaves(predicate) if isinstance(leaf, Opaque)]
    if not opaque:
        return frame.where(to_spark(predicate))
    if scan.predicate_text is None:
        raise ScanError(
            f"every part of a predicate is applied to the rows; {opaque[0].text!r} is not SQL text that Spark was given; write the predicate as SQL"
        )
    _refuse_other_zone(scan, predicate, frame.sparkSession)
    return frame.where(scan.predicate_text)


def _refuse_other_zone(scan: Scan, predicate: Predicate, spark: SparkSession) -> None:
    """Spark reads the whole text in its session's zone; the files were chosen in the table's."""
    zone = spark.conf.get("spark.sql.session.timeZone") or ""
    types = {leaf.parts: leaf.type for leaf in scan.snapshot.schema.leaves()}
    temporal = [c for c in columns(predicate) if c.parts in types and pa.types.is_temporal(types[c.parts])]
    if temporal and zone != scan.time_zone:
        raise ScanError(
            f"times without a zone mean the same when files are chosen and when rows are; {temporal[0].name!r} is compared in {scan.time_zone} here "
            f"and in {zone} by the session; set spark.sql.session.timeZone, or Config(time_zone={zone!r})"
        )


def _refuse_missing_files(spark: SparkSession) -> None:
    for name in ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"):
        if (spark.conf.get(name, "false") or "false").lower() == "true":
            raise ScanError(
                f"a scan returns every row of its files or fails; the session has {name}=true; set it to false"
            )


def _files(snapshot: Snapshot, paths: list[str], spark: SparkSession) -> DataFrame:
    options = dict(snapshot.details.read_options())
    file_format = str(options.get("file_format", "parquet"))
    reader = spark.read.format(file_format).schema(_spark_schema(snapshot.schema.arrow()))
    if file_format in ("csv", "json"):
        reader = reader.option(
            "timeZone", "UTC"
        )  # as indexes and the Arrow reader take texts without a zone; the table's own option wins
    for name, value in options.items():
        if name.lower() not in _NOT_FOR_SPARK and value is not None:
            reader = reader.option(name, value if isinstance(value, bool | int | float) else str(value))
    reader = reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    if any(f.partition for f in snapshot.schema):
        reader = reader.option("basePath", snapshot.table)
    return reader.load([_literal_path(snapshot.uri(path)) for path in paths])


def _literal_path(path: str) -> str:
    """Spark takes a path for a pattern: what has a meaning in one is escaped."""
    return re.sub(r"([{}\[\]*?\\])", r"\\\1", path)


def _delta(snapshot: Snapshot, paths: list[str], whole: bool, spark: SparkSession) -> DataFrame:
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as f

    from formats.delta.paths import decoded

    jvm = _jvm(spark)
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, snapshot.table)
    none = [getattr(log, f"getSnapshotAt$default${i}")() for i in (2, 3, 4)]
    at = log.getSnapshotAt(int(snapshot.version.id), *none)
    files = at.allFiles()
    if not whole:
        raw = {decoded(row.path): row.path for row in DataFrame(files.toDF(), spark).select("path").collect()}
        _refuse_unlisted(snapshot, [p for p in paths if p not in raw])
        files = files.filter(f.col("path").isin([raw[p] for p in paths])._jc)
    actions = jvm.PythonUtils.toSeq(files.collectAsList())
    if whole and actions.size() != len(paths):
        raise ScanError(
            f"Spark must see the files that were kept; it lists {actions.size()} files in version {snapshot.version} of {snapshot.table}, not {len(paths)}; open the table again"
        )
    rest = [getattr(log, f"createDataFrame$default${i}")() for i in (3, 4)]
    return DataFrame(log.createDataFrame(at, actions, *rest), spark)


def _iceberg(snapshot: Snapshot, paths: list[str], spark: SparkSession) -> DataFrame:
    import xxhash

    from formats.iceberg.locations import normal

    jvm = _jvm(spark)
    metadata: Any = getattr(snapshot.details, "metadata")  # noqa: B009  # of Iceberg's details only
    table = _pinned_table(jvm, spark, str(metadata.file), snapshot)
    wanted = {normal(snapshot.uri(path)) for path in paths}
    tasks = jvm.java.util.ArrayList()
    planned = table.newBatchScan().useSnapshot(int(snapshot.version.id)).planFiles()
    try:
        found = set()
        iterator = planned.iterator()
        while iterator.hasNext():
            task = iterator.next()
            location = normal(task.file().location())
            if location in wanted:
                tasks.add(task)
                found.add(location)
    finally:
        planned.close()
    _refuse_unlisted(snapshot, sorted(wanted - found))
    # The same files of the same version are one staged set, however often they are asked for.
    names = "\n".join(sorted(wanted))
    group = f"metaindex-{table.uuid()}-{snapshot.version.id}-{xxhash.xxh3_128_hexdigest(names.encode())}"
    manager = jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()
    manager.stageTasks(table, group, tasks)
    _table_cache(spark, manager).add(group, table)
    return spark.read.format("iceberg").load(group)


def _table_cache(spark: SparkSession, neighbour: Any) -> Any:
    """Iceberg's SparkTableCache.get(), by reflection: py4j takes it for the method of the same name that has an argument."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None, "a session of this process has a gateway"
    found = neighbour.getClass().getClassLoader().loadClass("org.apache.iceberg.spark.SparkTableCache")
    nothing = gateway.new_array(gateway.jvm.java.lang.Class, 0)
    return found.getMethod("get", nothing).invoke(None, gateway.new_array(gateway.jvm.java.lang.Object, 0))


def _pinned_table(jvm: Any, spark: SparkSession, metadata_file: str, snapshot: Snapshot) -> Any:
    """The table as its metadata file has it, with the schema of the asked version as the current one."""
    from formats.iceberg.schema import read_schema

    conf = spark._jsparkSession.sessionState().newHadoopConf()
    table = jvm.org.apache.iceberg.hadoop.HadoopTables(conf).load(metadata_file)
    parser = jvm.org.apache.iceberg.SchemaParser
    for schema in (table.schema(), *table.schemas().values()):
        if _same(read_schema(json.loads(parser.toJson(schema)), metadata_file), snapshot.schema):
            if schema.schemaId() == table.schema().schemaId():
                return table
            old = table.operations().current()
            pinned = jvm.org.apache.iceberg.TableMetadata.buildFrom(old).setCurrentSchema(schema.schemaId())
            operations = jvm.org.apache.iceberg.StaticTableOperations(pinned.discardChanges().build(), table.io())
            return jvm.org.apache.iceberg.BaseTable(operations, table.name())
    raise ScanError(
        f"Spark must read the columns of the asked version; {metadata_file} has no schema with {', '.join(snapshot.schema.names)}; open the table again"
    )


def _same(a: Schema, b: Schema) -> bool:
    """The same columns, those inside lists and maps with their ids. Which of them partition the table is no part of a schema."""

    def shape(fields: tuple[Field, ...]) -> list[object]:
        return [(f.name, f.field_id, shape(f.children)) for f in fields]

    return shape(a.fields) == shape(b.fields) and a.arrow().equals(b.arrow(), check_metadata=True)


def _refuse_unlisted(snapshot: Snapshot, paths: list[str]) -> None:
    if paths:
        raise ScanError(
            f"Spark must see the files that were kept; it does not list {describe(snapshot, paths[0])}; open the table again"
        )


def _jvm(spark: SparkSession) -> Any:
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session of this process has a JVM"
    return jvm


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
