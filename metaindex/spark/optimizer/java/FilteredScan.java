package metaindex;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/**
 * An Iceberg scan, of which Spark is told keys of a join when it runs, as it is told those of partitions: tasks of
 * files that hold none of them are left out of the scan inside. All else is that scan's.
 */
public class FilteredScan implements SupportsRuntimeV2Filtering, SupportsReportStatistics {
  private final Scan scan;
  private final SupportsRuntimeV2Filtering filtered;
  private final RuntimeFilter narrowed;
  private final WeakIdentitySet done;

  FilteredScan(Object scan, RuntimeFilter narrowed, WeakIdentitySet done) {
    this.scan = (Scan) scan;
    this.filtered = (SupportsRuntimeV2Filtering) scan;
    this.narrowed = narrowed;
    this.done = done;
  }

  static boolean is(LogicalPlan leaf) {
    return IcebergScan.isV2(leaf) && Reflected.call(leaf, "scan") instanceof FilteredScan;
  }

  /** Returns what narrows it; null: nothing. */
  static RuntimeFilter of(LogicalPlan leaf) {
    return is(leaf) ? ((FilteredScan) Reflected.call(leaf, "scan")).narrowed : null;
  }

  /**
   * Returns whether Spark may join it by partitions whose splits it counted when the query was planned. Iceberg cuts
   * what is left into splits anew, smaller ones if little is left, and so into more of them, which have no counterpart.
   */
  static boolean areGroupsCounted(LogicalPlan leaf) {
    SQLConf conf = SQLConf.get();
    return conf.v2BucketingEnabled() && conf.v2BucketingPartiallyClusteredDistributionEnabled()
        && !((scala.Option) Reflected.call(leaf, "keyGroupedPartitioning")).isEmpty();
  }

  static LogicalPlan over(LogicalPlan leaf, RuntimeFilter narrowed, WeakIdentitySet done) {
    Object scan = Reflected.call(leaf, "scan");
    Object[] parts = new Object[leaf.productArity()];
    for (int i = 0; i < parts.length; i++) {
      Deadline.look();
      parts[i] = leaf.productElement(i) == scan ? new FilteredScan(scan, narrowed, done) : leaf.productElement(i);
    }
    return (LogicalPlan) ((TreeNode) leaf).makeCopy(parts);
  }

  public NamedReference[] filterAttributes() {
    return filtered.filterAttributes();
  }

  public void filter(Predicate[] predicates) {
    List theirs = new ArrayList(), values = new ArrayList();
    for (int i = 0; i < narrowed.keys.size(); i++) {
      Deadline.look();
      values.add(null);
    }
    Deadline deadline = narrowed.deadline();
    try {
      for (int i = 0; i < predicates.length; i++) {
        Deadline.look();
        int key = key(predicates[i]);
        if (key < 0) {
          theirs.add(predicates[i]);
        } else {
          values.set(key, values(predicates[i], (RuntimeFilter.Key) narrowed.keys.get(key)));
        }
      }
      if (isWorthAsking()) {
        leaveOut(narrowed.dropped(values));
      }
    } catch (Throwable error) {
      narrowed.failed(error);
    } finally {
      deadline.over();
    }
    if (!theirs.isEmpty()) {
      filtered.filter((Predicate[]) theirs.toArray(new Predicate[0]));
    }
  }

  private boolean isWorthAsking() {
    List tasks = (List) Reflected.call(scan, "tasks");
    long bytes = 0;
    for (int i = 0; i < tasks.size(); i++) {
      Deadline.look();
      bytes += ((Number) Reflected.call(tasks.get(i), "length")).longValue();
    }
    return narrowed.isWorthAsking(tasks.size(), bytes);
  }

  /** `dropped`: null for all. */
  private void leaveOut(Map dropped) {
    IcebergTasks tasks = new IcebergTasks(scan, dropped == null ? narrowed.one.scan.listed() : dropped, done,
        "joins", dropped == null ? 1 : dropped.hashCode());
    if (tasks.kept.size() < tasks.before.size()) {
      tasks.apply();
    }
    narrowed.done(tasks.before.size(), tasks.kept.size());
  }

  /** The number of the key that a predicate brings values of, or -1. */
  private int key(Predicate one) {
    Expression[] parts = one.children();
    if (!one.name().equals("IN") || parts.length == 0 || !(parts[0] instanceof NamedReference)) {
      return -1;
    }
    String[] name = ((NamedReference) parts[0]).fieldNames();
    for (int i = 0; name.length == 1 && i < narrowed.keys.size(); i++) {
      Deadline.look();
      if (((RuntimeFilter.Key) narrowed.keys.get(i)).column.name().equals(name[0])) {
        return i;
      }
    }
    return -1;
  }

  private KeyValues values(Predicate one, RuntimeFilter.Key key) {
    Expression[] parts = one.children();
    Object[] found = new Object[parts.length - 1];
    for (int i = 0; i < found.length; i++) {
      Deadline.look();
      found[i] = ((LiteralValue) parts[i + 1]).value();
    }
    return KeyValues.of(found, key.column.dataType(), narrowed.mostKeys);
  }

  public Batch toBatch() {
    return scan.toBatch();
  }

  public StructType readSchema() {
    return scan.readSchema();
  }

  public String description() {
    return scan.description() + " <metaindex " + narrowed.label() + ">";
  }

  public CustomMetric[] supportedCustomMetrics() {
    return scan.supportedCustomMetrics();
  }

  public CustomTaskMetric[] reportDriverMetrics() {
    return scan.reportDriverMetrics();
  }

  public Scan.ColumnarSupportMode columnarSupportMode() {
    return scan.columnarSupportMode();
  }

  public Statistics estimateStatistics() {
    return ((SupportsReportStatistics) scan).estimateStatistics();
  }

  public boolean equals(Object other) {
    return other instanceof FilteredScan && ((FilteredScan) other).narrowed == narrowed
        && ((FilteredScan) other).scan.equals(scan);
  }

  public int hashCode() {
    return scan.hashCode() * 31 + 1;
  }

  /** For explanations. */
  public String said() {
    return narrowed.said();
  }

  public String toString() {
    return scan + " <metaindex " + narrowed.label() + ">";
  }
}
