package metaindex.spark;

import java.io.IOException;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.sql.SparkSession;

/**
 * The server of an application: a process of Python (`PythonProcess`), which is started beside the first session,
 * awaited by the first query, started again if something has ended it, and ends with the application.
 */
class Sidecar {
  static final String PYTHON = "spark.metaindex.python";
  static final String SECONDS = "spark.metaindex.startSeconds";
  private static final long[] PAUSES = {1, 10, 60, 600}; // seconds before it is started again; the last one stays
  private static final long LASTING = 600; // seconds after which its end is as good as the first one
  private static final Map ALL = new IdentityHashMap(); // by their SparkContext, as long as that runs
  final SparkContext context;
  final SparkConf conf;
  private final ClassLoader classes = Thread.currentThread().getContextClassLoader();
  private final Map members = new WeakHashMap(); // by their sessions
  private int seen; // sessions
  private long began; // the first process
  private int starts; // of processes
  private boolean ended; // the application
  private volatile PythonProcess process; // the latest
  private volatile String off;
  private volatile String lost; // how the latest one that was ready, or was killed, has ended

  private Sidecar(SparkContext context) {
    this.context = context;
    conf = context.getConf();
  }

  static Sidecar of(SparkContext context) {
    synchronized (ALL) {
      Sidecar there = (Sidecar) ALL.get(context);
      if (there == null) {
        endStopped();
        there = new Sidecar(context);
        ALL.put(context, there);
        context.addSparkListener(new Ending(there));
        if (!"false".equalsIgnoreCase(there.conf.get(Member.ENABLED, "true").trim())) {
          there.start();
        }
      }
      return there;
    }
  }

  /** Ends those of stopped applications whose end was not reported: Spark drops events for its listeners under load. */
  private static void endStopped() {
    Object[] every = ALL.values().toArray();
    for (int i = 0; i < every.length; i++) {
      if (((Sidecar) every[i]).context.isStopped()) {
        ((Sidecar) every[i]).end();
      }
    }
  }

  Thread daemon(Runnable work) {
    Thread made = new Thread(work, "metaindex");
    made.setDaemon(true);
    made.setContextClassLoader(classes);
    return made;
  }

  Member member(SparkSession session) {
    synchronized (members) {
      Member there = (Member) members.get(session);
      if (there == null) {
        there = new Member(this, session, String.valueOf(++seen));
        members.put(session, there);
      }
      return there;
    }
  }

  Member member(String number) {
    for (Iterator each = members().iterator(); each.hasNext(); ) {
      Member one = (Member) each.next();
      if (one.number.equals(number)) {
        return one;
      }
    }
    return null;
  }

  private List members() { // not `synchronized`: Janino makes private methods static
    synchronized (members) {
      return new ArrayList(members.values());
    }
  }

  double seconds() {
    try {
      return Math.max(0, Math.min(Double.parseDouble(conf.get(SECONDS, "10").trim()), 1e6));
    } catch (NumberFormatException error) {
      Log.warn(SECONDS + " is a number of seconds; it is " + conf.get(SECONDS, ""));
      return 10;
    }
  }

  long nanos() {
    return (long) (seconds() * 1e9);
  }

  /** Starts it, unless it is started already. */
  synchronized void start() {
    if (began != 0 || off != null) {
      return;
    }
    began = System.nanoTime();
    daemon(new Runnable() {
      public void run() {
        work();
      }
    }).start();
  }

  PythonProcess process() {
    return process;
  }

  /**
   * Returns the process that answers; null if none does. All queries wait for the first one together, within the limit
   * set; none waits for one that is started again, but statements do.
   */
  synchronized PythonProcess ready(boolean patient) throws InterruptedException {
    long until = (patient ? System.nanoTime() : began) + nanos();
    while (!isReady() && off == null && !ended && until - System.nanoTime() > 0) {
      wait(Math.max(1, (until - System.nanoTime()) / 1000000));
    }
    if (!isReady() && off == null && !ended && starts < 2 && isStarting()) { // one that has ended says so itself
      Log.warn("its Python is not ready within " + seconds() + " s (" + SECONDS + "); sessions have it once it is");
    }
    return isReady() && off == null ? process : null;
  }

