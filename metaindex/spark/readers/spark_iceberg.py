"""Iceberg: scan tasks of the kept files, staged for a scan of the table, so that delete files and field ids are
Iceberg's business.

Iceberg would plan the whole snapshot. Which manifests list the files, and which deletes apply to them, metaindex has
read already: the JVM reads those manifests, and keeps them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ScanError, UnsupportedFeatureError
from metaindex.query import Scan

from .jvm import compiled, counts, numbers, refuse_unlisted, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
