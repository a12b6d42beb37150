package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileScanRDD;

/**
 * A list of files that rests on facts. A scan that looks at them whenever it runs (`CheckedScan`) has a copy of its
 * own; to nobody else it is shorter for them.
 */
abstract class Restored implements FileIndex, Cloneable {
  boolean checked; // is it such a copy?
  volatile List left = new ArrayList(); // Left: by the copy's last answer

  /** What a list does not have as long as facts hold. Where they do not, it is read; null: nothing else is, either. */
  static class Left {
    final Facts facts;
    final List folders; // PartitionDirectory
    volatile FileSourceScanExec scan; // that reads them: made with the scan's rows, as it takes the thread's session
    private List parts; // FilePartition

    Left(Facts facts, List folders) {
      this.facts = facts;
      this.folders = folders;
    }

    /** What the scan reads. */
    synchronized List parts() {
      if (parts == null) {
        parts = Scala.list(((FileScanRDD) (Object) scan.inputRDD()).filePartitions());
      }
      return parts;
    }
  }

  /** Returns whether it may rest on facts: some are known only once it was asked. */
  abstract boolean rests();

  List left() {
    return left;
  }

  /** Returns a copy for one scan that looks. */
  Restored checked() {
    try {
      Restored made = (Restored) clone();
      made.checked = true;
      return made;
    } catch (CloneNotSupportedException error) {
      throw new IllegalStateException(error);
    }
  }
}
