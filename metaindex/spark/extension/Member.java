package metaindex.spark;

import java.lang.ref.WeakReference;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.sql.SparkSession;

/** A session, for as long as somebody else holds it, and whether metaindex is in it. */
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
   * Has metaindex put into the session, once for each process, and waits a short time for that. Never throws. `plan`:
   * of a query that is to have it, null for a statement about indexes. Statements wait longer, and so does a request
   * for the state (`SET spark.metaindex.state`), for which it returns true.
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
      boolean patient = plan == null || asksForState(plan);
      if (!patient && readsNothing(plan)) {
        return;
      }
      now = give(patient);
      if (patient && now != null && now.isOver()) { // it has ended meanwhile; the next one does it
        give(true);
      }
      tell();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
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

  private static boolean asksForState(Object plan) {
    try {
      return Plans.askFor(plan, STATE);
    } catch (LinkageError error) { // a Scala of other insides
      return false;
    }
  }

  /** Gives the session to a process that answers, and returns that; null: none does. */
  private PythonProcess give(boolean patient) throws Exception {
    PythonProcess now = sidecar.ready(patient);
    if (now != null && (patient || !now.isStuck())) {
      try {
        wait(begin(now), now, !patient);
      } catch (RejectedExecutionException error) { // it has ended meanwhile
        return now;
      }
    }
    return now;
  }

  /** Reports why the session has no metaindex, if so. */
  void tell() {
    synchronized (this) { // no process that is done meanwhile is contradicted
      PythonProcess now = sidecar.process();
      if (sidecar.off() != null) {
        never = true;
        set("off: " + sidecar.off());
      } else if (settled == null || settled != now || now.isOver()) {
        set("off: " + sidecar.missing());
      }
    }
  }

  /** Takes a process's answer about the session; nothing if that has ended: another one will do it. */
  void settle(PythonProcess by, String said) {
    synchronized (this) {
      if (!by.isOver()) {
        late = false;
        settled = by;
        set(said.isEmpty() ? "on" : "off: " + said);
      }
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
          if (!said.isEmpty() && !by.isOver()) {
            Log.warn(said);
          }
          settle(by, said);
          return null;
        }
      });
    }
    return work;
  }

  /** Sets the state in the session's configuration. */
  void set(String state) {
    synchronized (this) {
      SparkSession one = session();
      if (one != null) {
        one.conf().set(STATE, state);
      }
    }
  }

  private static boolean isOn(SparkSession session) {
    return !"false".equalsIgnoreCase(session.conf().get(ENABLED, "true").trim());
  }

  /** Returns the session's parser of now. */
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
