package metaindex.spark;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.python.PythonUtils;
import py4j.JavaServer;

/**
 * A process of Python, from its start to its end: `python -P -m metaindex.spark.optimizer.sidecar`. It ends with this
 * JVM: it reads its standard input, which the JVM alone holds open. It calls over a server of Py4J on the loopback
 * interface, with a secret from its environment, like the Python of Spark's own applications, and is called with
 * another one. Its answers begin with a third, which it alone has made: a process that takes its port when it has ended
 * is not believed. It sees the public methods of this class.
 */
public class PythonProcess {
  private static final String PROTOCOL = "2"; // of this class and `metaindex/spark/optimizer/sidecar.py`
  private static final byte[] LOOPBACK = {127, 0, 0, 1}; // where Python looks, whatever this JVM prefers
  private static final int LINE = 2000; // bytes of a line that are kept
  private static final long PATIENCE = 2000; // milliseconds
  private static final long ANSWERED = 60; // seconds, of the simplest question, however busy it is
  private static final String[] FOREIGN = {"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE",
      "SPARK_CONNECT_MODE_ENABLED", "PYSPARK_UDS_MODE", "PYSPARK_SUBMIT_ARGS", "PYTHONSTARTUP", "PYTHONINSPECT",
      "PYTHONHOME", "PYTHONEXECUTABLE", "PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONVERBOSE", "PYTHONDEVMODE",
      "PYTHONPROFILEIMPORTTIME", "__PYVENV_LAUNCHER__"}; // of the application, and of its Python
  final Sidecar sidecar;
  final ExecutorService pool; // its own: Py4J remembers in each thread what classes have, by their names
  private volatile Function enable;
  private volatile String token, proof;
  private volatile boolean over;
  private final CountDownLatch gone = new CountDownLatch(1);
  private volatile Process process;
  private volatile JavaServer server;
  private volatile Future stuck; // an answer that was waited for in vain
  private volatile int code; // with which it ended
  private volatile String last = ""; // that it said

  PythonProcess(Sidecar given) {
    sidecar = given;
    pool = Executors.newCachedThreadPool(new ThreadFactory() {
      public Thread newThread(Runnable work) {
        return sidecar.daemon(work);
      }
    });
  }

  boolean isReady() {
    return enable != null && !over;
  }

  boolean wasReady() {
    return enable != null;
  }

  boolean isOver() {
    return over;
  }

