package metaindex;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.List;
import org.apache.spark.sql.catalyst.analysis.UnresolvedInlineTable;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;

/**
 * The tables that a plan names which was parsed and not analysed, each by the parts of its name; null for every other
 * leaf (a function that makes a table, a name that an expression makes), which may read anything as it is analysed.
 */
class NamedTables {
  final ArrayNode found = Json.array();

  NamedTables(Object plan) {
    add(plan);
  }

  /** Looks into all that a node has: plans stand in expressions and beside names, too. */
  private void add(Object part) {
    Deadline.look();
    if (part instanceof UnresolvedRelation) {
      named((UnresolvedRelation) part);
      return;
    }
    if (part instanceof LocalRelation || part instanceof OneRowRelation) {
      return;
    }
    boolean leaf = part instanceof LogicalPlan && ((LogicalPlan) part).children().isEmpty();
    if (leaf && !(part instanceof UnresolvedInlineTable)
        || part.getClass().getSimpleName().contains("UnresolvedIdentifier")) {
      found.addNull();
    }
    scala.collection.Iterator each = part instanceof scala.collection.Iterable
        ? ((scala.collection.Iterable) part).iterator()
        : part instanceof scala.Product ? ((scala.Product) part).productIterator() : null;
    while (each != null && each.hasNext()) {
      Deadline.look();
      Object below = each.next();
      if (below != null) {
        add(below);
      }
    }
  }

  private void named(UnresolvedRelation relation) {
    if (!relation.options().isEmpty()) {
      found.addNull();
      return;
    }
    List parts = Scala.list(relation.multipartIdentifier());
    ArrayNode name = found.addArray();
    for (int i = 0; i < parts.size(); i++) {
      Deadline.look();
      name.add((String) parts.get(i));
    }
  }
}
