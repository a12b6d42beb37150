"""Delta: the log's own DataFrame over the kept `add` actions of the version, so that deletion vectors and column mapping are Delta's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from formats.model import Snapshot

from .errors import ScanError
from .jvm import java_list, jvm_of, refuse_unlisted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEW = 1000  # files asked for by name; more are found in the list of all


def delta_frame(snapshot: Snapshot, paths: list[str], whole: bool, spark: SparkSession) -> DataFrame:
    """The rows of the files `paths` of the snapshot's version; `whole`: they are all that it has."""
    from pyspark.sql import DataFrame

    jvm = jvm_of(spark)
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, snapshot.table)
    none = [getattr(log, f"getSnapshotAt$default${i}")() for i in (2, 3, 4)]
    at = log.getSnapshotAt(int(snapshot.version.id), *none)
    files = at.allFiles()
    if whole:
        actions = files.collectAsList()
        if actions.size() != len(paths):
            raise ScanError(
                f"Spark must see the files that were kept; it lists {actions.size()} files in version {snapshot.version} of {snapshot.table}, not {len(paths)}; open the table again"
            )
    else:
        actions = _kept(snapshot, files, paths, spark)
    rest = [getattr(log, f"createDataFrame$default${i}")() for i in (3, 4)]
    return DataFrame(log.createDataFrame(at, jvm.PythonUtils.toSeq(actions), *rest), spark)


def _kept(snapshot: Snapshot, files: Any, paths: list[str], spark: SparkSession) -> Any:
    """The add actions of `paths` among `files`, a Dataset of them."""
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as f

    from formats.delta.paths import decoded_column

    # Most names are written as they are: then one small filter finds them, and the list of all is not asked for.
    if len(paths) <= _FEW and not any("%" in path or ":" in path for path in paths):
        actions = files.filter(f.col("path").isin(paths)._jc).collectAsList()
        if actions.size() == len(paths):
            return actions
    frame = DataFrame(files.toDF(), spark)
    raw = frame.select("path").toArrow().column("path").combine_chunks().cast(pa.string())
    shown = decoded_column(raw)
    wanted = pa.array(paths, pa.string())
    refuse_unlisted(snapshot, wanted.filter(_within(wanted, shown, among=False)).to_pylist())
    names = raw.filter(_within(shown, wanted, among=True)).to_pylist()
    if len(names) <= _FEW:
        return files.filter(f.col("path").isin(names)._jc).collectAsList()
    jvm = jvm_of(spark)
    asked = spark._jsparkSession.createDataset(java_list(jvm, names), jvm.org.apache.spark.sql.Encoders.STRING())
    by_name = DataFrame(asked.toDF(), spark).toDF("path")
    joined = frame.join(by_name, "path", "left_semi").select(*frame.columns)
    return getattr(joined._jdf, "as")(files.encoder()).collectAsList()


def _within(values: pa.Array, members: pa.Array, *, among: bool) -> pa.Array:
    import pyarrow.compute as pc

    found = pc.is_in(values, value_set=members)
    return found if among else pc.invert(found)
