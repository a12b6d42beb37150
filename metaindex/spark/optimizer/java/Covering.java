package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Puts a covering index in place of a scan: the index's rows of the files that are live, with the attributes of the
 * scan under their expression ids, and, if the index does not serve every file (a hybrid scan), the rows of the others
 * by the scan itself. Spark's own list decides: a file that is not in it, with the identity that the index knows, gives
 * no row from the index.
 */
class Covering {
  private static final String RUN = "_mi_run", FILE = "_mi_ordinal", ROW = "_mi_row";
  private static final int MERGED = 8; // runs: a row passes each merge above its own
  private final ScanSite one;
  private final JsonNode reply;
  private final TreeMap out = new TreeMap(); // of a run, the files whose rows are not to be seen
  private final TreeMap in = new TreeMap(); // and those whose rows are, where that is known one by one
  // What is needed, by the attribute's id and the names behind it, to the index's attribute.
  private final Map flat = new HashMap();
  // Path in normal form to {identity, run, ordinal}; null: every file that is live at the version, which Spark has
  // pinned.
  private Map served;
  private final Map taken = new HashMap(); // path to identity: what the scan need not read
  private final String[] parts; // of the index: the number of the run, the place, the size
  private final Deleted deleted;
  private final boolean masked; // deleted rows are left out by masks; else by a join
  private Facts facts; // on which the index's rows rest; null: on none that can change

  Covering(ScanSite one, JsonNode reply) {
    this.one = one;
    this.reply = reply;
    parts = Reply.unpacked(reply.get("parts"));
    deleted = Deleted.of(reply);
    masked = reply.has("masked") && reply.get("masked").asBoolean();
  }

  /**
   * The plan in place of the leaf; null where nothing is won. `later`: what has to be done to scans that are changed in
   * place, once the whole plan is made.
   */
  LogicalPlan plan(PlanScans survey, List later) {
    String label = reply.get("label").asText();
    String[] dead = Reply.unpacked(reply.get("dead"));
    for (int i = 0; i + 1 < dead.length; i += 2) {
      Deadline.look();
      files(out, Integer.parseInt(dead[i])).set(Integer.parseInt(dead[i + 1]));
    }
    served = reply.has("served") ? served() : null;
    boolean whole = served == null;
    if (whole && !one.scan.pinned()) {
      throw new IllegalStateException("a list that is not pinned is compared file by file");
    }
    if (served != null) {
      Map listed = one.scan.listed();
      for (Iterator each = served.entrySet().iterator(); each.hasNext(); ) {
        Deadline.look();
        Map.Entry entry = (Map.Entry) each.next();
        String[] file = (String[]) entry.getValue();
        boolean there = Facts.match(file[0], listed.get(entry.getKey())); // else the scan reads it, or nobody
        files(there ? in : out, Integer.parseInt(file[1])).set(Integer.parseInt(file[2]));
        if (there) {
          taken.put(entry.getKey(), file[0]);
        }
      }
      whole = taken.size() == listed.size();
      if (taken.isEmpty()) {
        return null;
      }
    }
    if (!whole && !one.scan.canShrink(one, survey)) {
      return null; // others read by it, too
    }
    facts = reply.get("partitioned").asBoolean() ? null : one.scan.facts(taken);
    if (facts != null) {
      return over(one.scan.rest(taken, label), label, !whole);
    }
    return over(whole ? null : one.scan.rest(taken, label, later), label, !whole);
  }

