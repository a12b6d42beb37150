package metaindex.spark;

import java.util.function.Function;

/**
 * Has the process of Python parse and run statements about indexes, in a thread of its own for each, which has what
 * belongs to the thread that asked (the job's group, by which it is cancelled).
 */
class Statements implements Function {
  private final Sidecar sidecar;
  private final Function python;

  Statements(Sidecar sidecar, Function python) {
    this.sidecar = sidecar;
    this.python = python;
  }

  public Object apply(final Object text) {
    final Object[] said = new Object[1];
    Thread asking = new Thread("metaindex statement") {
      public void run() {
        try {
          said[0] = python.apply(text);
        } catch (RuntimeException gone) {
          said[0] = null;
        }
      }
    };
    asking.setDaemon(true);
    if (sidecar.off() == null) {
      asking.start();
      try {
        asking.join();
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        return error("the statement was interrupted; what it began is shown, and ended, by CANCEL INDEX");
      }
    }
    return said[0] != null ? said[0]
        : error("the process of Python that runs statements has ended; start the application again");
  }

  private static String error(String why) {
    return "{\"error\": \"" + why + "\", \"near\": \"INDEX\", \"line\": 1, \"column\": 0, \"start\": 0, \"stop\": 0}";
  }
}
