package metaindex;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/**
 * A list of files without those that are proved to hold no matching row. What it lists decides: a file that is not
 * there as the proof has it, by path, size and time, stays. Or (`only`) the list of those files alone: each file of the
 * base is in one of the two.
 *
 * `back`: of those files what is read where `facts` do not hold; who does not look at these lists it, too.
 */
public class KeptFiles extends Restored {
  public final FileIndex base;
  private final Map dropped, back;
  private final boolean only;
  private final Facts facts; // null: the list rests on nothing that can change
  public int kept, total;
  private long size;
  private final String[] names;

  public KeptFiles(FileIndex base, Map dropped, boolean only) {
    this(base, dropped, only, new HashMap(), null);
  }

  KeptFiles(FileIndex base, Map dropped, boolean only, Map back, Facts facts) {
    this.base = base;
    this.dropped = dropped;
    this.only = only;
    this.back = back;
    this.facts = facts;
    List files = new ArrayList();
    scala.collection.Iterator folders = base.listFiles(Scala.none(), Scala.none()).iterator();
    while (folders.hasNext()) {
      Deadline.look();
      scala.collection.Iterator inside = ((PartitionDirectory) folders.next()).files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
        total++;
        if (stays(one)) {
          kept++;
          size += one.getLen();
          files.add(one.getPath().toString());
        }
      }
    }
    names = (String[]) files.toArray(new String[0]);
  }

  boolean rests() {
    return facts != null;
  }

  /** Returns what tells a file from others of its path. */
  static String sign(FileStatusWithMetadata one) {
    return one.getLen() + ":" + one.getModificationTime();
  }

  private boolean stays(FileStatusWithMetadata one) {
    Object proof = dropped.get(Nodes.normal(one.getPath().toUri()));
    return Facts.match(proof, sign(one)) == only;
  }

  private boolean comesBack(FileStatusWithMetadata one) {
    return back.containsKey(Nodes.normal(one.getPath().toUri()));
  }

  public scala.collection.immutable.Seq rootPaths() {
    return base.rootPaths();
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    List out = new ArrayList(), others = new ArrayList();
    if (facts != null && !checked) {
      facts.unseen();
    }
    scala.collection.Iterator folders = base.listFiles(partitionFilters, dataFilters).iterator();
    while (folders.hasNext()) {
      Deadline.look();
      PartitionDirectory folder = (PartitionDirectory) folders.next();
      List files = new ArrayList(), more = new ArrayList();
      scala.collection.Iterator inside = folder.files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
        if (stays(one)) {
          files.add(one);
        } else if (facts != null && comesBack(one)) {
          (checked ? more : files).add(one);
        }
      }
      if (!files.isEmpty()) {
        out.add(new PartitionDirectory(folder.values(), Scala.sequence(files)));
      }
      if (!more.isEmpty()) {
        others.add(new PartitionDirectory(folder.values(), Scala.sequence(more)));
      }
    }
    left = new ArrayList();
    if (!others.isEmpty()) {
      left.add(new Left(facts, others));
    }
    return Scala.sequence(out);
  }

  public String[] inputFiles() {
    return names;
  }

  public void refresh() {
    base.refresh();
  }

  public long sizeInBytes() {
    return size;
  }

  public StructType partitionSchema() {
    return base.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return base.metadataOpsTimeNs();
  }

  public boolean equals(Object other) {
    return other instanceof KeptFiles && ((KeptFiles) other).base.equals(base)
        && ((KeptFiles) other).only == only && ((KeptFiles) other).dropped.equals(dropped);
  }

  public int hashCode() {
    return base.hashCode() * 31 + (only ? -dropped.size() : dropped.size());
  }

  public String toString() {
    return "KeptFiles(" + kept + " of " + total + ")";
  }
}
