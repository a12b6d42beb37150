package metaindex;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.SubqueryExec;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.unsafe.Platform;

/**
 * The keys of a side of a join which no broadcast brings: a query of their own, run once when the scan of the other
 * side runs, for so many seconds at most. The side is small, and gives the same rows however often it is read.
 */
class KeyQuery {
  private static final AtomicLong NUMBERS = new AtomicLong();
  private static final int DEPTH = 20;
  private static final String SCHEDULER = "org.apache.spark.scheduler.DAGScheduler";
  private final SparkSession session;
  private final LogicalPlan side;
  private final Expression key;
  private final Running running;
  private boolean asked;
  private KeyValues found;

  KeyQuery(SparkSession session, LogicalPlan side, Expression key, Running running) {
    this.session = session;
    this.side = side;
    this.key = key;
    this.running = running;
  }

  /** Returns the values; null if they did not come. Throws `Cancelled` if somebody ends the query that asks. */
  synchronized KeyValues values(int most, double seconds) {
    if (!asked) {
      asked = true;
      long until = System.nanoTime() + (long) (seconds * 1e9);
      List each = new ArrayList();
      each.add(key);
      List named = new ArrayList();
      named.add(Attributes.alias(key, "key"));
      LogicalPlan some = new Filter(new IsNotNull(key), side);
      LogicalPlan distinct = Versions.aggregate(each, named, some);
      Expression limit = Literal$.MODULE$.apply((Object) Integer.valueOf(most + 1));
      InternalRow[] rows = collected(new GlobalLimit(limit, new LocalLimit(limit, distinct)), until);
      if (rows == null) {
        return null;
      }
      Object[] values = new Object[rows.length];
      for (int i = 0; i < rows.length; i++) {
        Deadline.look();
        values[i] = rows[i].get(0, key.dataType());
      }
      if (rows.length <= most) {
        found = KeyValues.of(values, key.dataType(), most);
      } else if (!(key.dataType() instanceof BooleanType)) {
        List ends = new ArrayList();
        ends.add(Attributes.alias(new Min(key).toAggregateExpression(), "least"));
        ends.add(Attributes.alias(new Max(key).toAggregateExpression(), "greatest"));
        rows = collected(Versions.aggregate(new ArrayList(), ends, some), until);
        found = rows == null || rows.length != 1 ? null
            : KeyValues.between(rows[0].get(0, key.dataType()), rows[0].get(1, key.dataType()), key.dataType());
      }
    }
    return found;
  }

  /** Returns the rows; null if that takes too long. */
  private InternalRow[] collected(LogicalPlan plan, long until) {
    SparkContext context = session.sparkContext();
    // In a thread of Spark's for subqueries, with what this one says of its jobs.
    SubqueryExec query = new SubqueryExec("metaindex-keys", running.planned(session, plan), scala.Option.empty());
    String tag = "metaindex-keys-" + NUMBERS.incrementAndGet();
    Future coming;
    context.addJobTag(tag);
    try {
      query.prepare();
      coming = (Future) Reflected.call(query, "relationFuture");
    } finally {
      context.removeJobTag(tag);
    }
    boolean over = false;
    try {
      Object rows = coming.get(Math.max(until - System.nanoTime(), 1), TimeUnit.NANOSECONDS);
      over = true;
      return (InternalRow[]) rows;
    } catch (TimeoutException late) {
      return null;
    } catch (InterruptedException stopped) {
      throw new Cancelled(stopped);
    } catch (ExecutionException error) {
      if (cancelled(context, error)) {
        throw new Cancelled(error.getCause());
      }
      throw new IllegalStateException("the keys of a join cannot be read: " + error.getCause(), error);
    } finally {
      if (!over) {
        Ending.begin(context, tag, coming);
      }
    }
  }

  /** Returns whether it was cancelled, by the kind of error: texts may hold anybody's data. */
  private static boolean cancelled(SparkContext context, Throwable error) {
    boolean ended = context.isStopped();
    for (int i = 0; error != null && i < DEPTH; i++) {
      Deadline.look();
      ended = ended || error instanceof InterruptedException || error instanceof SparkThrowable
          && ("SPARK_JOB_CANCELLED".equals(((SparkThrowable) error).getErrorClass()) || madeByCancelling(error));
      error = error.getCause();
    }
    return ended;
  }

  /** Spark 3.5 gives it no name: it is known by where Spark made it. */
  private static boolean madeByCancelling(Throwable error) {
    StackTraceElement[] trace = error.getStackTrace();
    for (int i = 0; i < trace.length; i++) {
      Deadline.look();
      if (trace[i].getClassName().equals(SCHEDULER) && trace[i].getMethodName().equals("handleJobCancellation")) {
        return true;
      }
    }
    return false;
  }

  /**
   * Ends a query whose rows nobody waits for, also the jobs that it has yet to begin: no thread of Spark's for
   * subqueries can be interrupted, and what is cancelled before a job begins does not stop that job.
   */
  private static class Ending implements Runnable {
    private static final long PAUSE = 100;  // milliseconds
    private final SparkContext context;
    private final String tag;
    private final Future coming;

    private Ending(SparkContext context, String tag, Future coming) {
      this.context = context;
      this.tag = tag;
      this.coming = coming;
    }

    static void begin(SparkContext context, String tag, Future coming) {
      if (!context.isStopped()) {
        context.cancelJobsWithTag(tag);
      }
      Thread thread = new Thread(new Ending(context, tag, coming), tag + "-ending");
      thread.setDaemon(true);
      thread.start();
    }

    public void run() {
      try {
        while (!coming.isDone() && !context.isStopped()) {
          Deadline.look();
          context.cancelJobsWithTag(tag);
          Thread.sleep(PAUSE);
        }
      } catch (InterruptedException stopped) {
        Thread.currentThread().interrupt();
      } catch (IllegalStateException stopped) {
        return; // the context, meanwhile, and with it all its jobs
      }
    }
  }

  /** Thrown when somebody has ended the query of which this is a part: it must not go on. */
  static class Cancelled extends RuntimeException {
    Cancelled(Throwable cause) {
      super("the query was cancelled while keys of a join were read", cause);
    }

    /** Throws the error with which the query would have ended by itself, checked or not; it does not return. */
    void goOn() {
      Platform.throwException(getCause());
    }
  }
}
