package metaindex;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.expressions.Randn;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;

/**
 * The scans of a plan, each with the filters right above it, the attributes that the plan above names, and the joins
 * and groups that want its rows partitioned. Refused where nothing may be rewritten: a command that is no plain insert
 * (`Writes`), a stream, a sample, or an expression whose value depends on more than its row. The codes are those of
 * `metaindex.spark.optimizer.reasons`.
 *
 * Of the latter rand() is let through where it is drawn for the rows that are shown or written, and nothing above
 * chooses rows by it: whatever it gives is right. What else stays as it was: with a seed (the same numbers for the same
 * partitions are what it is given for), in a filter or below any other node (other partitions would be other rows),
 * monotonically_increasing_id and spark_partition_id (they number partitions), input_file_name (an index has other
 * files), functions of users (nobody knows what they do).
 */
class PlanScans {
  private static final Set BLIND = new HashSet();
  private static final Set SETTLED = new HashSet(Arrays.asList((
      "Alias Cast Add Subtract Multiply Divide Remainder Floor Ceil Round Concat If CaseWhen EqualTo "
      + "LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual").split(" ")));

  static {
    String[] names = {"Average", "BitAndAgg", "BitOrAgg", "BitXorAgg", "Count", "HyperLogLogPlusPlus", "Max", "Min",
        "StddevPop", "StddevSamp", "Sum", "VariancePop", "VarianceSamp"};
    for (int i = 0; i < names.length; i++) {
      Deadline.look();
      BLIND.add(Count.class.getPackage().getName() + "." + names[i]);
    }
  }

  final List found = new ArrayList(); // what is asked about
  final List passed = new ArrayList(); // name, why, and the scan where it lists every file that it has
  final List leaves = new ArrayList(); // every one, in the order in which a plan is walked from above
  String refused;
  private final Scans scans;
  private final List places = new ArrayList(); // of each leaf, its Found or null
  private final List numbers = new ArrayList(); // of each leaf
  private final List every; // the same with those that are not asked about
  private final LogicalPlan plan;
  private Readers readers; // once they are asked for
  private int joins;
  private boolean joined; // is there any join?
  // By an aggregate above, to which it is the same in what order the rows come, with nothing between that sees it.
  private boolean gathered;
  private boolean structs; // does some scan give any?
  private final String target; // of a plain insert
  private boolean shown = true; // is there nothing above but what gives every row on?
  private final boolean topK, aggregates; // may be asked
  private First first; // what the node above takes of the rows of the next one; null: all of them
  private Object[] sorted; // of the limit above, the sort of which it takes the first rows, and how many
  private final LogicalPlan any; // of whose rows the whole plan takes some; null: there is none
  private boolean some; // does it of those of the next node?
  private MetadataAggregate counted; // the aggregate above, with nothing between but what it knows

  PlanScans(Scans scans, LogicalPlan plan) {
    this(scans, plan, false);
  }

  /** `explained`: also notes what is told to people alone. */
  PlanScans(Scans scans, LogicalPlan plan, boolean explained) {
    this.scans = scans;
    this.plan = plan;
    target = Writes.target(plan);
    // A subquery that names columns of the outer query is taken apart once it is optimized.
    boolean asks = !(plan instanceof Subquery && ((Subquery) plan).correlated()) && scans.readsEveryFile();
    topK = asks && scans.allows("topK");
    aggregates = asks && scans.allows("aggregates");
    // Only of the result itself does Spark take rows partition by partition until it has enough.
    any = plan instanceof GlobalLimit && scans.allows("limit") ? limited(plan) : null;
    collect(plan, new ArrayList(), null);
    every = new ArrayList(places);
    if (refused == null && target != null && Writes.reads(leaves, scans, target)) {
      refused = "COMMAND";
    }
    // The joins of a subquery are optimized again with the plan around it.
    if (joined && refused == null && !(plan instanceof Subquery) && scans.narrows && scans.allows("joins")) {
      RuntimeFilters.mark(plan, leaves, places, explained);
    }
    Fields fields = structs && refused == null ? new Fields(plan) : null;
    for (int i = 0; i < places.size() && refused == null; i++) {
      Deadline.look();
      ScanSite one = (ScanSite) places.get(i);
      if (one != null) {
        one.fields = fields;
      }
      if (one != null && one.filters.isEmpty() && one.wants.isEmpty() && !(one.gathered && one.scan.texts())
          && one.first == null && one.counted == null && one.joined.isEmpty()) {
        passed.add(new Object[] {scans.name(one.leaf), "NO_FILTER", one.scan});
        places.set(i, null);
      } else if (one != null) {
        found.add(one);
      }
      numbers.add(Integer.valueOf(places.get(i) == null ? -1 : found.size() - 1));
    }
  }

