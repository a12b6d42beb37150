package metaindex;

import java.util.List;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;

/** Folders with files that were listed before. */
class Listed implements FileIndex {
  private final FileIndex base;
  private final List folders; // PartitionDirectory

  Listed(FileIndex base, List folders) {
    this.base = base;
    this.folders = folders;
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    return Scala.sequence(folders);
  }

  public scala.collection.immutable.Seq rootPaths() {
    return base.rootPaths();
  }

  public String[] inputFiles() {
    return base.inputFiles();
  }

  public void refresh() {}

  public long sizeInBytes() {
    return base.sizeInBytes();
  }

  public StructType partitionSchema() {
    return base.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return scala.None$.MODULE$;
  }
}
