package metaindex.spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.sql.SparkSession;
import py4j.ClientServer;

/**
 * The process of Python that answers for an application: `python -m metaindex.rule.sidecar`. It is started beside the
 * first session, is waited for by the first query, and ends with the application: it reads its standard input, which
 * this JVM alone holds open. It calls over a server of Py4J on the loopback interface, with a secret that it is told in
 * its environment, as Spark tells the Python of its own applications. That process sees the methods of this class that
 * are public.
 */
public class Sidecar {
  static final String PYTHON = "spark.metaindex.python";
  static final String SECONDS = "spark.metaindex.startSeconds";
  private static final String PROTOCOL = "1"; // of this class and `metaindex/rule/sidecar.py`
  private static final int LINE = 2000; // bytes of a line that are kept
  private static final String[] FOREIGN = {"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE",
      "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_UDS_MODE", "PYSPARK_SUBMIT_ARGS", "PYTHONSTARTUP", "PYTHONINSPECT"};
  private static final Map ALL = new IdentityHashMap(); // by their SparkContext, as long as that runs
  final ExecutorService pool;
  private final SparkContext context;
  private final SparkConf conf;
  private final ClassLoader classes = Thread.currentThread().getContextClassLoader();
  private final CountDownLatch told = new CountDownLatch(1); // that it is ready, or will never be
  private final Map members = new WeakHashMap(); // by their sessions
  private int seen; // sessions
  private long began;
  private volatile Function enable;
  private volatile String token, off;
  private volatile boolean ended;
  private volatile Process process;
  private volatile ClientServer server;
  volatile Future stuck; // an answer that was waited for in vain

  private Sidecar(SparkContext context) {
    this.context = context;
    conf = context.getConf();
    pool = Executors.newCachedThreadPool(new ThreadFactory() {
      public Thread newThread(Runnable work) {
        return daemon(work);
      }
    });
  }

