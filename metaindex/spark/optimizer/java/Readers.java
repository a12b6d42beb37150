package metaindex;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * The readers of a plan's scans: its own leaves, and those of its subqueries. The plan is walked once for all scans.
 */
class Readers {
  private final Map own = new IdentityHashMap(); // of a scan, how many leaves of the plan
  // Of a scan, of each leaf of a subquery {its Found or null, is the subquery the copy of the other side of a join?}.
  private final Map inside = new IdentityHashMap();
  private final Scans scans;
  private boolean refused; // is there a subquery in which nothing may be rewritten?

  Readers(Scans scans, LogicalPlan plan, List leaves) {
    this.scans = scans;
    for (int i = 0; i < leaves.size(); i++) {
      Deadline.look();
      Object key = Scans.shared((LogicalPlan) leaves.get(i));
      Integer before = (Integer) own.get(key);
      own.put(key, Integer.valueOf(before == null ? 1 : before.intValue() + 1));
    }
    collect(plan);
  }

  /**
   * Returns whether a leaf is the only reader of its scan, and subqueries that read by it see no other rows of it once
   * it is changed in place: under the leaf's own filters they miss none of the files that those prove out. `replaced`:
   * the scan keeps what an index beside it has not, which copies of the other sides of joins are given as well.
   */
  boolean alone(ScanSite one, boolean replaced) {
    Object key = Scans.shared(one.leaf);
    Integer leaves = (Integer) own.get(key);
    if (refused || leaves == null || leaves.intValue() != 1) {
      return false;
    }
    List others = inside.containsKey(key) ? (List) inside.get(key) : new ArrayList();
    for (int i = 0; i < others.size(); i++) {
      Deadline.look();
      Object[] other = (Object[]) others.get(i);
      boolean copy = Boolean.TRUE.equals(other[1]) || !replaced;
      if (!(copy && other[0] != null && OtherSides.same((ScanSite) other[0], one))) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether a leaf is the only reader of its scan, subqueries included. */
  boolean only(ScanSite one) {
    Object key = Scans.shared(one.leaf);
    Integer leaves = (Integer) own.get(key);
    return !refused && leaves != null && leaves.intValue() == 1 && !inside.containsKey(key);
  }

  private void collect(LogicalPlan plan) {
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (!plan.children().isEmpty() && expressions.hasNext()) {
      Deadline.look();
      collect((Expression) expressions.next());
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      collect((LogicalPlan) plan.children().apply(i));
    }
  }

  private void collect(Expression expression) {
    if (expression instanceof SubqueryExpression) {
      LogicalPlan plan = (LogicalPlan) ((SubqueryExpression) expression).plan();
      PlanScans survey = new PlanScans(scans, plan);
      refused = refused || survey.refused != null;
      for (int i = 0; i < survey.leaves.size(); i++) {
        Deadline.look();
        Object key = Scans.shared((LogicalPlan) survey.leaves.get(i));
        if (!inside.containsKey(key)) {
          inside.put(key, new ArrayList());
        }
        Boolean copy = Boolean.valueOf(expression instanceof DynamicPruningSubquery);
        ((List) inside.get(key)).add(new Object[] {survey.at(i), copy});
      }
      collect(plan);
    }
    for (int i = 0; i < expression.children().size(); i++) {
      Deadline.look();
      collect((Expression) expression.children().apply(i));
    }
  }
}
