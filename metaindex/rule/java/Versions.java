package metaindex;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory;
import org.apache.spark.sql.execution.metric.SQLMetric;

/** What Sparks call differently, here as 4.0 and 4.1 do; `spark35/Versions.java` has what 3.5 does. */
class Versions {
  static LocalRelation rows(List output, List rows) {
    return new LocalRelation(Scala.sequence(output), Scala.sequence(rows), false, scala.Option.empty());
  }

  static LocalTableScanExec noRows(scala.collection.immutable.Seq output) {
    return new LocalTableScanExec(output, Scala.none(), scala.Option.empty());
  }

  /** What runs compiled code over the rows of several children. */
  static WholeStageCodegenEvaluatorFactory running(CodeAndComment code, SQLMetric time, Object[] references) {
    return new WholeStageCodegenEvaluatorFactory(new scala.util.Right(code), time, references);
  }

  /** The scan with its buckets put together in so many tasks. */
  static FileSourceScanExec together(FileSourceScanExec scan, int tasks) {
    return scan.copy(
        scan.relation(),
        scan.stream(),
        scan.output(),
        scan.requiredSchema(),
        scan.partitionFilters(),
        scan.optionalBucketSet(),
        scala.Option.apply((Object) Integer.valueOf(tasks)),
        scan.dataFilters(),
        scan.tableIdentifier(),
        scan.disableBucketedScan());
  }
}
