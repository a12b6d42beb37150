package metaindex;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.bucketing.DisableUnnecessaryBucketedScan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A bucket is a task of Spark's, also one without rows, and one that a filter leaves out. Where few of a covering index
 * are left, they are read several to a task, as Spark itself does it for joins of tables with unequal numbers of
 * buckets: rows of one key still meet in one task, and Spark knows in how many. All indexes of a join are read in as
 * many tasks, or one side would be exchanged.
 *
 * An index of which buckets are only left out is not read by buckets at all. Spark finds that by itself, but by what
 * stands above: the side of a join that it broadcasts would be another plan than its copy that brings the keys, and no
 * keys would come.
 */
public class BucketStrategy extends Guarded {
  // Bytes that are read in the time of a task which does nothing (as the ranker has it).
  private static final long TASK = 256L << 10;
  private static final TreeNodeTag TASKS = new TreeNodeTag("metaindex.tasks");
  private static final TreeNodeTag SEEN = new TreeNodeTag("metaindex.seen");

  public BucketStrategy(Limit limit) {
    super(limit);
  }

  SparkPlan physical(LogicalPlan plan) {
    if (plan instanceof Join) {
      List every = new ArrayList();
      below(plan, every);
      agree(every, true);
      agree(every, false);
      return null;
    }
    LogicalRelation index = index(plan);
    if (index == null) {
      return null;
    }
    if (files(index).leavesOut) {
      SparkPlan planned = planned(plan);
      return planned == null ? null : DisableUnnecessaryBucketedScan.apply(planned);
    }
    scala.Option agreed = index.getTagValue(TASKS);
    int tasks = agreed.isDefined() ? ((Integer) agreed.get()).intValue() : files(index).apart ? 0 : few(plan, index);
    if (tasks <= 0) {
      return taken(plan);
    }
    SparkPlan planned = planned(plan);
    return planned == null ? null : together(planned, tasks);
  }

  /** Returns how many tasks read an index that is in no join; 0: a task a bucket. */
  private static int few(LogicalPlan plan, LogicalRelation index) {
    Set filled = filled(plan, index);
    return filled == null ? 0 : CoveringFiles.tasks(buckets(index), filled);
  }

  /** The covering index in buckets below filters and choices of columns; null where something else stands there. */
  private static LogicalRelation index(LogicalPlan plan) {
    LogicalRelation node = IndexedRelation.below(plan);
    IndexedRelation found = node == null ? null : (IndexedRelation) node.relation();
    return found != null && found.bucketSpec().isDefined() && found.location() instanceof CoveringFiles ? node : null;
  }

  private static CoveringFiles files(LogicalRelation index) {
    return (CoveringFiles) ((IndexedRelation) index.relation()).location();
  }

  private static int buckets(LogicalRelation index) {
    return ((BucketSpec) ((IndexedRelation) index.relation()).bucketSpec().get()).numBuckets();
  }

  /** The plans of indexes whose buckets meet in joins, or may. */
  private static void below(LogicalPlan plan, List found) {
    if (index(plan) != null) {
      if (!files(index(plan)).leavesOut) {
        found.add(plan);
      }
    } else if (plan instanceof Join || plan instanceof Aggregate || plan instanceof Filter || plan instanceof Project) {
      for (int i = 0; i < plan.children().size(); i++) {
        Deadline.look();
        below((LogicalPlan) plan.children().apply(i), found);
      }
    }
  }

  /**
   * Decides how many tasks read each of these indexes, noted once for all joins of a plan: those above come first.
   * `apart`: of those that keep the order of their buckets for a join, which several to a task give up.
   */
  private static void agree(List every, boolean apart) {
    List some = new ArrayList();
    Set filled = new HashSet();
    long bytes = 0;
    boolean alike = true;
    for (int i = 0; i < every.size(); i++) {
      Deadline.look();
      LogicalRelation index = index((LogicalPlan) every.get(i));
      if (files(index).apart == apart && index.getTagValue(TASKS).isEmpty()) {
        Set left = filled((LogicalPlan) every.get(i), index);
        alike = alike && left != null && (some.isEmpty() || buckets((LogicalRelation) some.get(0)) == buckets(index));
        if (left != null) {
          filled.addAll(left);
          bytes += files(index).bytes(left);
        }
        some.add(index);
      }
    }
    int buckets = some.isEmpty() ? 0 : buckets((LogicalRelation) some.get(0));
    int tasks = alike && some.size() > 1 ? CoveringFiles.tasks(buckets, filled) : 0;
    if (apart && bytes > TASK * (buckets - tasks) * some.size()) {
      tasks = 0; // to sort them again costs more
    }
    for (int i = 0; i < some.size() && (apart || tasks > 0) && some.size() > 1; i++) {
      Deadline.look();
      ((LogicalRelation) some.get(i)).setTagValue(TASKS, Integer.valueOf(tasks));
    }
  }

