package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.ScanFileListing;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.StructType;

/**
 * A scan that tells its list of files which expressions have brought keys: Spark itself shows a list none that has a
 * subquery. In executors it is Spark's own class again. `spark35/NarrowedExec.java` is that of Spark 3.5.
 */
public class NarrowedExec extends FileSourceScanExec {
  public NarrowedExec(HadoopFsRelation relation, scala.Option stream, scala.collection.immutable.Seq output,
      StructType required, scala.collection.immutable.Seq partitionFilters, scala.Option buckets,
      scala.Option coalesced, scala.collection.immutable.Seq dataFilters, scala.Option table, boolean unbucketed) {
    super(relation, stream, output, required, partitionFilters, buckets, coalesced, dataFilters, table, unbucketed);
  }

  /** The scan with another list of files, and what brings keys. */
  static FileSourceScanExec of(FileSourceScanExec scan, HadoopFsRelation files, List bring) {
    List filters = Scala.list(scan.dataFilters());
    filters.addAll(bring);
    return new NarrowedExec(files, scan.stream(), scan.output(), scan.requiredSchema(), scan.partitionFilters(),
        scan.optionalBucketSet(), scan.optionalNumCoalescedBuckets(), Scala.sequence(filters), scan.tableIdentifier(),
        scan.disableBucketedScan());
  }

  /** Does this Spark have what it is built upon? */
  static void check() {}

  public ScanFileListing selectedPartitions() {
    Object before = NarrowedFiles.brought(dataFilters());
    try {
      return super.selectedPartitions();
    } finally {
      NarrowedFiles.brought(before);
    }
  }

  private Object writeReplace() {
    List own = new ArrayList();
    for (int i = 0; i < dataFilters().size(); i++) {
      if (!(dataFilters().apply(i) instanceof DynamicPruning)) {
        own.add(dataFilters().apply(i));
      }
    }
    return new FileSourceScanExec(relation(), stream(), output(), requiredSchema(), partitionFilters(),
        optionalBucketSet(), optionalNumCoalescedBuckets(), Scala.sequence(own), tableIdentifier(),
        disableBucketedScan());
  }
}
