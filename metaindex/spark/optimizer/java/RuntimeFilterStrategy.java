package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Plans a scan of files that is narrowed by joins: as without, by the strategies that plan scans (Delta has its own),
 * and then gives it the list that leaves files out, and the expressions that bring keys. Those would else be asked of
 * each row, which the join does anyway.
 */
public class RuntimeFilterStrategy extends Guarded {
  public RuntimeFilterStrategy(Limit limit, MetaIndexRule rule) {
    super(limit);
    rule.narrows();
  }

  SparkPlan physical(LogicalPlan plan) {
    LogicalRelation node = IndexedRelation.below(plan);
    if (node == null || ((IndexedRelation) node.relation()).narrowed == null) {
      return null;
    }
    IndexedRelation relation = (IndexedRelation) node.relation();
    Arrivals arrivals = new Arrivals();
    List bring = new ArrayList();
    SparkPlan made = byOthers(bare(plan, relation, arrivals, bring), relation);
    if (!SQLConf.get().dynamicPartitionPruningEnabled()) {
      bring.clear(); // nobody would plan them
    }
    return made == null ? null : narrowed(made, relation, arrivals, bring);
  }

  /** The plan without what brings keys, over the relation as it was. */
  private static LogicalPlan bare(LogicalPlan plan, IndexedRelation relation, Arrivals arrivals, List bring) {
    if (plan instanceof LogicalRelation) {
      return Nodes.over((LogicalRelation) plan, relation.before);
    }
    LogicalPlan child = (LogicalPlan) plan.children().apply(0), below = bare(child, relation, arrivals, bring);
    if (!(plan instanceof Filter)) {
      List only = new ArrayList();
      only.add(below);
      return (LogicalPlan) plan.withNewChildren(Scala.sequence(only));
    }
    List parts = new ArrayList();
    Expressions.conjuncts(((Filter) plan).condition(), parts);
    Expression left = null;
    for (int i = 0; i < parts.size(); i++) {
      Deadline.look();
      Expression part = (Expression) parts.get(i);
      RuntimeFilter.Key key = part instanceof DynamicPruningSubquery
          ? relation.narrowed.key(((DynamicPruningSubquery) part).exprId()) : null;
      if (key != null) {
        bring.add(new BroadcastKeys(part, key, arrivals));
      } else {
        left = left == null ? part : new And(left, part);
      }
    }
    return left == null ? below : new Filter(left, below);
  }

  /** Returns the narrowed plan; null if it is not of one scan. */
  private static SparkPlan narrowed(SparkPlan plan, IndexedRelation relation, Arrivals arrivals, List bring) {
    if (plan instanceof FileSourceScanExec) {
      FileSourceScanExec scan = (FileSourceScanExec) plan;
      FilteredFiles files = new FilteredFiles(scan.relation().location(), relation.narrowed, arrivals);
      List filters = Scala.list(scan.dataFilters());
      filters.addAll(bring);
      return PhysicalVersions.over(scan, IndexedRelation.running(scan.relation(), files, relation),
          Scala.sequence(filters));
    }
    SparkPlan below = plan.children().size() != 1 ? null
        : narrowed((SparkPlan) plan.children().apply(0), relation, arrivals, bring);
    List only = new ArrayList();
    only.add(below);
    return below == null ? null : (SparkPlan) plan.withNewChildren(Scala.sequence(only));
  }
}
