package metaindex;

import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;

/** The files as they were given. Delta's own list asks for them by a query of its own each time. */
public final class NamedFiles extends TahoeBatchFileIndex {
  NamedFiles(SparkSession session, scala.collection.immutable.Seq files, DeltaLog log, Snapshot snapshot) {
    super(session, "batch", files, log, log.dataPath(), snapshot, false);
  }

  public scala.collection.immutable.Seq matchingFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    scala.collection.Iterator filters = partitionFilters.iterator();
    while (filters.hasNext()) {
      if (!filters.next().toString().equals("true")) {
        return super.matchingFiles(partitionFilters, dataFilters);
      }
    }
    return addFiles();
  }
}
