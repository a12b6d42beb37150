package metaindex;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;

/** A scan by a list of files of Spark's own: Delta tables and plain files. */
abstract class RelationScan extends Scan implements Json.Names {
  final LogicalRelation relation;
  final HadoopFsRelation files;
  private final SQLConf conf; // of the session that the rule is of
  RowGroups groups; // of its files, that are read; null: all

  RelationScan(LogicalRelation relation, SQLConf conf) {
    this.relation = relation;
    this.files = (HadoopFsRelation) relation.relation();
    this.conf = conf;
  }

  abstract String kind();

  /** Adds what the format has besides. */
  abstract void more(ObjectNode out);

  /** Returns whether a setting of the session (in small letters) changes how files of the format are read. */
  abstract boolean says(String setting);

  String root() {
    return ((Path) files.location().rootPaths().head()).toString();
  }

  public boolean has(String setting) {
    String name = setting.toLowerCase(java.util.Locale.ROOT);
    return name.startsWith("spark.sql.") && says(name);
  }

  void request(ObjectNode out) {
    out.put("kind", kind()).put("root", root());
    more(out);
    if (Reflected.call(Reflected.call(files.sparkSession(), "sessionState"), "conf") == conf) {
      ObjectNode session = out.putObject("session");
      session.put("zone", conf.sessionLocalTimeZone());
      session.set("set", Json.settings(conf, this));
    } else {
      out.putNull("session"); // it belongs to another one
    }
    ObjectNode options = out.putObject("options");
    scala.collection.Iterator each = files.options().iterator();
    while (each.hasNext()) {
      Deadline.look();
      scala.Tuple2 one = (scala.Tuple2) each.next();
      options.put(String.valueOf(one._1()), String.valueOf(one._2()));
    }
  }

  long bytes(List filters) {
    FileIndex list = files.location();
    if (!(list instanceof InMemoryFileIndex) || filters.isEmpty() || list.partitionSchema().isEmpty()) {
      return list.sizeInBytes();
    }
    List named = new ArrayList();
    for (int i = 0; i < filters.size(); i++) {
      Deadline.look();
      if (ofPartitions((Expression) filters.get(i), list)) {
        named.add(filters.get(i));
      }
    }
    if (named.isEmpty()) {
      return list.sizeInBytes();
    }
    long size = 0;
    scala.collection.Iterator folders = list.listFiles(Scala.sequence(named), Scala.none()).iterator();
    while (folders.hasNext()) {
      Deadline.look();
      scala.collection.Iterator inside = ((PartitionDirectory) folders.next()).files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        size += ((FileStatusWithMetadata) inside.next()).getLen();
      }
    }
    return size;
  }

  /** Returns whether it has columns, all of them of partitions. */
  private static boolean ofPartitions(Expression filter, FileIndex list) {
    scala.collection.Iterator each = ((AttributeSet) filter.references()).iterator();
    boolean any = each.hasNext();
    while (each.hasNext()) {
      Deadline.look();
      if (list.partitionSchema().getFieldIndex(((Attribute) each.next()).name()).isEmpty()) {
        return false;
      }
    }
    return any;
  }

  /** Returns the attributes over those files alone, in a plan that says so; null: none of them is listed. */
  abstract LogicalPlan only(Map files, String label);

  LogicalPlan certainFirst(ScanSite one, Map certain, Map dropped, String label, PlanScans survey) {
    LogicalPlan first = only(certain, label + ", certain ones first"), rest = others(certain, dropped, label);
    if (first == null || rest == null) {
      return dropped.isEmpty() ? null : without(one, dropped, label, survey);
    }
    List output = one.output(), own = one.own(), branches = new ArrayList();
    Expression filter = Covering.all(own, one.pruning());
    branches.add(Attributes.project(output, output, Attributes.ids(output), filtered(filter, first)));
    branches.add(Attributes.project(output, output, Attributes.newIds(output), filtered(filter, rest)));
    return new Union(Scala.sequence(branches), false, false);
  }

  /** Returns the scan without the certain files, which are read first, and without those that are dropped. */
  LogicalPlan others(Map certain, Map dropped, String label) {
    Map out = new HashMap(dropped);
    out.putAll(certain);
    return rest(out, label, new ArrayList());
  }

  private static LogicalPlan filtered(Expression filter, LogicalPlan plan) {
    return filter == null ? plan : new Filter(filter, plan);
  }

  /** Returns the attributes over fewer files. */
  LogicalPlan over(FileIndex fewer, String label) {
    RowGroups left = groups;
    groups = null; // of this one alone
    return Nodes.over(relation, IndexedRelation.over(files, fewer, left == null ? label : label + ", " + left.label)
        .of(left));
  }

  static boolean ofParquet(String setting) {
    return setting.contains(".parquet.") || setting.endsWith(".casesensitive");
  }
}
