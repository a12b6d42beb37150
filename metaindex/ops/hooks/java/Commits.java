package metaindex;

import java.util.function.Function;
import org.apache.iceberg.events.CreateSnapshotEvent;
import org.apache.iceberg.events.Listener;

/** Tells Python the names of Iceberg tables to which a snapshot was committed. */
public class Commits implements Listener {
  private final Function python;
  private final String token; // whoever tells without it is not this listener

  public Commits(Function python, String token) {
    this.python = python;
    this.token = token;
  }

  public void notify(Object event) {
    try {
      python.apply(token + '\n' + ((CreateSnapshotEvent) event).tableName());
    } catch (RuntimeException gone) { // the process that was to be told ends
    }
  }
}