  /** Spark's own plan. */
  private static SparkPlan planned(LogicalPlan plan) {
    SparkPlan taken = taken(plan);
    return taken == null ? UncompiledBuckets.planned(plan) : taken;
  }

  /** Returns the plan that shows which buckets are left; null if none does, or somebody has taken it. */
  private static SparkPlan taken(LogicalPlan plan) {
    Seen seen = seen(plan);
    return seen == null ? null : seen.taken();
  }

  /**
   * The buckets with rows that the filters above an index leave; null where it is not known. Only Spark's own plan
   * tells which, so it is made once, and not at all below filters that leave every bucket.
   */
  private static Set filled(LogicalPlan plan, LogicalRelation index) {
    if (!chooses(plan)) {
      return files(index).filled(scala.Option.empty());
    }
    if (seen(plan) == null) {
      SparkPlan planned = UncompiledBuckets.planned(plan);
      FileSourceScanExec scan = scan(planned);
      Set filled = scan == null ? null : files(index).filled(scan.optionalBucketSet());
      plan.setTagValue(SEEN, new Seen(plan, planned, filled));
    }
    return seen(plan).filled;
  }

  /** Returns what was seen of this very plan; null: nothing yet. */
  private static Seen seen(LogicalPlan plan) {
    scala.Option seen = plan.getTagValue(SEEN);
    return seen.isDefined() && ((Seen) seen.get()).plan == plan ? (Seen) seen.get() : null;
  }

  /** Returns whether filters say more than that columns are not NULL. */
  private static boolean chooses(LogicalPlan plan) {
    while (plan instanceof Filter || plan instanceof Project) {
      Deadline.look();
      if (plan instanceof Filter && !notNull(((Filter) plan).condition())) {
        return true;
      }
      plan = (LogicalPlan) plan.children().apply(0);
    }
    return false;
  }

  private static boolean notNull(Expression condition) {
    if (condition instanceof And) {
      return notNull(((And) condition).left()) && notNull(((And) condition).right());
    }
    return condition instanceof IsNotNull;
  }

  private static FileSourceScanExec scan(SparkPlan plan) {
    while (plan != null && !(plan instanceof FileSourceScanExec)) {
      Deadline.look();
      plan = plan.children().size() == 1 ? (SparkPlan) plan.children().apply(0) : null;
    }
    return (FileSourceScanExec) plan;
  }

  /** The plan with its scan's buckets put together; null where it has none over one scan. */
  private static SparkPlan together(SparkPlan plan, int tasks) {
    if (!(plan instanceof FileSourceScanExec)) {
      SparkPlan below = plan.children().size() == 1 ? together((SparkPlan) plan.children().apply(0), tasks) : null;
      List only = new ArrayList();
      only.add(below);
      return below == null ? null : (SparkPlan) plan.withNewChildren(Scala.sequence(only));
    }
    return PhysicalVersions.together((FileSourceScanExec) plan, tasks);
  }

  /** Facts of a plan. Its copies have its tags, and may have other filters. */
  static class Seen {
    final LogicalPlan plan;
    final Set filled;
    private SparkPlan planned; // until it is taken: who plans again (adaptive execution does) makes another

    Seen(LogicalPlan plan, SparkPlan planned, Set filled) {
      this.plan = plan;
      this.planned = planned;
      this.filled = filled;
    }

    synchronized SparkPlan taken() {
      SparkPlan found = planned;
      planned = null;
      return found;
    }
  }
}
