package metaindex;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Replaces scans in copies of the other side of a join, which Spark keeps to prune partitions (dynamic pruning), like
 * in the side itself. Else Spark does not know the copy for what the join reads, and prunes nothing.
 */
class OtherSides extends scala.runtime.AbstractPartialFunction {
  private final Scans scans;
  private final PlanScans survey; // of the plan
  private final List instead; // of each of its leaves, what stands in its place, or null
  private final Hybrid hybrid;

  OtherSides(Scans scans, PlanScans survey, List instead, Hybrid hybrid) {
    this.scans = scans;
    this.survey = survey;
    this.instead = instead;
    this.hybrid = hybrid;
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof DynamicPruningSubquery;
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    if (!isDefinedAt(node)) {
      return other.apply(node);
    }
    LogicalPlan before = ((DynamicPruningSubquery) node).buildQuery();
    LogicalPlan after = rewritten(before);
    return after == before ? node : Reflected.invoke(node, "withNewPlan", new Object[] {after});
  }

  private LogicalPlan rewritten(LogicalPlan copy) {
    PlanScans inside = new PlanScans(scans, copy);
    Map places = new IdentityHashMap();
    boolean changed = false;
    for (int i = 0; i < inside.leaves.size(); i++) {
      Deadline.look();
      Object leaf = inside.leaves.get(i);
      Object other = place(inside.at(i));
      changed = changed || other != null;
      if (!places.containsKey(leaf)) {
        places.put(leaf, new LinkedList());
      }
      ((LinkedList) places.get(leaf)).add(other == null ? leaf : other);
    }
    LogicalPlan after = changed ? (LogicalPlan) copy.transformUp(new Substitution(places)) : copy;
    after = changed && !hybrid.isEmpty() ? (LogicalPlan) after.transformUp(hybrid) : after;
    return (LogicalPlan) after.transformAllExpressions(this); // a side may have been pruned by another
  }

  private Object place(ScanSite one) {
    for (int i = 0; one != null && i < instead.size(); i++) {
      Deadline.look();
      if (instead.get(i) != null && same(one, survey.at(i))) {
        return instead.get(i);
      }
    }
    return null;
  }

  /** Returns whether they are one scan under the same filters. */
  static boolean same(ScanSite one, ScanSite other) {
    if (other == null || one.leaf != other.leaf && !one.leaf.equals(other.leaf)
        || !First.same(one.first, other.first) || one.any != other.any) {
      return false;
    }
    List these = parts(one), those = parts(other);
    return within(these, those) && within(those, these);
  }

  private static List parts(ScanSite one) {
    List out = new ArrayList();
    for (int i = 0; i < one.filters.size(); i++) {
      Deadline.look();
      Expressions.conjuncts((Expression) one.filters.get(i), out);
    }
    return out;
  }

  private static boolean within(List these, List those) {
    for (int i = 0; i < these.size(); i++) {
      Deadline.look();
      boolean there = false;
      for (int j = 0; j < those.size() && !there; j++) {
        Deadline.look();
        there = these.get(i) == those.get(j) || ((Expression) these.get(i)).semanticEquals((Expression) those.get(j));
      }
      if (!there) {
        return false;
      }
    }
    return true;
  }
}
