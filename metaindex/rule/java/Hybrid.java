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
 * have run before there was a union.
 */
class Hybrid extends scala.runtime.AbstractPartialFunction {
  /** Of a union, the ids of the attributes by which all branches are partitioned and are to be sorted: a list. */
  static final TreeNodeTag KEYS = new TreeNodeTag("metaindex.keys");
  private final Map asked = new IdentityHashMap(); // of a union, the parts of filters that both branches ask

  void add(Union union, List own) {
    asked.put(union, own);
  }

  boolean isEmpty() {
    return asked.isEmpty();
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Filter ? asked.containsKey(((Filter) node).child())
        : node instanceof Project && asked.containsKey(((Project) node).child()) && chosen((Project) node) != null;
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    if (!isDefinedAt(node)) {
      return other.apply(node);
    }
    if (node instanceof Project) {
      Union before = (Union) ((Project) node).child();
      Union after = columns(before, chosen((Project) node));
      after.copyTagsFrom(before);
      asked.put(after, asked.get(before));
      return after;
    }
    LogicalPlan union = ((Filter) node).child();
    List parts = new ArrayList();
    Found.conjuncts(((Filter) node).condition(), parts);
    Expression left = null;
    for (int i = 0; i < parts.size(); i++) {
      Expression part = (Expression) parts.get(i);
      if (!is(part, (List) asked.get(union))) {
        left = left == null ? part : new And(left, part);
      }
    }
    return left == null ? union : left.semanticEquals(((Filter) node).condition()) ? node : new Filter(left, union);
  }

  private static boolean is(Expression part, List asked) {
    for (int i = 0; i < asked.size(); i++) {
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
      NamedExpression one = (NamedExpression) list.apply(i);
      int place = 0;
      while (place < output.size() && !((NamedExpression) output.apply(place)).exprId().equals(one.exprId())) {
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
      Project branch = (Project) union.children().apply(i);
      List list = new ArrayList();
      for (int j = 0; j < places.size(); j++) {
        list.add(branch.projectList().apply(((Integer) places.get(j)).intValue()));
      }
      branches.add(new Project(Scala.sequence(list), branch.child()));
    }
    return new Union(Scala.sequence(branches), false, false);
  }
}
