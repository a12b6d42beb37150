package metaindex;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.internal.SQLConf;

/** Requests once a query runs, about scans that the keys of joins may narrow; and what came of them. */
public class Running {
  private final Function python; // JSON to JSON
  private final String token;
  private final SQLConf conf; // the session's
  private final MetaIndexRule rule;
  public volatile long scans, files; // that were narrowed, and that were left out of them

  Running(Function python, String token, SQLConf conf, MetaIndexRule rule) {
    this.python = python;
    this.token = token;
    this.conf = conf;
    this.rule = rule;
  }

  /** Asks for the files of a scan that hold no row for these conditions. Null: unknown. */
  Reply ask(ScanSite one, List conditions, double seconds) {
    ObjectNode request = Json.object();
    request.set("settings", Json.settings(conf, new OurSettings()));
    request.put("running", seconds);
    ScanSite asked = new ScanSite(one.leaf, one.scan, conditions, new HashSet(), false);
    request.putArray("scans").add(asked.request());
    String reply = Callback.ask(python, token, Json.text(request));
    return reply == null || reply.isEmpty() ? null : new Reply(reply);
  }

  /** A plan that is optimized, made ready to be run, and not rewritten. */
  SparkPlan planned(SparkSession session, LogicalPlan plan) {
    Object before = rule.busy(Boolean.TRUE);
    try {
      return QueryExecution$.MODULE$.prepareExecutedPlan(session, plan);
    } finally {
      rule.busy(before);
    }
  }

  /** Counts what went wrong, and says it to people. */
  String failed(Throwable error) {
    return "read whole: " + (rule.left(error).equals("TOO_LATE") ? "it took too long" : "it failed: " + error);
  }

  synchronized void done(int left) {
    scans += left > 0 ? 1 : 0;
    files += left;
  }
}
