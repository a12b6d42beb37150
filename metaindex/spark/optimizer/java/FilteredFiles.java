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
 * Another list of files, without those that hold none of a join's keys. It is asked when the scan runs, once
 * Spark has waited for the keys that a broadcast brings (`BroadcastKeys`, among the scan's filters).
 */
public class FilteredFiles extends Restored {
  public FileIndex base;
  public final RuntimeFilter narrowed;
  private final Arrivals arrivals;

  FilteredFiles(FileIndex base, RuntimeFilter narrowed, Arrivals arrivals) {
    this.base = base;
    this.narrowed = narrowed;
    this.arrivals = arrivals;
  }

  Restored checked() {
    FilteredFiles made = (FilteredFiles) super.checked();
    made.base = base instanceof Restored ? ((Restored) base).checked() : base;
    return made;
  }

  boolean rests() {
    return !narrowed.one.scan.pinned();
  }

  List left() {
    List all = new ArrayList(left);
    if (base instanceof Restored) {
      all.addAll(((Restored) base).left());
    }
    return all;
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    scala.collection.immutable.Seq folders = base.listFiles(partitionFilters, others(dataFilters));
    left = new ArrayList();
    if (rests() && !checked || !isWorthAsking(folders)) {
      return folders;
    }
    Deadline deadline = narrowed.deadline();
    try {
      return without(folders, narrowed.dropped(values()));
    } catch (KeyQuery.Cancelled ended) {
      ended.goOn();
      throw ended;
    } catch (Throwable error) {
      narrowed.failed(error);
      return folders;
    } finally {
      deadline.over();
    }
  }

  private boolean isWorthAsking(scala.collection.immutable.Seq folders) {
    int files = 0;
    long bytes = 0;
    for (int i = 0; i < folders.size(); i++) {
      Deadline.look();
      scala.collection.Iterator inside = ((PartitionDirectory) folders.apply(i)).files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        bytes += ((FileStatusWithMetadata) inside.next()).getLen();
        files++;
      }
    }
    return narrowed.isWorthAsking(files, bytes);
  }

  /** The filters without what brings keys, which Spark 3.5 shows. */
  private static scala.collection.immutable.Seq others(scala.collection.immutable.Seq filters) {
    List found = Scala.list(filters);
    for (int i = found.size() - 1; i >= 0; i--) {
      Deadline.look();
      if (found.get(i) instanceof BroadcastKeys) {
        found.remove(i);
      }
    }
    return Scala.sequence(found);
  }

  /** Returns the values of each key; null if it has none. */
  private List values() {
    List found = new ArrayList();
    for (int i = 0; i < narrowed.keys.size(); i++) {
      Deadline.look();
      RuntimeFilter.Key key = (RuntimeFilter.Key) narrowed.keys.get(i);
      found.add(key.query != null ? key.query.values(narrowed.mostKeys, narrowed.seconds)
          : arrivals.of(key, narrowed.mostKeys));
    }
    return found;
  }

  /** `dropped`: path to sign; null: all of them. A file that is not listed as the proof has it stays. */
  private scala.collection.immutable.Seq without(scala.collection.immutable.Seq folders, Map dropped) {
    List out = new ArrayList(), others = new ArrayList();
    Map gone = new HashMap();
    int listed = 0, kept = 0;
    for (int i = 0; i < folders.size(); i++) {
      Deadline.look();
      PartitionDirectory folder = (PartitionDirectory) folders.apply(i);
      List files = new ArrayList(), more = new ArrayList();
      scala.collection.Iterator inside = folder.files().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
        listed++;
        String path = Nodes.normal(one.getPath().toUri());
        Object proof = dropped == null ? null : dropped.get(path);
        if (dropped != null && !Facts.match(proof, KeptFiles.sign(one))) {
          files.add(one);
        } else if (dropped != null) {
          more.add(one);
          gone.put(path, proof);
        }
      }
      kept += files.size();
      if (!more.isEmpty()) {
        others.add(new PartitionDirectory(folder.values(), Scala.sequence(more)));
      }
      if (!files.isEmpty()) {
        out.add(new PartitionDirectory(folder.values(), Scala.sequence(files)));
      }
    }
    if (rests() && !others.isEmpty()) {
      left.add(new Left(Facts.of(gone, false), others));
    }
    narrowed.done(listed, kept);
    return kept == listed ? folders : Scala.sequence(out);
  }

  public scala.collection.immutable.Seq rootPaths() {
    return base.rootPaths();
  }

  public String[] inputFiles() {
    return base.inputFiles();
  }

  public void refresh() {
    base.refresh();
  }

  public long sizeInBytes() {
    return base.sizeInBytes();
  }

  public StructType partitionSchema() {
    return base.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return base.metadataOpsTimeNs();
  }

  /** Scans that are narrowed by other joins read other files. */
  public boolean equals(Object other) {
    return other instanceof FilteredFiles && ((FilteredFiles) other).base.equals(base)
        && ((FilteredFiles) other).narrowed == narrowed;
  }

  public int hashCode() {
    return base.hashCode() * 31 + 1;
  }

  /** For explanations. */
  public String said() {
    return narrowed.said();
  }

  public String toString() {
    return "NarrowedFiles(" + base + ")";
  }
}
