package metaindex;

import java.util.ArrayList;
import java.util.IdentityHashMap;
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

/**
 * Asks metaindex, once a plan, which files its scans can leave out, and leaves those out. Whatever goes wrong leaves the plan as it was.
 *
 * Written for Janino, which compiles it inside Spark: no lambdas, no inference of generics, no bridge methods (so erased signatures are overridden).
 */
public class MetaIndexRule extends Rule {
  private final Function python; // JSON to JSON
  private final Scans scans;
  private final ThreadLocal busy = new ThreadLocal(); // what runs inside the callback is not rewritten
  public volatile boolean enabled = true;
  public volatile long plans, asked, rewritten, failed, nanos;
  public volatile String lastError = "";

  public MetaIndexRule(Function python, Scans scans) {
    this.python = python;
    this.scans = scans;
  }

  public String ruleName() {
    return "metaindex.MetaIndexRule";
  }

  public TreeNode apply(TreeNode plan) {
    if (!enabled || busy.get() != null) {
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
    List found = new ArrayList();
    if (!collect(plan, new ArrayList(), found) || found.isEmpty()) {
      return plan;
    }
    StringBuilder request = new StringBuilder("[");
    for (int i = 0; i < found.size(); i++) {
      Found one = (Found) found.get(i);
      request.append(i > 0 ? "," : "").append(scans.request(one.leaf)).append(",\"filters\":[");
      for (int j = 0; j < one.filters.size(); j++) {
        request.append(j > 0 ? "," : "");
        Json.expression((Expression) one.filters.get(j), one.leaf.outputSet(), request);
      }
      request.append("]}");
    }
    asked++;
    String reply = (String) python.apply(request.append(']').toString());
    if (reply == null || reply.isEmpty()) {
      return plan;
    }
    Map replaced = new IdentityHashMap();
    Reply answers = new Reply(reply);
    for (int i = 0; i < found.size(); i++) {
      Found one = (Found) found.get(i);
      if (answers.has(i)) {
        LogicalPlan other = scans.without(one.leaf, answers.dropped(i), answers.label(i));
        if (other != null) {
          check(one.leaf, other);
          replaced.put(one.leaf, other);
        }
        rewritten++;
      }
    }
    return replaced.isEmpty() ? plan : (LogicalPlan) plan.transformDown(new Substitution(replaced));
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

  /**
   * The scans with the filters right above them. False where nothing may be rewritten: a command (UPDATE, DELETE and MERGE rewrite the files of their scans, so that a file left out would
   * lose rows), a stream, a sample, or an expression whose value depends on more than its row.
   */
  private boolean collect(LogicalPlan plan, List filters, List found) {
    if (plan instanceof Command || plan instanceof Sample || plan.isStreaming() || !Scans.harmless(plan)) {
      return false;
    }
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) {
      Expression one = (Expression) expressions.next();
      if (!one.deterministic()) {
        return false;
      }
    }
    if (plan instanceof Filter) {
      List more = new ArrayList(filters);
      more.add(((Filter) plan).condition());
      return collect((LogicalPlan) (Object) ((Filter) plan).child(), more, found);
    }
    if (plan instanceof Project) { // Delta puts one between filter and scan; what a filter says of other attributes than the scan's is not understood
      return collect((LogicalPlan) (Object) ((Project) plan).child(), filters, found);
    }
    if (plan.children().isEmpty()) {
      if (!filters.isEmpty() && scans.understood(plan)) {
        Found one = new Found();
        one.leaf = plan;
        one.filters = filters;
        found.add(one);
      }
      return true;
    }
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      if (!collect((LogicalPlan) children.next(), new ArrayList(), found)) {
        return false;
      }
    }
    return true;
  }

  static class Found {
    LogicalPlan leaf;
    List filters;
  }

  static class Substitution extends scala.runtime.AbstractPartialFunction {
    private final Map replaced;

    Substitution(Map replaced) {
      this.replaced = replaced;
    }

    public boolean isDefinedAt(Object node) {
      return replaced.containsKey(node);
    }

    public Object applyOrElse(Object node, scala.Function1 other) {
      Object found = replaced.get(node);
      return found != null ? found : other.apply(node);
    }
  }
}
