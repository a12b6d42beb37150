package metaindex;

import java.lang.reflect.Method;
import java.util.List;
import java.util.function.Supplier;

/** Names that differ among releases of Iceberg's scans. */
class IcebergNames {
  /** The columns that a scan reads, as Iceberg's schema. */
  static Object projection(Object scan) {
    return Reflected.call(scan, Reflected.has(scan, "projection") ? "projection" : "expectedSchema");
  }

  /** Conditions that a scan was given once the query ran. */
  static List runtimeFilters(Object scan) {
    String name = "runtimeFilters"; // until 1.11, and for Spark 3.5 and 4.0: runtimeFilterExpressions
    return (List) Reflected.field(scan, Reflected.hasField(scan, name) ? name : "runtimeFilterExpressions");
  }

  /**
   * The snapshot whose files a scan has listed, or is to list; null where it is of none, or of more than one (what was
   * appended between two), or where nobody tells.
   *
   * Iceberg for Spark 4.1 pins a scan and says to what. For Spark 3.5 and 4.0 a scan of a table as it is now reads the
   * snapshot that the table's handle, which other queries refresh, has when files are listed, once. That one stands in
   * the report that Iceberg makes of listing them; it asks the handle twice while it lists, so the handle must still
   * have that snapshot, and never have had another after it.
   */
  static Object snapshot(Object scan) {
    Object pinned = Reflected.call(scan, "snapshotId");
    Object listing = Reflected.call(scan, "scan");
    if (pinned != null || listing == null || !Reflected.has(listing, "snapshot")) {
      return pinned;
    }
    Reflected.call(scan, "tasks"); // lists the files, unless they are listed already
    Object now = Reflected.call(listing, "snapshot");
    String told = "scanReportSupplier";
    Supplier reports = Reflected.hasField(scan, told) ? (Supplier) Reflected.field(scan, told) : null;
    Object report = reports == null ? null : reports.get();
    if (now == null || report == null) {
      return null;
    }
    Object id = Reflected.call(now, "snapshotId");
    boolean same = id.equals(Reflected.call(report, "snapshotId"));
    return same && times(id, (List) Reflected.call(Reflected.call(scan, "table"), "history")) <= 1 ? id : null;
  }

  /** Returns how often a snapshot stands in a table's history, which may be long. */
  private static int times(Object id, List history) {
    try {
      Method snapshot = history.isEmpty() ? null : Class.forName("org.apache.iceberg.HistoryEntry", true,
          history.get(0).getClass().getClassLoader()).getMethod("snapshotId", new Class[0]);
      int times = 0;
      for (int i = 0; i < history.size(); i++) {
        Deadline.look();
        times += id.equals(snapshot.invoke(history.get(i), new Object[0])) ? 1 : 0;
      }
      return times;
    } catch (Exception error) {
      throw new IllegalStateException("the history of an Iceberg table cannot be read: " + error, error);
    }
  }
}
