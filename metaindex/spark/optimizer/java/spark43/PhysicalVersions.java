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
 * Names of physical plans that differ among Sparks, for strategies, as 4.3 and newer ones have them.
 */
class PhysicalVersions {
  static LocalTableScanExec noRows(scala.collection.immutable.Seq output) {
    return new LocalTableScanExec(output, Scala.none(), scala.Option.empty(), false);
  }

  /** What brings rows of equal keys to one task, those of NULL too. */
  static ClusteredDistribution clustered(scala.collection.immutable.Seq keys) {
    return new ClusteredDistribution(keys, false, scala.Option.empty(), false);
  }

  /** The rows of a plan in other tasks. */
  static ShuffleExchangeExec exchanged(SparkPlan plan, Partitioning tasks) {
    return new ShuffleExchangeExec(tasks, plan, ENSURE_REQUIREMENTS$.MODULE$, scala.Option.empty(), false);
  }

  /** What runs compiled code over the rows of several children. */
  static WholeStageCodegenEvaluatorFactory running(CodeAndComment code, SQLMetric time, Object[] references) {
    return new WholeStageCodegenEvaluatorFactory(new scala.util.Right(code), time, references);
  }

  /** The scan with its buckets put together in so many tasks. */
  static FileSourceScanExec together(FileSourceScanExec scan, int tasks) {
    return scan.copy(
        scan.relation(),
        scan.stream(),
        scan.output(),
        scan.requiredSchema(),
        scan.partitionFilters(),
        scan.optionalBucketSet(),
        scala.Option.apply((Object) Integer.valueOf(tasks)),
        scan.dataFilters(),
        scan.tableIdentifier(),
        scan.disableBucketedScan(),
        scan.markedForSingleTaskExecution());
  }

  /**
   * The scan over another list of files, with other filters. It is not to be one task: Spark would list the files for
   * it as it plans, and some lists wait for what a query brings.
   */
  static FileSourceScanExec over(FileSourceScanExec scan, HadoopFsRelation files,
      scala.collection.immutable.Seq dataFilters) {
    return scan.copy(
        files,
        scan.stream(),
        scan.output(),
        scan.requiredSchema(),
        scan.partitionFilters(),
        scan.optionalBucketSet(),
        scan.optionalNumCoalescedBuckets(),
        dataFilters,
        scan.tableIdentifier(),
        scan.disableBucketedScan(),
        false);
  }
}
