package metaindex;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.StructType;

/**
 * A scan of files that looks at the facts on which its list rests whenever it runs, as Spark 4.0 and newer ones have
 * scans.
 */
public class CheckedScan extends FileSourceScanExec {
  public CheckedScan(HadoopFsRelation relation, scala.Option stream, scala.collection.immutable.Seq output,
      StructType requiredSchema, scala.collection.immutable.Seq partitionFilters, scala.Option optionalBucketSet,
      scala.Option optionalNumCoalescedBuckets, scala.collection.immutable.Seq dataFilters, scala.Option table,
      boolean disableBucketedScan) {
    super(IndexedRelation.checked(relation), stream, output, requiredSchema, partitionFilters, optionalBucketSet,
        optionalNumCoalescedBuckets, dataFilters, table, disableBucketedScan);
  }

  static CheckedScan of(FileSourceScanExec scan) {
    return new CheckedScan(scan.relation(), scan.stream(), scan.output(), scan.requiredSchema(),
        scan.partitionFilters(), scan.optionalBucketSet(), scan.optionalNumCoalescedBuckets(), scan.dataFilters(),
        scan.tableIdentifier(), scan.disableBucketedScan());
  }

  public FileSourceScanExec copy(HadoopFsRelation relation, scala.Option stream, scala.collection.immutable.Seq output,
      StructType requiredSchema, scala.collection.immutable.Seq partitionFilters, scala.Option optionalBucketSet,
      scala.Option optionalNumCoalescedBuckets, scala.collection.immutable.Seq dataFilters, scala.Option table,
      boolean disableBucketedScan) {
    return new CheckedScan(relation, stream, output, requiredSchema, partitionFilters, optionalBucketSet,
        optionalNumCoalescedBuckets, dataFilters, table, disableBucketedScan);
  }

  public RDD inputRDD() {
    return CheckedFiles.of(this, super.inputRDD());
  }

  /**
   * Executors never see this class: nodes above it, and its own rows, send it along, as Spark's, which reads nothing
   * there. Public: Janino gives private methods other names.
   */
  public Object writeReplace() {
    return new FileSourceScanExec(relation(), stream(), output(), requiredSchema(), partitionFilters(),
        optionalBucketSet(), optionalNumCoalescedBuckets(), dataFilters(), tableIdentifier(), disableBucketedScan());
  }

  /** No scan equals it that does not look: Spark keeps a plan whose children are equal. */
  public boolean equals(Object other) {
    return other instanceof CheckedScan && super.equals(other);
  }

  /** More files may come: none is known to be the only one of its bucket. */
  public scala.collection.immutable.Seq outputOrdering() {
    return relation().location() instanceof CoveringFiles ? super.outputOrdering() : Scala.none();
  }
}
