package metaindex;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;

/** A strategy that leaves a plan to Spark whatever goes wrong, and counts it. */
public abstract class Guarded extends SparkStrategy {
  public volatile long failed;
  public volatile String lastError = "";

  /** The plan's physical one; null: it is Spark's. */
  abstract SparkPlan physical(LogicalPlan plan);

  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    java.util.List plans = new java.util.ArrayList();
    try {
      SparkPlan found = physical(plan);
      if (found != null) {
        plans.add(found);
      }
    } catch (Throwable error) {
      if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
        throw (VirtualMachineError) error;
      }
      failed++;
      lastError = String.valueOf(error);
    }
    return Scala.sequence(plans);
  }
}
