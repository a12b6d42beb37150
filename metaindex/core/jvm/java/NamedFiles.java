package metaindex;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExpressionSet;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.files.TahoeBatchFileIndex;

/**
 * The files as they were given. Delta's own list asks for them by a query of its own each time, of which planning and
 * running take two or three.
 */
public final class NamedFiles extends TahoeBatchFileIndex {
  private final ExpressionSet passed; // filters that all of the files pass; null: none

  public NamedFiles(SparkSession session, scala.collection.immutable.Seq files, DeltaLog log, Path path,
      SnapshotDescriptor snapshot, ExpressionSet passed) {
    super(session, "batch", files, log, path, snapshot, false);
    this.passed = passed;
  }

  public scala.collection.immutable.Seq matchingFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    scala.collection.Iterator filters = partitionFilters.iterator();
    while (filters.hasNext()) {
      Deadline.look();
      Expression one = (Expression) filters.next();
      if (!one.toString().equals("true") && (passed == null || !passed.contains(one))) {
        return super.matchingFiles(partitionFilters, dataFilters);
      }
    }
    return addFiles();
  }
}
