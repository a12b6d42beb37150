"""The driver's JVM in few calls: a call through py4j costs a tenth of a millisecond, so lists of files cross as one
text.

Delta gives the version's own DataFrame over the kept files, Iceberg scan tasks of them, staged for a scan of the table:
deletion vectors, delete files, column mapping and field ids are their business. What the log says of each file, which
manifests list it and which deletes apply to it is what metaindex read: neither plans the version again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ScanError, SparkDriver, UnsupportedFeatureError, Vector
from metaindex.formats import Snapshot
from metaindex.query import Scan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_INSTANCES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by gateway, of which a JVM has one
_SEPARATOR = "\0"  # no store has it in a name


def java_list(jvm: Any, texts: Sequence[str]) -> Any:
    """A java.util.List of the texts, in one call where Spark has what that needs."""
    if not texts or "" in texts or any(_SEPARATOR in text for text in texts):
        return list(texts)
    from py4j.protocol import Py4JError

    try:
        with SparkDriver.interrupts_first():
            return jvm.com.google.common.base.Splitter.on(_SEPARATOR).splitToList(_SEPARATOR.join(texts))
    except Py4JError:  # Spark 3.5 has an older Guava without it
        return list(texts)


def compiled(spark: SparkSession, name: str) -> Any:
    """The one instance a JVM of the class of `java/<name>.java`."""
    from py4j.protocol import Py4JJavaError

    known = _INSTANCES.setdefault(SparkDriver(spark).gateway, {})
    try:
        with SparkDriver.interrupts_first():
            if name not in known:
                known[name] = SparkDriver(spark).room_classes(__package__).new(name)
            return known[name]
    except Py4JJavaError as error:
        raise ScanError(
            f"Spark reads the kept files by the format's own jars, as metaindex knows them; {name}.java does not fit"
            " those of this session; start it with metaindex.spark.spark_session, or with the jars that it takes"
            f" ({error.java_exception})"
        ) from error


def counts(*values: int | npt.NDArray[np.integer[Any]]) -> bytes:
    """Numbers of 4 bytes, as Columns.java reads them."""
    return b"".join(np.asarray(value).astype(">i4").tobytes() for value in values)


def numbers(column: pa.Array | pa.ChunkedArray) -> bytes:
    """Encode a column of whole numbers, as Columns.java reads them."""
    values = Vector(column).array.cast(pa.int64())
    integers = np.where(Vector(values).present, Vector(values).items(np.int64), np.iinfo(np.int64).min)
    return integers.astype(">i8").tobytes()


def texts(column: pa.Array | pa.ChunkedArray) -> bytes:
    """Encode a column of strings, as Columns.java reads them."""
    values = Vector(column).array.cast(pa.string())
    filled = values.fill_null("")
    offsets = np.frombuffer(filled.buffers()[1], np.int32, len(filled) + 1, filled.offset * 4)
    data = filled.buffers()[2]
    lengths = np.diff(offsets)
    said = b"" if data is None else data[int(offsets[0]) : int(offsets[-1])].to_pybytes()
    return counts(np.where(Vector(values).present, lengths, -1)) + said


def refuse_unlisted(snapshot: Snapshot, paths: Sequence[str]) -> None:
    if paths:
        raise ScanError(
            f"Spark must see the files that were kept; it does not list {snapshot.described(paths[0])}; open the table"
            " again"
        )


_OF_FILES = ("size_bytes", "modified_ms", "delta_base_row_id", "delta_row_commit_version")
_OF_DELETES = ("delta_dv_offset", "delta_dv_size", "deleted_count")


def delta_frame(scan: Scan, rows: npt.NDArray[np.int64], spark: SparkSession) -> DataFrame:
    """The rows of the files at `rows` of the snapshot's list."""
    from pyspark.sql import DataFrame

    snapshot = scan.snapshot
    frame = compiled(spark, "DeltaFrames").frame(
        spark._jsparkSession,
        snapshot.table,
        int(snapshot.version.id),
        snapshot.properties["table_uuid"],
        _sent(snapshot, pa.array(rows)),
    )
    if frame is None:
        raise ScanError(
            f"Spark must see the table that was asked; version {snapshot.version} of {snapshot.table} is another"
            " table's by now; open the table again"
        )
    return DataFrame(frame, spark)


