package metaindex;

import java.util.function.Function;
import org.apache.spark.sql.streaming.StreamingQueryListener;

/** Tells Python the sinks of micro-batches that were committed. */
public class Batches extends StreamingQueryListener {
  private final Function python;
  private final String token; // whoever tells without it is not this listener

  public Batches(Function python, String token) {
    this.python = python;
    this.token = token;
  }

  public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) {}

  public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {
    try {
      python.apply(token + '\n' + event.progress().sink().description());
    } catch (RuntimeException gone) { // the process that was to be told ends
    }
  }

  public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) {}
}
