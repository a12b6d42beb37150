package metaindex;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Asks metaindex, once a plan, which files its scans can leave out, and leaves those out. Whatever goes wrong leaves the plan as it was.
 *
 * Written for Janino, which compiles it inside Spark: no lambdas, no inference of generics, no bridge methods (so erased signatures are overridden).
 */
public class MetaIndexRule extends Rule {
  private static final String PREFIX = "spark.metaindex.";
  private final Function python; // JSON to JSON
  private final Scans scans;
  private final SQLConf conf; // the session's
  private final ThreadLocal busy = new ThreadLocal(); // what runs inside the callback is not rewritten
  public volatile boolean enabled = true;
  public volatile long plans, asked, rewritten, failed, nanos;
  public volatile String lastError = "";

  public MetaIndexRule(Function python, Scans scans, SQLConf conf) {
    this.python = python;
    this.scans = scans;
    this.conf = conf;
  }

  public String ruleName() {
    return "metaindex.MetaIndexRule";
  }

  public TreeNode apply(TreeNode plan) {
    if (!enabled || busy.get() != null || "false".equalsIgnoreCase(conf.getConfString(PREFIX + "enabled", "").trim())) {
      return plan;
    }
    long started = System.nanoTime();
    busy.set(Boolean.TRUE);
    try {
      plans++;
      return rewrite((LogicalPlan) plan);
    } catch (Throwable error) {
      if (error instanceof VirtualMachineError && !(error instanceof StackOverflowError)) {
        throw (VirtualMachineError) error;
      }
      failed++;
      lastError = String.valueOf(error);
      return plan;
    } finally {
      busy.remove();
      nanos += System.nanoTime() - started;
    }
  }

  private LogicalPlan rewrite(LogicalPlan plan) {
    Survey survey = new Survey();
    survey.collect(plan, new ArrayList());
    List found = survey.found;
    if (survey.refused != null || found.isEmpty()) {
      return plan;
    }
    StringBuilder request = new StringBuilder("{\"settings\":").append(settings()).append(",\"scans\":[");
    for (int i = 0; i < found.size(); i++) {
      request.append(i > 0 ? "," : "").append(((Found) found.get(i)).request());
    }
    asked++;
    String reply = (String) python.apply(request.append("]}").toString());
    if (reply == null || reply.isEmpty()) {
      return plan;
    }
    Reply answers = new Reply(reply);
    Map places = new IdentityHashMap(); // of a leaf, what stands at each of its places: one object may stand in a plan several times, under other filters
    boolean changed = false;
    for (int i = 0; i < survey.leaves.size(); i++) {
      LogicalPlan leaf = (LogicalPlan) survey.leaves.get(i);
      LogicalPlan other = null;
      int number = ((Integer) survey.numbers.get(i)).intValue();
      if (number >= 0 && answers.has(number)) {
        other = scans.without(leaf, answers.dropped(number), answers.label(number), survey.alone(leaf));
        if (other != null) {
          check(leaf, other);
          changed = true;
        }
        rewritten++;
      }
      if (!places.containsKey(leaf)) {
        places.put(leaf, new LinkedList());
      }
      ((LinkedList) places.get(leaf)).add(other == null ? leaf : other);
    }
    return changed ? (LogicalPlan) plan.transformDown(new Substitution(places)) : plan;
  }

  /** What the session's configuration says to metaindex, as a JSON object; mostly nothing. */
  public String settings() {
    StringBuilder out = new StringBuilder("{");
    Map all = conf.settings();
    synchronized (all) {
      for (Iterator each = all.entrySet().iterator(); each.hasNext(); ) {
        Map.Entry one = (Map.Entry) each.next();
        if (((String) one.getKey()).startsWith(PREFIX)) {
          out.append(out.length() > 1 ? "," : "").append(Json.quoted((String) one.getKey())).append(':').append(Json.quoted((String) one.getValue()));
        }
      }
    }
    return out.append('}').toString();
  }

  /** Every attribute survives with its expression id: the plan above names them. */
  private static void check(LogicalPlan before, LogicalPlan after) {
    scala.collection.Iterator attributes = before.output().iterator();
    while (attributes.hasNext()) {
      Attribute one = (Attribute) attributes.next();
      if (!after.outputSet().contains(one)) {
        throw new IllegalStateException("the rewritten scan lost " + one);
      }
    }
  }

