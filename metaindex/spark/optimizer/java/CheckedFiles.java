package metaindex;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * The rows of a scan that looks at its facts. Spark writes it anew for each stage that it sends, the driver's last word
 * on it: that is when they are looked at. Its partitions are written after that, each with the files that are read
 * then: what was left out is added where the facts do not hold.
 *
 * Executors never see this class: it is written to them as Spark's own.
 */
public class CheckedFiles extends RDD implements SentStage.Resting {
  private final transient FileScanRDD read;
  private final transient List left; // Restored.Left
  private final transient List parts; // PartitionedFile[]: of each task, as long as the facts hold
  final transient Facts instead; // by which other rows stand for files; null: none do
  private transient boolean sent; // was any stage, before?

  private CheckedFiles(FileScanRDD read, List left, List parts) {
    super(read.sparkContext(), Scala.none(), scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class));
    this.read = read;
    this.left = left;
    this.parts = parts;
    Facts found = null;
    for (int i = 0; i < left.size(); i++) {
      Deadline.look();
      Facts facts = ((Restored.Left) left.get(i)).facts;
      found = facts.instead ? facts : found;
    }
    instead = found;
  }

  /** The rows of a scan. */
  static RDD of(FileSourceScanExec scan, RDD read) {
    List left = new ArrayList();
    if (scan.relation().location() instanceof Restored) {
      List all = ((Restored) scan.relation().location()).left();
      for (int i = 0; i < all.size(); i++) {
        Deadline.look();
        Restored.Left one = (Restored.Left) all.get(i);
        if (one.folders != null && one.scan == null) {
          one.scan = PhysicalVersions.over(scan, IndexedRelation.over(scan.relation(),
              new Listed(scan.relation().location(), one.folders), ""), scan.dataFilters());
        }
        left.add(one);
      }
    }
    RowGroups groups = IndexedRelation.groups(scan.relation());
    if (left.isEmpty() && groups == null) {
      return read;
    }
    FileScanRDD files = (FileScanRDD) (Object) read;
    return new CheckedFiles(files, left, parts(scan, files, groups));
  }

  /** The files of each task; of those of which row groups are left, these. */
  private static List parts(FileSourceScanExec scan, FileScanRDD read, RowGroups groups) {
    List out = new ArrayList();
    scala.collection.Iterator each = read.filePartitions().iterator();
    while (each.hasNext()) {
      Deadline.look();
      PartitionedFile[] files = ((FilePartition) each.next()).files();
      List kept = new ArrayList();
      for (int i = 0; i < files.length; i++) {
        Deadline.look();
        if (groups != null && isCut(scan, files[i])) {
          groups.cut(files[i], kept);
        } else {
          kept.add(files[i]);
        }
      }
      if (!kept.isEmpty() || scan.bucketedScan()) { // a bucket is a task, by its number
        out.add(files(kept));
      }
    }
    if (out.isEmpty()) {
      out.add(new PartitionedFile[0]);
    }
    return out;
  }

  private static PartitionedFile[] files(List some) {
    return (PartitionedFile[]) some.toArray(new PartitionedFile[0]);
  }

  /** Returns whether the format reads parts of a file: not by what counts a file's rows from its first one. */
  private static boolean isCut(FileSourceScanExec scan, PartitionedFile file) {
    HadoopFsRelation relation = scan.relation();
    return relation.fileFormat().isSplitable(relation.sparkSession(), relation.options(), file.toPath());
  }

  /** Files that a task reads, as long as the facts hold. To the task it is written as what it reads then. */
  static class Part extends FilePartition {
    private final transient CheckedFiles of;

    Part(int index, PartitionedFile[] files, CheckedFiles of) {
      super(index, files);
      this.of = of;
    }

    public Object writeReplace() {
      return of.now(this);
    }
  }

  public Partition[] getPartitions() {
    List out = new ArrayList();
    for (int i = 0; i < parts.size(); i++) {
      Deadline.look();
      out.add(new Part(i, (PartitionedFile[]) parts.get(i), this));
    }
    return (Partition[]) out.toArray(new Partition[0]);
  }

  public Object facts() {
    return instead;
  }

  public scala.collection.immutable.Seq getPreferredLocations(Partition one) {
    return Scala.sequence(Arrays.asList(((FilePartition) one).preferredLocations()));
  }

  public scala.collection.Iterator compute(Partition one, TaskContext context) {
    throw new IllegalStateException("executors read by Spark's own class");
  }

  /** Public: Janino gives private methods other names. */
  public synchronized Object writeReplace() {
    SentStage stage = instead == null ? null : SentStage.of(this, instead.sent);
    for (int i = 0; i < left.size(); i++) {
      Deadline.look();
      ((Restored.Left) left.get(i)).facts.sent(stage, !sent);
    }
    sent = true;
    return read;
  }

  /** What is read of one partition now. */
  FilePartition now(Part one) {
    List files = new ArrayList(Arrays.asList(one.files()));
    for (int i = 0; i < left.size(); i++) {
      Deadline.look();
      Restored.Left more = (Restored.Left) left.get(i);
      boolean hold = more.facts.hold();
      if (!hold && more.scan == null) {
        files.clear();
      } else if (!hold) {
        List parts = more.parts();
        for (int j = one.index(); j < parts.size(); j += getNumPartitions()) {
          Deadline.look();
          files.addAll(Arrays.asList(((FilePartition) parts.get(j)).files()));
        }
      }
    }
    return new FilePartition(one.index(), files(files));
  }
}
