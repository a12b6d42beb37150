package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** Lists of a plan's attributes. */
class Attributes {
  static Long id(Attribute one) {
    return Long.valueOf(one.exprId().id());
  }

  /** Returns new ids for a branch of a union behind the first, whose ids are the union's. */
  static List newIds(List output) {
    List found = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      found.add(NamedExpression$.MODULE$.newExprId());
    }
    return found;
  }

  static List ids(List attributes) {
    List found = new ArrayList();
    for (int i = 0; i < attributes.size(); i++) {
      Deadline.look();
      found.add(((Attribute) attributes.get(i)).exprId());
    }
    return found;
  }

  /** Projects each of the output as one expression, under an id: always an alias (docs/decisions/0013). */
  static LogicalPlan project(List output, List from, List ids, LogicalPlan plan) {
    List list = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      list.add(alias((Attribute) output.get(i), (Expression) from.get(i), (ExprId) ids.get(i)));
    }
    return new Project(Scala.sequence(list), plan);
  }

  private static Alias alias(Attribute like, Expression from, ExprId id) {
    return new Alias(from, like.name(), id, like.qualifier(), scala.Option.apply(like.metadata()), Scala.none());
  }

  static Alias alias(Expression one, String name) {
    return new Alias(one, name, NamedExpression$.MODULE$.newExprId(), Scala.none(), scala.Option.empty(), Scala.none());
  }

  /** Returns the output's attributes with the names of a reply. */
  static List named(JsonNode names, List output) {
    List found = new ArrayList();
    for (Iterator each = names.iterator(); each.hasNext(); ) {
      Deadline.look();
      String name = ((JsonNode) each.next()).asText();
      for (int i = 0; i < output.size(); i++) {
        Deadline.look();
        if (((Attribute) output.get(i)).name().equals(name)) {
          found.add(output.get(i));
        }
      }
    }
    if (found.size() != names.size()) {
      throw new IllegalStateException("the scan has other attributes than " + names);
    }
    return found;
  }
}
