package metaindex;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The fields of structs that a plan names, by the struct's attribute: an index may have the fields and not the struct.
 * A struct that is named as a whole anywhere counts as a whole.
 */
class Fields {
  private final Map found = new HashMap(); // id of the attribute to Map of the names behind it to GetStructField
  private final Set whole = new HashSet();

  Fields(LogicalPlan plan) {
    collect(plan);
    scala.collection.Iterator output = plan.output().iterator();
    while (output.hasNext()) {
      Deadline.look();
      whole.add(Attributes.id((Attribute) output.next()));
    }
  }

  /** Returns them as expressions, each once; null: the whole. */
  List of(Attribute one) {
    Map paths = (Map) found.get(Attributes.id(one));
    return !(one.dataType() instanceof StructType) || paths == null || whole.contains(Attributes.id(one)) ? null
        : new ArrayList(paths.values());
  }

  private void collect(LogicalPlan plan) {
    if (plan.children().isEmpty()) {
      return; // its expressions are its output
    }
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) {
      Deadline.look();
      collect((Expression) expressions.next());
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      collect((LogicalPlan) plan.children().apply(i));
    }
  }

  private void collect(Expression one) {
    Attribute base = one instanceof GetStructField ? base(one) : null;
    if (base != null && !(one.dataType() instanceof StructType) && optional(one)) {
      if (!found.containsKey(Attributes.id(base))) {
        found.put(Attributes.id(base), new HashMap());
      }
      ((Map) found.get(Attributes.id(base))).put(behind(one), one);
    } else if (base != null) {
      // A struct inside; or a field that is required in a struct that may be NULL, which the field alone would not
      // tell.
      whole.add(Attributes.id(base));
    } else if (one instanceof AttributeReference) {
      whole.add(Attributes.id((Attribute) one));
    } else {
      scala.collection.Iterator children = one.children().iterator();
      while (children.hasNext()) {
        Deadline.look();
        collect((Expression) children.next());
      }
    }
  }

  /** Returns whether every field on the way may be NULL. */
  private static boolean optional(Expression one) {
    return !(one instanceof GetStructField)
        || field((GetStructField) one).nullable() && optional((Expression) one.children().head());
  }

  /** The attribute that a field is of; null where it is of something else. */
  static Attribute base(Expression one) {
    Expression below = one;
    while (below instanceof GetStructField) {
      Deadline.look();
      below = (Expression) ((GetStructField) below).children().head();
    }
    return below instanceof AttributeReference ? (Attribute) below : null;
  }

  /** The names behind the attribute's, each with a dot before it; "" for the attribute itself. */
  static String behind(Expression one) {
    return one instanceof GetStructField
        ? behind((Expression) ((GetStructField) one).children().head()) + "." + last((GetStructField) one) : "";
  }

  /** Puts the same names, one by one, behind those that a list has. */
  static void list(Expression one, ArrayNode out) {
    if (one instanceof GetStructField) {
      list((Expression) ((GetStructField) one).children().head(), out);
      out.add(last((GetStructField) one));
    }
  }

  private static String last(GetStructField one) {
    return field(one).name();
  }

  private static StructField field(GetStructField one) {
    return ((StructType) ((Expression) one.children().head()).dataType()).fields()[one.ordinal()];
  }
}
