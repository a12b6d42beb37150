package metaindex.spark;

import java.lang.ref.WeakReference;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.SparkSession;

/** A session, for as long as somebody else holds it, and whether metaindex is in it by now. */
public class Member {
  static final String ENABLED = "spark.metaindex.enabled";
  static final String STATE = "spark.metaindex.state";
  final String number;
  private final Sidecar sidecar;
  private final WeakReference session;
  private volatile PythonProcess settled; // by which metaindex is in, or will never be
  private volatile boolean never; // it will never be, by no process
  private volatile boolean asked; // a query would have had it
  private volatile boolean late; // no query waits for it any more
  private Future work;
  private PythonProcess worker;

  Member(Sidecar sidecar, SparkSession session, String number) {
    this.sidecar = sidecar;
    this.session = new WeakReference(session);
    this.number = number;
  }

  SparkSession session() {
    return (SparkSession) session.get();
  }

  boolean isAsked() {
    return asked;
  }

  /**
   * Has metaindex put into the session, once for each process, and waits for that, but not for long. Never throws.
   * `plan`: of a query that is to have it, null for a statement about indexes, which waits longer.
   */
  void look(Object plan) {
    PythonProcess now = sidecar.process();
    if (never || (settled != null && settled == now && !now.isOver())) {
      return;
    }
    try {
      SparkSession one = session();
      if (one == null || !isOn(one)) {
        return;
      }
      asked = true;
      sidecar.start();
      if (plan != null && readsNothing(plan)) {
        return;
      }
      now = sidecar.ready(plan == null);
      if (now == null || (now.isStuck() && plan != null)) {
        tell();
      } else {
        wait(begin(now), now, plan != null);
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    } catch (RejectedExecutionException error) {
      return; // the process has ended meanwhile
    } catch (Throwable error) {
      never = true;
      Log.warn(String.valueOf(error));
    }
  }

  private static boolean readsNothing(Object plan) {
    try {
      return Plans.readNothing(plan);
    } catch (LinkageError error) { // a Scala of other insides
      return false;
    }
  }

  /** Why it has none. */
  private void tell() {
    if (sidecar.off() != null) {
      never = true;
      set("off: " + sidecar.off());
    }
  }

  private void wait(Future begun, PythonProcess by, boolean query) throws Exception {
    if (query && late && !begun.isDone()) {
      return;
    }
    try {
      begun.get(sidecar.nanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException error) {
      late = true;
      by.stick(begun);
      Log.warn("a session is not ready within " + sidecar.seconds() + " s (" + Sidecar.SECONDS + "); it has metaindex"
          + " as soon as it is");
    }
  }

  private synchronized Future begin(final PythonProcess by) {
    if (work == null || worker != by) {
      worker = by;
      work = by.pool.submit(new Callable() {
        public Object call() {
          String said = by.enable(number);
          if (by.isOver()) { // another one will do it
            return null;
          }
          if (!said.isEmpty()) {
            Log.warn(said);
          }
          late = false;
          settled = by;
          set(said.isEmpty() ? "on" : "off: " + said);
          return null;
        }
      });
    }
    return work;
  }

  /** Whoever asks the session's configuration is told. */
  void set(String state) {
    SparkSession one = session();
    if (one != null) {
      one.conf().set(STATE, state);
    }
  }

  private static boolean isOn(SparkSession session) {
    return !"false".equalsIgnoreCase(session.conf().get(ENABLED, "true").trim());
  }

  /** That the session has now. */
  Object parser() {
    try {
      Object one = session();
      Object state = one.getClass().getMethod("sessionState", new Class[0]).invoke(one, new Object[0]);
      return state.getClass().getMethod("sqlParser", new Class[0]).invoke(state, new Object[0]);
    } catch (Exception error) { // a session of other insides
      return null;
    }
  }
}
