package metaindex.spark;

import java.util.function.Function;

/**
 * Has the process of Python parse and run statements about indexes, in a thread of its own for each, which has what
 * belongs to the thread that asked (the job's group, by which it is cancelled).
 */
class Statements implements Function {
  private final PythonProcess process;
  private final Function python;

  Statements(PythonProcess process, Function python) {
    this.process = process;
    this.python = python;
  }

  public Object apply(final Object text) {
    final Object[] said = new Object[1];
    Thread asking = new Thread("metaindex statement") {
      public void run() {
        try {
          said[0] = process.proved(python.apply(text));
        } catch (RuntimeException gone) {
          said[0] = null;
        }
      }
    };
    asking.setDaemon(true);
    if (!process.isOver()) {
      asking.start();
      try {
        asking.join();
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        return error("the statement was interrupted; what it began is shown, and ended, by CANCEL INDEX");
      }
    }
    return said[0] != null ? said[0] : error("the process of Python that runs statements has ended, and is started"
        + " again; say the statement again in some seconds (SET spark.metaindex.state tells more)");
  }

  private static String error(String why) {
    return "{\"error\": \"" + why + "\", \"near\": \"INDEX\", \"line\": 1, \"column\": 0, \"start\": 0, \"stop\": 0}";
  }
}