def _sent(snapshot: Snapshot, rows: pa.Array) -> bytes:
    """The files' `add` actions as DeltaFrames.java reads them."""
    details: Any = snapshot.details  # of a Delta snapshot
    files = snapshot.files.table.take(rows)
    names = details.schema.partition_sources
    parts = [counts(len(rows), len(names)), texts(pa.array(names, pa.string())), texts(files.column("path"))]
    parts += [numbers(files.column(name)) for name in _OF_FILES]
    parts += [texts(files.column(name)) for name in ("delta_dv_storage", "delta_dv_path")]
    parts += [numbers(files.column(name)) for name in _OF_DELETES]
    parts += [texts(values.take(rows)) for values in details.values]
    return b"".join(parts)


def iceberg_frame(scan: Scan, rows: npt.NDArray[np.int64], spark: SparkSession) -> DataFrame:
    """The rows of the files at `rows` of the snapshot's list."""
    import xxhash
    from pyspark.sql import DataFrame

    snapshot = scan.snapshot
    details: Any = snapshot.details  # of an Iceberg snapshot
    if details.place.moved:
        refuse_unlisted(snapshot, [snapshot.files.paths[int(rows[0])].as_py()])
    metadata = details.metadata
    schema_id = snapshot.version.schema_id
    assert schema_id is not None, "an Iceberg version"
    # Equal for the same files of the same version: they are one staged set, however often they are asked for.
    file_hash = xxhash.xxh3_64_hexdigest(metadata.file.encode())
    key = f"metaindex-{metadata.table_uuid}-{snapshot.version.id}-{schema_id}-{file_hash}"
    java = compiled(spark, "IcebergFrames")
    session = spark._jsparkSession
    if not java.isOpen(session, key) and not java.open(
        session, key, metadata.file, json.dumps(metadata.schemas[schema_id])
    ):
        raise ScanError(
            f"Spark must read the columns of the asked version; {metadata.file} has no schema with"
            f" {', '.join(snapshot.schema.names)}; open the table again"
        )
    locations = details.data["location"].gather(rows.tolist()).to_arrow()
    sent = b"".join([counts(len(rows)), texts(locations), *_manifests(details, rows), *_deletes(details, rows)])
    answer: Any = java.frame(session, key, details.snapshot_id, f"{key}-{xxhash.xxh3_128_hexdigest(sent)}", sent)
    if isinstance(answer, str):
        refuse_unlisted(snapshot, [answer])
    if answer is False:
        raise UnsupportedFeatureError(
            "some files of an Iceberg table are handed to Spark as tasks that Iceberg reads by their name; the release"
            " of Iceberg in this session does not; take the rows by to_arrow(), or the release that metaindex pins"
        )
    return DataFrame(answer, spark)


def _manifests(details: Any, rows: npt.NDArray[np.int64]) -> tuple[bytes, bytes]:
    """Return the manifests that list the files; none if the manifest list does not tell."""
    live = [manifest.live_files for manifest in details.data_manifests]
    known = [count for count in live if count is not None]
    named: list[str] = []
    if len(known) == len(live) and sum(known) == details.data.height:
        places = np.unique(np.searchsorted(np.cumsum(known), rows, side="right"))
        named = [details.data_manifests[place].location for place in places.tolist()]
    return counts(len(named)), texts(pa.array(named, pa.string()))


def _deletes(details: Any, rows: npt.NDArray[np.int64]) -> tuple[bytes, ...]:
    """Delete files that apply to the files, and the pairs of both, counted in the order of `rows` and of the former."""
    import polars as pl

    if not details.pairs.height:
        return counts(0), counts(0)  # neither: no texts and no numbers follow
    files = pl.DataFrame({"file": rows.astype(np.uint32), "place": np.arange(len(rows), dtype=np.int32)})
    pairs = details.pairs.select(pl.col("file").cast(pl.UInt32), "delete").join(files, on="file")
    asked = pairs["delete"].unique(maintain_order=True)
    entries = details.delete_entries[asked.to_list()] if len(asked) else details.delete_entries.head(0)
    order = pl.DataFrame({"delete": asked, "number": np.arange(len(asked), dtype=np.int32)})
    numbered = pairs.join(order, on="delete")
    return (
        counts(len(asked)),
        texts(entries["location"].to_arrow()),
        numbers(entries["content_offset"].to_arrow()),
        counts(numbered.height, numbered["place"].to_numpy(), numbered["number"].to_numpy()),
    )
