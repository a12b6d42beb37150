"""Iceberg: the version's own scan tasks of the kept files, staged for a scan of the table, so that delete files and field ids are Iceberg's business."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from formats.model import Field, Schema, Snapshot

from .errors import ScanError
from .jvm import compiled, gateway_of, jvm_of, ordinals, refuse_unlisted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Three calls for any number of files: all of them, where they are, and which to keep.
_TASKS: Final = """
package metaindex;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.iceberg.ContentScanTask;
import org.apache.iceberg.io.CloseableIterable;

public final class PlannedTasks {
  public List all(CloseableIterable planned) throws IOException {
    List tasks = new ArrayList();
    try {
      for (Iterator i = planned.iterator(); i.hasNext();) {
        tasks.add(i.next());
      }
    } finally {
      planned.close();
    }
    return tasks;
  }

  public String locations(List tasks) {
    StringBuilder out = new StringBuilder();
    for (Iterator i = tasks.iterator(); i.hasNext();) {
      out.append(((ContentScanTask) i.next()).file().location()).append((char) 0);
    }
    return out.toString();
  }

  public List kept(List tasks, byte[] ordinals) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(ordinals));
    List out = new ArrayList(ordinals.length / 4);
    for (int i = 0; i < ordinals.length / 4; i++) {
      out.add(tasks.get(in.readInt()));
    }
    return out;
  }
}
"""


def iceberg_frame(snapshot: Snapshot, paths: list[str], spark: SparkSession) -> DataFrame:
    """The rows of the files `paths` of the snapshot's version."""
    import xxhash

    from formats.iceberg.locations import normal

    jvm = jvm_of(spark)
    metadata: Any = getattr(snapshot.details, "metadata")  # noqa: B009  # of Iceberg's details only
    table = _pinned_table(jvm, spark, str(metadata.file), snapshot)
    manager = jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()
    wanted = {normal(snapshot.uri(path)) for path in paths}
    java = compiled(spark, "metaindex.PlannedTasks", _TASKS, manager.getClass().getClassLoader())
    tasks = java.all(table.newBatchScan().useSnapshot(int(snapshot.version.id)).planFiles())
    locations = [normal(location) for location in java.locations(tasks).split("\0")[:-1]]
    refuse_unlisted(snapshot, sorted(wanted.difference(locations)))
    rows = np.array([i for i, location in enumerate(locations) if location in wanted], np.int64)
    # The same files of the same version are one staged set, however often they are asked for.
    names = "\n".join(sorted(wanted))
    group = f"metaindex-{table.uuid()}-{snapshot.version.id}-{xxhash.xxh3_128_hexdigest(names.encode())}"
    manager.stageTasks(table, group, java.kept(tasks, ordinals(rows)))
    _table_cache(spark, manager).add(group, table)
    return spark.read.format("iceberg").load(group)


def _table_cache(spark: SparkSession, neighbour: Any) -> Any:
    """Iceberg's SparkTableCache.get(), by reflection: py4j takes it for the method of the same name that has an argument."""
    gateway = gateway_of(spark)
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
