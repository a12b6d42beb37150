package metaindex;

import java.net.URI;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.WriteFiles;

/**
 * Plans that put the rows of a query into files and touch no row that is there by what it holds: `INSERT ... SELECT`, `CREATE TABLE ... AS SELECT` and `df.write` of tables of files. Their sources are
 * read as those of any query. UPDATE, DELETE and MERGE are none of them: they write anew the files that their scans give, so that a file left out would lose its rows; nor is a plan that reads what it
 * writes to. Of Delta nothing has to be known here: it plans the query of its inserts by itself.
 */
class Writes {
  /** Where such a plan writes to; null: it is no such plan. */
  static String target(LogicalPlan plan) {
    return plan instanceof InsertIntoHadoopFsRelationCommand ? ((InsertIntoHadoopFsRelationCommand) plan).outputPath().toString() : null;
  }

  /** The node between such a plan and its query. */
  static boolean passes(LogicalPlan plan) {
    return plan instanceof WriteFiles;
  }

  /** Does one of the leaves read from there? */
  static boolean reads(List leaves, Scans scans, String target) {
    for (int i = 0; i < leaves.size(); i++) {
      List roots = scans.roots((LogicalPlan) leaves.get(i));
      for (int j = 0; j < roots.size(); j++) {
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
