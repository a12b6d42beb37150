package metaindex;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/**
 * A list of files without those that are proved to hold no matching row. What it lists decides: a file that is not
 * there as the proof has it, by path, size and time, stays. Or (`only`) the list of those files alone: each file of the
 * base is in one of the two.
 */
public class KeptFiles implements FileIndex {
  public final FileIndex base;
  private final Map dropped;
  private final boolean only;
  public int kept, total;
  private long size;
  private final String[] names;

  public KeptFiles(FileIndex base, Map dropped) {
    this(base, dropped, false);
  }

  public KeptFiles(FileIndex base, Map dropped, boolean only) {
    this.base = base;
    this.dropped = dropped;
    this.only = only;
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

  /** Returns what tells a file from others of its path. */
  static String sign(FileStatusWithMetadata one) {
    return one.getLen() + ":" + one.getModificationTime();
  }

  private boolean stays(FileStatusWithMetadata one) {
    Object proof = dropped.get(Nodes.normal(one.getPath().toUri()));
    return (proof != null && proof.equals(sign(one))) == only;
  }

  public scala.collection.immutable.Seq rootPaths() {
    return base.rootPaths();
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    List out = new ArrayList();
    scala.collection.Iterator folders = base.listFiles(partitionFilters, dataFilters).iterator();
    while (folders.hasNext()) {
      Deadline.look();
      PartitionDirectory folder = (PartitionDirectory) folders.next();
      List files = new ArrayList();
      scala.collection.Iterator inside = folder.files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
        if (stays(one)) {
          files.add(one);
        }
      }
      if (!files.isEmpty()) {
        out.add(new PartitionDirectory(folder.values(), Scala.sequence(files)));
      }
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
