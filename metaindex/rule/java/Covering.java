package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A covering index in place of a scan: the index's rows of the files that are live, with the attributes of the scan under their expression ids, and, where the index does not serve every file (a
 * hybrid scan), the rows of the others by the scan itself. What Spark's scan lists decides: a file that is not in its list, with the identity that the index knows, gives no row from the index.
 */
class Covering {
  private static final String RUN = "_mi_run", FILE = "_mi_ordinal", ROW = "_mi_row";
  private final Scans scans;
  private final Found one;
  private final JsonNode reply;
  private final TreeMap out = new TreeMap(); // of a run, the files whose rows are not to be seen
  private final TreeMap in = new TreeMap(); // and those whose rows are, where that is known one by one
  private Map served; // path in normal form to {identity, run, ordinal}; null: every file that is live at the version, which Spark has pinned

  Covering(Scans scans, Found one, JsonNode reply) {
    this.scans = scans;
    this.one = one;
    this.reply = reply;
  }

  /** The plan in place of the leaf; null where nothing is won. `later`: what has to be done to scans that are changed in place, once the whole plan is made. */
  LogicalPlan plan(boolean alone, List later) {
    String label = reply.get("label").asText();
    String[] dead = Reply.unpacked(reply.get("dead"));
    for (int i = 0; i + 1 < dead.length; i += 2) {
      files(out, Integer.parseInt(dead[i])).set(Integer.parseInt(dead[i + 1]));
    }
    served = reply.has("served") ? served() : null;
    Map listed = scans.pinned(one.leaf) ? null : scans.listed(one.leaf);
    Map taken = new HashMap(); // path to identity: what the scan need not read
    boolean whole = served == null;
    if (served != null) {
      for (Iterator each = served.entrySet().iterator(); each.hasNext(); ) {
        Map.Entry entry = (Map.Entry) each.next();
        String[] file = (String[]) entry.getValue();
        boolean there = listed == null || file[0].equals(listed.get(entry.getKey()));
        files(there ? in : out, Integer.parseInt(file[1])).set(Integer.parseInt(file[2]));
        if (there) {
          taken.put(entry.getKey(), file[0]);
        }
      }
      whole = listed != null && taken.size() == listed.size();
    } else if (listed != null) {
      throw new IllegalStateException("a list that is not pinned is compared file by file");
    }
    if (served != null && taken.isEmpty()) {
      return null;
    }
    if (!whole && !scans.canShrink(one.leaf, alone)) {
      return null; // others read by it, too
    }
    LogicalPlan rest = whole ? null : scans.rest(one.leaf, taken, label, later);
    boolean hybrid = rest != null;
    List ours = new ArrayList(); // the index's attribute of each of the output's
    LogicalPlan index = index(label + (hybrid ? ", and files that it lacks" : ""), ours);
    List output = one.output();
    if (!hybrid) {
      return project(output, ours, output, index);
    }
    List mine = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      mine.add(NamedExpression$.MODULE$.newExprId());
    }
    Expression filter = filter();
    LogicalPlan first = filter == null ? index : new Filter(replaced(filter, output, ours), index);
    LogicalPlan second = filter == null ? rest : new Filter(filter, rest);
    if (reply.get("partitioned").asBoolean()) {
      second = new RepartitionByExpression(Scans.sequence(named(reply.get("bucketed"), output)), second, scala.Option.apply(Integer.valueOf(reply.get("buckets").asInt())), scala.Option.empty());
    }
    List both = new ArrayList();
    both.add(project(output, ours, output, first));
    both.add(projectNew(output, mine, second));
    return new Union(Scans.sequence(both), false, false);
  }

  private Map served() {
    String[] parts = Reply.unpacked(reply.get("served"));
    Map found = new HashMap(parts.length / 2);
    for (int i = 0; i + 3 < parts.length; i += 4) {
      found.put(parts[i], new String[] {parts[i + 1], parts[i + 2], parts[i + 3]});
    }
    return found;
  }

  private static BitSet files(Map of, int run) {
    Integer key = Integer.valueOf(run);
    if (!of.containsKey(key)) {
      of.put(key, new BitSet());
    }
    return (BitSet) of.get(key);
  }

  /** The index's rows that are live. */
  private LogicalPlan index(String label, List ours) {
    String[] parts = Reply.unpacked(reply.get("parts"));
    List paths = new ArrayList();
    List sizes = new ArrayList();
    List runs = new ArrayList();
    int last = -1;
    boolean several = false;
    for (int i = 0; i + 2 < parts.length; i += 3) {
      Integer run = Integer.valueOf(parts[i]);
      if (served == null || in.containsKey(run)) { // else no row of the run is to be seen
        several = several || (last >= 0 && last != run.intValue());
        last = run.intValue();
        runs.add(run);
        paths.add(parts[i + 1]);
        sizes.add(Long.valueOf(parts[i + 2]));
      }
    }
    long[] places = places();
    boolean byFile = places.length > 0 || !out.isEmpty();
    List fields = new ArrayList();
    List output = one.output();
    JsonNode stored = reply.get("columns"); // by the attribute's name, the index's
    for (int i = 0; i < output.size(); i++) {
      Attribute attribute = (Attribute) output.get(i);
      if (!stored.has(attribute.name())) {
        throw new IllegalStateException("the index has no " + attribute.name());
      }
      fields.add(new StructField(stored.get(attribute.name()).asText(), attribute.dataType(), attribute.nullable(), Metadata.empty()));
    }
    if (byFile) {
      fields.add(new StructField(FILE, DataTypes.IntegerType, false, Metadata.empty()));
    }
    if (places.length > 0) {
      fields.add(new StructField(ROW, DataTypes.LongType, false, Metadata.empty()));
    }
    StructType data = new StructType((StructField[]) fields.toArray(new StructField[0]));
    StructType numbers = several && byFile ? new StructType(new StructField[] {new StructField(RUN, DataTypes.IntegerType, false, Metadata.empty())}) : new StructType();
    CoveringFiles files = new CoveringFiles((String[]) paths.toArray(new String[0]), longs(sizes), ints(runs), numbers, reply.get("bytes").asLong());
    LogicalRelation relation = LogicalRelation$.MODULE$.apply(new IndexedRelation(files, numbers, data, buckets(), new ParquetFileFormat(), options(), SparkSession.active(), label), false);
    List attributes = list(relation.output());
    for (int i = 0; i < output.size(); i++) {
      ours.add(attributes.get(i));
    }
    LogicalPlan plan = relation;
    if (!byFile) {
      return plan;
    }
    AttributeReference row = places.length > 0 ? (AttributeReference) attributes.get(output.size() + 1) : null;
    Lineage lineage = new Lineage(numbers.length() > 0 ? (AttributeReference) attributes.get(attributes.size() - 1) : null, (AttributeReference) attributes.get(output.size()), row);
    for (Iterator each = out.entrySet().iterator(); each.hasNext(); ) {
      Map.Entry entry = (Map.Entry) each.next();
      int run = ((Integer) entry.getKey()).intValue();
      BitSet gone = (BitSet) entry.getValue(), kept = (BitSet) in.get(entry.getKey());
      if (runs.contains(entry.getKey())) {
        boolean inside = kept != null && kept.cardinality() < gone.cardinality();
        plan = new Filter(lineage.only(run, inside ? kept : gone, inside), plan);
      }
    }
    return places.length > 0 ? lineage.without(plan, places, reply.get("run_shift").asInt(), reply.get("file_shift").asInt()) : plan;
  }

  private long[] places() {
    if (!reply.has("deleted")) {
      return new long[0];
    }
    String[] texts = Reply.unpacked(reply.get("deleted"));
    long[] found = new long[texts.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = Long.parseLong(texts[i]);
    }
    return found;
  }

  private scala.Option buckets() {
    int count = reply.get("buckets").asInt();
    if (count <= 0) {
      return scala.Option.empty();
    }
    scala.collection.immutable.Seq names = texts(reply.get("bucketed_as"));
    return scala.Option.apply(new BucketSpec(count, names, names));
  }

  /** What the session says of damaged or missing files, and of dates of an older calendar, is said of its tables. */
  private static scala.collection.immutable.Map options() {
    Map options = new HashMap();
    options.put("ignoreMissingFiles", "false");
    options.put("ignoreCorruptFiles", "false");
    options.put("mergeSchema", "false");
    options.put("datetimeRebaseMode", "CORRECTED");
    options.put("int96RebaseMode", "CORRECTED");
    return Scans.map(options);
  }

  private static LogicalPlan project(List output, List from, List as, LogicalPlan plan) {
    List list = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      list.add(alias((Attribute) output.get(i), (Attribute) from.get(i), ((Attribute) as.get(i)).exprId()));
    }
    return new Project(Scans.sequence(list), plan);
  }

  private static LogicalPlan projectNew(List output, List ids, LogicalPlan plan) {
    List list = new ArrayList();
    for (int i = 0; i < output.size(); i++) {
      list.add(alias((Attribute) output.get(i), (Attribute) output.get(i), (ExprId) ids.get(i)));
    }
    return new Project(Scans.sequence(list), plan);
  }

  private static Alias alias(Attribute like, Attribute from, ExprId id) {
    return new Alias(from, like.name(), id, like.qualifier(), scala.Option.apply(like.metadata()), Scans.none());
  }

  /** What the filters above ask of the scan's attributes alone: it is asked in both branches of a hybrid scan, and once more above. */
  private Expression filter() {
    Expression all = null;
    for (Iterator each = one.own().iterator(); each.hasNext(); ) {
      Expression part = (Expression) each.next();
      all = all == null ? part : new And(all, part);
    }
    return all;
  }

  private static Expression replaced(Expression filter, List from, List to) {
    Map other = new HashMap();
    for (int i = 0; i < from.size(); i++) {
      other.put(Found.id((Attribute) from.get(i)), to.get(i));
    }
    return (Expression) filter.transformUp(new Others(other));
  }

  private static List named(JsonNode names, List output) {
    List found = new ArrayList();
    for (Iterator each = names.iterator(); each.hasNext(); ) {
      String name = ((JsonNode) each.next()).asText();
      for (int i = 0; i < output.size(); i++) {
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

  private static scala.collection.immutable.Seq texts(JsonNode names) {
    List found = new ArrayList();
    for (Iterator each = names.iterator(); each.hasNext(); ) {
      found.add(((JsonNode) each.next()).asText());
    }
    return Scans.sequence(found);
  }

  private static List list(scala.collection.immutable.Seq all) {
    List found = new ArrayList();
    scala.collection.Iterator each = all.iterator();
    while (each.hasNext()) {
      found.add(each.next());
    }
    return found;
  }

  private static long[] longs(List values) {
    long[] found = new long[values.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = ((Long) values.get(i)).longValue();
    }
    return found;
  }

  private static int[] ints(List values) {
    int[] found = new int[values.size()];
    for (int i = 0; i < found.length; i++) {
      found[i] = ((Integer) values.get(i)).intValue();
    }
    return found;
  }

  /** Attributes in place of others, by expression id. */
  static class Others extends scala.runtime.AbstractPartialFunction {
    private final Map by;

    Others(Map by) {
      this.by = by;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AttributeReference && by.containsKey(Found.id((Attribute) node));
    }

    public Object applyOrElse(Object node, scala.Function1 other) {
      return isDefinedAt(node) ? by.get(Found.id((Attribute) node)) : other.apply(node);
    }
  }
}
