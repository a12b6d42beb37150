package metaindex;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;

/**
 * The stage that Spark's scheduler sends now, of those that compute an RDD. What was computed of it before may stay: in
 * blocks that are kept, in outputs of a shuffle, in results of other jobs. A run that gives all rows anew is a stage
 * whose partitions are all missing, or results of another query, where none of its blocks is kept and no other stage
 * of it runs.
 */
class SentStage {
  private static final SentStage UNKNOWN = new SentStage(null, false, null); // no run is known to begin
  private static final String SCHEDULER = "dag-scheduler-event-loop"; // its thread
  private static final long SECOND = 1000L * 1000 * 1000; // nanoseconds
  private final Object attempt; // StageInfo; null: not known
  private final boolean whole;
  private final String query; // whose results they are; null: not known

  private SentStage(Object attempt, boolean whole, String query) {
    this.attempt = attempt;
    this.whole = whole;
    this.query = query;
  }

  static SentStage of(RDD one) {
    Deadline deadline = Deadline.in(SECOND);
    try {
      return Thread.currentThread().getName().equals(SCHEDULER) ? of(one, running(one)) : UNKNOWN;
    } catch (RuntimeException error) {
      return UNKNOWN; // a scheduler of another Spark
    } catch (Deadline.TooLate late) {
      return UNKNOWN; // all stages wait for it
    } finally {
      deadline.over();
    }
  }

  private static SentStage of(RDD one, List stages) {
    if (stages.size() != 1 || isKept(one)) {
      return UNKNOWN;
    }
    Object stage = stages.get(0), attempt = Reflected.call(stage, "latestInfo");
    int missing = ((scala.collection.Seq) Reflected.call(stage, "findMissingPartitions")).size();
    boolean whole = missing == ((RDD) Reflected.call(stage, "rdd")).getNumPartitions();
    String query = null;
    if (Reflected.has(stage, "activeJob")) {
      Object job = ((scala.Option) Reflected.call(stage, "activeJob")).get();
      query = ((Properties) Reflected.call(job, "properties")).getProperty("spark.sql.execution.id");
    }
    return new SentStage(attempt, whole, query);
  }

  /** Returns whether it is the same attempt as one before: an RDD may stand in a stage twice. */
  boolean is(SentStage before) {
    return before != null && attempt != null && attempt == before.attempt;
  }

  /** Returns whether a run begins with it; always where it is the first of its RDD: Spark 3.5 makes one a run. */
  boolean begins(SentStage before) {
    return before == null || whole || query != null && !query.equals(before.query);
  }

  /** The running stages that compute the RDD. */
  private static List running(RDD one) {
    List found = new ArrayList();
    Object scheduler = Reflected.call(one.sparkContext(), "dagScheduler");
    List all = Scala.list(((scala.collection.Iterable) Reflected.call(scheduler, "runningStages")).toSeq());
    for (int i = 0; i < all.size(); i++) {
      Deadline.look();
      if (rests((RDD) Reflected.call(all.get(i), "rdd"), one, false)) {
        found.add(all.get(i));
      }
    }
    return found;
  }

  /** Returns whether blocks are kept that were computed of the RDD. */
  private static boolean isKept(RDD one) {
    List kept = Scala.list(one.sparkContext().getPersistentRDDs().values().toSeq());
    for (int i = 0; i < kept.size(); i++) {
      Deadline.look();
      if (rests((RDD) kept.get(i), one, true)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether an RDD is computed of another; `shuffles`: over those, too. */
  private static boolean rests(RDD above, RDD one, boolean shuffles) {
    Map seen = new IdentityHashMap();
    List waiting = new ArrayList();
    waiting.add(above);
    while (!waiting.isEmpty()) {
      Deadline.look();
      RDD next = (RDD) waiting.remove(waiting.size() - 1);
      if (next == one) {
        return true;
      }
      List below = seen.put(next, next) == null ? Scala.list(next.dependencies()) : new ArrayList();
      for (int i = 0; i < below.size(); i++) {
        Deadline.look();
        if (shuffles || !(below.get(i) instanceof ShuffleDependency)) {
          waiting.add(((Dependency) below.get(i)).rdd());
        }
      }
    }
    return false;
  }
}
