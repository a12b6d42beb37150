package metaindex;

import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** The same relation over fewer files, which says so in plans and in Spark's pages. */
public class IndexedRelation extends HadoopFsRelation {
  private final String label;

  public IndexedRelation(HadoopFsRelation one, FileIndex files, String label) {
    super(files, one.partitionSchema(), one.dataSchema(), one.bucketSpec(), one.fileFormat(), one.options(), one.sparkSession());
    this.label = label;
  }

  public String toString() {
    return super.toString() + " <metaindex " + label + ">";
  }
}
