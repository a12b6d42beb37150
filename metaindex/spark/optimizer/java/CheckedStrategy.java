package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Plans scans of lists that rest on facts as the other strategies do, and lets them look whenever they run. */
public class CheckedStrategy extends Guarded {
  public CheckedStrategy(Limit limit, MetaIndexRule rule) {
    super(limit);
    rule.checks();
  }

  SparkPlan physical(LogicalPlan plan) {
    LogicalRelation node = IndexedRelation.below(plan);
    if (node == null) {
      return null;
    }
    IndexedRelation relation = (IndexedRelation) node.relation();
    boolean looks = isDue(relation) || relation.narrowed != null || relation.groups != null;
    SparkPlan made = looks ? byOthers(plan, relation) : null;
    if (made == null || !(relation.location() instanceof CoveringFiles)) {
      return made == null ? null : looking(made, relation);
    }
    IndexedFiles instead = ((CoveringFiles) relation.location()).instead;
    SparkPlan looking = looking(made, relation);
    return instead == null ? looking : new CheckedBuckets(looking, instead, plan);
  }

  /** Returns whether the list of a relation rests on facts, and its scan has to look at them. */
  private static boolean isDue(HadoopFsRelation one) {
    return one.location() instanceof Restored && !((Restored) one.location()).checked
        && ((Restored) one.location()).rests();
  }

  /** The plan with a scan that looks at its facts, and reads its row groups. */
  private static SparkPlan looking(SparkPlan plan, IndexedRelation of) {
    if (plan instanceof FileSourceScanExec) {
      FileSourceScanExec scan = (FileSourceScanExec) plan;
      HadoopFsRelation one = scan.relation();
      if (of.groups != null && one.location() == of.location() && IndexedRelation.groups(one) == null) {
        // Delta has made another one of it, whose format leaves out deleted rows.
        scan = PhysicalVersions.over(scan, IndexedRelation.over(one, one.location(), IndexedRelation.label(of))
            .of(of.groups), scan.dataFilters());
      }
      boolean looks = isDue(one) || IndexedRelation.groups(scan.relation()) != null;
      return looks ? CheckedScan.of(scan) : plan;
    }
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      children.add(looking((SparkPlan) plan.children().apply(i), of));
      changed = changed || children.get(i) != plan.children().apply(i);
    }
    return changed ? (SparkPlan) plan.withNewChildren(Scala.sequence(children)) : plan;
  }
}
