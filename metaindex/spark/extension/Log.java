package metaindex.spark;

import java.util.HashSet;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One line for each thing that is wrong, said once. */
class Log {
  private static final Logger LOGGER = LoggerFactory.getLogger("metaindex");
  private static final int MOST = 100; // that are remembered, and said
  private static final Set TOLD = new HashSet();

  static void warn(String why) {
    synchronized (TOLD) {
      if (TOLD.size() >= MOST || !TOLD.add(why)) {
        return;
      }
    }
    LOGGER.warn("metaindex: queries are planned as without it: {}", why);
  }

  static void info(String said) {
    LOGGER.info("metaindex: {}", said);
  }

  /** What the process of Python logs. */
  static void python(String line) {
    LOGGER.warn("metaindex: {}", line);
  }
}
