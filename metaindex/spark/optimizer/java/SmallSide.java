package metaindex;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Decides whether the keys of a side of a join are cheap to get, and are those that the join sees.
 *
 * Where Spark broadcasts the side, the broadcast brings them: it is made anyway, and is what the join reads. Else a
 * query of their own does: only for sides that are the same however often they are read (files of a pinned version,
 * rows that the plan holds; no limit, which may take other rows; no function of a user).
 */
class SmallSide {
  private static final Set NODES = new HashSet(Arrays.asList("Project Filter".split(" ")));
  private static final Set MORE = new HashSet(Arrays.asList("Project Filter Join Aggregate Union Sort".split(" ")));
  private static final Set HELD = new HashSet(Arrays.asList("LogicalRDD InMemoryRelation".split(" ")));
  private static final long OBJECT = 8;
  private static final Set EXACT = new HashSet(Arrays.asList("Count Min Max".split(" ")));

  /** Returns whether Spark itself would broadcast the other side of this one. */
  static boolean isBroadcast(JoinSides sides) {
    SQLConf conf = SQLConf.get();
    String type = String.valueOf(sides.join.joinType());
    boolean can = type.equals("Inner") || type.equals("Cross") || type.equals("LeftSemi") && sides.side == 0;
    if (!can || !conf.dynamicPartitionPruningEnabled() || !conf.exchangeReuseEnabled()) {
      return false;
    }
    String own = hint(sides.join, sides.side), others = hint(sides.join, 1 - sides.side);
    if (others != null) {
      return own == null && others.equals("broadcast");
    }
    long size = size(sides.other()), mine = size(sides.plan());
    boolean smaller = sides.side == 0 ? size <= mine : size < mine;
    return own == null && size <= conf.autoBroadcastJoinThreshold() && smaller;
  }

  /** Returns whether such a broadcast brings the join's keys, whatever is read twice. */
  static boolean isShared(LogicalPlan side) {
    return simple(side) || MORE.contains(side.getClass().getSimpleName()) && same(side, false);
  }

  /** Returns whether the side is the same however often it is read. */
  static boolean isSame(LogicalPlan side) {
    return same(side, true);
  }

  static long size(LogicalPlan plan) {
    scala.math.BigInt bytes = plan.stats().sizeInBytes();
    return bytes.isValidLong() ? bytes.toLong() : Long.MAX_VALUE;
  }

  /** Returns whether it could turn out to be small, once files are left out of it. */
  static boolean mayBeSmall(JoinSides sides) {
    return sides.other().exists(new IsFilter()) || size(sides.other()) < size(sides.plan())
        || hint(sides.join, 1 - sides.side) != null;
  }

  /** Returns why it is not small. Spark multiplies the sizes of joins, so that theirs says nothing of what is known. */
  static String tooLarge(JoinSides sides) {
    List leaves = Scala.list(sides.other().collectLeaves());
    boolean known = true;
    for (int i = 0; i < leaves.size(); i++) {
      Deadline.look();
      known = known && size((LogicalPlan) leaves.get(i)) < SQLConf.get().defaultSizeInBytes();
    }
    return known ? "LARGE_SIDE" : "UNKNOWN_SIDE";
  }

  /**
   * Returns whether its keys are worth collecting. All keys of a side that nothing makes smaller come, and mostly each
   * file has some of them. So many as are named one by one cost little; `times` more of them are collected for a scan
   * that reads `times` the least bytes.
   */
  static boolean isWorth(JoinSides sides, double bytes, int keys, long leastBytes) {
    double times = rows(sides.other()) / Math.max(keys, 1);
    return times <= 1 || bytes >= times * leastBytes || leavesOut(sides.other());
  }

  /** Estimates the rows, by what is known of it, or by its bytes and types. */
  private static double rows(LogicalPlan plan) {
    scala.Option known = plan.stats().rowCount();
    return known.isDefined() ? ((scala.math.BigInt) known.get()).toDouble()
        : size(plan) / (double) width(plan.output());
  }

  /** Bytes of a row of these attributes, as Spark counts them. */
  static long width(scala.collection.immutable.Seq output) {
    long width = OBJECT;
    for (int i = 0; i < output.size(); i++) {
      Deadline.look();
      width += ((Attribute) output.apply(i)).dataType().defaultSize();
    }
    return width;
  }