  /**
   * The index, run by run where that keeps an order, and beside it the rows of the files that it lacks (`rest`; null:
   * nothing is read beside it).
   */
  private LogicalPlan over(LogicalPlan rest, String label, boolean lacks) {
    String said = label + (lacks ? ", and files that it lacks" : "");
    List output = one.output(), branches = new ArrayList();
    boolean joined = reply.get("joined").asBoolean();
    List runs = joined ? runs() : new ArrayList();
    boolean each = runs.size() > 1 && runs.size() <= MERGED; // each in its order; together they have none
    boolean several = each || rest != null;
    for (int i = 0; i < (each ? runs.size() : 1); i++) {
      Deadline.look();
      List ours = new ArrayList(); // the index's attribute of each of the output's
      LogicalPlan plan = index(said, each ? (Integer) runs.get(i) : null, ours, several, each || lacks);
      branches.add(Attributes.project(output, ours, i == 0 ? Attributes.ids(output) : Attributes.newIds(output), plan));
    }
    if (!several) {
      return (LogicalPlan) branches.get(0);
    }
    List keys = reply.get("partitioned").asBoolean() ? Attributes.named(reply.get("bucketed"), output) : null;
    if (rest != null) {
      Expression filter = all(one.own(), one.pruning());
      LogicalPlan plan = filter == null ? rest : new Filter(filter, rest);
      if (keys != null) {
        // Spark's own pruning of columns is over: a scan reads what stands right above it, and an exchange sends all of
        // it.
        plan = new Project(Scala.sequence(output), plan);
        plan = new RepartitionByExpression(Scala.sequence(keys), plan,
            scala.Option.apply(Integer.valueOf(reply.get("buckets").asInt())), scala.Option.empty());
      }
      branches.add(Attributes.project(output, output, Attributes.newIds(output), plan));
    }
    Union union = new Union(Scala.sequence(branches), false, false);
    if (keys != null && joined) {
      union.setTagValue(Hybrid.KEYS, Attributes.ids(keys));
    }
    return union;
  }

