package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.SparkPlan;

/**
 * Hybrid scans that a join reads in the order of its keys are merged; any other union, and one of which this does not
 * hold any more, is Spark's.
 */
public class MergeStrategy extends Guarded {
  public MergeStrategy(Limit limit) {
    super(limit);
    MergeSortedExec.check();
  }

  SparkPlan physical(LogicalPlan plan) {
    scala.Option ids = plan instanceof Union ? plan.getTagValue(Hybrid.KEYS) : scala.Option.empty();
    List places = ids.isDefined() ? places((List) ids.get(), plan.output()) : null;
    if (places == null) {
      return null;
    }
    SparkPlan merged = planLater((LogicalPlan) plan.children().apply(0));
    for (int i = 1; i < plan.children().size(); i++) {
      Deadline.look();
      merged = new MergeSortedExec(merged, planLater((LogicalPlan) plan.children().apply(i)), Scala.sequence(places));
    }
    return merged;
  }

  private static List places(List ids, scala.collection.immutable.Seq output) {
    List places = new ArrayList();
    for (int i = 0; i < ids.size(); i++) {
      Deadline.look();
      for (int j = 0; j < output.size(); j++) {
        Deadline.look();
        if (((Attribute) output.apply(j)).exprId().equals(ids.get(i))) {
          places.add(Integer.valueOf(j));
        }
      }
    }
    return places.size() == ids.size() ? places : null;
  }
}
