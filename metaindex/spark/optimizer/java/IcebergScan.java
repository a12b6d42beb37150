package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** An Iceberg table, at its snapshot. It is changed in place, once. */
class IcebergScan extends Scan {
  private static final String V2 = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation";
  private static final String BATCH = "org.apache.iceberg.spark.source.SparkBatchQueryScan";
  private static final String METADATA = "org.apache.iceberg.BaseMetadataTable";
  private final LogicalPlan leaf;
  private final Object scan;
  private final WeakIdentitySet done;
  private RowGroups groups; // of its files, that are read; null: all

  /** `done`: the scans that were changed. */
  IcebergScan(LogicalPlan leaf, WeakIdentitySet done) {
    this.leaf = leaf;
    this.scan = Reflected.call(leaf, "scan");
    this.done = done;
  }

  /** Returns whether it was changed already. */
  boolean isDone() {
    return done.has(scan);
  }

  /** Returns whether a leaf reads by the second of Spark's interfaces, as Iceberg does. */
  static boolean isV2(LogicalPlan leaf) {
    return leaf.getClass().getName().equals(V2);
  }

  static boolean is(LogicalPlan leaf) {
    if (!isV2(leaf) || !Reflected.call(leaf, "scan").getClass().getName().equals(BATCH)) {
      return false;
    }
    return !isMetadata(Reflected.call(Reflected.call(leaf, "scan"), "table"));
  }

  /** Returns whether it is a metadata table (t.snapshots), whose columns have numbers of the table's others. */
  private static boolean isMetadata(Object table) {
    for (Class kind = table.getClass(); kind != null; kind = kind.getSuperclass()) {
      Deadline.look();
      if (kind.getName().equals(METADATA)) {
        return true;
      }
    }
    return false;
  }

  static String location(LogicalPlan leaf) {
    return String.valueOf(Reflected.call(Reflected.call(Reflected.call(leaf, "scan"), "table"), "location"));
  }

  void request(ObjectNode out) {
    out.put("kind", "iceberg").put("root", location(leaf));
    out.put("version", String.valueOf(IcebergNames.snapshot(scan)));
    // By the names of today, whatever the columns were called when they were indexed.
    ids((List) Reflected.call(IcebergNames.projection(scan), "columns"), null, out.putArray("ids"));
  }

  /**
   * Adds, for columns and the fields of structs, the path, Iceberg's number, and those of all fields inside:
   * [["s","x"],7,[]].
   */
  private static void ids(List columns, ArrayNode above, ArrayNode out) {
    for (int i = 0; i < columns.size(); i++) {
      Deadline.look();
      Object column = columns.get(i), type = Reflected.call(column, "type");
      ArrayNode one = out.addArray(), path = one.addArray();
      if (above != null) {
        path.addAll(above);
      }
      path.add(String.valueOf(Reflected.call(column, "name")));
      one.add(number(column));
      inside(type, one.addArray());
      if (Boolean.TRUE.equals(Reflected.call(type, "isStructType"))) {
        ids((List) Reflected.call(type, "fields"), path, out);
      }
    }
  }

  /** The numbers of the fields of structs inside of a type, in its order, also within lists and maps. */
  private static void inside(Object type, ArrayNode out) {
    if (Boolean.TRUE.equals(Reflected.call(type, "isStructType"))) {
      List fields = (List) Reflected.call(type, "fields");
      for (int i = 0; i < fields.size(); i++) {
        Deadline.look();
        out.add(number(fields.get(i)));
        inside(Reflected.call(fields.get(i), "type"), out);
      }
    } else if (Boolean.TRUE.equals(Reflected.call(type, "isListType"))) {
      inside(Reflected.call(type, "elementType"), out);
    } else if (Boolean.TRUE.equals(Reflected.call(type, "isMapType"))) {
      inside(Reflected.call(type, "keyType"), out);
      inside(Reflected.call(type, "valueType"), out);
    }
  }

  private static int number(Object field) {
    return ((Number) Reflected.call(field, "fieldId")).intValue();
  }

  void number(String name, ObjectNode out) {
    Object field = Reflected.invoke(IcebergNames.projection(scan), "caseInsensitiveFindField",
        new Object[] {name});
    out.put("id", number(field));
  }

  long bytes(List filters) {
    List tasks = (List) Reflected.call(scan, "tasks");
    try {
      ClassLoader loader = tasks.isEmpty() ? null : tasks.get(0).getClass().getClassLoader();
      Method size = tasks.isEmpty() ? null
          : Class.forName("org.apache.iceberg.ScanTask", true, loader).getMethod("sizeBytes", new Class[0]);
      long bytes = 0;
      for (int i = 0; i < tasks.size(); i++) {
        Deadline.look();
        bytes += ((Long) size.invoke(tasks.get(i), new Object[0])).longValue();
      }
      return bytes;
    } catch (Exception error) {
      return -1;
    }
  }

  Map listed() {
    Map found = new HashMap();
    List tasks = (List) Reflected.call(scan, "tasks");
    for (int i = 0; i < tasks.size(); i++) {
      Deadline.look();
      Object file = Reflected.call(tasks.get(i), "file");
      found.put(IcebergTasks.name(file), IcebergTasks.sign(file));
    }
    return once(found, tasks.size());
  }

  void narrow(JsonNode left) {
    groups = new RowGroups(left);
  }

  boolean canShrink(ScanSite one, PlanScans survey) {
    return survey.alone(one, true);
  }

  Map deleted() {
    Map found = new HashMap();
    List tasks = (List) Reflected.call(scan, "tasks");
    for (int i = 0; i < tasks.size(); i++) {
      Deadline.look();
      long rows = IcebergTasks.deleted(tasks.get(i));
      if (rows != 0) {
        found.put(IcebergTasks.name(Reflected.call(tasks.get(i), "file")), Long.valueOf(rows));
      }
    }
    return found;
  }

  boolean canBeAnswered(ScanSite one, PlanScans survey) {
    return !isDone() && survey.only(one);
  }

  LogicalPlan without(ScanSite one, Map dropped, String label, PlanScans survey) {
    if (!isDone() && survey.alone(one, false)) {
      IcebergTasks tasks = new IcebergTasks(scan, dropped, done, label, dropped.hashCode());
      if (groups != null) {
        tasks.narrow(groups);
      }
      tasks.apply();
    }
    return null;
  }

  LogicalPlan answered(ScanSite one, Map dropped, String label, PlanScans survey, List later) {
    later.add(new IcebergTasks(scan, dropped, done, label, dropped.hashCode()));
    return null;
  }

  LogicalPlan certainFirst(ScanSite one, Map certain, Map dropped, String label, PlanScans survey) {
    if (!isDone() && survey.only(one)) {
      int sign = dropped.hashCode() * 31 + certain.hashCode();
      IcebergTasks tasks = new IcebergTasks(scan, dropped, done, label, sign);
      tasks.first(certain);
      tasks.apply();
    }
    return null;
  }

  LogicalPlan rest(Map served, String label, List later) {
    IcebergTasks tasks = new IcebergTasks(scan, served, done, "covering", served.hashCode());
    later.add(tasks);
    return tasks.kept.isEmpty() ? null : leaf;
  }
}
