package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.catalog.BucketSpec;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateMode;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Final$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Partial$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.aggregate.BaseAggregateExec;
import org.apache.spark.sql.execution.aggregate.SortAggregateExec;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Groups of a covering index's keys, whose rows stand side by side in it: they are counted as they come, and no table
 * of all groups is kept, where groups are small, or where a join would sort them again. Spark can do this itself
 * (`spark.sql.execution.replaceHashWithSortAgg`), for all of a session's plans or for none, whatever the groups are
 * like (docs/decisions/0016).
 */
public class GroupStrategy extends Guarded {
  private static final double ALONE = 8, JOINED = 32; // rows of a group, in the mean, up to which it is worth it
  private static final String SPARKS = Partial$.class.getPackage().getName() + "."; // of Spark's own functions
  private final SparkStrategy hashing; // Spark's own
  private final String sortedBuckets; // the setting by which Spark believes in the order of buckets
  private final WeakIdentitySet joined = new WeakIdentitySet(); // aggregates whose groups a join wants sorted

  public GroupStrategy(Limit limit, SparkStrategy hashing, String sortedBuckets) {
    super(limit);
    this.hashing = hashing;
    this.sortedBuckets = sortedBuckets;
  }

  SparkPlan physical(LogicalPlan plan) {
    if (plan instanceof Join) {
      note((Join) plan);
    }
    return plan instanceof Aggregate && worth((Aggregate) plan) ? sorted(hashing.apply(plan)) : null;
  }

  private boolean worth(Aggregate plan) {
    SQLConf conf = SQLConf.get();
    if (!conf.bucketingEnabled() || !"true".equals(conf.getConfString(sortedBuckets, "false"))) {
      return false;
    }
    List ids = groups(plan);
    LogicalPlan below = plan.child();
    while (ids != null && (below instanceof Filter || below instanceof Project)) {
      Deadline.look();
      ids = below instanceof Project ? under(ids, ((Project) below).projectList()) : ids;
      below = (LogicalPlan) below.children().apply(0);
    }
    double rows = ids != null && below instanceof LogicalRelation ? rowsOfKey((LogicalRelation) below, ids) : 0;
    return rows > 0 && rows <= (joined.has(plan) ? JOINED : ALONE);
  }

  /** The ids of the attributes that make the groups, in order; null where they are something else. */
  private static List groups(Aggregate plan) {
    List ids = new ArrayList();
    for (int i = 0; i < plan.groupingExpressions().size(); i++) {
      Deadline.look();
      Object one = plan.groupingExpressions().apply(i);
      if (!(one instanceof AttributeReference)) {
        return null;
      }
      ids.add(((AttributeReference) one).exprId());
    }
    return ids;
  }

  /** Returns the attributes' ids below a list that renames; null if one of them is made there. */
  private static List under(List ids, scala.collection.immutable.Seq list) {
    List found = new ArrayList();
    for (int i = 0; i < ids.size(); i++) {
      Deadline.look();
      for (int j = 0; j < list.size(); j++) {
        Deadline.look();
        NamedExpression one = (NamedExpression) list.apply(j);
        Expression from = one instanceof Alias ? ((Alias) one).child() : (Expression) one;
        if (one.exprId().equals(ids.get(i)) && from instanceof AttributeReference) {
          found.add(((AttributeReference) from).exprId());
          break;
        }
      }
    }
    return found.size() == ids.size() ? found : null;
  }

  /**
   * Rows that stand side by side in a covering index, in the mean; 0 where these attributes are not its keys, or it is
   * not known, or rows of a bucket are not in one order.
   */
  private static double rowsOfKey(LogicalRelation relation, List ids) {
    if (!(relation.relation() instanceof IndexedRelation)
        || !(((IndexedRelation) relation.relation()).location() instanceof CoveringFiles)) {
      return 0;
    }
    IndexedRelation index = (IndexedRelation) relation.relation();
    List names = new ArrayList();
    for (int i = 0; i < ids.size(); i++) {
      Deadline.look();
      for (int j = 0; j < relation.output().size(); j++) {
        Deadline.look();
        Attribute one = (Attribute) relation.output().apply(j);
        if (one.exprId().equals((ExprId) ids.get(i))) {
          names.add(one.name());
        }
      }
    }
    CoveringFiles files = (CoveringFiles) index.location();
    boolean keys = index.bucketSpec().isDefined()
        && Scala.list(((BucketSpec) index.bucketSpec().get()).sortColumnNames()).equals(names);
    return keys && files.oneOfEachBucket() ? files.rowsOfKey : 0;
  }

