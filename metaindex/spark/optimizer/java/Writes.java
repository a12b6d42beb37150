package metaindex;

import java.net.URI;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * Plans that put the rows of a query into files and touch no row that is there by what it holds: `INSERT ... SELECT`,
 * `CREATE TABLE ... AS SELECT` and `df.write` of tables of files and of Iceberg. Their sources are read as those of any
 * query. UPDATE, DELETE and MERGE are none of them: they write anew the files that their scans give, so that a file
 * left out would lose its rows; nor is a plan that reads what it writes to, as a MERGE that only inserts does. Of Delta
 * nothing has to be known here: it plans the query of its inserts by itself.
 */
class Writes {
  private static final Set ICEBERG = new HashSet(Arrays.asList(
      "org.apache.iceberg.spark.source.SparkTable", "org.apache.iceberg.spark.source.StagedSparkTable"));

  /** Returns where such a plan writes to; null: it is no such plan. */
  static String target(LogicalPlan plan) {
    if (plan instanceof InsertIntoHadoopFsRelationCommand) {
      return ((InsertIntoHadoopFsRelationCommand) plan).outputPath().toString();
    }
    // Row-level commands are classes of their own.
    boolean plain = plan instanceof AppendData || plan instanceof OverwriteByExpression
        || plan instanceof OverwritePartitionsDynamic;
    Object into = plain ? ((V2WriteCommand) plan).table() : null;
    Object table = into instanceof DataSourceV2Relation ? ((DataSourceV2Relation) into).table() : null;
    return table != null && ICEBERG.contains(table.getClass().getName())
        ? String.valueOf(Reflected.call(Reflected.call(table, "table"), "location")) : null;
  }

  /** The node between such a plan and its query. */
  static boolean passes(LogicalPlan plan) {
    return plan instanceof WriteFiles;
  }

  /** Returns whether one of the leaves reads from there. */
  static boolean reads(List leaves, Scans scans, String target) {
    for (int i = 0; i < leaves.size(); i++) {
      Deadline.look();
      List roots = scans.roots((LogicalPlan) leaves.get(i));
      for (int j = 0; j < roots.size(); j++) {
        Deadline.look();
        if (overlap(normal((String) roots.get(j)), normal(target))) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean overlap(String one, String other) {
    return one.startsWith(other) || other.startsWith(one);
  }

  private static String normal(String place) {
    URI uri = new Path(place).toUri();
    String scheme = uri.getScheme(), path = uri.getPath().replaceAll("/+$", "") + "/";
    return scheme == null || scheme.equals("file") ? path : "//" + uri.getAuthority() + path;
  }
}
