"""CSV and JSON files in Spark: read and aggregated per file inside the JVM, with the snapshot's schema and options.

A file is found again by `_metadata.file_path`, which says `file:/...` and percent-encodes: both sides are brought to
one form. A group that belongs to no file of the request fails the build; a file without a group has no rows.

A text that does not parse as its column's type is NULL to Spark and an error elsewhere. Where Spark marks any record,
the files are read once more with every column a text: a column with fewer values than texts is UNKNOWN for that file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError, SparkDriver
from metaindex.expressions import ColumnBounds, column_sql, to_physical
from metaindex.formats import Field, Leaf, Trust
from metaindex.index.kinds.facts import facts_of, replace_rows, unknown_facts
from metaindex.storage import Storage

from .collect import Collected, FactScan, readable
from .protocol import BuildRequest
from .spark_tasks import FILE, FILE_ROWS, file_rows, struct
from .text_scan import as_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

CORRUPT = "_metaindex_corrupt_record"
"""The column that holds what Spark could not parse."""
KEYED = pa.schema([*FILE, pa.field("problem", pa.string()), pa.field("key", pa.string())])
# Options that choose files (the snapshot did that), or would hide what is missing.
_NOT_PASSED = {
    *("file_format", "path", "paths", "basepath", "recursivefilelookup", "pathglobfilter", "modifiedbefore"),
    *("modifiedafter", "ignorecorruptfiles", "ignoremissingfiles", "mergeschema", "schema", "inferschema"),
    *("partitions", "partition_types", "partition_columns", "columnnameofcorruptrecord", "columns_by", "name_mapping"),
}


def text_rows(spark: SparkSession, request: BuildRequest, source: FactScan, files: DataFrame) -> DataFrame:
    """FILE_ROWS of every file and leaf."""
    keyed = files.mapInArrow(CheckTask(request.ref.storage).run, struct(KEYED)).persist()
    left_out = {row["ordinal"] for row in keyed.filter("problem IS NOT NULL").select("ordinal").collect()}
    paths = request.files.paths.to_pylist()
    uris = [request.ref.storage.uri(path) for ordinal, path in enumerate(paths) if ordinal not in left_out]
    if uris:
        groups = _aggregate(spark, source, uris, texts=False)
        if (groups.agg({"corrupt": "max"}).head() or [0])[0]:
            groups = groups.join(_aggregate(spark, source, uris, texts=True), "key", "left")
        joined = keyed.join(groups, "key", "full_outer")
    else:
        joined = keyed
    return joined.mapInArrow(TextTask(source).run, struct(FILE_ROWS))


@dataclass(frozen=True, slots=True)
class CheckTask:
    """Task that checks files against the snapshot, and returns the keys by which their groups are found."""

    storage: Storage

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            paths, sizes = batch.column("path").to_pylist(), batch.column("size_bytes").to_pylist()
            problems = [self._problem(path, size) for path, size in zip(paths, sizes, strict=True)]
            keys = [our_key(self.storage.uri(path)) for path in paths]
            columns = [*batch.columns, pa.array(problems, pa.string()), pa.array(keys, pa.string())]
            yield pa.RecordBatch.from_arrays(columns, schema=KEYED)

    def _problem(self, path: str, size: int) -> str | None:
        name = path.rpartition("/")[2]
        if name.startswith(("_", ".")) or name.endswith("._COPYING_"):
            return f"cannot read {path!r}: Spark's readers leave out hidden files"
        actual = readable(path, lambda: self.storage.head(path).size_bytes)
        if actual == size or isinstance(actual, str):
            return None if actual == size else str(actual)
        return f"cannot read {path!r}: the snapshot says {size} bytes, the file has {actual}"


@dataclass(frozen=True, slots=True)
class TextTask:
    """Files with their aggregates (columns low0, high0, present0, nan0, texts0 ...) to FILE_ROWS."""

    source: FactScan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            if not table.num_rows:
                continue
            if table.column("ordinal").null_count:
                stray = table.filter(pc.is_null(table.column("ordinal"))).column("key")[0].as_py()
                raise BuildError(
                    f"every row read belongs to a file of the request; Spark read {stray!r}, which does not; "
                    "report this with the table's path"
                )
            problems = {row: why for row, why in enumerate(table.column("problem").to_pylist()) if why is not None}
            facts = [self._facts(table, place, leaf) for place, leaf in enumerate(self.source.leaves)]
            out = np.array(sorted(problems), np.int64)
            facts = [
                replace_rows(facts_of_leaf, out, unknown_facts(leaf.type, len(out)))
                for facts_of_leaf, leaf in zip(facts, self.source.leaves, strict=True)
            ]
            scanned = np.ones(table.num_rows, np.bool_)
            scanned[out] = False
            yield from file_rows(self.source, table.select(FILE.names), Collected(facts, problems, scanned))

    def _facts(self, table: pa.Table, place: int, leaf: Leaf) -> pa.Table:
        count = table.num_rows
        if f"low{place}" not in table.schema.names:
            return unknown_facts(leaf.type, count)

        def number(name: str) -> pa.Array:
            return pc.fill_null(table.column(name).combine_chunks(), 0)

        rows, present = number("rows"), number(f"present{place}")
        low, high = (table.column(f"{side}{place}").combine_chunks() for side in ("low", "high"))
        lower, upper = to_physical(low, leaf.type, upper=False), to_physical(high, leaf.type, upper=True)
        sure = pa.repeat(True, count)
        if f"texts{place}" in table.schema.names:
            sure = pc.equal(number(f"texts{place}"), present)

        def where_sure(values: pa.Array) -> pa.Array:
            return pc.if_else(sure, values, None)

        bounds = ColumnBounds(
            leaf.type,
            lower=where_sure(lower),
            upper=where_sure(upper),
            null_count=where_sure(pc.subtract(rows, present)),
            nan_count=where_sure(number(f"nan{place}")),
            row_count=where_sure(rows),
            lower_exact=pc.equal(lower, to_physical(low, leaf.type, upper=True)),
            upper_exact=pc.equal(upper, to_physical(high, leaf.type, upper=False)),
        )
        return facts_of(bounds, count, pc.if_else(sure, int(Trust.COMPUTED), int(Trust.NONE)))


def _aggregate(spark: SparkSession, source: FactScan, uris: list[str], *, texts: bool) -> DataFrame:
    """Return one row per file: `key` and the aggregates of every leaf; with `texts`, only the number of texts."""
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    frame = text_frame(spark, source, uris, [as_text(field) for field in source.fields] if texts else source.fields)
    aggregates: list[Column] = []
    for place, leaf in enumerate(source.leaves):
        column = F.col(column_sql(leaf.parts))
        if texts:
            aggregates.append(F.count(column).alias(f"texts{place}"))
            continue
        floating = pa.types.is_floating(leaf.type)
        numbers = F.when(~F.isnan(column), column) if floating else column
        aggregates += [
            F.min(numbers).alias(f"low{place}"),
            F.max(numbers).alias(f"high{place}"),
            F.count(column).alias(f"present{place}"),
            (F.count_if(F.isnan(column)) if floating else F.lit(0).cast("bigint")).alias(f"nan{place}"),
        ]
    if not texts:
        aggregates += [F.count("*").alias("rows"), F.count(CORRUPT).alias("corrupt")]
    # Every aggregate reads a parsed column, and the record's mark is only right when all of them are parsed.
    groups = frame.groupBy(F.col("_metadata.file_path").alias("key")).agg(*aggregates)
    return groups.mapInArrow(withour_keys, groups.schema)


def text_frame(spark: SparkSession, source: FactScan, uris: list[str], fields: Sequence[Field]) -> DataFrame:
    """The files as Spark's reader shows them: the fields, and CORRUPT."""
    from pyspark.sql.types import StringType, StructField, StructType

    arrow = pa.schema([pa.field(field.name, field.type) for field in fields])
    # A moment without a zone stays one, whatever the session prefers: as an instant, a text with a zone is a value.
    columns = SparkDriver.schema_of(arrow)
    schema = StructType([*columns, StructField(CORRUPT, StringType())])
    options = {name: _option(value) for name, value in source.options if name.lower() not in _NOT_PASSED}
    if "timezone" not in {name.lower() for name in options}:
        options["timeZone"] = "UTC"  # as every reader of this project takes it
    options |= {"columnNameOfCorruptRecord": CORRUPT, "ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
    reader = spark.read.format(source.file_format).schema(schema).options(**options)
    return reader.load([as_name(uri) for uri in uris])


def as_name(uri: str) -> str:
    """A path that Spark's readers take for a name: characters of patterns are escaped. Their option against patterns,
    `__globPaths__`, reads the other files twice as soon as one path has such a character."""
    return re.sub(r"([][{}*?\\])", r"\\\1", uri)


def withour_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows with `key` in our form."""
    for batch in batches:
        keys = pa.array([spark_key(uri) for uri in batch.column("key").to_pylist()], pa.string())
        place = batch.schema.get_field_index("key")
        yield batch.set_column(place, batch.schema.field(place), keys)


def spark_key(uri: str) -> str:
    """Return our key of a percent-encoded `_metadata.file_path`."""
    return our_key(unquote(uri))


def our_key(uri: str) -> str:
    """A local path, or scheme and path with the names of one store made one."""
    local = re.sub(r"^file:/*", "/", uri)
    if "://" not in local:
        return re.sub(r"/+", "/", local)
    return re.sub(r"^s3[an]://", "s3://", local)


def _option(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
