package metaindex;

import java.net.URI;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.Metadata;

/** Facts about Spark's own nodes of a plan, apart from the scans that metaindex makes of them. */
class Nodes {
  /** Returns whether no node writes, or belongs to a row-level command. */
  static boolean harmless(LogicalPlan plan) {
    String name = plan.getClass().getSimpleName();
    return !name.startsWith("RowLevel") && !name.startsWith("Write") && !name.startsWith("Replace")
        && !name.startsWith("Merge") && !name.startsWith("Insert");
  }

  /** Returns whether the query asks from which file, or from which row of it, a row comes. */
  static boolean asksForFiles(LogicalPlan leaf) {
    scala.collection.Iterator attributes = leaf.output().iterator();
    while (attributes.hasNext()) {
      Deadline.look();
      Attribute one = (Attribute) attributes.next();
      String marks = one.metadata().equals(Metadata.empty()) ? "" : one.metadata().json();
      if (one.name().equals("_metadata") || one.name().equals("_file") || one.name().equals("_pos")
          || one.name().equals("_deleted") || marks.contains("__metadata_col")
          || marks.contains("__file_source_metadata_col")) {
        return true;
      }
    }
    return false;
  }

  /** Returns the relation's attributes over other files. */
  static LogicalPlan over(LogicalRelation relation, HadoopFsRelation instead) {
    Object[] parts = new Object[relation.productArity()];
    for (int i = 0; i < parts.length; i++) {
      Deadline.look();
      parts[i] = i == 0 ? instead : relation.productElement(i);
    }
    return (LogicalPlan) ((TreeNode) relation).makeCopy(parts);
  }

  /** One spelling for a file, whatever engine names it: an absolute local path, or //bucket/key. */
  static String normal(URI uri) {
    String scheme = uri.getScheme();
    return scheme == null || scheme.equals("file") ? uri.getPath() : "//" + uri.getAuthority() + uri.getPath();
  }
}