  /** For explanations: why nothing is asked about the plan, or what is asked about each of its scans, or why not. */
  public String survey(LogicalPlan plan) {
    Survey survey = new Survey();
    survey.collect(plan, new ArrayList());
    if (survey.refused != null) {
      return "{\"refused\":" + Json.quoted(survey.refused) + "}";
    }
    StringBuilder out = new StringBuilder("{\"settings\":").append(settings()).append(",\"scans\":[");
    for (int i = 0; i < survey.found.size(); i++) {
      out.append(i > 0 ? "," : "").append(((Found) survey.found.get(i)).request());
    }
    out.append("],\"passed\":[");
    for (int i = 0; i < survey.passed.size(); i++) {
      String[] one = (String[]) survey.passed.get(i);
      out.append(i > 0 ? "," : "").append("{\"scan\":").append(Json.quoted(one[0])).append(",\"why\":").append(Json.quoted(one[1])).append('}');
    }
    return out.append("]}").toString();
  }

  /**
   * The scans of a plan with the filters right above them. Refused where nothing may be rewritten: a command (UPDATE, DELETE and MERGE rewrite the files of their scans, so that a file left out
   * would lose rows), a stream, a sample, or an expression whose value depends on more than its row. The codes are those of `metaindex.rule.reasons`.
   */
  class Survey {
    final List found = new ArrayList();
    final List passed = new ArrayList();
    final List leaves = new ArrayList(); // every one, in the order in which a plan is walked from above
    final List numbers = new ArrayList(); // of each, its place in `found`, or -1
    String refused;

    /** Does nothing else in the plan read by the same scan? */
    boolean alone(LogicalPlan leaf) {
      int readers = 0;
      for (int i = 0; i < leaves.size(); i++) {
        if (scans.same((LogicalPlan) leaves.get(i), leaf)) {
          readers++;
        }
      }
      return readers == 1;
    }

    void collect(LogicalPlan plan, List filters) {
      refused = refused != null ? refused : reason(plan);
      if (refused != null) {
        return;
      }
      if (plan instanceof Filter) {
        List more = new ArrayList(filters);
        more.add(((Filter) plan).condition());
        collect((LogicalPlan) (Object) ((Filter) plan).child(), more);
      } else if (plan instanceof Project) { // Delta puts one between filter and scan; what a filter says of other attributes than the scan's is not understood
        collect((LogicalPlan) (Object) ((Project) plan).child(), filters);
      } else if (plan.children().isEmpty()) {
        String why = scans.passedOver(plan);
        if (why == null && filters.isEmpty()) {
          why = "NO_FILTER";
        }
        if (why == null) {
          Found one = new Found();
          one.leaf = plan;
          one.filters = filters;
          found.add(one);
        } else if (scans.reads(plan)) {
          passed.add(new String[] {scans.name(plan), why});
        }
        leaves.add(plan);
        numbers.add(Integer.valueOf(why == null ? found.size() - 1 : -1));
      } else {
        scala.collection.Iterator children = plan.children().iterator();
        while (children.hasNext()) {
          collect((LogicalPlan) children.next(), new ArrayList());
        }
      }
    }

    private String reason(LogicalPlan plan) {
      if (plan instanceof Command || !Scans.harmless(plan)) {
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
        if (!((Expression) expressions.next()).deterministic()) {
          return "NOT_DETERMINISTIC";
        }
      }
      return null;
    }
  }

  class Found {
    LogicalPlan leaf;
    List filters;

    String request() {
      StringBuilder out = new StringBuilder(scans.request(leaf)).append(",\"filters\":[");
      for (int i = 0; i < filters.size(); i++) {
        out.append(i > 0 ? "," : "");
        Json.expression((Expression) filters.get(i), leaf.outputSet(), out);
      }
      return out.append("]}").toString();
    }
  }

  static class Substitution extends scala.runtime.AbstractPartialFunction {
    private final Map places;

    Substitution(Map places) {
      this.places = places;
    }

    public boolean isDefinedAt(Object node) {
      return places.containsKey(node);
    }

    public Object applyOrElse(Object node, scala.Function1 other) {
      LinkedList waiting = (LinkedList) places.get(node);
      return waiting != null ? waiting.removeFirst() : other.apply(node);
    }
  }
}
