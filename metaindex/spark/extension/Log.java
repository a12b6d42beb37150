package metaindex.spark;

import java.util.HashSet;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs one line for each thing that is wrong, once. */
class Log {
  private static final Logger LOGGER = LoggerFactory.getLogger("metaindex");
  private static final int MOST = 100; // that are remembered, and said
  private static final Set TOLD = new HashSet();
  private static long minute = System.nanoTime();
  private static int lines; // of Python's, in it

  static void warn(String why) {
    synchronized (TOLD) {
      if (TOLD.size() >= MOST || !TOLD.add(why)) {
        return;
      }
    }
    LOGGER.warn("metaindex: queries are planned as without it: {}", why);
  }

  /** Logs what happens more than once, and not often. */
  static void again(String what) {
    LOGGER.warn("metaindex: {}", what);
  }

  /** Passes on lines of the process of Python: at most so many in a minute. */
  static void python(String line) {
    synchronized (TOLD) {
      long now = System.nanoTime();
      if (now - minute > 60000000000L) {
        minute = now;
        lines = 0;
      }
      if (++lines > MOST) {
        return;
      }
    }
    LOGGER.warn("metaindex: {}", line);
    if (lines == MOST) {
      LOGGER.warn("metaindex: its Python says more than {} lines a minute; they are left out", String.valueOf(MOST));
    }
  }
}
