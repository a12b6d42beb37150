"""Delta: the version's own DataFrame over the kept files, so that deletion vectors and column mapping are Delta's
business.

What the log says of each file is what metaindex read of it: Delta would run a job over its log to say it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import ScanError
from metaindex.formats import Snapshot
from metaindex.query import Scan

from .jvm import compiled, counts, numbers, texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