  /** Returns whether there is what reads row groups of files, and looks at plain files whenever a plan runs. */
  boolean checks() {
    return scans.checks;
  }

  /** The place of the n-th leaf among what is asked about, or -1. */
  int number(int leaf) {
    return ((Integer) numbers.get(leaf)).intValue();
  }

  /** Returns what stands above the n-th leaf; null if its table could not have an index. */
  ScanSite at(int leaf) {
    return (ScanSite) every.get(leaf);
  }

  /** Returns those of tables that could have an index, whether they are asked about or not. */
  List every() {
    List out = new ArrayList();
    for (int i = 0; i < every.size(); i++) {
      Deadline.look();
      if (every.get(i) != null) {
        out.add(every.get(i));
      }
    }
    return out;
  }

  /** Returns whether nothing else in the plan reads by the same scan. `replaced`: an index is to stand beside it. */
  boolean alone(ScanSite one, boolean replaced) {
    return readers().alone(one, replaced);
  }

  /** Returns whether nothing else in the plan, its subqueries included, reads by the same scan. */
  boolean only(ScanSite one) {
    return readers().only(one);
  }

  private Readers readers() {
    if (readers == null) {
      readers = new Readers(scans, plan, leaves);
    }
    return readers;
  }

  /**
   * `needed`: ids of the attributes that are named above; null where the output is taken as it stands. Gives what comes
   * from scans: the id of an attribute to {its Found, its name there}.
   */
  private Map collect(LogicalPlan plan, List filters, Set needed) {
    boolean inserts = shown && target != null && (Writes.target(plan) != null || Writes.passes(plan));
    refused = refused != null ? refused : reason(plan, inserts);
    shown = shown && (inserts || plan instanceof Project);
    if (refused != null) {
      return new HashMap();
    }
    First taken = first;
    MetadataAggregate within = counted;
    boolean these = some || plan == any;
    first = null;
    counted = null;
    some = false;
    if (plan.children().isEmpty()) {
      return leaf(plan, filters, needed, taken, within, these);
    }
    if (plan instanceof Filter) {
      List more = new ArrayList(filters);
      more.add(((Filter) plan).condition());
      first = taken;
      counted = within;
      some = these;
      return collect(child(plan, 0), more, with(needed, plan));
    }
    // Delta puts one between filter and scan; what a filter says of other attributes than the scan's is not understood.
    if (plan instanceof Project) {
      first = taken == null ? null : taken.below(((Project) plan).projectList().iterator());
      counted = within;
      some = these;
      return renamed(collect(child(plan, 0), filters, with(new HashSet(), plan)),
          ((Project) plan).projectList().iterator());
    }
    if (plan instanceof Aggregate) {
      boolean before = gathered;
      gathered = blind((Aggregate) plan);
      counted = aggregates ? MetadataAggregate.of((Aggregate) plan) : null;
      Map below = collect(child(plan, 0), new ArrayList(), with(new HashSet(), plan));
      gathered = before;
      want(below, ((Aggregate) plan).groupingExpressions(), false);
      return renamed(below, ((Aggregate) plan).aggregateExpressions().iterator());
    }
    if (plan instanceof Join) {
      joined = true;
      Set more = with(needed, plan);
      Map left = collect(child(plan, 0), new ArrayList(), more);
      Map right = collect(child(plan, 1), new ArrayList(), more);
      if (refused == null) {
        want((Join) plan, left, right);
      }
      left.putAll(right);
      return left;
    }
    String name = plan.getClass().getSimpleName();
    boolean named = name.equals("Sort") || name.equals("Window") || name.endsWith("Limit")
        || name.equals("RepartitionByExpression") || name.equals("RebalancePartitions") || name.equals("Repartition");
    Map all = new HashMap();
    boolean before = gathered;
    gathered = before && (plan instanceof Union || name.equals("Expand"));
    Object[] below = topK ? First.sorted(plan) : null;
    sorted = below == null ? sorted : below;
    if (sorted != null && sorted[0] == plan) {
      taken = First.of((Sort) plan, ((Long) sorted[1]).longValue());
      sorted = null;
    } else if (!(plan instanceof Union)) {
      taken = null;
    }
    for (int i = 0; i < plan.children().size(); i++) {
      Deadline.look();
      first = taken == null || !(plan instanceof Union) ? taken : taken.branch(plan, i);
      all.putAll(collect(child(plan, i), new ArrayList(),
          named ? with(needed, plan) : name.equals("Expand") ? with(new HashSet(), plan) : null));
    }
    gathered = before;
    if (plan instanceof Sort && ((Sort) plan).global()) {
      order(all, ((Sort) plan).order());
    }
    if (plan instanceof Window) {
      want(all, ((Window) plan).partitionSpec(), true); // it is given every row
    }
    return all;
  }