  /** Returns whether something in it leaves rows out, but those without a key. */
  private static boolean leavesOut(LogicalPlan plan) {
    String type = plan instanceof Join ? String.valueOf(((Join) plan).joinType()) : "";
    boolean kept = plan.children().isEmpty() || MORE.contains(plan.getClass().getSimpleName());
    if (!kept || type.equals("LeftSemi") || type.equals("LeftAnti")
        || plan instanceof Filter && isSelective(((Filter) plan).condition())) {
      return true;
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      if (leavesOut((LogicalPlan) plan.children().apply(i))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isSelective(Expression condition) {
    List parts = new ArrayList();
    Expressions.conjuncts(condition, parts);
    for (int i = 0; i < parts.size(); i++) {
      Deadline.look();
      if (!(parts.get(i) instanceof IsNotNull)) {
        return true;
      }
    }
    return false;
  }

  private static String hint(Join join, int side) {
    scala.Option found = side == 0 ? join.hint().leftHint() : join.hint().rightHint();
    scala.Option strategy = found.isEmpty() ? scala.Option.empty() : ((HintInfo) found.get()).strategy();
    return strategy.isEmpty() ? null : String.valueOf(strategy.get());
  }

  private static boolean simple(LogicalPlan plan) {
    while (NODES.contains(plan.getClass().getSimpleName())) {
      Deadline.look();
      plan = (LogicalPlan) plan.children().apply(0);
    }
    return leaf(plan, false) || HELD.contains(plan.getClass().getSimpleName());
  }

  private static boolean same(LogicalPlan plan, boolean pinned) {
    if (plan.children().isEmpty()) {
      return leaf(plan, pinned);
    }
    if (!MORE.contains(plan.getClass().getSimpleName())) {
      return false;
    }
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) {
      Deadline.look();
      if (!same((Expression) expressions.next(), pinned)) {
        return false;
      }
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      if (!same((LogicalPlan) plan.children().apply(i), pinned)) {
        return false;
      }
    }
    return true;
  }

  private static boolean same(Expression one, boolean pinned) {
    String name = one.getClass().getSimpleName();
    if (one instanceof DynamicPruningSubquery) {
      return !pinned; // leaves out what the side's own joins do not want
    }
    if (name.contains("UDF") || name.contains("Invoke") || !one.deterministic()
        || pinned && SubqueryExpression$.MODULE$.hasSubquery(one)) {
      return false;
    }
    if (one instanceof org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
        && !EXACT.contains(name) || !isOneOfAKind(one, name)) {
      return false;
    }
    for (int i = 0; i < one.children().size(); i++) {
      Deadline.look();
      if (!same((Expression) one.children().apply(i), pinned)) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns whether each of its values equals itself alone. Of several that are equal (texts by their collation, zeros
   * of both signs) a group, the least and the greatest have whichever came first, and a cast shows which.
   */
  private static boolean isOneOfAKind(Expression one, String name) {
    boolean chosen = name.equals("Min") || name.equals("Max");
    String type = one.dataType().sql();
    return !Expressions.collated(one.dataType()) && !(chosen && (type.contains("FLOAT") || type.contains("DOUBLE")));
  }

  /** `pinned`: are its rows still the same when a plan that was made before is run again? */
  private static boolean leaf(LogicalPlan plan, boolean pinned) {
    if (plan instanceof LocalRelation || plan instanceof Range || plan instanceof OneRowRelation) {
      return true;
    }
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation) {
      HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) plan).relation();
      boolean narrowed = files instanceof IndexedRelation && ((IndexedRelation) files).narrowed != null;
      boolean delta = files.location().getClass().getName().contains(".delta.");
      // Other lists of Delta's take the newest version whenever they are asked.
      boolean version = DeltaScan.is(files.location()) || delta && files instanceof IndexedRelation;
      return delta ? version && !(pinned && narrowed) : !pinned;
    }
    return IcebergScan.is(plan) || !pinned && FilteredScan.is(plan);
  }

  static class IsFilter extends scala.runtime.AbstractFunction1 {
    public Object apply(Object node) {
      return Boolean.valueOf(node instanceof org.apache.spark.sql.catalyst.plans.logical.Filter);
    }
  }
}
