package metaindex;

import java.util.List;

/** What releases of Iceberg call differently in their scans. */
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
}
