package metaindex;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.BucketingUtils;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.collection.BitSet;

/**
 * The parts of a covering index: one folder of values a run, whose number is the partition column where the query needs
 * it.
 */
public class CoveringFiles extends Restored {
  private static final int FEWER = 4; // times fewer tasks than buckets, for which their order is given up
  final double rowsOfKey; // that stand side by side, in the mean; 0: not known
  final boolean apart; // must each bucket be a task of its own?
  final boolean leavesOut; // Spark knows of buckets only so that filters leave some out
  private final Facts facts; // on which its rows rest; null: on none that can change
  final IndexedFiles instead; // that give the rows once facts of theirs do not hold; null: none do
  private final List runs = new ArrayList(); // PartitionDirectory
  private final List names = new ArrayList();
  private final StructType partitions;
  private final long size;
  private final long[] sizes; // of each part
  private volatile Integer[] buckets; // of each part, once somebody has asked

  /**
   * `run[i]` is the number of the run of part i, in ascending order; `size`: what a query is expected to read of them;
   * `apart`: other rows come beside them bucket by bucket, or their order matters; `leavesOut`: see there.
   */
  public CoveringFiles(String[] paths, long[] sizes, int[] run, StructType partitions, long size, double rowsOfKey,
      boolean apart, boolean leavesOut, Facts facts, IndexedFiles instead) {
    this.facts = facts;
    this.instead = instead;
    if (facts != null) {
      left.add(new Left(facts, null)); // the scan beside it reads the files then
    }
    this.rowsOfKey = rowsOfKey;
    this.apart = apart;
    this.leavesOut = leavesOut;
    this.partitions = partitions;
    this.size = size;
    this.sizes = sizes;
    boolean numbered = partitions.length() > 0;
    for (int start = 0, end = 0; start < paths.length; start = end) {
      Deadline.look();
      while (end < paths.length && run[end] == run[start]) {
        Deadline.look();
        end++;
      }
      FileStatus[] files = new FileStatus[end - start];
      for (int i = start; i < end; i++) {
        Deadline.look();
        files[i - start] = new FileStatus(sizes[i], false, 1, 128L << 20, 0, path(paths[i]));
        names.add(files[i - start].getPath().toString());
      }
      List values = new ArrayList();
      if (numbered) {
        values.add(Integer.valueOf(run[start]));
      }
      runs.add(PartitionDirectory.apply(InternalRow.fromSeq(Scala.sequence(values)), files));
    }
  }

  boolean rests() {
    return facts != null || instead != null;
  }

  /** Names on a local disk are taken as they are: they are no URIs. */
  private static Path path(String name) {
    return name.startsWith("/") ? new Path("file", "", name) : new Path(name);
  }

  public scala.collection.immutable.Seq rootPaths() {
    List roots = new ArrayList();
    if (!names.isEmpty()) {
      roots.add(new Path((String) names.get(0)).getParent());
    }
    return Scala.sequence(roots);
  }

  /** No filter is of the run's number alone, so none decides here. */
  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    if (facts == null && instead != null && !checked && !instead.hold()) {
      throw new IllegalStateException("files were replaced since the query was planned; plan it again");
    }
    if (facts == null || checked) {
      return Scala.sequence(runs);
    }
    facts.unseen();
    return Scala.none();
  }

  public String[] inputFiles() {
    return (String[]) names.toArray(new String[0]);
  }

  public void refresh() {}

  public long sizeInBytes() {
    return size;
  }

  public StructType partitionSchema() {
    return partitions;
  }

  /** No bucket has two parts, which would be two orders. */
  boolean oneOfEachBucket() {
    Set found = new HashSet();
    for (int i = 0; i < names.size(); i++) {
      Deadline.look();
      if (bucket(i) == null || !found.add(bucket(i))) {
        return false;
      }
    }
    return true;
  }

  /** The buckets that have rows; null where a name has none. `left`: those that a filter leaves (a bit set). */
  Set filled(scala.Option left) {
    Set found = new HashSet();
    for (int i = 0; i < names.size(); i++) {
      Deadline.look();
      Integer bucket = bucket(i);
      if (bucket == null) {
        return null;
      }
      if (left.isEmpty() || ((BitSet) left.get()).get(bucket.intValue())) {
        found.add(bucket);
      }
    }
    return found;
  }

  /** Returns the bytes of the parts of some buckets. */
  long bytes(Set some) {
    long all = 0;
    for (int i = 0; i < sizes.length; i++) {
      Deadline.look();
      all += some.contains(bucket(i)) ? sizes[i] : 0;
    }
    return all;
  }

  /** The bucket of a part, by its name; null where that tells of none. Planning asks several times. */
  private Integer bucket(int part) {
    Integer[] known = buckets;
    if (known == null) {
      known = new Integer[names.size()];
      for (int i = 0; i < known.length; i++) {
        Deadline.look();
        scala.Option said = BucketingUtils.getBucketId(new Path((String) names.get(i)).getName());
        known[i] = said.isEmpty() ? null : (Integer) said.get();
      }
      buckets = known;
    }
    return known[part];
  }

  /**
   * How many tasks read the buckets that have rows: as few as each has one, but for some, and the number of buckets is
   * a multiple; 0 where that is not much less, or it is not known which have (null).
   */
  static int tasks(int buckets, Set filled) {
    int tasks = filled == null ? buckets : Math.max(1, filled.size());
    while (tasks < buckets && buckets % tasks != 0) {
      Deadline.look();
      tasks++;
    }
    return tasks * FEWER > buckets ? 0 : tasks;
  }

  public scala.Option metadataOpsTimeNs() {
    return scala.None$.MODULE$;
  }

  public boolean equals(Object other) {
    return other instanceof CoveringFiles && ((CoveringFiles) other).names.equals(names)
        && ((CoveringFiles) other).partitions.equals(partitions);
  }

  public int hashCode() {
    return names.hashCode();
  }

  public String toString() {
    return "CoveringFiles(" + names.size() + ")";
  }
}
