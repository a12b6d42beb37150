package metaindex;

import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/** CSV and JSON files. */
class TextScan extends FilesScan {
  TextScan(LogicalRelation relation, SQLConf conf) {
    super(relation, conf);
  }

  /** Returns whether Spark's class has this name. */
  static boolean is(String format) {
    return format.equals("CSVFileFormat") || format.equals("JsonFileFormat");
  }

  boolean says(String setting) {
    return setting.contains(".csv.") || setting.contains(".json.") || setting.endsWith("timeparserpolicy")
        || setting.endsWith("columnnameofcorruptrecord");
  }

  boolean texts() {
    return true;
  }
}