  /** The same groups from rows in their order; null where Spark plans something else than two steps. */
  private static SortAggregateExec sorted(scala.collection.immutable.Seq plans) {
    if (plans.size() != 1 || !(plans.apply(0) instanceof BaseAggregateExec)
        || !(below(plans.apply(0)) instanceof BaseAggregateExec)) {
      return null;
    }
    BaseAggregateExec last = (BaseAggregateExec) plans.apply(0), first = (BaseAggregateExec) below(last);
    List whole = new ArrayList();
    if (last.aggregateExpressions().size() != first.aggregateExpressions().size()
        || below(first) instanceof BaseAggregateExec || !are(last.aggregateExpressions(), Final$.MODULE$)
        || !are(first.aggregateExpressions(), Partial$.MODULE$)) {
      return null; // DISTINCT
    }
    for (int i = 0; i < first.groupingExpressions().size(); i++) {
      Deadline.look();
      if (!(first.groupingExpressions().apply(i) instanceof AttributeReference)) {
        return null; // floats are grouped by what equals them, which has no order here
      }
    }
    for (int i = 0; i < last.aggregateExpressions().size(); i++) {
      Deadline.look();
      AggregateExpression one = (AggregateExpression) last.aggregateExpressions().apply(i);
      AggregateExpression before = (AggregateExpression) first.aggregateExpressions().apply(i);
      if (!one.aggregateFunction().equals(before.aggregateFunction())
          || !before.aggregateFunction().getClass().getName().startsWith(SPARKS)) {
        return null; // a function of others (Hive's) may count on its two steps
      }
      whole.add(before.copy(before.aggregateFunction(), Complete$.MODULE$, before.isDistinct(), before.filter(),
          before.resultId()));
    }
    SortAggregateExec like = last.toSortAggregate();
    return like.copy(
        like.requiredChildDistributionExpressions(),
        like.isStreaming(),
        like.numShufflePartitions(),
        like.groupingExpressions(),
        Scala.sequence(whole),
        like.aggregateAttributes(),
        like.initialInputBufferOffset(),
        like.resultExpressions(),
        below(first));
  }

  private static SparkPlan below(Object plan) {
    return (SparkPlan) ((SparkPlan) plan).children().apply(0);
  }

  private static boolean are(scala.collection.immutable.Seq expressions, AggregateMode mode) {
    for (int i = 0; i < expressions.size(); i++) {
      Deadline.look();
      if (!((AggregateExpression) expressions.apply(i)).mode().equals(mode)) {
        return false;
      }
    }
    return true;
  }

  /** Marks the aggregates right below a join that is likely to sort its sides by their groups. */
  private void note(Join join) {
    for (int side = 0; side < 2; side++) {
      Deadline.look();
      LogicalPlan below = (LogicalPlan) join.children().apply(side);
      if (join.condition().isEmpty() || !(source(below) instanceof Aggregate)) {
        continue;
      }
      List ids = new ArrayList(); // that the condition names
      for (int i = 0; i < below.output().size(); i++) {
        Deadline.look();
        Attribute one = (Attribute) below.output().apply(i);
        if (((Expression) join.condition().get()).references().contains(one)) {
          ids.add(one.exprId());
        }
      }
      while (below instanceof Filter || below instanceof Project) {
        Deadline.look();
        ids = below instanceof Project ? known(ids, ((Project) below).projectList()) : ids;
        below = (LogicalPlan) below.children().apply(0);
      }
      List groups = groups((Aggregate) below);
      if (groups != null && !groups.isEmpty()
          && known(ids, ((Aggregate) below).aggregateExpressions()).containsAll(groups) && !isSent(join)) {
        joined.add(below);
      }
    }
  }

  /** Returns what stands below filters and choices of columns. */
  private static LogicalPlan source(LogicalPlan plan) {
    while (plan instanceof Filter || plan instanceof Project) {
      Deadline.look();
      plan = (LogicalPlan) plan.children().apply(0);
    }
    return plan;
  }

  /** Returns whether one side is so small that Spark sends it to every task, and sorts nothing. */
  private static boolean isSent(Join join) {
    long most = SQLConf.get().autoBroadcastJoinThreshold();
    return most >= 0 && (atMost(most, join.left()) || atMost(most, join.right()));
  }

  /** Like `under`, without those that are made there. */
  private static List known(List ids, scala.collection.immutable.Seq list) {
    List found = new ArrayList();
    for (int i = 0; i < ids.size(); i++) {
      Deadline.look();
      List one = new ArrayList();
      one.add(ids.get(i));
      one = under(one, list);
      if (one != null) {
        found.addAll(one);
      }
    }
    return found;
  }

  private static boolean atMost(long size, LogicalPlan plan) {
    return plan.stats().sizeInBytes().bigInteger().compareTo(java.math.BigInteger.valueOf(size)) <= 0;
  }
}
