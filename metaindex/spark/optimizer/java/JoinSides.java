package metaindex;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/**
 * An equi-join seen from one of its sides, of which rows can be left out that have none of the other side's keys.
 *
 * <pre>
 *   join                       rows that may be left out, as they cannot change what it gives
 *   inner, cross with a key    of either side
 *   left outer, left anti      of the right side
 *   right outer                of the left side
 *   left semi                  of either side
 *   full outer, others         none
 * </pre>
 *
 * `NOT IN` compares by more than `=`, and so has no keys; nor has `<=>`, by which NULL finds NULL.
 */
class JoinSides {
  private static final Set LEFT = new HashSet(Arrays.asList("Inner Cross RightOuter LeftSemi".split(" ")));
  private static final Set RIGHT = new HashSet(Arrays.asList("Inner Cross LeftOuter LeftSemi LeftAnti".split(" ")));
  private static final Set KEEPS_LEFT = new HashSet(Arrays.asList("LeftOuter LeftSemi LeftAnti".split(" ")));

  final Join join;
  final int side; // that is left out of
  final scala.collection.immutable.Seq own, others; // keys of the side, and of the other one

  private JoinSides(Join join, int side, scala.collection.immutable.Seq own, scala.collection.immutable.Seq others) {
    this.join = join;
    this.side = side;
    this.own = own;
    this.others = others;
  }

  /** Returns the sides of a join of which rows can be left out. */
  static List of(Join join) {
    List found = new ArrayList();
    scala.Option keys = join.condition().isEmpty() ? scala.Option.empty() : ExtractEquiJoinKeys.unapply(join);
    if (keys.isDefined()) {
      scala.Tuple8 all = (scala.Tuple8) keys.get();
      scala.collection.immutable.Seq left = (scala.collection.immutable.Seq) all._2(),
          right = (scala.collection.immutable.Seq) all._3();
      String type = String.valueOf(join.joinType());
      if (LEFT.contains(type)) {
        found.add(new JoinSides(join, 0, left, right));
      }
      if (RIGHT.contains(type)) {
        found.add(new JoinSides(join, 1, right, left));
      }
    }
    return found;
  }

  LogicalPlan plan() {
    return (LogicalPlan) join.children().apply(side);
  }

  LogicalPlan other() {
    return (LogicalPlan) join.children().apply(1 - side);
  }

  /**
   * Returns the sources of the i-th key: {leaf, its attribute}, for each leaf that has it; none if the keys are of
   * different types, or of one by which an index cannot be asked.
   */
  List leaves(int i) {
    List found = new ArrayList();
    Expression key = (Expression) own.apply(i), other = (Expression) others.apply(i);
    if (key instanceof Attribute && KeyValues.has(key.dataType()) && key.dataType().equals(other.dataType())) {
      down(plan(), (Attribute) key, found);
    }
    return found;
  }

  /** Collects the leaves below a node, as long as a condition on the key leaves the same rows when applied lower. */
  private static void down(LogicalPlan node, Attribute key, List found) {
    if (node.children().isEmpty()) {
      if (node.outputSet().contains(key)) {
        found.add(new Object[] {node, key});
      }
      return;
    }
    LogicalPlan first = (LogicalPlan) node.children().apply(0);
    if (node instanceof Filter || node instanceof Sort) {
      down(first, key, found);
    } else if (node instanceof Project) {
      Attribute below = below(((Project) node).projectList(), key);
      if (below != null) {
        down(first, below, found);
      }
    } else if (node instanceof Aggregate) {
      Attribute below = below(((Aggregate) node).aggregateExpressions(), key);
      if (below != null && among(((Aggregate) node).groupingExpressions(), below)) {
        down(first, below, found);
      }
    } else if (node instanceof Window) {
      if (among(((Window) node).partitionSpec(), key)) {
        down(first, key, found);
      }
    } else if (node instanceof Union) {
      int place = 0; // the first of that name, as Spark has it
      while (place < node.output().size() && !same(node.output().apply(place), key)) {
        Deadline.look();
        place++;
      }
      for (int i = 0; place < node.output().size() && i < node.children().size(); i++) {
        Deadline.look();
        LogicalPlan child = (LogicalPlan) node.children().apply(i);
        down(child, (Attribute) child.output().apply(place), found);
      }
    } else if (node instanceof Join) {
      String type = String.valueOf(((Join) node).joinType());
      boolean inner = type.equals("Inner") || type.equals("Cross");
      LogicalPlan second = (LogicalPlan) node.children().apply(1);
      if (first.outputSet().contains(key) && (inner || KEEPS_LEFT.contains(type))) {
        down(first, key, found);
      } else if (second.outputSet().contains(key) && (inner || type.equals("RightOuter"))) {
        down(second, key, found);
      }
    }
  }

  /** Returns what a renamed attribute is below; null for what is computed. */
  private static Attribute below(scala.collection.immutable.Seq list, Attribute key) {
    for (int i = 0; i < list.size(); i++) {
      Deadline.look();
      if (((NamedExpression) list.apply(i)).exprId().equals(key.exprId())) {
        Object one = list.apply(i) instanceof Alias ? ((Alias) list.apply(i)).child() : list.apply(i);
        return one instanceof Attribute ? (Attribute) one : null;
      }
    }
    return null;
  }

  private static boolean among(scala.collection.immutable.Seq list, Attribute key) {
    for (int i = 0; i < list.size(); i++) {
      Deadline.look();
      if (same(list.apply(i), key)) {
        return true;
      }
    }
    return false;
  }

  private static boolean same(Object one, Attribute key) {
    return one instanceof Attribute && ((Attribute) one).exprId().equals(key.exprId());
  }
}
