package metaindex;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Spark's plan of a scan in buckets, made without compiling. To find the bucket of a value that a filter names, Spark
 * writes the source of a class for it, and looks whether it has compiled the like before: half a millisecond a value,
 * each time that the scan is planned, where the question itself takes microseconds.
 */
class UncompiledBuckets extends scala.runtime.AbstractFunction0 {
  private static final String MODE = "spark.sql.codegen.factoryMode";
  private final LogicalPlan plan;

  private UncompiledBuckets(LogicalPlan plan) {
    this.plan = plan;
  }

  /** The one plan that Spark makes of it; null where it makes none, or several. */
  static SparkPlan planned(LogicalPlan plan) {
    SQLConf conf = SQLConf.get().clone();
    conf.setConfString(MODE, "NO_CODEGEN");
    return (SparkPlan) SQLConf.withExistingConf(conf, new UncompiledBuckets(plan));
  }

  public Object apply() {
    scala.collection.immutable.Seq plans = FileSourceStrategy.apply(plan);
    return plans.size() == 1 ? plans.apply(0) : null;
  }
}
