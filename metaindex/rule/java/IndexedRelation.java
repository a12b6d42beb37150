package metaindex;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.types.StructType;

/** A relation that metaindex has put into a plan, which says so in plans and in Spark's pages: over fewer files of a table, or over an index in place of it. */
public class IndexedRelation extends HadoopFsRelation {
  private final String label;

  public IndexedRelation(
      FileIndex files, StructType partitions, StructType data, scala.Option buckets, FileFormat format, scala.collection.immutable.Map options, SparkSession session, String label) {
    super(files, partitions, data, buckets, format, options, session);
    this.label = label;
  }

  /** The same over fewer files. */
  public static IndexedRelation over(HadoopFsRelation one, FileIndex files, String label) {
    return new IndexedRelation(files, one.partitionSchema(), one.dataSchema(), one.bucketSpec(), one.fileFormat(), one.options(), one.sparkSession(), label);
  }

  public String toString() {
    return super.toString() + " <metaindex " + label + ">";
  }
}
