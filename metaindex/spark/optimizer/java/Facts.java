package metaindex;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The files on whose bytes a part of a plan rests, as they were when that was made. A plan is run again and again (a
 * DataFrame keeps its own), and long after it was made: local files are looked at whenever Spark sends a stage of it.
 * Objects of a store are not, as each look is a request: of them nothing is taken for granted after a while.
 *
 * Where other rows stand in a plan for those of the files (`instead`), tasks that see different things lose rows or
 * double them, and a run may be several jobs (`toLocalIterator`, `take`), as plans and RDDs may be run again, in part.
 * So tasks go by what was seen when the first of their query was sent; without a query, when a run began that gives all
 * rows anew (`SentStage`).
 */
class Facts {
  // Whatever is done to a file changes one of them; three microseconds a file.
  private static final String LOOKED_AT = "unix:ino,ctime";
  private static final String GONE = "gone";
  private static final int QUERIES = 1000; // most that are known
  private static final long SECOND = 1000L * 1000 * 1000, WHILE = 60 * SECOND; // nanoseconds
  private final String[] paths, signs;
  private final boolean remote; // is any of them in a store?
  final boolean instead;
  private final long since = System.nanoTime();
  final WeakIdentitySet sent = new WeakIdentitySet(); // StageInfo
  private final Map seen = new LinkedHashMap(); // String to Boolean: of a query (null: of none), what its tasks go by
  private boolean asked, held; // what tasks go by that are sent now, once any were
  private volatile boolean failed; // for good: the bytes that were proved are gone

  private Facts(List paths, List signs, boolean remote, boolean instead) {
    this.remote = remote;
    this.instead = instead;
    this.paths = (String[]) paths.toArray(new String[0]);
    this.signs = (String[]) signs.toArray(new String[0]);
  }

  /** Returns those of files, path to sign; null: of none. */
  static Facts of(Map files, boolean instead) {
    List paths = new ArrayList(), signs = new ArrayList();
    for (Iterator each = files.entrySet().iterator(); each.hasNext(); ) {
      Deadline.look();
      Map.Entry file = (Map.Entry) each.next();
      if (!((String) file.getKey()).startsWith("//")) {
        paths.add(file.getKey());
        signs.add(file.getValue());
      }
    }
    return files.isEmpty() ? null : new Facts(paths, signs, paths.size() < files.size(), instead);
  }

  /**
   * Returns whether a file is listed as it is known: by size and time, which are all that Spark lists. Of local files
   * more is known behind them (`replies.signs`).
   */
  static boolean match(Object known, Object listed) {
    return known != null && listed != null
        && (known.equals(listed) || ((String) known).startsWith(listed + ":"));
  }

  /** Notes that somebody reads the files, as he does not look. */
  void unseen() {
    failed = failed || instead;
  }

  /** Looks whether the files are as they were; a second at most, as Spark waits for it. */
  private void look() {
    failed = failed || remote && System.nanoTime() - since > WHILE;
    Deadline deadline = Deadline.in(SECOND);
    try {
      for (int i = 0; i < paths.length && !failed; i++) {
        Deadline.look();
        failed = !signs[i].endsWith(now(paths[i]));
      }
    } catch (Deadline.TooLate late) {
      failed = true;
    } finally {
      deadline.over();
    }
  }

  /** Returns what tasks go by that are sent now. */
  synchronized boolean hold() {
    return instead && asked ? held : !failed;
  }

  /**
   * Looks, as a stage is sent; null: any. `first`: of its RDD. Fails where another one runs whose tasks go by something
   * else.
   */
  synchronized void sent(SentStage stage, boolean first) {
    look();
    held = asked ? held : !failed;
    asked = true;
    if (stage == null || stage.attempt == null) {
      return;
    }
    sent.add(stage.attempt);
    boolean begins = stage.query == null && (stage.whole || first) || !seen.containsKey(stage.query);
    boolean now = begins ? !failed : ((Boolean) seen.get(stage.query)).booleanValue();
    if (now != held && stage.beside) {
      throw new IllegalStateException("files were replaced while another query reads their rows: run this one again");
    }
    held = now;
    seen.put(stage.query, Boolean.valueOf(held));
    if (!stage.results) {
      seen.put(null, Boolean.valueOf(held)); // if outputs are lost
    }
    if (seen.size() > QUERIES) {
      seen.remove(seen.keySet().iterator().next());
    }
  }

  /** Returns the end of its sign. */
  private static String now(String path) {
    try {
      Map seen = Files.readAttributes(FileSystems.getDefault().getPath(path, new String[0]), LOOKED_AT,
          new LinkOption[0]);
      return ":" + seen.get("ino") + "-" + ((FileTime) seen.get("ctime")).to(TimeUnit.NANOSECONDS);
    } catch (IOException error) {
      return GONE;
    } catch (RuntimeException error) {
      return GONE; // it has a name, or a disk, that cannot be looked at
    }
  }
}
