package metaindex;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;

/**
 * The first rows that a plan takes at a place in it: so many by one attribute, ties in any order. It holds below
 * filters, projections that pass the attribute on, and in each branch of a union, whose first rows are among the first
 * of its branches; below anything else nothing is taken.
 */
class First {
  private final Long key; // the attribute's id
  private final boolean descending, nullsFirst;
  private final long rows;

  private First(Long key, boolean descending, boolean nullsFirst, long rows) {
    this.key = key;
    this.descending = descending;
    this.nullsFirst = nullsFirst;
    this.rows = rows;
  }

  /** Returns what a sort takes of the rows below it, if so many of its own are taken; null if that is no attribute. */
  static First of(Sort sort, long rows) {
    SortOrder order = (SortOrder) sort.order().apply(0);
    if (!(order.child() instanceof Attribute)) {
      return null;
    }
    return new First(Attributes.id((Attribute) order.child()), order.direction() instanceof Descending$,
        order.nullOrdering() instanceof NullsFirst$, rows);
  }

  /**
   * The sort of all rows that stands below a limit with nothing between that leaves rows out, and how many of its rows
   * are taken, skipped ones included: {Sort, Long}. Null where there is none.
   */
  static Object[] sorted(LogicalPlan limit) {
    long rows = limit instanceof GlobalLimit ? number(((GlobalLimit) limit).limitExpr()) : -1;
    LogicalPlan node = limit;
    while (rows >= 0 && (node == limit || node instanceof LocalLimit || node instanceof Project
        || node instanceof Offset)) {
      Deadline.look();
      if (node instanceof Offset) {
        long skipped = number(((Offset) node).offsetExpr());
        rows = skipped < 0 ? -1 : rows + skipped;
      }
      node = (LogicalPlan) node.children().apply(0);
    }
    return rows >= 0 && node instanceof Sort && ((Sort) node).global() ? new Object[] {node, Long.valueOf(rows)} : null;
  }

  static long number(Object said) {
    Object value = said instanceof Literal ? ((Literal) said).value() : null;
    return value instanceof Number ? ((Number) value).longValue() : -1;
  }

  /** Returns what is taken of the rows below a list of expressions. */
  First below(scala.collection.Iterator list) {
    while (list.hasNext()) {
      Deadline.look();
      NamedExpression one = (NamedExpression) list.next();
      if (one.exprId().id() == key.longValue()) {
        Expression from = one instanceof Alias ? (Expression) ((Alias) one).child() : (Expression) one;
        return from instanceof Attribute ? by((Attribute) from) : null;
      }
    }
    return null;
  }

  /** Returns what is taken in a branch of a union. */
  First branch(LogicalPlan union, int number) {
    for (int i = 0; i < union.output().size(); i++) {
      Deadline.look();
      if (((NamedExpression) union.output().apply(i)).exprId().id() == key.longValue()) {
        return by((Attribute) ((LogicalPlan) union.children().apply(number)).output().apply(i));
      }
    }
    return null;
  }

  private First by(Attribute attribute) {
    return new First(Attributes.id(attribute), descending, nullsFirst, rows);
  }

  /** Returns it as the request of a leaf; null if the attribute is not the leaf's. */
  ObjectNode request(LogicalPlan leaf) {
    for (int i = 0; i < leaf.output().size(); i++) {
      Deadline.look();
      Attribute one = (Attribute) leaf.output().apply(i);
      if (Attributes.id(one).equals(key)) {
        return Json.object().put("column", one.name()).put("descending", descending).put("nulls_first", nullsFirst)
            .put("rows", rows);
      }
    }
    return null;
  }

  /** Returns whether the same is taken. */
  static boolean same(First one, First other) {
    return one == null || other == null ? one == other : one.key.equals(other.key)
        && one.descending == other.descending && one.nullsFirst == other.nullsFirst && one.rows == other.rows;
  }
}