  private boolean isReady() {
    return process != null && process.isReady();
  }

  private boolean isStarting() {
    return process == null || (!process.wasReady() && !process.isOver());
  }

  /** Returns why there is no answer yet. */
  String missing() {
    PythonProcess now = process;
    String why = lost != null ? lost : "its Python is not ready yet";
    if (now != null && now.isReady()) {
      why = now.isStuck() ? "its Python does not answer" : "its Python is not done with this session yet";
    }
    return why + "; wait, and try again";
  }

  /** It is ready, or somebody has to look again. */
  synchronized void told() {
    notifyAll();
  }

  /** Returns why there will be no answer; null: there is one, or may be. */
  String off() {
    return off;
  }

  void off(String why) {
    synchronized (this) {
      if (off != null || ended) {
        return;
      }
      off = why;
      notifyAll();
    }
    Log.warn(why);
    tell("off: " + why);
  }

  private void tell(String state) {
    for (Iterator each = members().iterator(); each.hasNext(); ) {
      Member one = (Member) each.next();
      if (one.isAsked()) {
        one.set(state);
      }
    }
  }

  private void work() {
    String python = python();
    int times = 0;
    while (true) {
      long started = System.nanoTime();
      PythonProcess one = new PythonProcess(this);
      String last = run(one, python);
      if (off != null || isEnded()) {
        return;
      }
      String ended = "its Python (" + python + ") " + (one.wasReady() ? "has ended" : "does not start") + ": " + last;
      if (!one.wasReady() && !one.wasKilled()) {
        off(ended + "; set " + PYTHON + " to one that has metaindex and pyspark, or " + Member.ENABLED
            + "=false, and start anew");
        return;
      }
      times = System.nanoTime() - started > LASTING * 1000000000L ? 0 : times;
      long pause = PAUSES[Math.min(times++, PAUSES.length - 1)];
      Log.again(ended + "; it is started again in " + pause + " s");
      lost = ended + "; it is started again within " + pause + " s";
      tell("off: " + missing());
      if (!isWaitedFor(pause)) {
        return;
      }
    }
  }

  /** Runs it to its end, and returns its last words. */
  private String run(PythonProcess one, String python) {
    try {
      synchronized (this) {
        if (ended) {
          return "";
        }
        process = one;
        starts++;
      }
      return one.served(python);
    } catch (IOException error) {
      return error.getMessage();
    } catch (Throwable error) {
      return String.valueOf(error);
    } finally {
      one.close();
    }
  }

  private synchronized boolean isEnded() {
    return ended;
  }

  /** Waits; returns false if the application has ended meanwhile. */
  private boolean isWaitedFor(long seconds) {
    long until = System.nanoTime() + seconds * 1000000000L;
    try {
      synchronized (this) {
        while (!ended && until - System.nanoTime() > 0) {
          wait(Math.max(1, (until - System.nanoTime()) / 1000000));
        }
        return !ended;
      }
    } catch (InterruptedException error) {
      return false;
    }
  }

  private String python() {
    String[] names = {PYTHON, "spark.pyspark.driver.python", "spark.pyspark.python"};
    for (int i = 0; i < names.length; i++) {
      String set = conf.get(names[i], "").trim();
      if (!set.isEmpty()) {
        return set;
      }
    }
    String set = System.getenv("PYSPARK_PYTHON");
    return set == null || set.trim().isEmpty() ? "python3" : set.trim();
  }

  /** Ends with the application. */
  void end() {
    synchronized (ALL) {
      ALL.remove(context);
    }
    PythonProcess running;
    synchronized (this) {
      ended = true;
      running = process;
      notifyAll();
    }
    if (running != null) {
      running.close();
    }
  }

  static class Ending extends SparkListener {
    private final Sidecar sidecar;

    Ending(Sidecar sidecar) {
      this.sidecar = sidecar;
    }

    public void onApplicationEnd(SparkListenerApplicationEnd event) {
      sidecar.end();
    }
  }
}
