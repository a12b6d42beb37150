package metaindex;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The scans of a plan whose tables metaindex can index, and what all scans share.
 *
 * Classes of Delta and Iceberg are met by name, as they are not always there.
 */
public class Scans {
  SQLConf conf; // of the session that the rule is of
  volatile boolean checks; // is there what looks at plain files whenever a plan runs?
  volatile boolean narrows; // is there what plans scans that joins narrow?
  private final Set off; // what the session's queries are not answered by, where its settings do not say
  final WeakIdentitySet done = new WeakIdentitySet(); // Iceberg's scans are changed in place, once
  private final DeltaLists lists = new DeltaLists();

  /** `off`: names of what may be switched (`topK`), with commas between. */
  public Scans(String off) {
    this.off = new HashSet(Arrays.asList(off.split(",")));
  }

  /** Returns whether the session's queries may be answered so: by the session's setting, else by that of enable. */
  boolean allows(String what) {
    String said = conf == null ? "" : conf.getConfString(OurSettings.PREFIX + what + ".enabled", "").trim();
    return "true".equalsIgnoreCase(said) || !"false".equalsIgnoreCase(said) && !off.contains(what);
  }

  /**
   * Returns whether a query fails on a missing or damaged file. If it reads on, a file with the rows of a proof may
   * give none.
   */
  boolean readsEveryFile() {
    SQLConf now = SQLConf.get();
    return !now.ignoreMissingFiles() && !now.ignoreCorruptFiles();
  }

  /** The scan that a leaf is; null where it is none that can be asked about. */
  Scan of(LogicalPlan leaf) {
    if (IcebergScan.is(leaf)) {
      IcebergScan scan = new IcebergScan(leaf, done);
      return scan.isDone() ? null : scan;
    }
    HadoopFsRelation files = files(leaf);
    if (files == null || files instanceof IndexedRelation) {
      return null;
    }
    LogicalRelation relation = (LogicalRelation) leaf;
    if (DeltaScan.is(files.location())) {
      return new DeltaScan(relation, conf, lists);
    }
    if (!FilesScan.is(relation)) {
      return null;
    }
    String format = files.fileFormat().getClass().getSimpleName();
    if (files.fileFormat() instanceof ParquetFileFormat) {
      return new ParquetScan(relation, conf);
    }
    return TextScan.is(format) ? new TextScan(relation, conf) : new FilesScan(relation, conf);
  }

  /** Returns whether it reads anything that could have an index. */
  boolean reads(LogicalPlan leaf) {
    return leaf instanceof LogicalRelation || IcebergScan.isV2(leaf);
  }

  /** Returns where a leaf reads from, as far as that is known. */
  List roots(LogicalPlan leaf) {
    List out = new ArrayList();
    if (files(leaf) != null) {
      scala.collection.Iterator each = files(leaf).location().rootPaths().iterator();
      while (each.hasNext()) {
        Deadline.look();
        out.add(String.valueOf(each.next()));
      }
    } else if (IcebergScan.is(leaf)) {
      out.add(IcebergScan.location(leaf));
    }
    return out;
  }

  /** For people. */
  String name(LogicalPlan leaf) {
    List roots = files(leaf) != null ? roots(leaf) : null;
    return roots == null ? leaf.simpleString(4) : roots.isEmpty() ? leaf.nodeName() : (String) roots.get(0);
  }

  private static HadoopFsRelation files(LogicalPlan leaf) {
    boolean is = leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation;
    return is ? (HadoopFsRelation) ((LogicalRelation) leaf).relation() : null;
  }

  /** Returns what a leaf reads by: one object for all leaves that read by one scan. */
  static Object shared(LogicalPlan leaf) {
    return IcebergScan.isV2(leaf) ? Reflected.call(leaf, "scan") : leaf;
  }
}
