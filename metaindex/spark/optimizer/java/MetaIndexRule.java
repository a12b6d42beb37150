package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Asks metaindex, once a plan, which files its scans can leave out, and leaves those out. Whatever goes wrong, or takes
 * too long, leaves the plan as it was.
 *
 * Written for Janino, which compiles it inside Spark: no lambdas, no inference of generics, no bridge methods (so
 * erased signatures are overridden).
 */
public class MetaIndexRule extends Rule {
  public final Function python; // JSON to JSON
  private final String token; // whoever asks without it is not this rule
  private final Scans scans;
  public final SQLConf conf; // the session's
  private final Limit limit; // of the work of a plan, Python's apart, which has its own
  public final boolean ordered; // metaindex has told the session that buckets are sorted
  private final ThreadLocal busy = new ThreadLocal(); // what runs inside the callback is not rewritten
  // The plan that was given back: rules are applied until nothing changes, and that one was asked about.
  private final ThreadLocal last = new ThreadLocal();
  private final ThreadLocal explained = new ThreadLocal(); // what is planned now is not to be run
  // Why the last plan was left as it was, where anything went wrong: the name of a Reason.
  private final ThreadLocal left = new ThreadLocal();
  private final ThreadLocal unasked = new ThreadLocal(); // of the last plan that was explained, JSON
  public final Running running; // what is asked once a query runs
  public final Failures failures; // which the session tells of its queries
  public volatile long plans, asked, rewritten, failed, late, nanos, turns;
  public volatile String lastError = "";

  public MetaIndexRule(Function python, String token, Scans scans, SQLConf conf, Limit limit, boolean ordered) {
    this.python = python;
    this.token = token;
    this.limit = limit;
    running = new Running(python, token, conf, this);
    failures = new Failures(python, token);
    this.ordered = ordered;
    this.scans = scans;
    this.conf = conf;
    scans.conf = conf;
  }

  public String ruleName() {
    return "metaindex.MetaIndexRule";
  }

  public TreeNode apply(TreeNode given) {
    TreeNode plan = ordered ? unsorted((LogicalPlan) given) : given;
    WeakReference before = (WeakReference) last.get();
    if ((before != null && before.get() == plan) || busy.get() != null
        || "false".equalsIgnoreCase(conf.getConfString(OurSettings.PREFIX + "enabled", "").trim())) {
      return plan;
    }
    long started = System.nanoTime();
    busy.set(Boolean.TRUE);
    left.remove();
    Deadline deadline = Deadline.in(limit.nanos());
    try {
      plans++;
      LogicalPlan after = rewrite((LogicalPlan) plan, deadline);
      if (after != plan) {
        last.set(new WeakReference(after));
      }
      return after;
    } catch (Throwable error) {
      left.set(left(error));
      return plan;
    } finally {
      deadline.over();
      turns += deadline.turns();
      busy.remove();
      nanos += System.nanoTime() - started;
    }
  }

