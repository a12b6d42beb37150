package metaindex;

import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/**
 * All that is known of Spark's scans: which are of tables that metaindex can index, how they are named in a request, and how files are left out of them.
 *
 * Classes of Delta and Iceberg are met by name, as they are not always there.
 */
public class Scans {
  private static final String DELTA = "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex";
  private static final String ICEBERG = "org.apache.iceberg.spark.source.SparkBatchQueryScan";
  private static final String V2 = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation";
  private static final int MADE = 8;
  SQLConf conf; // of the session that the rule is of
  private final Marks done = new Marks(); // Iceberg's scans are changed in place, once
  private final LinkedList made = new LinkedList(); // of Delta: lists of kept files that may still stand in plans

  /** No node that writes, or that belongs to a row-level command. */
  static boolean harmless(LogicalPlan plan) {
    String name = plan.getClass().getSimpleName();
    return !name.startsWith("RowLevel") && !name.startsWith("Write") && !name.startsWith("Replace") && !name.startsWith("Merge") && !name.startsWith("Insert");
  }

  /** Why a leaf of a plan is not asked about; null where it is. */
  public String passedOver(LogicalPlan leaf) {
    if (kind(leaf) == null) {
      return "OTHER_SOURCE";
    }
    return asksForFiles(leaf) ? "FILE_METADATA" : null;
  }

  /** Does it read anything that could have an index? */
  public boolean reads(LogicalPlan leaf) {
    return leaf instanceof LogicalRelation || leaf.getClass().getName().equals(V2);
  }

  /** Where a leaf reads from, as far as that is known. */
  List roots(LogicalPlan leaf) {
    List out = new ArrayList();
    if (leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation) {
      scala.collection.Iterator each = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location().rootPaths().iterator();
      while (each.hasNext()) {
        out.add(String.valueOf(each.next()));
      }
    } else if (leaf.getClass().getName().equals(V2) && call(leaf, "scan").getClass().getName().equals(ICEBERG)) {
      out.add(String.valueOf(call(call(call(leaf, "scan"), "table"), "location")));
    }
    return out;
  }

  /** For people. */
  public String name(LogicalPlan leaf) {
    if (leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation) {
      FileIndex files = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location();
      return files.rootPaths().isEmpty() ? leaf.nodeName() : String.valueOf(files.rootPaths().head());
    }
    return leaf.simpleString(4);
  }