  /** Waits a moment for its end, which may be why it has not answered. */
  void awaitEnd() {
    try {
      gone.await(PATIENCE, TimeUnit.MILLISECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns whether a signal ended it. */
  boolean wasKilled() {
    return code > 128;
  }

  /** Returns whether somebody waits for an answer in vain: then nobody else begins to. */
  boolean isStuck() {
    Future waiting = stuck;
    return waiting != null && !waiting.isDone();
  }

  void stick(Future answer) {
    stuck = answer;
    Log.warn("its Python does not answer; no query waits for it until it does");
  }

  /** Returns whether it answers at all, asking for no session, from a thread that nobody else waits for. */
  boolean answers() throws InterruptedException {
    if (over || isStuck()) {
      return false;
    }
    FutureTask asked = new FutureTask(new Callable() {
      public Object call() {
        return enable("");
      }
    });
    sidecar.daemon(asked).start();
    try {
      asked.get(ANSWERED, TimeUnit.SECONDS);
      return true;
    } catch (TimeoutException error) {
      stick(asked);
    } catch (ExecutionException error) { // nothing that it says
    }
    return false;
  }

  /** Returns how long a look at a text that is no query's may take. */
  long nanos() {
    try {
      return (long) ((Double.parseDouble(sidecar.conf.get(Bounded.TIMEOUT, "10").trim()) + Bounded.MORE) * 1e9);
    } catch (NumberFormatException error) { // Python says so
      return (long) ((10 + Bounded.MORE) * 1e9);
    }
  }

  /** Runs the process to its end. Returns the last line that it wrote, or how it ended. */
  String served(String python) throws Exception {
    String secret = secret(), other = secret();
    InetAddress loopback = InetAddress.getByAddress(LOOPBACK);
    Callbacks callbacks = new Callbacks(null, 0, loopback, null, other);
    server = new JavaServer(this, 0, 0, 0, null, callbacks, secret);
    callbacks.setGateway(server.getGateway());
    callbacks.setJavaServer(server);
    server.start(true); // its threads are daemons, as this one is
    // -P: nothing that lies in the folder of the application, which may be anybody's
    ProcessBuilder builder = new ProcessBuilder(new String[] {python, "-P", "-m", "metaindex.spark.optimizer.sidecar"});
    Map environment = builder.environment();
    for (int i = 0; i < FOREIGN.length; i++) {
      environment.remove(FOREIGN[i]);
    }
    environment.put("PYSPARK_GATEWAY_PORT", String.valueOf(server.getListeningPort()));
    environment.put("PYSPARK_GATEWAY_SECRET", secret);
    environment.put("METAINDEX_CALLED_WITH", other);
    environment.put("PYSPARK_PIN_THREAD", "true");
    environment.put("PYTHONSAFEPATH", "1"); // for what it starts itself
    environment.put("METAINDEX_SPARK_VERSION", sidecar.context.version());
    environment.put("METAINDEX_SPARK_PYTHONPATH", PythonUtils.sparkPythonPath());
    String workers = sidecar.conf.get("spark.pyspark.python", "").trim();
    if (!workers.isEmpty()) {
      environment.put("PYSPARK_PYTHON", workers);
    }
    process = builder.redirectErrorStream(true).start();
    if (over) { // the application has ended meanwhile
      process.destroyForcibly();
    }
    Thread reading = sidecar.daemon(new Runnable() {
      public void run() {
        read();
      }
    });
    reading.start();
    code = process.waitFor();
    over = true;
    gone.countDown();
    reading.join(PATIENCE); // no longer: what it has started itself may hold the stream open
    if (code == 2 && last.startsWith("Try `python -h'")) {
      return "it is older than Python 3.11";
    }
    return last.isEmpty() || enable != null || wasKilled() ? "exit code " + code : last;
  }

  private static String secret() {
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    StringBuilder hex = new StringBuilder();
    for (int i = 0; i < secret.length; i++) {
      hex.append(Integer.toHexString((secret[i] & 0xff) | 0x100).substring(1));
    }
    return hex.toString();
  }

  /** Logs its lines once it is ready; before, keeps the last one, which says what is wrong. */
  void read() {
    byte[] piece = new byte[8192];
    ByteArrayOutputStream line = new ByteArrayOutputStream();
    try {
      InputStream stream = process.getInputStream();
      for (int got = stream.read(piece); got >= 0; got = stream.read(piece)) {
        for (int i = 0; i < got; i++) {
          if (piece[i] == '\n') {
            said(line.toString("UTF-8").trim());
            line.reset();
          } else if (line.size() < LINE) {
            line.write(piece[i]);
          }
        }
      }
    } catch (IOException error) { // the stream is closed, as the process has ended
      last = last.isEmpty() ? String.valueOf(error.getMessage()) : last;
    }
  }

  private void said(String line) {
    last = line.isEmpty() ? last : line;
    if (enable != null && !line.isEmpty()) {
      Log.python(line);
    }
  }

  void close() {
    over = true;
    Process running = process;
    if (running != null) {
      running.destroyForcibly(); // also one that is stopped, and hears nothing else
    }
    if (server != null) {
      server.shutdown();
    }
    pool.shutdown();
  }

  /** Returns its answer without the proof that it is its own; null if that is missing. */
  Object proved(Object answer) {
    String said = String.valueOf(answer);
    String sign = proof + '\n';
    if (proof != null && said.startsWith(sign)) {
      return said.substring(sign.length());
    }
    if (!over) {
      Log.warn("somebody else than its Python answers at its port");
    }
    return null;
  }

  /** Returns its answer about a session; "": it has metaindex. */
  String enable(String number) {
    try {
      Object said = proved(enable.apply(token + '\n' + number));
      if (said == null) {
        awaitEnd();
      }
      return said == null ? "its Python has not answered" : (String) said;
    } catch (RuntimeException error) {
      awaitEnd();
      return "a session could not be given to its Python: " + error;
    }
  }

  public String protocol() {
    return PROTOCOL;
  }

  public Object context() {
    return JavaSparkContext.fromSparkContext(sidecar.context);
  }

  /** Returns the session of a number; null if it is gone. */
  public Object session(String number) {
    Member one = sidecar.member(number);
    return one == null ? null : one.session();
  }

  /** From now on sessions are enabled by this, by their numbers behind the token; `proof` begins all answers. */
  public void ready(Function enable, String token, String proof) {
    this.token = token;
    this.proof = proof;
    this.enable = enable;
    sidecar.told();
  }

  /** Takes the reason why it will not serve. */
  public void refuse(String why) {
    sidecar.off(why);
  }

  /** Returns the function with a limit on its waiting time. */
  public Function bounded(Function python, String number) {
    return new Bounded(this, python, sidecar.member(number));
  }

  /** Returns the function for statements, which take as long as they take while the process answers others. */
  public Function statements(Function python) {
    return new Statements(this, python);
  }

  /** Returns whether another process of this kind, which has ended, has put this rule into a session. */
  public boolean hasEnded(Object rule) {
    try {
      Object python = rule.getClass().getField("python").get(rule);
      return python instanceof Bounded && ((Bounded) python).process != this;
    } catch (Exception error) { // a rule of another metaindex
      return false;
    }
  }
}
