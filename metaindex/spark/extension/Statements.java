package metaindex.spark;

import java.util.function.Function;

/**
 * Has the process of Python parse and run statements about indexes, in a thread of its own for each, which has what
 * belongs to the thread that asked (the job's group, by which it is cancelled).
 */
class Statements implements Function {
  private static final String RUNS = "\"what\":\"run\""; // of a request, as `StatementParser` writes it
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
    return said[0] != null ? said[0] : withoutAnswer(String.valueOf(text));
  }

  /** A text that is only looked at goes on to the parser behind, which waits for the process that comes (`Gate`). */
  private Object withoutAnswer(String text) {
    process.awaitEnd();
    String off = process.sidecar.off();
    if (off == null && !text.contains(RUNS)) {
      return "{\"other\": true}";
    }
    return error("the process of Python that runs statements has ended" + (off == null
        ? "; say the statement again: the process is started again" : ": " + off));
  }

  private static String error(String why) {
    String said = why.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    return "{\"error\": \"" + said + "\", \"near\": \"INDEX\", \"line\": 1, \"column\": 0, \"start\": 0, \"stop\": 0}";
  }
}
