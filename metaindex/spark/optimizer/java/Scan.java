package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A leaf of a plan that reads a table which metaindex can index: its request, and how files are left out of it. Each
 * format has a class.
 */
abstract class Scan {
  /** Adds where it reads from, of which version and how. */
  abstract void request(ObjectNode out);

  /**
   * Bytes of the files that it lists, without those of partitions that these filters leave out; -1 where they are not
   * counted.
   */
  abstract long bytes(List filters);

  /**
   * The files that it lists: path in normal form (`Nodes.normal`) to what tells a file from others of its path;
   * `replies.signs` writes the same.
   */
  abstract Map listed();

  /**
   * The scan without the files; null where it was changed in place, which needs that nobody else in the plan reads by
   * it, or left as it was. `one`: its place.
   */
  abstract LogicalPlan without(ScanSite one, Map dropped, String label, PlanScans survey);

  /** Returns how many rows of the listed files are deleted, where any may be: by path in normal form; -1: unknown. */
  Map deleted() {
    return new HashMap();
  }

  /** Returns whether files whose rows are answered elsewhere can be left out. Nothing else may read by it. */
  boolean canBeAnswered(ScanSite one, PlanScans survey) {
    return true;
  }

  /**
   * Returns the scan without files whose rows are answered elsewhere in the plan; what has to be changed in place is
   * put into `later`.
   */
  LogicalPlan answered(ScanSite one, Map dropped, String label, PlanScans survey, List later) {
    return without(one, dropped, label, survey);
  }

  /**
   * Returns the scan with files that are `certain` to give rows first: in the order of its partitions. Each file that
   * is not dropped is read once.
   */
  abstract LogicalPlan certainFirst(ScanSite one, Map certain, Map dropped, String label, PlanScans survey);

  /**
   * The scan without files that an index serves; null where nothing is left. What has to be changed in place is put
   * into `later` (IcebergTasks).
   */
  abstract LogicalPlan rest(Map served, String label, List later);

  /**
   * Returns the facts on which something rests that stands in the plan instead of these files (path to sign), and the
   * scan then, too: it reads them where those do not hold. Null: nothing can change them.
   */
  Facts facts(Map instead) {
    return null;
  }

  /** Returns the scan without files that an index serves as long as the facts hold; it may list none. */
  LogicalPlan rest(Map served, String label) {
    return rest(served, label, new ArrayList());
  }

  /** Notes the row groups of its files that are read: the next scan without some files reads no other ones. */
  void narrow(JsonNode groups) {}

  /** Notes files (path to sign) that it reads, on whose rows it rests which others it does not read. */
  void rely(Map read) {}

  /** Counts the files that it lists, and their bytes. */
  long[] counted() {
    return new long[] {listed().size(), bytes(new ArrayList())};
  }

  /** Returns whether it lists all files, whatever its filters say. */
  boolean listsAll() {
    return false;
  }

  /** Returns whether it reads CSV or JSON. */
  boolean texts() {
    return false;
  }

  /**
   * Returns whether its version decides which rows it gives, so that its list is what its filters leave of the
   * version's files.
   */
  boolean pinned() {
    return false;
  }

  /** Returns whether files can be left out of it, for an index beside it. */
  boolean canShrink(ScanSite one, PlanScans survey) {
    return true;
  }

  /** Adds the number of a field in a struct, if the format has numbers. */
  void number(String name, ObjectNode out) {}

  /** Returns no file of a list with one twice (two partitions at one folder): nothing stands for its rows. */
  static Map once(Map files, int count) {
    return files.size() == count ? files : new HashMap();
  }
}
