package metaindex.spark;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;

/**
 * Asks the process of Python, from a thread that nobody else waits for. Returns "" if it does not answer in time, and
 * until it has answered after that: it may be stopped, or swapped out, and each query would wait for it.
 */
class Bounded implements Function {
  static final String TIMEOUT = "spark.metaindex.timeoutSeconds"; // Python's own, which comes first
  static final double MORE = 5; // seconds
  final PythonProcess process;
  private final Function python;
  private final Member member;

  Bounded(PythonProcess process, Function python, Member member) {
    this.process = process;
    this.python = python;
    this.member = member;
  }

  public Object apply(final Object text) {
    if (process.isOver() || process.isStuck()) {
      return "";
    }
    Future answer;
    try {
      answer = process.pool.submit(new Callable() {
        public Object call() {
          return process.proved(python.apply(text));
        }
      });
    } catch (RejectedExecutionException error) { // it has ended meanwhile
      return "";
    }
    try {
      Object said = answer.get((long) (seconds() * 1e9), TimeUnit.NANOSECONDS);
      return said == null ? "" : said;
    } catch (TimeoutException error) {
      process.stick(answer);
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
