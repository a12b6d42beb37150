package metaindex.spark;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;

/**
 * Asks the process of Python, from a thread that nobody else waits for. "" where it does not answer in time, and as
 * long as it has not answered after that: it may be stopped, or swapped out, and each query would wait for it.
 */
class Bounded implements Function {
  private static final String TIMEOUT = "spark.metaindex.timeoutSeconds"; // Python's own, which comes first
  private static final double MORE = 5; // seconds
  private final Sidecar sidecar;
  private final Function python;
  private final Member member;

  Bounded(Sidecar sidecar, Function python, Member member) {
    this.sidecar = sidecar;
    this.python = python;
    this.member = member;
  }

  public Object apply(final Object text) {
    Future waiting = sidecar.stuck;
    if (sidecar.off() != null || (waiting != null && !waiting.isDone())) {
      return "";
    }
    Future answer = sidecar.pool.submit(new Callable() {
      public Object call() {
        return python.apply(text);
      }
    });
    try {
      return answer.get((long) (seconds() * 1e9), TimeUnit.NANOSECONDS);
    } catch (TimeoutException error) {
      sidecar.stuck = answer;
      Log.warn("its Python does not answer; no query waits for it until it does");
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException error) { // the plan stays as it was, and that is counted
      throw new IllegalStateException(error.getCause());
    }
    return "";
  }

  private double seconds() {
    try {
      SparkSession session = member == null ? null : member.session();
      return session == null ? MORE : Double.parseDouble(session.conf().get(TIMEOUT, "10").trim()) + MORE;
    } catch (NumberFormatException error) { // Python says so
      return 10 + MORE;
    }
  }
}