  /**
   * Returns whether all its functions give the same, in whatever order rows come. `first`, `collect_list` and their
   * like do not; of others that is unknown.
   */
  private static boolean blind(Aggregate plan) {
    for (int i = 0; i < plan.aggregateExpressions().size(); i++) {
      Deadline.look();
      if (!blind((Expression) plan.aggregateExpressions().apply(i))) {
        return false;
      }
    }
    return true;
  }

  private static boolean blind(Expression one) {
    if (one instanceof AggregateFunction && !BLIND.contains(one.getClass().getName())) {
      return false;
    }
    for (int i = 0; i < one.children().size(); i++) {
      Deadline.look();
      if (!blind((Expression) one.children().apply(i))) {
        return false;
      }
    }
    return true;
  }

  private Map leaf(LogicalPlan plan, List filters, Set needed, First taken, MetadataAggregate within,
      boolean these) {
    Scan scan = scans.of(plan);
    boolean skipped = scan == null || Nodes.asksForFiles(plan);
    ScanSite one = skipped ? null : new ScanSite(plan, scan, filters, needed, gathered);
    if (one != null) {
      one.first = taken == null || taken.request(plan) == null ? null : taken;
      one.counted = within != null && within.leaf == plan ? within : null;
      one.any = these && !filters.isEmpty();
    }
    if (one == null && scans.reads(plan)) {
      String why = scan == null ? "OTHER_SOURCE" : "FILE_METADATA";
      boolean whole = scan != null && (scan.listsAll() || filters.isEmpty());
      passed.add(new Object[] {scans.name(plan), why, whole ? scan : null});
    }
    leaves.add(plan);
    places.add(one);
    Map out = new HashMap();
    if (one != null) {
      for (Iterator each = one.output().iterator(); each.hasNext(); ) {
        Deadline.look();
        Attribute attribute = (Attribute) each.next();
        out.put(Attributes.id(attribute), new Object[] {one, attribute.name()});
        structs = structs || attribute.dataType() instanceof StructType;
      }
    }
    return out;
  }

  private static LogicalPlan child(LogicalPlan plan, int number) {
    return (LogicalPlan) plan.children().apply(number);
  }

  private static Set with(Set needed, LogicalPlan plan) {
    if (needed == null) {
      return null;
    }
    Set more = new HashSet(needed);
    scala.collection.Iterator each = ((AttributeSet) plan.references()).iterator();
    while (each.hasNext()) {
      Deadline.look();
      more.add(Attributes.id((Attribute) each.next()));
    }
    return more;
  }

