package metaindex;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.util.QueryExecutionListener;

/**
 * The runs of covering indexes that queries of the session failed to read, which later ones do not read: a part that
 * was lost or changed after it was looked at. Spark's error names the part mostly; where it names none and is one of
 * Parquet's, all runs of the query are meant. Python is told at once, which says what to do.
 */
public class Failures implements QueryExecutionListener {
  private static final Pattern PART = Pattern.compile("[^/\\s]+/covering/run=([^/\\s]+)/[^/\\s]+\\.mix");
  private static final int DEPTH = 20;
  private final Map runs = Collections.synchronizedMap(new HashMap()); // to what went wrong

  private final Function python;
  private final String token;

  Failures(Function python, String token) {
    this.python = python;
    this.token = token;
  }

  public void onSuccess(String name, QueryExecution query, long nanos) {}

  public void onFailure(String name, QueryExecution query, Exception error) {
    StringBuilder text = new StringBuilder();
    Throwable cause = error;
    for (int i = 0; cause != null && i < DEPTH; i++) {
      Deadline.look();
      text.append(cause).append('\n');
      cause = cause.getCause();
    }
    Matcher parts = PART.matcher(text);
    boolean named = false;
    while (parts.find()) {
      Deadline.look();
      named = true;
      runs.put(parts.group(1), parts.group());
    }
    if (!named && text.indexOf("org.apache.parquet") >= 0) {
      named = read(query.optimizedPlan());
    }
    if (named) {
      try {
        ObjectNode request = Json.object();
        request.putObject("settings");
        request.putArray("scans");
        tell(request);
        Callback.ask(python, token, Json.text(request));
      } catch (RuntimeException gone) { // the process that was to be told ends
      }
    }
  }

  private boolean read(LogicalPlan plan) {
    boolean found = false;
    List leaves = Scala.list(plan.collectLeaves());
    for (int i = 0; i < leaves.size(); i++) {
      Deadline.look();
      if (leaves.get(i) instanceof LogicalRelation
          && ((LogicalRelation) leaves.get(i)).relation() instanceof IndexedRelation) {
        String[] files = ((HadoopFsRelation) ((LogicalRelation) leaves.get(i)).relation()).location().inputFiles();
        for (int j = 0; j < files.length; j++) {
          Deadline.look();
          Matcher part = PART.matcher(files[j]);
          if (part.find()) {
            runs.put(part.group(1), part.group().substring(0, part.group().lastIndexOf('/')));
            found = true;
          }
        }
      }
    }
    return found;
  }

  /** Adds to a request the parts that went wrong, by their runs, if any. */
  void tell(ObjectNode request) {
    synchronized (runs) {
      ObjectNode broken = runs.isEmpty() ? null : request.putObject("broken");
      for (Iterator each = runs.entrySet().iterator(); each.hasNext(); ) {
        Deadline.look();
        Map.Entry one = (Map.Entry) each.next();
        broken.put((String) one.getKey(), (String) one.getValue());
      }
    }
  }
}
