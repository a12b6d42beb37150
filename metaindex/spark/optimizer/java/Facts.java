package metaindex;

import java.io.IOException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Iterator;
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
 * So tasks go by what was seen when the first of them was sent, until another run begins that gives all rows anew
 * (`SentStage`).
 */
class Facts {
  // Whatever is done to a file changes one of them; three microseconds a file.
  private static final String LOOKED_AT = "unix:ino,ctime";
  private static final String GONE = "gone";
  private static final long SECOND = 1000L * 1000 * 1000, WHILE = 60 * SECOND; // nanoseconds
  private final String[] paths, signs;
  private final boolean remote; // is any of them in a store?
  final boolean instead;
  private final long since = System.nanoTime();
  private final Map sent = new IdentityHashMap(); // the lists of which a stage was sent in this run
  private boolean held; // what the run's tasks go by
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
    return instead && !sent.isEmpty() ? held : !failed;
  }

  /** Looks, as a stage of a list is sent. `anew`: where this list was sent before, another run begins. */
  synchronized void sent(Object list, boolean anew) {
    look();
    if (sent.isEmpty() || anew && sent.containsKey(list)) {
      sent.clear();
      held = !failed;
    }
    sent.put(list, list);
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