  static Sidecar of(SparkContext context) {
    synchronized (ALL) {
      Sidecar there = (Sidecar) ALL.get(context);
      if (there == null) {
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

  private Thread daemon(Runnable work) {
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

  /** Begins to, where nobody has yet. */
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

  /** Is there an answer by now? Waits for it, but all in all not longer than was set. */
  boolean isReady() throws InterruptedException {
    if (enable == null && off == null) {
      told.await(Math.max(began + nanos() - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
      if (enable == null && off == null) {
        Log.warn("its Python is not ready within " + seconds() + " s (" + SECONDS + "); sessions have it once it is");
      }
    }
    return enable != null && off == null;
  }

  /** Why there will be no answer; null: there is, or may be. */
  String off() {
    return off;
  }

  private void off(String why) {
    synchronized (this) {
      if (off != null || ended) {
        return;
      }
      off = why;
    }
    told.countDown();
    Log.warn(why);
    for (Iterator each = members().iterator(); each.hasNext(); ) {
      Member one = (Member) each.next();
      if (one.isAsked()) {
        one.settle("off: " + why);
      }
    }
  }

  private void work() {
    String python = python();
    String last = "";
    try {
      last = served(python);
    } catch (IOException error) {
      last = error.getMessage();
    } catch (Throwable error) {
      last = String.valueOf(error);
    }
    close();
    off("its Python (" + python + ") " + (enable == null ? "does not start" : "has ended") + ": " + last + "; set "
        + PYTHON + " to one that has metaindex[spark], or " + Member.ENABLED + "=false, and start anew");
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

  /** Runs the process to its end. The last line that it said. */
  private String served(String python) throws Exception {
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    StringBuilder hex = new StringBuilder();
    for (int i = 0; i < secret.length; i++) {
      hex.append(Integer.toHexString((secret[i] & 0xff) | 0x100).substring(1));
    }
    InetAddress loopback = InetAddress.getLoopbackAddress();
    server = new ClientServer.ClientServerBuilder(this).authToken(hex.toString()).javaPort(0).javaAddress(loopback)
        .pythonAddress(loopback).build();
    server.startServer(); // its threads are daemons, as this one is
    ProcessBuilder builder = new ProcessBuilder(new String[] {python, "-m", "metaindex.rule.sidecar"});
    Map environment = builder.environment();
    for (int i = 0; i < FOREIGN.length; i++) {
      environment.remove(FOREIGN[i]);
    }
    environment.put("PYSPARK_GATEWAY_PORT", String.valueOf(server.getJavaServer().getListeningPort()));
    environment.put("PYSPARK_GATEWAY_SECRET", hex.toString());
    environment.put("PYSPARK_PIN_THREAD", "true");
    environment.put("PYTHONSAFEPATH", "1"); // nothing that lies in the folder of the application
    environment.put("METAINDEX_SPARK_VERSION", context.version());
    environment.put("METAINDEX_SPARK_PYTHONPATH", PythonUtils.sparkPythonPath());
    String workers = conf.get("spark.pyspark.python", "").trim();
    if (!workers.isEmpty()) {
      environment.put("PYSPARK_PYTHON", workers);
    }
    process = builder.redirectErrorStream(true).start();
    String last = said(process.getInputStream());
    int code = process.waitFor();
    return last.isEmpty() || enable != null ? "exit code " + code : last;
  }

  /** Lines go to the log once it is ready; before, the last one is kept, which says what is wrong. */
  private String said(InputStream stream) throws IOException {
    byte[] piece = new byte[8192];
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    String last = "";
    for (int got = stream.read(piece); got >= 0; got = stream.read(piece)) {
      for (int i = 0; i < got; i++) {
        if (piece[i] != '\n') {
          if (line.size() < LINE) {
            line.write(piece[i]);
          }
          continue;
        }
        String said = line.toString("UTF-8").trim();
        line.reset();
        last = said.isEmpty() ? last : said;
        if (enable != null && !said.isEmpty()) {
          Log.python(said);
        }
      }
    }
    return last;
  }

  private void close() {
    Process running = process;
    if (running != null) {
      try {
        running.getOutputStream().close(); // it ends by that
      } catch (IOException error) {
        Log.info("its Python is ended: " + error);
      }
      running.destroy();
    }
    if (server != null) {
      server.shutdown();
    }
  }

  /** What Python says of a session; "": it has metaindex. */
  String enable(String number) {
    try {
      return String.valueOf(enable.apply(token + '\n' + number));
    } catch (RuntimeException error) {
      return "a session could not be given to its Python: " + error;
    }
  }

  static class Ending extends SparkListener {
    private final Sidecar sidecar;

    Ending(Sidecar sidecar) {
      this.sidecar = sidecar;
    }

    public void onApplicationEnd(SparkListenerApplicationEnd event) {
      synchronized (ALL) {
        ALL.remove(sidecar.context);
      }
      sidecar.ended = true;
      sidecar.close();
    }
  }

  public String protocol() {
    return PROTOCOL;
  }

  public Object context() {
    return JavaSparkContext.fromSparkContext(context);
  }

  /** The session of a number; null where there is none any more. */
  public Object session(String number) {
    Member one = member(number);
    return one == null ? null : one.session();
  }

  private Member member(String number) {
    for (Iterator each = members().iterator(); each.hasNext(); ) {
      Member one = (Member) each.next();
      if (one.number.equals(number)) {
        return one;
      }
    }
    return null;
  }

  /** From now on sessions are enabled by this, by their numbers behind the token. */
  public void ready(Function enable, String token) {
    this.token = token;
    this.enable = enable;
    told.countDown();
    for (Iterator each = members().iterator(); each.hasNext(); ) {
      Member one = (Member) each.next();
      if (one.isAsked()) {
        one.begin();
      }
    }
  }

  /** It will not do: why. */
  public void refuse(String why) {
    off(why);
  }

  /** The same function, which is not waited for without end. */
  public Function bounded(Function python, String number) {
    return new Bounded(this, python, member(number));
  }

  /** The same function for statements, which take as long as they take. */
  public Function statements(Function python) {
    return new Statements(this, python);
  }
}
