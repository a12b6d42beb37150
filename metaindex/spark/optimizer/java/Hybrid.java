package metaindex;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;

/**
 * Takes away what stands above a hybrid scan and is done in both its branches: filters of the scan's own columns, and
 * the choice of columns. Whatever stands above a union is a pass of its own over every row. Spark's rules that do this
 * have run before there was a union. And takes away above an index what is asked of partitions of the table for the
 * sake of a join, which compares the rows anyway: an index has no such partitions, and where Spark interprets a filter
 * of rows (as it does of a hundred columns), its tasks have no keys to ask: `InSubqueryExec` keeps them on the driver.
 */
class Hybrid extends scala.runtime.AbstractPartialFunction {
  /** Of a union, the ids of the attributes by which all branches are partitioned and are to be sorted: a list. */
  static final TreeNodeTag KEYS = new TreeNodeTag("metaindex.keys");
  private final Map asked = new IdentityHashMap(); // of a plan, the parts of filters that nobody needs above it

  /** `plan`: what stands in place of the scan; as an index alone, or as branches that ask all of its filters. */
  void add(LogicalPlan plan, ScanSite one) {
    List parts = one.pruning();
    if (plan instanceof Union) {
      parts.addAll(one.own());
    }
    if (plan instanceof Union || !parts.isEmpty()) {
      asked.put(plan, parts);
    }
  }

  boolean isEmpty() {
    return asked.isEmpty();
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Filter ? asked.containsKey(((Filter) node).child())
        : node instanceof Project && asked.containsKey(((Project) node).child());
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    if (!isDefinedAt(node)) {
      return other.apply(node);
    }
    if (node instanceof Project) {
      List chosen = ((Project) node).child() instanceof Union ? chosen((Project) node) : null;
      if (chosen == null) { // an attribute that it passes on has the values that it had below
        asked.put(node, asked.get(((Project) node).child()));
        return node;
      }
      Union before = (Union) ((Project) node).child();
      Union after = columns(before, chosen);
      after.copyTagsFrom(before);
      asked.put(after, asked.get(before));
      return after;
    }
    LogicalPlan below = ((Filter) node).child();
    List parts = new ArrayList();
    Expressions.conjuncts(((Filter) node).condition(), parts);
    Expression left = null;
    for (int i = 0; i < parts.size(); i++) {
      Deadline.look();
      Expression part = (Expression) parts.get(i);
      if (!is(part, (List) asked.get(below))) {
        left = left == null ? part : new And(left, part);
      }
    }
    LogicalPlan after = left == null ? below
        : left.semanticEquals(((Filter) node).condition()) ? (LogicalPlan) node : new Filter(left, below);
    asked.put(after, asked.get(below));
    return after;
  }

  private static boolean is(Expression part, List asked) {
    for (int i = 0; i < asked.size(); i++) {
      Deadline.look();
      if (part == asked.get(i) || part.semanticEquals((Expression) asked.get(i))) {
        return true;
      }
    }
    return false;
  }

  /** Places of the columns that a projection takes from the union; null where it does more than that. */
  private static List chosen(Project plan) {
    scala.collection.immutable.Seq list = plan.projectList(), output = plan.child().output();
    List places = new ArrayList();
    for (int i = 0; i < list.size(); i++) {
      Deadline.look();
      NamedExpression one = (NamedExpression) list.apply(i);
      int place = 0;
      while (place < output.size() && !((NamedExpression) output.apply(place)).exprId().equals(one.exprId())) {
        Deadline.look();
        place++;
      }
      if (!(one instanceof AttributeReference) || place == output.size()) {
        return null;
      }
      places.add(Integer.valueOf(place));
    }
    Set once = new HashSet(places);
    return once.size() == places.size() && !places.isEmpty() ? places : null;
  }

  private static Union columns(Union union, List places) {
    List branches = new ArrayList();
    for (int i = 0; i < union.children().size(); i++) {
      Deadline.look();
      Project branch = (Project) union.children().apply(i);
      List list = new ArrayList();
      for (int j = 0; j < places.size(); j++) {
        Deadline.look();
        list.add(branch.projectList().apply(((Integer) places.get(j)).intValue()));
      }
      branches.add(new Project(Scala.sequence(list), branch.child()));
    }
    return new Union(Scala.sequence(branches), false, false);
  }
}
