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
 * The stage that Spark's scheduler sends now, of those that compute rows which rest on the same facts. What was
 * computed of them before may stay: in blocks that are kept, in outputs of a shuffle, in results of other jobs. A run
 * that gives all rows anew is results of another query, or a stage whose partitions are all missing, where no block is
 * kept.
 */
class SentStage {
  private static final SentStage UNKNOWN = new SentStage(null, false, null, true, false); // no run is known to begin
  private static final String SCHEDULER = "dag-scheduler-event-loop"; // its thread
  private static final long SECOND = 1000L * 1000 * 1000; // nanoseconds
  final Object attempt; // StageInfo; null: not known
  final boolean whole;
  final String query; // that began with it, or goes on; null: not known, as of an RDD or of lost outputs
  final boolean results; // else outputs of a shuffle
  final boolean beside; // are others sent already, and not done?

  /** An RDD that rests on facts. */
  interface Resting {
    Object facts();
  }

  private SentStage(Object attempt, boolean whole, String query, boolean results, boolean beside) {
    this.attempt = attempt;
    this.whole = whole;
    this.query = query;
    this.results = results;
    this.beside = beside;
  }

  /** `sent`: the attempts (`StageInfo`) that are known. */
  static SentStage of(RDD one, WeakIdentitySet sent) {
    Deadline deadline = Deadline.in(SECOND);
    try {
      return Thread.currentThread().getName().equals(SCHEDULER) ? of(one, running(one), sent) : UNKNOWN;
    } catch (RuntimeException error) {
      return UNKNOWN; // a scheduler of another Spark
    } catch (Deadline.TooLate late) {
      return UNKNOWN; // all stages wait for it
    } finally {
      deadline.over();
    }
  }

  private static SentStage of(RDD one, List stages, WeakIdentitySet sent) {
    Object stage = null;
    for (int i = 0; i < stages.size(); i++) {
      Deadline.look();
      stage = sent.has(Reflected.call(stages.get(i), "latestInfo")) ? stage : stages.get(i);
    }
    if (stage == null || isKept(one)) {
      return UNKNOWN;
    }
    int missing = ((scala.collection.Seq) Reflected.call(stage, "findMissingPartitions")).size();
    boolean whole = missing == ((RDD) Reflected.call(stage, "rdd")).getNumPartitions();
    boolean results = Reflected.has(stage, "activeJob");
    Object jobs = Reflected.call(Reflected.call(one.sparkContext(), "dagScheduler"), "jobIdToActiveJob");
    scala.Option job = ((scala.collection.Map) jobs).get(Reflected.call(stage, "firstJobId"));
    Object said = job.isEmpty() ? null : Reflected.call(job.get(), "properties");
    String query = said == null || !results && !whole ? null
        : ((Properties) said).getProperty("spark.sql.execution.id");
    return new SentStage(Reflected.call(stage, "latestInfo"), whole, query, results, stages.size() > 1);
  }

  /** The running stages that compute the RDD, or another one of its facts: Spark 3.5 makes one a run. */
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
      if (next == one
          || !shuffles && next instanceof Resting && ((Resting) next).facts() == ((Resting) one).facts()) {
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
