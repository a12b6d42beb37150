package metaindex;

import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/** Plain Parquet files. */
class ParquetScan extends FilesScan {
  ParquetScan(LogicalRelation relation, SQLConf conf) {
    super(relation, conf);
  }

  boolean says(String setting) {
    return ofParquet(setting);
  }
}