  /** Returns what comes from scans after a list of expressions: attributes, and other names of them. */
  private static Map renamed(Map below, scala.collection.Iterator list) {
    Map out = new HashMap();
    while (list.hasNext()) {
      Deadline.look();
      Expression one = (Expression) list.next();
      Expression from = one instanceof Alias ? (Expression) ((Alias) one).child() : one;
      Object known = from instanceof Attribute ? below.get(Attributes.id((Attribute) from)) : null;
      if (known != null) {
        out.put(Long.valueOf(((NamedExpression) one).exprId().id()), known);
      }
    }
    return out;
  }

  /** Rows that are partitioned by some of the keys need no exchange. `whole`: it is given every row. */
  private void want(Map below, scala.collection.immutable.Seq keys, boolean whole) {
    Map names = new HashMap(); // of a scan, those of its attributes that are keys
    scala.collection.Iterator each = keys.iterator();
    while (each.hasNext()) {
      Deadline.look();
      Object key = each.next();
      Object[] known = key instanceof Attribute ? (Object[]) below.get(Attributes.id((Attribute) key)) : null;
      if (known != null) {
        if (!names.containsKey(known[0])) {
          names.put(known[0], new ArrayList());
        }
        ((List) names.get(known[0])).add(known[1]);
      }
    }
    for (Iterator all = names.keySet().iterator(); all.hasNext(); ) {
      Deadline.look();
      ScanSite one = (ScanSite) all.next();
      ObjectNode want = Json.object().put("whole", whole);
      ArrayNode group = want.putArray("group");
      for (Iterator keysOf = ((List) names.get(one)).iterator(); keysOf.hasNext(); ) {
        Deadline.look();
        group.add((String) keysOf.next());
      }
      one.wants.add(want);
    }
  }

