package metaindex;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;

/** A place of a scan in a plan, with what stands above it. */
public class ScanSite {
  final LogicalPlan leaf;
  final Scan scan; // that the leaf is
  final List filters; // right above it
  final Set needed; // ids of the attributes that the plan above names; null: it takes the output as it is
  final boolean gathered; // nobody sees in what order the rows come
  final List wants = new ArrayList(); // ObjectNode: joins and groups that want its rows partitioned by their keys
  final List order = new ArrayList(); // String: columns by which the plan above sorts all rows, " DESC" behind some
  First first; // of its rows, filtered, what the plan above takes; null: all of them
  MetadataAggregate counted; // the aggregate right above its filters, where what is known of whole files may answer it
  boolean any; // the plan takes some of its rows, filtered, whichever come first
  final List joined = new ArrayList(); // String: columns that are keys of joins, by which files may be left out
  final Map unjoined = new LinkedHashMap(); // String to String: those that leave none out, and why
  Fields fields; // which fields of structs the plan above names

  ScanSite(LogicalPlan leaf, Scan scan, List filters, Set needed, boolean gathered) {
    this.leaf = leaf;
    this.scan = scan;
    this.filters = filters;
    this.needed = needed;
    this.gathered = gathered;
  }

  boolean needs(Attribute one) {
    return needed == null || needed.contains(Attributes.id(one));
  }

  /**
   * The fields of a struct that are named above, each as an expression; null where the attribute is named, or taken, as
   * a whole.
   */
  List fields(Attribute one) {
    return needed == null || fields == null ? null : fields.of(one);
  }

  /** The output that is needed, in its order. */
  List output() {
    List out = new ArrayList();
    scala.collection.Iterator each = leaf.output().iterator();
    while (each.hasNext()) {
      Deadline.look();
      Attribute one = (Attribute) each.next();
      if (needs(one)) {
        out.add(one);
      }
    }
    return out;
  }

  /** Bytes of the columns that are needed, as Spark counts them. */
  double readBytes() {
    double bytes = scan.bytes(own());
    return bytes * SmallSide.width(Scala.sequence(output())) / SmallSide.width(leaf.output());
  }

  /** Returns the request about it. */
  ObjectNode request() {
    ObjectNode out = Json.object();
    scan.request(out);
    out.put("gathered", gathered).put("harmless", harmless()).put("pruned", !pruning().isEmpty())
        .put("bytes", scan.bytes(own()));
    ArrayNode asked = out.putArray("filters");
    for (int i = 0; i < filters.size(); i++) {
      Deadline.look();
      Expressions.add((Expression) filters.get(i), leaf.outputSet(), asked.addArray());
    }
    ArrayNode needs = out.putArray("needs");
    List output = output();
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      need((Attribute) output.get(i), needs);
    }
    out.putArray("wants").addAll(wants);
    if (first != null) {
      out.set("first", first.request(leaf));
    }
    if (any) {
      out.put("any", true);
    }
    if (counted != null) {
      out.set("aggregate", counted.request());
    }
    if (!joined.isEmpty()) {
      ArrayNode joins = out.putArray("joins");
      for (int i = 0; i < joined.size(); i++) {
        Deadline.look();
        joins.add((String) joined.get(i));
      }
    }
    ArrayNode sorted = order.isEmpty() ? null : out.putArray("order");
    for (int i = 0; i < order.size(); i++) {
      Deadline.look();
      sorted.add((String) order.get(i));
    }
    return out;
  }

  private void need(Attribute one, ArrayNode out) {
    List paths = fields(one);
    for (int i = 0; paths != null && i < paths.size(); i++) {
      Deadline.look();
      GetStructField field = (GetStructField) paths.get(i);
      String name = one.name() + Fields.behind(field);
      ObjectNode need = need(name, field.dataType(), one, out);
      Fields.list(field, need.putArray("path").add(one.name()));
      scan.number(name, need);
    }
    if (paths == null) {
      need(one.name(), one.dataType(), one, out);
    }
  }

  private static ObjectNode need(String name, DataType type, Attribute of, ArrayNode out) {
    return out.addObject().put("name", name).putRawValue("type", Json.type(type)).put("altered", altered(of));
  }

  private boolean harmless() {
    boolean found = !older("spark.sql.parquet.datetimeRebaseModeInRead")
        && !older("spark.sql.parquet.int96RebaseModeInRead");
    for (int i = 0; i < filters.size(); i++) {
      Deadline.look();
      found = found && NeverFails.of((Expression) filters.get(i));
    }
    return found;
  }

  /** Returns what the filters ask of the scan's attributes alone, part by part. */
  List own() {
    List out = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      Deadline.look();
      Expressions.conjuncts((Expression) filters.get(i), out);
    }
    for (int i = out.size() - 1; i >= 0; i--) {
      Deadline.look();
      Expression part = (Expression) out.get(i);
      if (!((AttributeSet) part.references()).subsetOf((AttributeSet) leaf.outputSet())
          || SubqueryExpression$.MODULE$.hasSubquery(part)) {
        out.remove(i);
      }
    }
    return out;
  }

  /** Returns the filters by which Spark prunes partitions for a join once the query runs. */
  List pruning() {
    List out = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      Deadline.look();
      Expressions.conjuncts((Expression) filters.get(i), out);
    }
    for (int i = out.size() - 1; i >= 0; i--) {
      Deadline.look();
      Expression part = (Expression) out.get(i);
      if (!(part instanceof DynamicPruningSubquery)
          || !((AttributeSet) part.references()).subsetOf((AttributeSet) leaf.outputSet())) {
        out.remove(i);
      }
    }
    return out;
  }

  /**
   * Returns whether Spark shows other values than the files hold, or compares them by another rule: padded texts, a
   * default in files that are older than the column, collations.
   */
  static boolean altered(Attribute one) {
    String metadata = one.metadata().json();
    return Expressions.collated(one.dataType()) || metadata.contains("__CHAR_VARCHAR")
        || metadata.contains("EXISTS_DEFAULT") || one.dataType().json().contains("EXISTS_DEFAULT");
  }

  /** Returns whether days and instants are read by an older calendar. */
  private static boolean older(String name) {
    return "LEGACY".equalsIgnoreCase(SQLConf.get().getConfString(name, "CORRECTED"));
  }
}
