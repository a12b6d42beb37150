package metaindex;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Plain files, in one folder or one that the catalog keeps the partitions of. Of formats that have no class of their
 * own it is said which they are, and no more.
 */
class FilesScan extends RelationScan {
  private final String folder; // that the catalog names; null: the list's own
  private final Map relied = new HashMap(); // files that are read, on whose rows it rests which others are not
  private Facts facts; // of the next scan without some files, for which other rows stand in the plan

  FilesScan(LogicalRelation relation, SQLConf conf) {
    super(relation, conf);
    folder = byCatalog(relation);
  }

  /** Returns whether it is one that can be asked about. */
  static boolean is(LogicalRelation relation) {
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    return byCatalog(relation) != null
        || files.location() instanceof InMemoryFileIndex && files.location().rootPaths().size() == 1;
  }

  /**
   * The folder of a table whose partitions the catalog keeps: it says what a partition's columns hold, whatever a
   * folder is called. Null for other relations.
   */
  private static String byCatalog(LogicalRelation relation) {
    HadoopFsRelation files = (HadoopFsRelation) relation.relation();
    // The latter where Spark has left partitions out.
    boolean listed = files.location() instanceof CatalogFileIndex || files.location() instanceof InMemoryFileIndex;
    if (!listed || relation.catalogTable().isEmpty() || files.partitionSchema().isEmpty()) {
      return null;
    }
    Object table = relation.catalogTable().get();
    return Boolean.TRUE.equals(Reflected.call(table, "tracksPartitionsInCatalog"))
        ? String.valueOf(Reflected.call(table, "location")) : null;
  }

  String kind() {
    return "files";
  }

  String root() {
    return folder != null ? folder : super.root();
  }

  void more(ObjectNode out) {
    out.put("catalog", folder != null);
    out.put("format", files.fileFormat().getClass().getSimpleName());
    out.putRawValue("schema", Json.type(files.dataSchema()));
    out.putRawValue("partitions", Json.type(files.partitionSchema()));
  }

  boolean says(String setting) {
    return false;
  }

  Map listed() {
    Map found = new HashMap();
    int count = 0;
    scala.collection.Iterator folders = files.location().listFiles(Scala.none(), Scala.none()).iterator();
    while (folders.hasNext()) {
      Deadline.look();
      scala.collection.Iterator inside = ((PartitionDirectory) folders.next()).files().iterator();
      for (; inside.hasNext(); count++) {
        Deadline.look();
        FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
        found.put(Nodes.normal(one.getPath().toUri()), KeptFiles.sign(one));
      }
    }
    return once(found, count);
  }

  /** Counts the listed files; a catalog's list does not know its bytes. */
  long[] counted() {
    long[] out = new long[2];
    scala.collection.Iterator folders = files.location().listFiles(Scala.none(), Scala.none()).iterator();
    while (folders.hasNext()) {
      Deadline.look();
      scala.collection.Iterator inside = ((PartitionDirectory) folders.next()).files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        out[0]++;
        out[1] += ((FileStatusWithMetadata) inside.next()).getLen();
      }
    }
    return out;
  }

  boolean listsAll() {
    return true;
  }

  LogicalPlan only(Map wanted, String label) {
    KeptFiles kept = new KeptFiles(files.location(), wanted, true);
    return kept.kept == 0 ? null : over(kept, label + ": " + kept.kept + "/" + kept.total + " files");
  }

  LogicalPlan without(ScanSite one, Map dropped, String label, PlanScans survey) {
    KeptFiles kept = without(dropped, dropped);
    return over(kept, label + ": " + kept.kept + "/" + kept.total + " files");
  }

  LogicalPlan others(Map certain, Map dropped, String label) {
    Map out = new HashMap(dropped);
    out.putAll(certain);
    KeptFiles kept = without(out, dropped);
    return kept.kept == 0 ? null : over(kept, label + " lacks " + kept.kept + "/" + kept.total + " files");
  }

  LogicalPlan rest(Map served, String label, List later) {
    KeptFiles kept = new KeptFiles(files.location(), served, false);
    return kept.kept == 0 ? null : over(kept, label + " lacks " + kept.kept + "/" + kept.total + " files");
  }

  /** The list without some files; of those that are dropped for what they hold it looks whether they still do. */
  private KeptFiles without(Map out, Map dropped) {
    Map rests = new HashMap(dropped);
    rests.putAll(relied);
    Facts facts = this.facts == null ? Facts.of(rests, false) : this.facts;
    this.facts = null;
    return new KeptFiles(files.location(), out, false, dropped, facts);
  }

  Facts facts(Map instead) {
    facts = Facts.of(instead, true);
    return facts;
  }

  LogicalPlan rest(Map served, String label) {
    KeptFiles kept = without(served, served);
    return over(kept, label + " lacks " + kept.kept + "/" + kept.total + " files");
  }

  void rely(Map read) {
    relied.putAll(read);
  }
}
