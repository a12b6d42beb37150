package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/** A Delta table, at the version that Delta has pinned. */
class DeltaScan extends RelationScan {
  private final DeltaLists lists;
  private final Object prepared, scan; // Delta's list of files, and what it is made from
  private final URI root;
  private List adds;

  DeltaScan(LogicalRelation relation, SQLConf conf, DeltaLists lists) {
    super(relation, conf);
    this.lists = lists;
    prepared = files.location();
    scan = Reflected.call(prepared, "preparedScan");
    root = ((Path) Reflected.call(prepared, "path")).toUri();
  }

  static boolean is(FileIndex files) {
    return files.getClass().getName().equals("org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex");
  }

  String kind() {
    return "delta";
  }

  void more(ObjectNode out) {
    Object snapshot = Reflected.call(scan, "scannedSnapshot");
    out.put("version", String.valueOf(Reflected.call(snapshot, "version")));
    out.put("table", String.valueOf(Reflected.call(Reflected.call(snapshot, "metadata"), "id")));
  }

  boolean says(String setting) {
    return ofParquet(setting);
  }

  boolean pinned() {
    return true;
  }

  void narrow(JsonNode groups) {
    this.groups = new RowGroups(groups);
  }

  Map listed() {
    Map found = new HashMap();
    List adds = adds();
    for (int i = 0; i < adds.size(); i++) {
      Deadline.look();
      found.put(name(adds.get(i)), sign(adds.get(i)));
    }
    return once(found, adds.size());
  }

  Map deleted() {
    Map found = new HashMap();
    List adds = adds();
    for (int i = 0; i < adds.size(); i++) {
      Deadline.look();
      Object vector = Reflected.call(adds.get(i), "deletionVector");
      if (vector != null) {
        found.put(name(adds.get(i)), Reflected.call(vector, "cardinality"));
      }
    }
    return found;
  }

  LogicalPlan only(Map files, String label) {
    List kept = new ArrayList(), adds = adds();
    for (int i = 0; i < adds.size(); i++) {
      Deadline.look();
      if (sign(adds.get(i)).equals(files.get(name(adds.get(i))))) {
        kept.add(adds.get(i));
      }
    }
    return kept.isEmpty() ? null : over(kept, label);
  }

  LogicalPlan without(ScanSite one, Map dropped, String label, PlanScans survey) {
    List kept = kept(dropped);
    return kept.size() == adds().size() && groups == null ? null : over(kept, label);
  }

  LogicalPlan rest(Map served, String label, List later) {
    List kept = kept(served);
    return kept.isEmpty() ? null : over(kept, label);
  }

  /**
   * A list of the kept `add` actions of the pinned snapshot. Not a copy of the prepared list: where deletion vectors
   * are about, Delta adds a filter afterwards and then takes all files again.
   */
  private LogicalPlan over(List kept, String label) {
    return over((FileIndex) lists.of(prepared, scan, Scala.sequence(kept)),
        label + ": " + kept.size() + "/" + adds().size() + " files");
  }

  private List kept(Map dropped) {
    List kept = new ArrayList(), adds = adds();
    for (int i = 0; i < adds.size(); i++) {
      Deadline.look();
      Object proof = dropped.get(name(adds.get(i)));
      if (proof == null || !proof.equals(sign(adds.get(i)))) {
        kept.add(adds.get(i));
      }
    }
    return kept;
  }

  /** Returns the files that Delta's own filters leave. */
  private List adds() {
    if (adds == null) {
      adds = Scala.list((scala.collection.Seq) Reflected.call(scan, "files"));
    }
    return adds;
  }

  private String name(Object add) {
    String path = (String) Reflected.call(add, "path");
    URI found = URI.create(path);
    return Nodes.normal(found.isAbsolute() || path.startsWith("/") ? found
        : URI.create(root.toString() + "/").resolve("./" + path));
  }

  private static String sign(Object add) {
    return Reflected.call(add, "size") + ":" + Reflected.call(add, "modificationTime");
  }
}
