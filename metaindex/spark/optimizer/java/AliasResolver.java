package metaindex;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Resolves attributes to what they are below. */
class AliasResolver extends scala.runtime.AbstractPartialFunction {
  private final Map known; // id to Expression

  AliasResolver(Map known) {
    this.known = known;
  }

  /**
   * What each attribute above the projections (the highest one first) is, of the leaf's attributes: its id to an
   * expression.
   */
  static Map above(LogicalPlan leaf, List projects) {
    Map known = new HashMap();
    scala.collection.Iterator output = leaf.output().iterator();
    while (output.hasNext()) {
      Deadline.look();
      Attribute one = (Attribute) output.next();
      known.put(Attributes.id(one), one);
    }
    for (int i = projects.size() - 1; i >= 0; i--) {
      Deadline.look();
      Map above = new HashMap();
      scala.collection.Iterator list = ((Project) projects.get(i)).projectList().iterator();
      while (list.hasNext()) {
        Deadline.look();
        NamedExpression one = (NamedExpression) list.next();
        Expression from = one instanceof Alias ? (Expression) ((Alias) one).child() : (Expression) one;
        if (SubqueryExpression$.MODULE$.hasSubquery(from)) {
          continue;
        }
        above.put(Long.valueOf(one.exprId().id()), from.transformUp(new AliasResolver(known)));
      }
      known = above;
    }
    return known;
  }

  public boolean isDefinedAt(Object node) {
    return node instanceof Attribute && known.containsKey(Attributes.id((Attribute) node));
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    return isDefinedAt(node) ? known.get(Attributes.id((Attribute) node)) : other.apply(node);
  }
}
