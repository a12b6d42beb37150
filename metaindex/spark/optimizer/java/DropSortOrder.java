package metaindex;

import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Takes the order from the user's tables in buckets that the catalog gives them. That Spark trusts the order of buckets
 * is a setting of the whole session; metaindex sets it for its own indexes, and another table's rows are what they were
 * without it, sorted or not.
 */
class DropSortOrder extends scala.runtime.AbstractPartialFunction {
  public boolean isDefinedAt(Object node) {
    return node instanceof LogicalRelation && sorted((LogicalRelation) node) != null;
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    HadoopFsRelation before = node instanceof LogicalRelation ? sorted((LogicalRelation) node) : null;
    if (before == null) {
      return other.apply(node);
    }
    LogicalRelation relation = (LogicalRelation) node;
    BucketSpec buckets = (BucketSpec) before.bucketSpec().get();
    BucketSpec unsorted = new BucketSpec(buckets.numBuckets(), buckets.bucketColumnNames(), Scala.none());
    HadoopFsRelation after =
        new HadoopFsRelation(before.location(), before.partitionSchema(), before.dataSchema(),
            scala.Option.apply(unsorted), before.fileFormat(), before.options(), before.sparkSession());
    return Nodes.over(relation, after);
  }

  private static HadoopFsRelation sorted(LogicalRelation relation) {
    if (!(relation.relation() instanceof HadoopFsRelation) || relation.relation() instanceof IndexedRelation) {
      return null;
    }
    HadoopFsRelation found = (HadoopFsRelation) relation.relation();
    return found.bucketSpec().isDefined() && !((BucketSpec) found.bucketSpec().get()).sortColumnNames().isEmpty()
        ? found : null;
  }
}