  /** Counts what went wrong, and says which Reason it is. What is wrong with the JVM itself is not ours. */
  String left(Throwable error) {
    if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
      throw (VirtualMachineError) error;
    }
    boolean tooLate = error instanceof Deadline.TooLate;
    if (tooLate) {
      late++;
    } else {
      failed++;
    }
    lastError = String.valueOf(error);
    return tooLate ? "TOO_LATE" : "FAILED";
  }

  private LogicalPlan unsorted(LogicalPlan plan) {
    try {
      return (LogicalPlan) plan.transformUp(new DropSortOrder());
    } catch (Throwable error) {
      left(error);
      return plan;
    }
  }

  /**
   * Plans a query for explanations, with the rule or without it. Other threads are not concerned. Returns the name of
   * the Reason for which it was left as it was, or "".
   */
  public String plan(Object execution, boolean rewritten) {
    left.remove();
    unasked.remove();
    if (!rewritten) {
      busy.set(Boolean.TRUE);
    }
    explained.set(Boolean.TRUE);
    try {
      Reflected.call(execution, "executedPlan");
    } finally {
      explained.remove();
      if (!rewritten) {
        busy.remove();
      }
    }
    return left.get() == null ? "" : (String) left.get();
  }

  /** Returns the join keys of that query that leave no files out, and why: a list of {root, column, why}. */
  public String unasked() {
    return unasked.get() == null ? "[]" : (String) unasked.get();
  }

  private void explained(RuntimeFilters narrowing, PlanScans survey) {
    if (explained.get() != null) {
      unasked.set(narrowing.unasked(survey.found));
    }
  }

  private LogicalPlan rewrite(LogicalPlan plan, Deadline deadline) {
    PlanScans survey = new PlanScans(scans, plan, explained.get() != null);
    List found = survey.found;
    if (survey.refused != null || found.isEmpty()) {
      return plan;
    }
    ObjectNode request = request(found);
    limited(plan, request);
    failures.tell(request);
    if (explained.get() != null) {
      request.put("explained", true);
    }
    RuntimeFilters narrowing = new RuntimeFilters(running, scans.done);
    explained(narrowing, survey);
    asked++;
    String text = Json.text(request);
    long since = System.nanoTime();
    String reply = Callback.ask(python, token, text);
    deadline.pausedSince(since);
    if (reply == null || reply.isEmpty()) {
      return plan;
    }
    Reply answers = new Reply(reply);
    // Of a leaf, what stands at each of its places: one object may stand in a plan several times, under other filters.
    Map places = new IdentityHashMap();
    Hybrid hybrid = new Hybrid();
    List later = new ArrayList(); // changes in place wait until nothing can fail any more
    // Of each leaf what stands in a copy of its side of a join, which has no answers beside it.
    List copies = new ArrayList();
    Answering answering = new Answering();
    boolean changed = false;
    for (int i = 0; i < survey.leaves.size(); i++) {
      Deadline.look();
      LogicalPlan leaf = (LogicalPlan) survey.leaves.get(i);
      int number = survey.number(i);
      ScanSite one = number >= 0 ? (ScanSite) found.get(number) : null;
      ReducedScan shrunk = one == null ? null : new ReducedScan(one, answers, number, survey);
      LogicalPlan other = one == null ? null : instead(one, shrunk, later);
      boolean answered = shrunk != null && shrunk.aggregate != null;
      copies.add(answered ? null : other);
      if (one != null && one.counted != null) {
        answering.add(one.counted.plan(), shrunk.aggregate);
      }
      JsonNode joins = one == null || answered ? null : answers.part(number, "joins");
      if (joins != null) {
        narrowing.add(other == null ? leaf : other, one, joins, survey);
      }
      changed = changed || answered;
      changed = changed || other != null;
      if (other instanceof Union || shrunk != null && shrunk.covered) {
        hybrid.add(other, one);
      }
      if (!places.containsKey(leaf)) {
        places.put(leaf, new LinkedList());
      }
      ((LinkedList) places.get(leaf)).add(other == null ? leaf : other);
    }
    LogicalPlan after = answering.isEmpty() ? plan : (LogicalPlan) plan.transformDown(answering);
    after = changed ? (LogicalPlan) after.transformUp(new Substitution(places)) : after;
    after = hybrid.isEmpty() ? after : (LogicalPlan) after.transformUp(hybrid);
    after = changed ? (LogicalPlan) after.transformAllExpressions(new OtherSides(scans, survey, copies, hybrid))
        : after;
    after = narrowing.isEmpty() ? after : narrowed(narrowing, after);
    explained(narrowing, survey);
    deadline.over(); // what is changed in place is changed as a whole
    for (int i = 0; i < later.size(); i++) {
      Deadline.look();
      try {
        ((IcebergTasks) later.get(i)).apply();
      } catch (RuntimeException error) {
        for (int j = 0; j <= i; j++) {
          Deadline.look();
          ((IcebergTasks) later.get(j)).undo();
        }
        throw error;
      }
    }
    return after;
  }

  private LogicalPlan narrowed(RuntimeFilters narrowing, LogicalPlan plan) {
    try {
      return narrowing.plan(plan);
    } catch (RuntimeException error) {
      left(error);
      return plan;
    }
  }

  /** Returns what replaces a scan; null: the scan itself, which may have been changed in place. */
  private LogicalPlan instead(ScanSite one, ReducedScan shrunk, List later) {
    JsonNode cover = shrunk.cover();
    if (cover != null && (one.scan.pinned() || scans.checks)) {
      int waiting = later.size();
      try {
        LogicalPlan other = new Covering(one, cover).plan(shrunk.survey, later);
        if (other != null) {
          check(one.output(), other);
          rewritten++;
          shrunk.covered = true;
          return other;
        }
      } catch (RuntimeException error) {
        failed++;
        lastError = String.valueOf(error);
      }
      while (later.size() > waiting) {
        Deadline.look();
        later.remove(later.size() - 1);
      }
    }
    LogicalPlan other = shrunk.plan(later);
    if (other != null) {
      check(one.output(), other);
    }
    rewritten += shrunk.changed ? 1 : 0;
    return other;
  }

  /** Returns the session's settings for metaindex as a JSON object; mostly empty. */
  public String settings() {
    return Json.text(Json.settings(conf, new OurSettings()));
  }

  private ObjectNode request(List found) {
    ObjectNode request = Json.object();
    request.set("settings", Json.settings(conf, new OurSettings()));
    ArrayNode asked = request.putArray("scans");
    for (int i = 0; i < found.size(); i++) {
      Deadline.look();
      asked.add(((ScanSite) found.get(i)).request());
    }
    return request;
  }

  private static void limited(LogicalPlan plan, ObjectNode out) {
    long limit = PlanScans.limit(plan);
    if (limit >= 0) {
      out.put("limit", limit);
    }
  }

  /** Lets indexes stand for plain files from now on: the session has the strategy that looks at these. */
  void checks() {
    scans.checks = true;
  }

  /** Lets scans leave files out by keys of joins from now on: the session has the strategy for them. */
  void narrows() {
    scans.narrows = true;
  }

  /** Sets whether this thread's work is rewritten, as it was `before`, or not (TRUE); returns what it was. */
  Object busy(Object before) {
    Object now = busy.get();
    busy.set(before);
    return now;
  }

  /** Returns, for texts of workloads, the tables that a parsed plan names (`NamedTables`). */
  public String names(Object plan) {
    return Json.text(new NamedTables(plan).found);
  }

  /**
   * Returns, for workloads, what a query and its subqueries would read of every table that could have an index. It is
   * analysed and optimized without this rule, and not run.
   */
  public String asked(Object execution) {
    Object before = busy.get();
    busy.set(Boolean.TRUE);
    try {
      LogicalPlan plan = (LogicalPlan) Reflected.call(execution, "optimizedPlan");
      ArrayNode out = Json.array();
      out.add(asked(plan));
      scala.collection.Iterator inside = plan.subqueriesAll().iterator();
      while (inside.hasNext()) {
        Deadline.look();
        out.add(asked((LogicalPlan) inside.next()));
      }
      return Json.text(out);
    } finally {
      busy.set(before);
    }
  }

  private ObjectNode asked(LogicalPlan plan) {
    Deadline deadline = Deadline.in(limit.nanos());
    try {
      PlanScans survey = new PlanScans(scans, plan);
      if (survey.refused != null) {
        return Json.object().put("refused", survey.refused);
      }
      ObjectNode out = request(survey.every());
      limited(plan, out);
      passed(survey, out);
      return out;
    } catch (Throwable error) {
      return Json.object().put("refused", left(error));
    } finally {
      deadline.over();
    }
  }

  private static void passed(PlanScans survey, ObjectNode out) {
    ArrayNode passed = out.putArray("passed");
    for (int i = 0; i < survey.passed.size(); i++) {
      Deadline.look();
      Object[] one = (Object[]) survey.passed.get(i);
      passed.addObject().put("scan", (String) one[0]).put("why", (String) one[1]);
    }
  }

  /** Adds how many files are listed, where all are: for people. */
  private static void listed(PlanScans survey, ObjectNode out) {
    for (int i = 0; i < survey.found.size(); i++) {
      Deadline.look();
      Scan scan = ((ScanSite) survey.found.get(i)).scan;
      listed(scan.listsAll() ? scan : null, (ObjectNode) out.get("scans").get(i));
    }
    for (int i = 0; i < survey.passed.size(); i++) {
      Deadline.look();
      listed((Scan) ((Object[]) survey.passed.get(i))[2], (ObjectNode) out.get("passed").get(i));
    }
  }

  private static void listed(Scan scan, ObjectNode out) {
    try {
      long[] counted = scan == null ? null : scan.counted();
      if (counted != null && counted[1] >= 0) {
        out.putArray("listed").add(counted[0]).add(counted[1]);
      }
    } catch (RuntimeException error) { // without them everything else is told
      out.remove("listed");
    }
  }

  /** Every attribute survives with its expression id: the plan above names them. */
  private static void check(List needed, LogicalPlan after) {
    for (int i = 0; i < needed.size(); i++) {
      Deadline.look();
      if (!after.outputSet().contains((Attribute) needed.get(i))) {
        throw new IllegalStateException("the rewritten scan lost " + needed.get(i));
      }
    }
  }

  /** Returns, for explanations, what is asked about each scan of the plan, or why nothing is. */
  public String survey(LogicalPlan plan) {
    Deadline deadline = Deadline.in(limit.nanos());
    try {
      PlanScans survey = new PlanScans(scans, plan);
      if (survey.refused != null) {
        return refused(survey.refused);
      }
      ObjectNode out = request(survey.found);
      passed(survey, out);
      listed(survey, out);
      return Json.text(out);
    } catch (Throwable error) {
      return refused(left(error));
    } finally {
      deadline.over();
    }
  }

  private static String refused(String why) {
    return Json.text(Json.object().put("refused", why));
  }
}
