package metaindex.spark;

import java.lang.ref.WeakReference;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
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
  private volatile boolean settled; // it is in, or will never be
  private volatile boolean asked; // a query would have had it
  private volatile boolean late; // nobody waits for it any more
  private Future work;

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

  /** Has metaindex put into the session, once, and waits for that, but not for long. Never throws. */
  void look() {
    if (settled || late) {
      return;
    }
    try {
      SparkSession one = session();
      if (one == null || !isOn(one)) {
        return;
      }
      asked = true;
      sidecar.start();
      if (sidecar.isReady()) {
        begin().get(sidecar.nanos(), TimeUnit.NANOSECONDS);
      } else if (sidecar.off() != null) {
        settle("off: " + sidecar.off());
      } else {
        late = true;
      }
    } catch (TimeoutException error) {
      late = true;
      Log.warn("a session is not ready within " + sidecar.seconds() + " s (" + Sidecar.SECONDS + "); it has metaindex"
          + " as soon as it is");
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    } catch (Throwable error) {
      settled = true;
      Log.warn(String.valueOf(error));
    }
  }

  synchronized Future begin() {
    if (work == null) {
      work = sidecar.pool.submit(new Callable() {
        public Object call() {
          String said = sidecar.enable(number);
          if (!said.isEmpty()) {
            Log.warn(said);
          }
          settle(said.isEmpty() ? "on" : "off: " + said);
          return null;
        }
      });
    }
    return work;
  }

  /** Whoever asks the session's configuration is told. */
  void settle(String state) {
    settled = true;
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
