package metaindex.spark;

import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/**
 * Has the process of Python parse and run statements about indexes, in a thread of its own for each, which has what
 * belongs to the thread that asked (the job's group, by which it is cancelled). What is only looked at is not waited
 * for longer than a query waits; what runs takes as long as it takes, while the process answers others.
 */
class Statements implements Function {
  private static final String RUNS = "\"what\":\"run\""; // of a request, as `StatementParser` writes it
  private static final long LOOKS = 20; // seconds between two looks whether the process answers
  private final PythonProcess process;
  private final Function python;
  private final Set running = Collections.synchronizedSet(new HashSet()); // numbers of requests in pieces that run

  Statements(PythonProcess process, Function python) {
    this.process = process;
    this.python = python;
  }

  public Object apply(final Object given) {
    String text = String.valueOf(given);
    boolean runs = runs(text);
    if (process.isOver()) {
      return withoutAnswer(runs);
    }
    if (process.isStuck()) {
      return unanswered(runs);
    }
    FutureTask asking = new FutureTask(new Callable() {
      public Object call() {
        return process.proved(python.apply(given));
      }
    });
    Thread thread = new Thread(asking, "metaindex statement");
    thread.setDaemon(true);
    thread.start();
    try {
      Object said = runs ? lasting(asking) : asking.get(process.nanos(), TimeUnit.NANOSECONDS);
      return said != null ? said : withoutAnswer(runs);
    } catch (TimeoutException error) {
      if (!runs) {
        process.stick(asking);
      }
      return unanswered(runs);
    } catch (ExecutionException gone) {
      return withoutAnswer(runs);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      return error("the statement was interrupted; what it began is shown, and ended, by CANCEL INDEX");
    }
  }

  /** Waits as long as the process answers others. Throws TimeoutException once it does not. */
  private Object lasting(FutureTask asking) throws InterruptedException, ExecutionException, TimeoutException {
    while (true) {
      try {
        return asking.get(LOOKS, TimeUnit.SECONDS);
      } catch (TimeoutException error) {
        if (!asking.isDone() && !process.answers() && !asking.isDone()) {
          throw error;
        }
      }
    }
  }

  /** Returns whether it runs a statement. The first piece of a request in pieces (`Callback.java`) says so. */
  private boolean runs(String text) {
    int start = text.indexOf('\n') + 1;
    char first = start < text.length() ? text.charAt(start) : ' ';
    if (first == '+') {
      if (text.contains(RUNS)) {
        running.add(number(text, start, '\n'));
      }
      return false; // a piece is kept, and answered at once
    }
    return first == '=' ? running.remove(number(text, start, ' ')) : text.contains(RUNS);
  }

  private static String number(String text, int start, char end) {
    return text.substring(start + 1, Math.max(start + 1, text.indexOf(end, start)));
  }

  /** A text that is only looked at goes on to the parser behind, which waits for the process that comes (`Gate`). */
  private Object withoutAnswer(boolean runs) {
    process.awaitEnd();
    String off = process.sidecar.off();
    if (off == null && !runs) {
      return "{\"other\": true}";
    }
    return error("the process of Python that runs statements has ended" + (off == null
        ? "; say the statement again: the process is started again" : ": " + off));
  }

  /** A text that is only looked at may be none of ours: Spark parses it, and where it cannot this is why. */
  private static Object unanswered(boolean runs) {
    return runs
        ? error("the process of Python that runs statements does not answer; what it has begun may go on: SHOW INDEXES"
            + " tells once it answers")
        : error("the process of Python that reads statements does not answer; wait, and try again")
            .replaceFirst("\\{", "{\"other\": true, ");
  }

  private static String error(String why) {
    String said = why.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ");
    return "{\"error\": \"" + said + "\", \"near\": \"INDEX\", \"line\": 1, \"column\": 0, \"start\": 0, \"stop\": 0}";
  }
}