  private Map served() {
    String[] parts = Reply.unpacked(reply.get("served"));
    Map found = new HashMap(parts.length / 2);
    for (int i = 0; i + 3 < parts.length; i += 4) {
      Deadline.look();
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

  /** The numbers of the runs of which rows are to be seen. */
  private List runs() {
    List found = new ArrayList();
    for (int i = 0; i + 2 < parts.length; i += 3) {
      Deadline.look();
      Integer run = Integer.valueOf(parts[i]);
      if ((served == null || in.containsKey(run)) && !found.contains(run)) {
        found.add(run);
      }
    }
    return found;
  }

  /**
   * The index's rows that are live. `only`: of this run; null: of all. `filtered`: those alone that the filters let
   * pass, which stand above it as well: Spark's own push-down is over.
   */
  private LogicalPlan index(String label, Integer only, List ours, boolean filtered, boolean apart) {
    long size = 0, every = 0;
    List paths = new ArrayList();
    List sizes = new ArrayList();
    List runs = new ArrayList();
    int last = -1;
    boolean several = false;
    for (int i = 0; i + 2 < parts.length; i += 3) {
      Deadline.look();
      Integer run = Integer.valueOf(parts[i]);
      every += Long.parseLong(parts[i + 2]);
      // No row of another run is to be seen.
      if ((served == null || in.containsKey(run)) && (only == null || only.equals(run))) {
        size += Long.parseLong(parts[i + 2]);
        several = several || (last >= 0 && last != run.intValue());
        last = run.intValue();
        runs.add(run);
        paths.add(parts[i + 1]);
        sizes.add(Long.valueOf(parts[i + 2]));
      }
    }
    long[] places = deleted.of(only);
    boolean joined = places.length > 0 && !masked;
    boolean byFile = places.length > 0 || (only == null ? !out.isEmpty() : out.containsKey(only));
    List fields = new ArrayList(), columns = new ArrayList(); // the latter: of the table, which they are
    List output = one.output();
    JsonNode stored = reply.get("columns"); // by the attribute's name, the index's
    List keys = new ArrayList(); // of what is needed
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      Attribute attribute = (Attribute) output.get(i);
      List inside = one.fields(attribute);
      for (int j = 0; inside != null && j < inside.size(); j++) {
        Deadline.look();
        Expression field = (Expression) inside.get(j);
        keys.add(Attributes.id(attribute) + Fields.behind(field));
        columns.add(field);
        fields.add(new StructField(stored(stored, attribute.name() + Fields.behind(field)), field.dataType(), true,
            Metadata.empty()));
      }
      if (inside == null) {
        keys.add(Attributes.id(attribute).toString());
        columns.add(attribute);
        fields.add(new StructField(stored(stored, attribute.name()), attribute.dataType(), attribute.nullable(),
            Metadata.empty()));
      }
    }
    if (byFile) {
      fields.add(new StructField(FILE, DataTypes.IntegerType, false, Metadata.empty()));
    }
    if (places.length > 0) {
      fields.add(new StructField(ROW, DataTypes.LongType, false, Metadata.empty()));
    }
    StructType data = new StructType((StructField[]) fields.toArray(new StructField[0]));
    StructType numbers = byFile && (several || joined)
        ? new StructType(new StructField[] {new StructField(RUN, DataTypes.IntegerType, false, Metadata.empty())})
        : new StructType();
    double bytes = reply.get("bytes").asDouble();
    CoveringFiles files = new CoveringFiles(
        (String[]) paths.toArray(new String[0]), longs(sizes), ints(runs), numbers,
        only == null ? reply.get("bytes").asLong() : Math.max(1, (long) (bytes * size / every)),
        reply.get("rows_of_key").asDouble(), apart || reply.get("joined").asBoolean(),
        reply.get("leaves_out").asBoolean(), facts, instead(only, columns, byFile, numbers.length() > 0));
    IndexedRelation indexed = new IndexedRelation(
        files, numbers, data, buckets(), new ParquetFileFormat(), options(data), SparkSession.active(), label);
    LogicalRelation relation = LogicalRelation$.MODULE$.apply(indexed, false);
    List attributes = Scala.list(relation.output());
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      flat.put(keys.get(i), attributes.get(i));
    }
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      Attribute attribute = (Attribute) output.get(i);
      ours.add(one.fields(attribute) == null ? (Expression) flat.get(Attributes.id(attribute).toString())
          : struct(Attributes.id(attribute).toString(), (StructType) attribute.dataType()));
    }
    LogicalPlan plan = byFile ? live(relation, keys.size(), attributes, numbers, runs, masked && places.length > 0)
        : relation;
    Expression filter = filter();
    if (filter != null && (filtered || joined || structs(output))) {
      plan = new Filter((Expression) filter.transformDown(new Others(flat)), plan);
    }
    return joined ? lineage(keys.size(), attributes, numbers, true)
        .without(plan, places, reply.get("run_shift").asInt(), reply.get("file_shift").asInt()) : plan;
  }

  /** Returns what gives the rows of a run (null: of all) if its files are replaced before buckets are read of it. */
  private IndexedFiles instead(Integer only, List columns, boolean byFile, boolean byRun) {
    if (!reply.get("partitioned").asBoolean() || one.scan.pinned() || !(one.leaf instanceof LogicalRelation)) {
      return null;
    }
    Map files = new HashMap();
    for (Iterator each = taken.entrySet().iterator(); each.hasNext(); ) {
      Deadline.look();
      Map.Entry file = (Map.Entry) each.next();
      if (only == null || only.toString().equals(((String[]) served.get(file.getKey()))[1])) {
        files.put(file.getKey(), file.getValue());
      }
    }
    // All of them pass as rows of one file that is live.
    Integer run = only == null ? (Integer) in.firstKey() : only;
    if (byFile) {
      columns.add(Lineage.number(((BitSet) in.get(run)).nextSetBit(0)));
    }
    if (byRun) {
      columns.add(Lineage.number(run.intValue()));
    }
    return new IndexedFiles((LogicalRelation) one.leaf, files, columns);
  }

  private static Lineage lineage(int columns, List attributes, StructType numbers, boolean rows) {
    AttributeReference run = numbers.length() > 0 ? (AttributeReference) attributes.get(attributes.size() - 1) : null;
    return new Lineage(run, (AttributeReference) attributes.get(columns),
        rows ? (AttributeReference) attributes.get(columns + 1) : null);
  }

  /** The rows of files that are live; `byRow`: without those that are deleted one by one. */
  private LogicalPlan live(LogicalPlan relation, int columns, List attributes, StructType numbers, List runs,
      boolean byRow) {
    LogicalPlan plan = relation;
    Lineage lineage = lineage(columns, attributes, numbers, byRow);
    for (Iterator each = out.entrySet().iterator(); each.hasNext(); ) {
      Deadline.look();
      Map.Entry entry = (Map.Entry) each.next();
      int run = ((Integer) entry.getKey()).intValue();
      BitSet gone = (BitSet) entry.getValue(), kept = (BitSet) in.get(entry.getKey());
      if (runs.contains(entry.getKey())) {
        boolean inside = kept != null && kept.cardinality() < gone.cardinality();
        plan = new Filter(lineage.only(run, inside ? kept : gone, inside), plan);
      }
    }
    for (Iterator each = new TreeSet(byRow ? runs : new ArrayList()).iterator(); each.hasNext(); ) {
      Deadline.look();
      Integer run = (Integer) each.next();
      Deleted.Mask mask = deleted.mask(run);
      plan = mask == null ? plan : new Filter(lineage.undeleted(run.intValue(), mask), plan);
    }
    return plan;
  }

  private static String stored(JsonNode names, String name) {
    if (!names.has(name)) {
      throw new IllegalStateException("the index has no " + name);
    }
    return names.get(name).asText();
  }

  /** A struct of the fields that are needed; nobody asks for the others. */
  private Expression struct(String path, StructType type) {
    List parts = new ArrayList();
    for (int i = 0; i < type.fields().length; i++) {
      Deadline.look();
      StructField field = type.fields()[i];
      String name = path + "." + field.name();
      parts.add(new Literal(UTF8String.fromString(field.name()), DataTypes.StringType));
      if (flat.containsKey(name)) {
        parts.add(flat.get(name));
      } else {
        parts.add(field.dataType() instanceof StructType ? struct(name, (StructType) field.dataType())
            : new Literal(null, field.dataType()));
      }
    }
    return new CreateNamedStruct(Scala.sequence(parts));
  }

  private scala.Option buckets() {
    int count = reply.get("buckets").asInt();
    if (count <= 0) {
      return scala.Option.empty();
    }
    scala.collection.immutable.Seq names = texts(reply.get("bucketed_as"));
    return scala.Option.apply(new BucketSpec(count, names, names));
  }

  /**
   * What the session says of damaged or missing files, and of dates of an older calendar, is said of its tables. Pages
   * have checksums, which Spark's reader compares where it is told to.
   */
  private static scala.collection.immutable.Map options(StructType data) {
    Map options = new HashMap();
    if (fractions(data)) {
      // A dictionary is asked for 0.0 bit by bit: the row group of a -0.0, which is the same, would be left out.
      options.put("parquet.filter.dictionary.enabled", "false");
    }
    options.put("ignoreMissingFiles", "false");
    options.put("ignoreCorruptFiles", "false");
    options.put("mergeSchema", "false");
    options.put("parquet.page.verify-checksum.enabled", "true");
    options.put("datetimeRebaseMode", "CORRECTED");
    options.put("int96RebaseMode", "CORRECTED");
    return Scala.map(options);
  }

  private static boolean fractions(StructType data) {
    for (int i = 0; i < data.fields().length; i++) {
      Deadline.look();
      if (data.fields()[i].dataType() instanceof DoubleType || data.fields()[i].dataType() instanceof FloatType) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns what the filters above ask of the scan's attributes alone: applied in both branches of a hybrid scan, and
   * once more above.
   */
  private Expression filter() {
    return all(one.own(), new ArrayList());
  }

  static Expression all(List parts, List more) {
    Expression all = null;
    parts.addAll(more);
    for (Iterator each = parts.iterator(); each.hasNext(); ) {
      Deadline.look();
      Expression part = (Expression) each.next();
      all = all == null ? part : new And(all, part);
    }
    return all;
  }

  private boolean structs(List output) {
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      if (one.fields((Attribute) output.get(i)) != null) {
        return true;
      }
    }
    return false;
  }

  private static scala.collection.immutable.Seq texts(JsonNode names) {
    List found = new ArrayList();
    for (Iterator each = names.iterator(); each.hasNext(); ) {
      Deadline.look();
      found.add(((JsonNode) each.next()).asText());
    }
    return Scala.sequence(found);
  }

  private static long[] longs(List values) {
    long[] found = new long[values.size()];
    for (int i = 0; i < found.length; i++) {
      Deadline.look();
      found[i] = ((Long) values.get(i)).longValue();
    }
    return found;
  }

  private static int[] ints(List values) {
    int[] found = new int[values.size()];
    for (int i = 0; i < found.length; i++) {
      Deadline.look();
      found[i] = ((Integer) values.get(i)).intValue();
    }
    return found;
  }

  /** The index's attributes in place of the scan's, and of fields of its structs. */
  static class Others extends scala.runtime.AbstractPartialFunction {
    private final Map flat;

    Others(Map flat) {
      this.flat = flat;
    }

    public boolean isDefinedAt(Object node) {
      return flat.containsKey(key(node));
    }

    public Object applyOrElse(Object node, scala.Function1 other) {
      Object found = flat.get(key(node));
      return found != null ? found : other.apply(node);
    }

    private static String key(Object node) {
      Attribute base = node instanceof AttributeReference || node instanceof GetStructField
          ? Fields.base((Expression) node) : null;
      return base == null ? null : Attributes.id(base) + Fields.behind((Expression) node);
    }
  }
}
