package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;

/** Hybrid scans that a join reads in the order of its keys are merged; any other union, and one of which this does not hold any more, is Spark's. */
public class MergeStrategy extends SparkStrategy {
  private static final TreeNodeTag KEYS = new TreeNodeTag("metaindex.keys");

  public volatile long failed;
  public volatile String lastError = "";

  public MergeStrategy() {
    MergeSortedExec.check();
  }

  /** The ids of the attributes by which all branches are partitioned and are to be sorted. */
  static void mark(Union union, List ids) {
    union.setTagValue(KEYS, ids);
  }

  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    try {
      return merged(plan);
    } catch (Throwable error) {
      if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
        throw (VirtualMachineError) error;
      }
      failed++;
      lastError = String.valueOf(error);
      return Scans.none();
    }
  }

  private scala.collection.immutable.Seq merged(LogicalPlan plan) {
    scala.Option ids = plan instanceof Union ? plan.getTagValue(KEYS) : scala.Option.empty();
    List places = ids.isDefined() ? places((List) ids.get(), plan.output()) : null;
    if (places == null) {
      return Scans.none();
    }
    SparkPlan merged = planLater((LogicalPlan) plan.children().apply(0));
    for (int i = 1; i < plan.children().size(); i++) {
      merged = new MergeSortedExec(merged, planLater((LogicalPlan) plan.children().apply(i)), Scans.sequence(places));
    }
    List found = new ArrayList();
    found.add(merged);
    return Scans.sequence(found);
  }

  private static List places(List ids, scala.collection.immutable.Seq output) {
    List places = new ArrayList();
    for (int i = 0; i < ids.size(); i++) {
      for (int j = 0; j < output.size(); j++) {
        if (((Attribute) output.apply(j)).exprId().equals(ids.get(i))) {
          places.add(Integer.valueOf(j));
        }
      }
    }
    return places.size() == ids.size() ? places : null;
  }
}
