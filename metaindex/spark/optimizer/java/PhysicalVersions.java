package metaindex;

import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.exchange.ENSURE_REQUIREMENTS$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.metric.SQLMetric;

/**
 * Names of physical plans that differ among Sparks, for strategies, as 3.5 has them; `spark40` and `spark43` have those
 * of newer ones.
 */
class PhysicalVersions {
  static LocalTableScanExec noRows(scala.collection.immutable.Seq output) {
    return new LocalTableScanExec(output, Scala.none());
  }

  /** What brings rows of equal keys to one task. */
  static ClusteredDistribution clustered(scala.collection.immutable.Seq keys) {
    return new ClusteredDistribution(keys, false, scala.Option.empty());
  }

  /** The rows of a plan in other tasks. */
  static ShuffleExchangeExec exchanged(SparkPlan plan, Partitioning tasks) {
    return new ShuffleExchangeExec(tasks, plan, ENSURE_REQUIREMENTS$.MODULE$, scala.Option.empty());
  }

  /** What runs compiled code over the rows of several children. */
  static WholeStageCodegenEvaluatorFactory running(CodeAndComment code, SQLMetric time, Object[] references) {
    return new WholeStageCodegenEvaluatorFactory(code, time, references);
  }

  /** The scan with its buckets put together in so many tasks. */
  static FileSourceScanExec together(FileSourceScanExec scan, int tasks) {
    return scan.copy(
        scan.relation(),
        scan.output(),
        scan.requiredSchema(),
        scan.partitionFilters(),
        scan.optionalBucketSet(),
        scala.Option.apply((Object) Integer.valueOf(tasks)),
        scan.dataFilters(),
        scan.tableIdentifier(),
        scan.disableBucketedScan());
  }

  /** The scan over another list of files, with other filters. */
  static FileSourceScanExec over(FileSourceScanExec scan, HadoopFsRelation files,
      scala.collection.immutable.Seq dataFilters) {
    return scan.copy(
        files,
        scan.output(),
        scan.requiredSchema(),
        scan.partitionFilters(),
        scan.optionalBucketSet(),
        scan.optionalNumCoalescedBuckets(),
        dataFilters,
        scan.tableIdentifier(),
        scan.disableBucketedScan());
  }
}