  private String kind(LogicalPlan leaf) {
    if (leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation) {
      HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) leaf).relation();
      if (relation instanceof IndexedRelation) {
        return null;
      }
      FileIndex files = relation.location();
      if (files.getClass().getName().equals(DELTA)) {
        return "delta";
      }
      return byCatalog(leaf) != null || files instanceof InMemoryFileIndex && files.rootPaths().size() == 1 ? "files" : null;
    }
    if (leaf.getClass().getName().equals(V2)) {
      Object scan = call(leaf, "scan");
      if (scan.getClass().getName().equals(ICEBERG) && !done.has(scan)) {
        return "iceberg";
      }
    }
    return null;
  }

  /** The folder of a table whose partitions the catalog keeps: it says what a partition's columns hold, whatever a folder is called. Null for other relations. */
  private static String byCatalog(LogicalPlan leaf) {
    HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) leaf).relation();
    scala.Option table = ((LogicalRelation) leaf).catalogTable();
    boolean listed = relation.location() instanceof CatalogFileIndex || relation.location() instanceof InMemoryFileIndex; // the latter where Spark has left partitions out
    if (!listed || table.isEmpty() || relation.partitionSchema().isEmpty() || !Boolean.TRUE.equals(call(table.get(), "tracksPartitionsInCatalog"))) {
      return null;
    }
    return String.valueOf(call(table.get(), "location"));
  }

  /** Does the query ask from which file, or from which row of it, a row comes? */
  private static boolean asksForFiles(LogicalPlan leaf) {
    scala.collection.Iterator attributes = leaf.output().iterator();
    while (attributes.hasNext()) {
      Attribute one = (Attribute) attributes.next();
      String marks = one.metadata().json();
      if (one.name().equals("_metadata") || one.name().equals("_file") || one.name().equals("_pos") || one.name().equals("_deleted") || marks.contains("__metadata_col") || marks.contains("__file_source_metadata_col")) {
        return true;
      }
    }
    return false;
  }

  /** Does it read CSV or JSON? */
  boolean texts(LogicalPlan leaf) {
    if (!kind(leaf).equals("files")) {
      return false;
    }
    String format = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).fileFormat().getClass().getSimpleName();
    return format.equals("CSVFileFormat") || format.equals("JsonFileFormat");
  }

  /** The beginning of a JSON object; the caller adds what is asked and ends it. */
  public String request(LogicalPlan leaf) {
    String kind = kind(leaf);
    StringBuilder out = new StringBuilder("{\"kind\":").append(Json.quoted(kind));
    if (kind.equals("iceberg")) {
      Object scan = call(leaf, "scan");
      Object table = call(scan, "table");
      Object pinned = call(scan, "snapshotId"); // null: no rows
      out.append(",\"root\":").append(Json.quoted(String.valueOf(call(table, "location")))).append(",\"version\":\"").append(pinned).append("\",\"ids\":[");
      ids((List) call(call(scan, "projection"), "columns"), "", out); // by the names of today, whatever the columns were called when they were indexed
      return out.append(']').toString();
    }
    HadoopFsRelation relation = (HadoopFsRelation) ((LogicalRelation) leaf).relation();
    FileIndex files = relation.location();
    String folder = kind.equals("files") ? byCatalog(leaf) : null;
    out.append(",\"catalog\":").append(folder != null);
    out.append(",\"root\":").append(Json.quoted(folder != null ? folder : ((Path) files.rootPaths().head()).toString()));
    if (kind.equals("delta")) {
      Object snapshot = call(call(files, "preparedScan"), "scannedSnapshot");
      out.append(",\"version\":\"").append(call(snapshot, "version")).append("\",\"table\":").append(Json.quoted(String.valueOf(call(call(snapshot, "metadata"), "id"))));
    } else {
      out.append(",\"format\":").append(Json.quoted(relation.fileFormat().getClass().getSimpleName()));
      out.append(",\"schema\":").append(relation.dataSchema().json());
      out.append(",\"partitions\":").append(relation.partitionSchema().json());
    }
    out.append(",\"session\":").append(session(relation));
    out.append(",\"options\":{");
    scala.collection.Iterator options = relation.options().iterator();
    for (boolean first = true; options.hasNext(); first = false) {
      scala.Tuple2 one = (scala.Tuple2) options.next();
      out.append(first ? "" : ",").append(Json.quoted(String.valueOf(one._1()))).append(':').append(Json.quoted(String.valueOf(one._2())));
    }
    return out.append('}').toString();
  }

  /** Of columns, and of the fields of those that are structs, the path and Iceberg's number: [["s","x"],7]. */
  private static void ids(List columns, String above, StringBuilder out) {
    for (int i = 0; i < columns.size(); i++) {
      Object column = columns.get(i), type = call(column, "type");
      String path = above + (above.isEmpty() ? "" : ",") + Json.quoted(String.valueOf(call(column, "name")));
      out.append(out.charAt(out.length() - 1) == '[' ? "" : ",").append("[[").append(path).append("],").append(call(column, "fieldId")).append(']');
      if (Boolean.TRUE.equals(call(type, "isStructType"))) {
        ids((List) call(type, "fields"), path, out);
      }
    }
  }

  /** What else says how files are read: the session's time zone, and what is set there of their format. Null where the relation belongs to another session. */
  private String session(HadoopFsRelation relation) {
    if (call(call(relation.sparkSession(), "sessionState"), "conf") != conf) {
      return "null";
    }
    boolean parquet = relation.fileFormat() instanceof ParquetFileFormat;
    StringBuilder out = new StringBuilder("{\"zone\":").append(Json.quoted(conf.sessionLocalTimeZone())).append(",\"set\":{");
    Map all = conf.settings();
    synchronized (all) {
      boolean first = true;
      for (Iterator each = all.entrySet().iterator(); each.hasNext(); ) {
        Map.Entry one = (Map.Entry) each.next();
        String name = ((String) one.getKey()).toLowerCase(Locale.ROOT);
        boolean says = parquet ? name.contains(".parquet.") || name.endsWith(".casesensitive") : name.contains(".csv.") || name.contains(".json.") || name.endsWith("timeparserpolicy") || name.endsWith("columnnameofcorruptrecord");
        if (says && name.startsWith("spark.sql.")) {
          out.append(first ? "" : ",").append(Json.quoted((String) one.getKey())).append(':').append(Json.quoted((String) one.getValue()));
          first = false;
        }
      }
    }
    return out.append("}}").toString();
  }

  /** Iceberg's number of a field in a struct, as a part of a JSON object. */
  public String fieldId(LogicalPlan leaf, String name) {
    if (!kind(leaf).equals("iceberg")) {
      return "";
    }
    Object field = invoke(call(call(leaf, "scan"), "projection"), "caseInsensitiveFindField", new Object[] {name});
    return ",\"id\":" + call(field, "fieldId");
  }

  /** Do both read by one scan? */
  public boolean same(LogicalPlan one, LogicalPlan other) {
    if (one == other) {
      return true;
    }
    boolean both = one.getClass().getName().equals(V2) && other.getClass().getName().equals(V2);
    return both && call(one, "scan") == call(other, "scan");
  }

  /** The scan without the files; null where it was changed in place, which needs that nobody else reads by it, or left as it was. */
  LogicalPlan without(Found one, Map dropped, String label, Survey survey) {
    LogicalPlan leaf = one.leaf;
    String kind = kind(leaf);
    if (kind == null) {
      return null; // done already
    }
    if (kind.equals("iceberg")) {
      if (survey.alone(one, false)) {
        new Tasks(call(leaf, "scan"), dropped).apply(label, dropped.hashCode());
      }
      return null;
    }
    LogicalRelation relation = (LogicalRelation) leaf;
    HadoopFsRelation before = (HadoopFsRelation) relation.relation();
    if (kind.equals("delta")) {
      return delta(relation, before, dropped, label, false);
    }
    KeptFiles files = new KeptFiles(before.location(), dropped);
    return over(relation, before, files, label + ": " + files.kept + "/" + files.total + " files");
  }

  private static LogicalPlan over(LogicalRelation relation, HadoopFsRelation before, FileIndex files, String label) {
    return over(relation, IndexedRelation.over(before, files, label));
  }

  /** The same attributes of other files. */
  static LogicalPlan over(LogicalRelation relation, HadoopFsRelation instead) {
    Object[] parts = new Object[relation.productArity()];
    for (int i = 0; i < parts.length; i++) {
      parts[i] = i == 0 ? instead : relation.productElement(i);
    }
    return (LogicalPlan) ((TreeNode) relation).makeCopy(parts);
  }

  /** Bytes of the files that a scan lists, without those of partitions that these filters leave out; -1 where they are not counted. */
  public long bytes(LogicalPlan leaf, List filters) {
    if (!(leaf instanceof LogicalRelation)) {
      return taskBytes((List) call(call(leaf, "scan"), "tasks"));
    }
    FileIndex files = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location();
    if (!(files instanceof InMemoryFileIndex) || filters.isEmpty() || files.partitionSchema().isEmpty()) {
      return files.sizeInBytes();
    }
    List named = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      scala.collection.Iterator each = ((AttributeSet) ((Expression) filters.get(i)).references()).iterator();
      boolean all = each.hasNext();
      while (each.hasNext()) {
        String name = ((Attribute) each.next()).name();
        all = all && files.partitionSchema().getFieldIndex(name).isDefined();
      }
      if (all) {
        named.add(filters.get(i));
      }
    }
    if (named.isEmpty()) {
      return files.sizeInBytes();
    }
    long size = 0;
    scala.collection.Iterator folders = files.listFiles(sequence(named), none()).iterator();
    while (folders.hasNext()) {
      scala.collection.Iterator inside = ((PartitionDirectory) folders.next()).files().iterator();
      while (inside.hasNext()) {
        size += ((FileStatusWithMetadata) inside.next()).getLen();
      }
    }
    return size;
  }

  private static long taskBytes(List tasks) {
    try {
      Method size = tasks.isEmpty() ? null : Class.forName("org.apache.iceberg.ScanTask", true, tasks.get(0).getClass().getClassLoader()).getMethod("sizeBytes", new Class[0]);
      long bytes = 0;
      for (int i = 0; i < tasks.size(); i++) {
        bytes += ((Long) size.invoke(tasks.get(i), new Object[0])).longValue();
      }
      return bytes;
    } catch (Exception error) {
      return -1;
    }
  }

  /** Is its version what decides which rows it gives, so that its list is but what its filters leave of the version's files? */
  public boolean pinned(LogicalPlan leaf) {
    return kind(leaf).equals("delta");
  }

  /** What tells a file from others of its path, as far as a list of plain files says it; `replies.signs` writes the same. */
  public static String sign(FileStatusWithMetadata one) {
    return one.getLen() + ":" + one.getModificationTime();
  }

  private static String ofDelta(Object add) {
    return call(add, "size") + ":" + call(add, "modificationTime");
  }

  private static String ofIceberg(Object file) {
    return call(file, "fileSizeInBytes") + ":" + call(file, "dataSequenceNumber");
  }

  /** The files that a scan lists: path in normal form to sign. */
  public Map listed(LogicalPlan leaf) {
    Map found = new HashMap();
    int count = 0;
    if (kind(leaf).equals("iceberg")) {
      List tasks = (List) call(call(leaf, "scan"), "tasks");
      for (count = 0; count < tasks.size(); count++) {
        Object file = call(tasks.get(count), "file");
        found.put(normal(new Path(String.valueOf(call(file, "location"))).toUri()), ofIceberg(file));
      }
    } else if (kind(leaf).equals("delta")) {
      Object prepared = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location();
      URI root = ((Path) call(prepared, "path")).toUri();
      scala.collection.Iterator adds = ((scala.collection.Seq) call(call(prepared, "preparedScan"), "files")).iterator();
      for (; adds.hasNext(); count++) {
        Object add = adds.next();
        found.put(normal(resolved(root, (String) call(add, "path"))), ofDelta(add));
      }
    } else {
      scala.collection.immutable.Seq none = none();
      scala.collection.Iterator folders = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location().listFiles(none, none).iterator();
      while (folders.hasNext()) {
        scala.collection.Iterator inside = ((PartitionDirectory) folders.next()).files().iterator();
        for (; inside.hasNext(); count++) {
          FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
          found.put(normal(one.getPath().toUri()), sign(one));
        }
      }
    }
    if (found.size() != count) {
      throw new IllegalStateException("a scan lists a file twice");
    }
    return found;
  }

  /** Can files be left out of it? Iceberg's scans are changed in place. */
  boolean canShrink(Found one, Survey survey) {
    return !kind(one.leaf).equals("iceberg") || survey.alone(one, true);
  }

  /** The scan without files that an index serves; null where nothing is left. What has to be changed in place is put into `later`. */
  public LogicalPlan rest(LogicalPlan leaf, Map served, String label, List later) {
    String kind = kind(leaf);
    if (kind.equals("iceberg")) {
      Object scan = call(leaf, "scan");
      Tasks tasks = new Tasks(scan, served);
      later.add(tasks);
      return tasks.kept.isEmpty() ? null : leaf;
    }
    LogicalRelation relation = (LogicalRelation) leaf;
    HadoopFsRelation before = (HadoopFsRelation) relation.relation();
    if (kind.equals("delta")) {
      return delta(relation, before, served, label, true);
    }
    KeptFiles files = new KeptFiles(before.location(), served);
    return files.kept == 0 ? null : over(relation, before, files, label + " lacks " + files.kept + "/" + files.total + " files");
  }

  /** What is left of the tasks of an Iceberg scan. */
  public class Tasks {
    final Object scan;
    final List before, kept = new ArrayList();
    private final String note;

    Tasks(Object scan, Map without) {
      this.scan = scan;
      this.before = (List) call(scan, "tasks");
      for (int i = 0; i < before.size(); i++) {
        Object file = call(before.get(i), "file");
        Object proof = without.get(normal(new Path(String.valueOf(call(file, "location"))).toUri()));
        if (proof == null || !proof.equals(ofIceberg(file))) {
          kept.add(before.get(i));
        }
      }
      note = kept.size() + "/" + before.size() + " tasks";
      field(scan, "runtimeFilters");
    }

    void apply(String label, int sign) {
      if (kept.size() < before.size()) {
        mark(scan, label + ": " + note + " #" + Integer.toHexString(sign));
        invoke(scan, "resetTasks", new Object[] {kept});
      }
      done.add(scan);
    }

    void undo() {
      invoke(scan, "resetTasks", new Object[] {before});
    }
  }

  /**
   * A list of the kept `add` actions of the pinned snapshot; null where none is dropped, or (`rest`) where none is left. Not a copy of the prepared list: where deletion vectors are about, Delta adds a filter afterwards and then takes all files again.
   */
  private LogicalPlan delta(LogicalRelation relation, HadoopFsRelation before, Map dropped, String label, boolean rest) {
    Object prepared = before.location();
    Object scan = call(prepared, "preparedScan");
    URI root = ((Path) call(prepared, "path")).toUri();
    List kept = new ArrayList();
    int total = 0;
    scala.collection.Iterator adds = ((scala.collection.Seq) call(scan, "files")).iterator();
    while (adds.hasNext()) {
      Object add = adds.next();
      total++;
      Object proof = dropped.get(normal(resolved(root, (String) call(add, "path"))));
      if (proof == null || !proof.equals(ofDelta(add))) {
        kept.add(add);
      }
    }
    if (rest ? kept.isEmpty() : kept.size() == total) {
      return null;
    }
    Object files = shared(prepared, scan, sequence(kept));
    return over(relation, before, (FileIndex) files, label + ": " + kept.size() + "/" + total + " files");
  }

  /** The same object for the same files of a version, while a plan holds it: Spark runs two scans as one where their lists of files are equal, which Delta's are by identity alone. */
  private Object shared(Object prepared, Object scan, Object files) {
    Object log = call(prepared, "deltaLog");
    String version = call(prepared, "path") + "@" + call(call(scan, "scannedSnapshot"), "version");
    synchronized (made) {
      for (Iterator each = made.iterator(); each.hasNext(); ) {
        Object[] one = (Object[]) each.next();
        Object held = ((WeakReference) one[0]).get();
        if (held == null) {
          each.remove();
        } else if (((WeakReference) one[1]).get() == log && one[2].equals(version) && call(held, "addFiles").equals(files)) {
          return held;
        }
      }
      Object found = batch(prepared, scan, files);
      made.addFirst(new Object[] {new WeakReference(found), new WeakReference(log), version});
      if (made.size() > MADE) {
        made.removeLast();
      }
      return found;
    }
  }

  private static URI resolved(URI root, String path) {
    URI found = URI.create(path);
    if (found.isAbsolute() || path.startsWith("/")) {
      return found;
    }
    return URI.create(root.toString() + "/").resolve("./" + path);
  }

  private static Object batch(Object prepared, Object scan, Object files) {
    try {
      Class type = Class.forName("org.apache.spark.sql.delta.files.TahoeBatchFileIndex", true, prepared.getClass().getClassLoader());
      Constructor[] all = type.getConstructors();
      for (int i = 0; i < all.length; i++) {
        Class[] types = all[i].getParameterTypes();
        if (types.length < 6) {
          continue;
        }
        Object[] values = new Object[types.length];
        values[0] = call(prepared, "spark");
        values[1] = "batch";
        values[2] = files;
        values[3] = call(prepared, "deltaLog");
        values[4] = call(prepared, "path");
        values[5] = call(scan, "scannedSnapshot");
        for (int j = 6; j < values.length; j++) {
          values[j] = types[j] == boolean.class ? (Object) Boolean.FALSE : (Object) scala.None$.MODULE$;
        }
        return all[i].newInstance(values);
      }
      throw new IllegalStateException("Delta's list of files has another shape than this version of metaindex knows");
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /** A filter that says what was left out, among those that Iceberg adds at run time: seen in plans, and two scans that read other files are not equal. */
  private static void mark(Object scan, String note) {
    try {
      Class all = Class.forName("org.apache.iceberg.expressions.Expressions", true, scan.getClass().getClassLoader());
      Object marker = all.getMethod("equal", new Class[] {String.class, Object.class}).invoke(null, new Object[] {"metaindex", note});
      ((List) field(scan, "runtimeFilters")).add(marker);
    } catch (Exception error) {
      throw new IllegalStateException("an Iceberg scan cannot be marked: " + error, error);
    }
  }

  /** One spelling for a file, whatever engine names it: an absolute local path, or //bucket/key. */
  static String normal(URI uri) {
    String scheme = uri.getScheme();
    return scheme == null || scheme.equals("file") ? uri.getPath() : "//" + uri.getAuthority() + uri.getPath();
  }

  static scala.collection.immutable.Seq sequence(List list) {
    return scala.jdk.javaapi.CollectionConverters.asScala(list).toSeq();
  }

  static scala.collection.immutable.Seq none() {
    return (scala.collection.immutable.Seq) (Object) scala.collection.immutable.Nil$.MODULE$;
  }

  static scala.collection.immutable.Set set(Set values) {
    return scala.jdk.javaapi.CollectionConverters.asScala(values).toSet();
  }

  static scala.collection.immutable.Map map(Map values) {
    return scala.collection.immutable.Map$.MODULE$.from(scala.jdk.javaapi.CollectionConverters.asScala(values));
  }

  static Object withPlan(Object subquery, LogicalPlan plan) {
    return invoke(subquery, "withNewPlan", new Object[] {plan});
  }

  static Object call(Object object, String name) {
    return invoke(object, name, new Object[0]);
  }

  private static Object invoke(Object object, String name, Object[] arguments) {
    try {
      for (Class type = object.getClass(); type != null; type = type.getSuperclass()) {
        Method[] methods = type.getDeclaredMethods();
        for (int i = 0; i < methods.length; i++) {
          if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == arguments.length && !methods[i].isBridge()) {
            methods[i].setAccessible(true);
            return methods[i].invoke(object, arguments);
          }
        }
      }
      return object.getClass().getMethod(name, new Class[0]).invoke(object, arguments); // of an interface
    } catch (Exception error) {
      throw new IllegalStateException(object.getClass().getName() + "." + name + ": " + error, error);
    }
  }

  private static Object field(Object object, String name) {
    for (Class type = object.getClass(); type != null; type = type.getSuperclass()) {
      Field[] fields = type.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        if (fields[i].getName().equals(name)) {
          try {
            fields[i].setAccessible(true);
            return fields[i].get(object);
          } catch (Exception error) {
            throw new IllegalStateException(object.getClass().getName() + "." + name + ": " + error, error);
          }
        }
      }
    }
    throw new IllegalStateException(object.getClass().getName() + " has no " + name);
  }
}
