package metaindex;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;

/**
 * Tells Python the numbers of executions that may have changed a table; while it is told, it may ask for the execution.
 */
public class Executions implements QueryExecutionListener {
  private final Function python;
  private final String token; // whoever tells without it is not this listener
  private final Set names; // of executions that may change one
  private final AtomicLong last = new AtomicLong();
  private final Map told = Collections.synchronizedMap(new HashMap());

  public Executions(Function python, String token, List names) {
    this.python = python;
    this.token = token;
    this.names = new HashSet(names);
  }

  public void onSuccess(String name, QueryExecution execution, long nanos) {
    if (!names.contains(name)) {
      return;
    }
    String number = String.valueOf(last.incrementAndGet());
    told.put(number, execution);
    try {
      python.apply(token + '\n' + number);
    } catch (RuntimeException gone) { // the process that was to be told ends
    } finally {
      told.remove(number);
    }
  }

  /** A write that failed changed nothing, or is told of by the next one. */
  public void onFailure(String name, QueryExecution execution, Exception error) {}

  public Object execution(String number) {
    return told.get(number);
  }
}
