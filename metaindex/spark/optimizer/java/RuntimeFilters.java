package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Makes the scans of a plan leave files out by the keys of joins, once the query runs. Each scan is narrowed where it
 * stands; one that stands in a copy of a join's side, or that another scan of the plan is like, stays as it is: Spark
 * reads such once for all of them.
 */
class RuntimeFilters {
  private final Running running;
  private final WeakIdentitySet done;
  private final Map places = new IdentityHashMap(); // of a leaf {its Found, what was said of it, its Narrowed or null}
  private final Map frozen = new IdentityHashMap(); // leaves that stand in a copy of a side
  private int narrowed;
  private final List unasked = new ArrayList(); // {Found, column, why its keys leave nothing out}: for people

  RuntimeFilters(Running running, WeakIdentitySet done) {
    this.running = running;
    this.done = done;
  }

  boolean isEmpty() {
    return places.isEmpty();
  }

  /** `leaf`: what stands in the plan for a scan. `joins`: what metaindex said of its keys. */
  void add(LogicalPlan leaf, ScanSite one, JsonNode joins, PlanScans survey) {
    boolean files = leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation
        && !(((HadoopFsRelation) ((LogicalRelation) leaf).relation()).location() instanceof CoveringFiles)
        && ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).bucketSpec().isEmpty();
    boolean tasks = IcebergScan.is(leaf) && survey.only(one) // they are changed in place
        && !FilteredScan.areGroupsCounted(leaf);
    if (files || tasks) {
      places.put(leaf, new Object[] {one, joins, null});
    }
  }

  /** Returns, for explanations, the keys of the scans that leave no files out: a list of {root, column, why}. */
  String unasked(List found) {
    ArrayNode all = Json.object().putArray("unasked");
    for (int i = 0; i < found.size(); i++) {
      Deadline.look();
      for (Iterator each = ((ScanSite) found.get(i)).unjoined.entrySet().iterator(); each.hasNext(); ) {
        Deadline.look();
        Map.Entry one = (Map.Entry) each.next();
        unasked((ScanSite) found.get(i), one.getKey(), one.getValue(), all);
      }
    }
    for (int i = 0; i < unasked.size(); i++) {
      Deadline.look();
      Object[] one = (Object[]) unasked.get(i);
      unasked((ScanSite) one[0], one[1], one[2], all);
    }
    return Json.text(all);
  }

  private static void unasked(ScanSite one, Object column, Object why, ArrayNode all) {
    ObjectNode asked = Json.object();
    one.scan.request(asked);
    all.addObject().put("root", asked.get("root").asText()).put("column", (String) column).put("why", (String) why);
  }

  /** Marks the scans of a plan that joins may narrow, each with its keys by name; `why`: and why others are not. */
  static void mark(LogicalPlan plan, List leaves, List found, boolean why) {
    if (plan instanceof Join) {
      List sides = JoinSides.of((Join) plan);
      for (int i = 0; i < sides.size(); i++) {
        Deadline.look();
        mark((JoinSides) sides.get(i), leaves, found, why);
      }
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      mark((LogicalPlan) plan.children().apply(i), leaves, found, why);
    }
  }

  private static void mark(JoinSides sides, List leaves, List found, boolean why) {
    boolean small = SmallSide.mayBeSmall(sides);
    for (int i = 0; (small || why) && i < sides.own.size(); i++) {
      Deadline.look();
      List from = sides.leaves(i);
      for (int j = 0; j < from.size(); j++) {
        Deadline.look();
        Object[] place = (Object[]) from.get(j);
        int at = only(leaves, place[0]);
        ScanSite one = at < 0 ? null : (ScanSite) found.get(at);
        String name = ((Attribute) place[1]).name();
        if (one != null && can(one, (Attribute) place[1]) && !small) {
          one.unjoined.put(name, SmallSide.tooLarge(sides));
        } else if (one != null && can(one, (Attribute) place[1]) && !hasAlike(at, leaves, found)
            && !one.joined.contains(name)) {
          one.joined.add(name);
        }
      }
    }
  }

  /** The place of a leaf that stands once; -1: there is none. */
  private static int only(List leaves, Object leaf) {
    int at = -1;
    for (int i = 0; i < leaves.size(); i++) {
      Deadline.look();
      if (leaves.get(i) == leaf) {
        if (at >= 0) {
          return -1;
        }
        at = i;
      }
    }
    return at;
  }

  private static boolean can(ScanSite one, Attribute key) {
    if (ScanSite.altered(key)) {
      return false;
    }
    List pruning = one.pruning();
    for (int i = 0; i < pruning.size(); i++) {
      Deadline.look();
      Expression by = (Expression) ((DynamicPruningSubquery) pruning.get(i)).pruningKey();
      if (((AttributeSet) by.references()).contains(key)) {
        return false; // Spark leaves partitions out by it
      }
    }
    return !(one.scan instanceof RelationScan)
        || ((RelationScan) one.scan).files.partitionSchema().getFieldIndex(key.name()).isEmpty();
  }

  /** Returns whether another scan reads the same under the same filters: Spark may give both of them one exchange. */
  private static boolean hasAlike(int at, List leaves, List found) {
    for (int i = 0; i < leaves.size(); i++) {
      Deadline.look();
      if (i != at && found.get(i) != null
          && filtered((ScanSite) found.get(i)).sameResult(filtered((ScanSite) found.get(at)))) {
        return true;
      }
    }
    return false;
  }

  private static LogicalPlan filtered(ScanSite one) {
    List own = one.own();
    Expression all = null;
    for (int i = 0; i < own.size(); i++) {
      Deadline.look();
      all = all == null ? (Expression) own.get(i) : new And(all, (Expression) own.get(i));
    }
    return all == null ? one.leaf : new Filter(all, one.leaf);
  }

  /** The plan with what narrows its scans. */
  LogicalPlan plan(LogicalPlan plan) {
    freezeCopies(plan);
    LogicalPlan after = walked(plan);
    return narrowed > 0 ? after : plan;
  }

  private void freezeCopies(LogicalPlan plan) {
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (!plan.children().isEmpty() && expressions.hasNext()) {
      Deadline.look();
      freezeCopies((Expression) expressions.next());
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      freezeCopies((LogicalPlan) plan.children().apply(i));
    }
  }

  private void freezeCopies(Expression one) {
    if (one instanceof DynamicPruningSubquery) {
      List inside = Scala.list(((DynamicPruningSubquery) one).buildQuery().collectLeaves());
      for (Iterator each = places.keySet().iterator(); each.hasNext(); ) {
        Deadline.look();
        Object leaf = each.next();
        if (inside.contains(leaf)) {
          frozen.put(leaf, leaf);
        }
      }
    }
    for (int i = 0; i < one.children().size(); i++) {
      Deadline.look();
      freezeCopies((Expression) one.children().apply(i));
    }
  }

  private LogicalPlan walked(LogicalPlan plan) {
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      LogicalPlan before = (LogicalPlan) plan.children().apply(i), after = walked(before);
      changed = changed || after != before;
      children.add(after);
    }
    LogicalPlan node = changed ? (LogicalPlan) plan.withNewChildren(Scala.sequence(children)) : plan;
    List sides = node instanceof Join ? JoinSides.of((Join) node) : new ArrayList();
    for (int i = 0; i < sides.size(); i++) {
      Deadline.look();
      LogicalPlan side = narrowed((JoinSides) sides.get(i));
      if (side != null) {
        List both = Scala.list(node.children());
        both.set(((JoinSides) sides.get(i)).side, side);
        return (LogicalPlan) node.withNewChildren(Scala.sequence(both)); // by one side, of the other
      }
    }
    return node;
  }

  /** A side with its scans narrowed by the other's keys; null: none is. */
  private LogicalPlan narrowed(JoinSides sides) {
    Map instead = new IdentityHashMap();
    boolean shared = SmallSide.isBroadcast(sides) && SmallSide.isShared(sides.other());
    for (int i = 0; i < sides.own.size(); i++) {
      Deadline.look();
      List from = sides.leaves(i);
      for (int j = 0; j < from.size(); j++) {
        Deadline.look();
        LogicalPlan leaf = (LogicalPlan) ((Object[]) from.get(j))[0];
        Attribute key = (Attribute) ((Object[]) from.get(j))[1];
        Object[] place = frozen.containsKey(leaf) ? null : (Object[]) places.get(leaf);
        if (place == null || !named((JsonNode) place[1], key) || !can((ScanSite) place[0], key)
            || place[2] != null && ((RuntimeFilter) place[2]).names(key)) {
          continue;
        }
        String why = unasked(sides, shared, leaf, place);
        if (why != null) {
          unasked.add(new Object[] {place[0], key.name(), why});
          continue;
        }
        LogicalPlan after = instead.containsKey(leaf) ? (LogicalPlan) instead.get(leaf) : ours(leaf, place);
        if (shared) {
          ExprId id = NamedExpression$.MODULE$.newExprId();
          ((RuntimeFilter) place[2]).add(key, id, null);
          after = new Filter(Versions.pruning(key, sides.other(), sides.others, i, id), after);
        } else {
          ((RuntimeFilter) place[2]).add(key, null, query(leaf, sides.other(), (Expression) sides.others.apply(i)));
        }
        instead.put(leaf, after);
        narrowed++;
      }
    }
    if (instead.isEmpty()) {
      return null;
    }
    List copied = Scala.list(sides.other().collectLeaves());
    for (int i = 0; i < copied.size(); i++) {
      Deadline.look();
      frozen.put(copied.get(i), copied.get(i));
    }
    return replaced(sides.plan(), instead);
  }

  /** Returns why keys are not available, or not worth it (`Unasked` of reasons.py); null: they are asked for. */
  private static String unasked(JoinSides sides, boolean shared, LogicalPlan leaf, Object[] place) {
    JsonNode joins = (JsonNode) place[1];
    ScanSite one = (ScanSite) place[0];
    if (!isSmall(sides, joins)) {
      return SmallSide.tooLarge(sides);
    }
    if (!SmallSide.isWorth(sides, one.readBytes(), joins.get("keys").asInt(), joins.get("scan_bytes").asLong())) {
      return "MANY_KEYS";
    }
    return shared || leaf instanceof LogicalRelation && isCheap(sides, one, joins) ? null : "NO_BROADCAST";
  }

  private KeyQuery query(LogicalPlan leaf, LogicalPlan side, Expression key) {
    Object session = ((HadoopFsRelation) ((LogicalRelation) leaf).relation()).sparkSession();
    return new KeyQuery((SparkSession) session, side, key, running);
  }

  private static boolean named(JsonNode joins, Attribute key) {
    for (Iterator each = joins.get("columns").iterator(); each.hasNext(); ) {
      Deadline.look();
      if (((JsonNode) each.next()).asText().equals(key.name())) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether all keys of the other side can be had at once. Spark collects those of a broadcast, too. */
  private static boolean isSmall(JoinSides sides, JsonNode joins) {
    return SmallSide.size(sides.other()) <= joins.get("side_bytes").asLong();
  }

  /** Returns whether a query may bring the keys, and is little beside the scan. */
  private static boolean isCheap(JoinSides sides, ScanSite one, JsonNode joins) {
    return joins.get("queries").asBoolean() && one.scan.bytes(one.own()) >= joins.get("scan_bytes").asLong()
        && SmallSide.isSame(sides.other());
  }

  /** The leaf that files are left out of, which takes the place of the other among the places. */
  private LogicalPlan ours(LogicalPlan leaf, Object[] place) {
    if (place[2] != null) {
      return leaf;
    }
    RuntimeFilter made = new RuntimeFilter((ScanSite) place[0], running, (JsonNode) place[1]);
    place[2] = made;
    LogicalPlan after = leaf instanceof LogicalRelation
        ? Nodes.over((LogicalRelation) leaf,
            IndexedRelation.narrowed((HadoopFsRelation) ((LogicalRelation) leaf).relation(), made))
        : FilteredScan.over(leaf, made, done);
    places.put(after, place);
    return after;
  }

  private static LogicalPlan replaced(LogicalPlan plan, Map instead) {
    if (instead.containsKey(plan)) {
      return (LogicalPlan) instead.get(plan);
    }
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      LogicalPlan before = (LogicalPlan) plan.children().apply(i), after = replaced(before, instead);
      changed = changed || after != before;
      children.add(after);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Scala.sequence(children)) : plan;
  }
}