  /**
   * Notes by what rows are sorted; what is above decides. Keys from the first that is no column of the same scan on are
   * left out.
   */
  private static void order(Map below, scala.collection.immutable.Seq keys) {
    ScanSite of = null;
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      SortOrder key = (SortOrder) keys.apply(i);
      Object[] known = known((Expression) key.child(), below);
      if (known == null || (of != null && of != known[0])) {
        return;
      }
      if (of == null) {
        of = (ScanSite) known[0];
        of.order.clear();
      }
      of.order.add(known[1] + (key.direction() instanceof Descending$ ? " DESC" : ""));
    }
  }

  /** Returns the plan from which a limit takes rows, as they come. */
  private static LogicalPlan limited(LogicalPlan limit) {
    LogicalPlan node = child(limit, 0);
    while (node instanceof LocalLimit || node instanceof Offset) {
      Deadline.look();
      node = child(node, 0);
    }
    return node;
  }

  /** Returns the limit of the whole plan; -1 if there is none. */
  static long limit(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project || node instanceof Sort || node instanceof LocalLimit) {
      Deadline.look();
      node = child(node, 0);
    }
    return node instanceof GlobalLimit ? First.number(((GlobalLimit) node).limitExpr()) : -1;
  }

  /**
   * Both sides of an equi-join: its keys by the names that each side's scan has for them, null for a key that is no
   * attribute of one scan.
   */
  private void want(Join join, Map left, Map right) {
    List pairs = new ArrayList();
    if (join.condition().isEmpty() || !pairs((Expression) join.condition().get(), left, right, pairs)
        || pairs.isEmpty()) {
      return;
    }
    ScanSite[] scan = new ScanSite[2];
    ObjectNode[] wants = new ObjectNode[] {Json.object(), Json.object()};
    ArrayNode[] names = new ArrayNode[] {wants[0].putArray("keys"), wants[1].putArray("keys")};
    for (int i = 0; i < pairs.size(); i++) {
      Deadline.look();
      Object[][] pair = (Object[][]) pairs.get(i);
      for (int side = 0; side < 2; side++) {
        Deadline.look();
        if (pair[side] == null || (scan[side] != null && scan[side] != pair[side][0])) {
          return;
        }
        scan[side] = (ScanSite) pair[side][0];
        names[side].add((String) pair[side][1]);
      }
    }
    // Spark sends such a side to every task, and shuffles nothing.
    boolean small = Math.min(size(child(join, 0)), size(child(join, 1))) <= SQLConf.get().autoBroadcastJoinThreshold();
    // Is it enough that rows are partitioned by some of the keys?
    boolean partial = "false".equalsIgnoreCase(
        SQLConf.get().getConfString("spark.sql.requireAllClusterKeysForCoPartition", "true"));
    for (int side = 0; side < 2; side++) {
      Deadline.look();
      scan[side].wants.add(wants[side].put("join", joins).put("side", side).put("small", small)
          .put("partial", partial).put("sent", sent(join, side)));
    }
    joins++;
  }

  /** Returns whether every task gets this side whole: then what stands above knows nothing of how its rows lay. */
  private static boolean sent(Join join, int side) {
    List every = JoinSides.of(join);
    for (int i = 0; i < every.size(); i++) {
      Deadline.look();
      JoinSides other = (JoinSides) every.get(i);
      if (other.side != side && SmallSide.isBroadcast(other)) {
        return true;
      }
    }
    return false;
  }

  private static long size(LogicalPlan plan) {
    scala.math.BigInt bytes = plan.stats().sizeInBytes();
    return bytes.isValidLong() ? bytes.toLong() : Long.MAX_VALUE;
  }

  /**
   * The equalities between a scan's attribute on the left and one on the right; false where a key of the join is of
   * another kind.
   */
  private static boolean pairs(Expression condition, Map left, Map right, List pairs) {
    if (condition instanceof And) {
      return pairs((Expression) ((And) condition).left(), left, right, pairs)
          && pairs((Expression) ((And) condition).right(), left, right, pairs);
    }
    if (condition instanceof EqualNullSafe) {
      return false;
    }
    if (condition instanceof EqualTo) {
      Object[] one = known((Expression) ((EqualTo) condition).left(), left),
          other = known((Expression) ((EqualTo) condition).right(), right);
      if (one == null || other == null) {
        one = known((Expression) ((EqualTo) condition).right(), left);
        other = known((Expression) ((EqualTo) condition).left(), right);
      }
      if (one == null || other == null) {
        return false;
      }
      pairs.add(new Object[][] {one, other});
    }
    return true; // anything else is asked of the joined rows
  }

  private static Object[] known(Expression one, Map from) {
    return one instanceof Attribute ? (Object[]) from.get(Attributes.id((Attribute) one)) : null;
  }

  private String reason(LogicalPlan plan, boolean inserts) {
    if (!inserts && (plan instanceof Command || !Nodes.harmless(plan))) {
      return "COMMAND";
    }
    if (plan.isStreaming()) {
      return "STREAM";
    }
    if (plan instanceof Sample) {
      return "SAMPLE";
    }
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) {
      Deadline.look();
      Expression one = (Expression) expressions.next();
      if (!one.deterministic() && !(shown && plan instanceof Project && drawn(one))) {
        return "NOT_DETERMINISTIC";
      }
    }
    return null;
  }

  /** Returns whether its value depends on its row, and on numbers that are drawn without a seed. */
  private static boolean drawn(Expression one) {
    if (one.deterministic()) {
      return true;
    }
    if (one instanceof Rand || one instanceof Randn) {
      return Boolean.TRUE.equals(Reflected.call(one, "hideSeed"));
    }
    if (!SETTLED.contains(one.getClass().getName().substring(Rand.class.getPackage().getName().length() + 1))) {
      return false;
    }
    for (int i = 0; i < one.children().size(); i++) {
      Deadline.look();
      if (!drawn((Expression) one.children().apply(i))) {
        return false;
      }
    }
    return true;
  }
}
