package metaindex;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkPlanner;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/**
 * A strategy that leaves a plan to Spark whatever goes wrong, or takes too long, and counts it. Spark asks node by
 * node, and does not say where a plan begins: all strategies of a thread together may work a tenth of the time, and as
 * long as a plan may take at once.
 */
public abstract class Guarded extends SparkStrategy {
  private static final int TENTH = 10;
  private static final ThreadLocal SPENT = new ThreadLocal(); // {nanoseconds of work, since which moment}
  private final Limit limit;
  public volatile long failed, late;
  public volatile String lastError = "";

  Guarded(Limit limit) {
    this.limit = limit;
  }

  /** The plan's physical one; null: it is Spark's. */
  abstract SparkPlan physical(LogicalPlan plan);

  /** The plan of a relation's session by the other strategies; null where none has one. */
  SparkPlan byOthers(LogicalPlan plan, HadoopFsRelation relation) {
    Object state = Reflected.call(relation.sparkSession(), "sessionState");
    scala.collection.Iterator strategies = ((SparkPlanner) Reflected.call(state, "planner")).strategies().iterator();
    while (strategies.hasNext()) {
      Deadline.look();
      SparkStrategy one = (SparkStrategy) strategies.next();
      scala.collection.Seq plans = one.getClass() == getClass() ? Scala.none() : one.apply(plan);
      if (!plans.isEmpty()) {
        return (SparkPlan) plans.head();
      }
    }
    return null;
  }

  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    java.util.List plans = new java.util.ArrayList();
    long started = System.nanoTime(), most = limit.nanos();
    long[] spent = (long[]) SPENT.get();
    if (spent == null || started - spent[1] > TENTH * most) {
      spent = new long[] {0, started};
      SPENT.set(spent);
    }
    Deadline deadline = Deadline.in(most - spent[0]);
    try {
      SparkPlan found = spent[0] < most ? physical(plan) : null;
      if (found != null) {
        plans.add(found);
      }
    } catch (Throwable error) {
      if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
        throw (VirtualMachineError) error;
      }
      if (error instanceof Deadline.TooLate) {
        late++;
      } else {
        failed++;
      }
      lastError = String.valueOf(error);
    } finally {
      deadline.over();
      spent[0] += System.nanoTime() - started;
    }
    return Scala.sequence(plans);
  }
}
