package metaindex;

import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A bucket is a task of Spark's, also one without rows, and one that a filter leaves out. Where few of a covering index are left, they are read several to a task, as Spark itself does it for joins of
 * tables with unequal numbers of buckets: rows of one key still meet in one task, and Spark knows in how many.
 */
public class BucketStrategy extends Guarded {
  SparkPlan physical(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (below instanceof Filter || below instanceof Project) {
      below = (LogicalPlan) below.children().apply(0);
    }
    if (!(below instanceof LogicalRelation) || !(((LogicalRelation) below).relation() instanceof IndexedRelation)) {
      return null;
    }
    IndexedRelation index = (IndexedRelation) ((LogicalRelation) below).relation();
    if (index.bucketSpec().isEmpty() || !(index.location() instanceof CoveringFiles)) {
      return null;
    }
    scala.collection.immutable.Seq plans = FileSourceStrategy.apply(plan);
    return plans.size() == 1 ? together((SparkPlan) plans.apply(0), ((BucketSpec) index.bucketSpec().get()).numBuckets()) : null;
  }

  /** The plan with its scan's buckets put together; null where it has none over one scan, or that is not worth it. */
  private static SparkPlan together(SparkPlan plan, int buckets) {
    if (!(plan instanceof FileSourceScanExec)) {
      SparkPlan below = plan.children().size() == 1 ? together((SparkPlan) plan.children().apply(0), buckets) : null;
      java.util.List only = new java.util.ArrayList();
      only.add(below);
      return below == null ? null : (SparkPlan) plan.withNewChildren(Scans.sequence(only));
    }
    FileSourceScanExec scan = (FileSourceScanExec) plan;
    int tasks = ((CoveringFiles) scan.relation().location()).tasks(buckets, scan.optionalBucketSet());
    if (tasks <= 0) {
      return null;
    }
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
        scan.disableBucketedScan());
  }
}
