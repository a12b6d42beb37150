package metaindex;

import java.lang.ref.WeakReference;
import java.lang.reflect.Constructor;
import java.util.Iterator;
import java.util.LinkedList;

/**
 * Delta's lists of kept files that may still stand in plans. The same object for the same files of a version, while a
 * plan holds it: Spark runs two scans as one where their lists are equal, which Delta's are by identity alone.
 */
class DeltaLists {
  private static final int HELD = 8;
  private final LinkedList made = new LinkedList();
  private Class named;
  private boolean isSought;

  Object of(Object prepared, Object scan, Object files) {
    Object log = Reflected.call(prepared, "deltaLog");
    String version = Reflected.call(prepared, "path") + "@"
        + Reflected.call(Reflected.call(scan, "scannedSnapshot"), "version");
    synchronized (made) {
      for (Iterator each = made.iterator(); each.hasNext(); ) {
        Deadline.look();
        Object[] one = (Object[]) each.next();
        Object held = ((WeakReference) one[0]).get();
        if (held == null) {
          each.remove();
        } else if (((WeakReference) one[1]).get() == log && one[2].equals(version)
            && Reflected.call(held, "addFiles").equals(files)) {
          return held;
        }
      }
      Object found = made(prepared, scan, files);
      made.addFirst(new Object[] {new WeakReference(found), new WeakReference(log), version});
      if (made.size() > HELD) {
        made.removeLast();
      }
      return found;
    }
  }

  private Object made(Object prepared, Object scan, Object files) {
    Class named = named();
    if (named == null) {
      return batch(prepared, scan, files);
    }
    Object[] values = {Reflected.call(prepared, "spark"), files, Reflected.call(prepared, "deltaLog"),
        Reflected.call(prepared, "path"), Reflected.call(scan, "scannedSnapshot"),
        Reflected.call(scan, "partitionFilters")};
    try {
      return named.getConstructors()[0].newInstance(values);
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /**
   * A class of ours, which is compiled when it is first asked for; null where Delta is not on the way of its loader, or
   * has a list of another shape.
   */
  private Class named() {
    if (!isSought) {
      isSought = true;
      try {
        named = Class.forName("metaindex.NamedFiles", true, DeltaLists.class.getClassLoader());
      } catch (ClassNotFoundException error) {
        named = null;
      } catch (LinkageError error) {
        named = null;
      }
    }
    return named;
  }

  private static Object batch(Object prepared, Object scan, Object files) {
    try {
      Class type = Class.forName("org.apache.spark.sql.delta.files.TahoeBatchFileIndex", true,
          prepared.getClass().getClassLoader());
      Constructor[] all = type.getConstructors();
      for (int i = 0; i < all.length; i++) {
        Deadline.look();
        Class[] types = all[i].getParameterTypes();
        if (types.length < 6) {
          continue;
        }
        Object[] values = new Object[types.length];
        values[0] = Reflected.call(prepared, "spark");
        values[1] = "batch";
        values[2] = files;
        values[3] = Reflected.call(prepared, "deltaLog");
        values[4] = Reflected.call(prepared, "path");
        values[5] = Reflected.call(scan, "scannedSnapshot");
        for (int j = 6; j < values.length; j++) {
          Deadline.look();
          values[j] = types[j] == boolean.class ? (Object) Boolean.FALSE : (Object) scala.None$.MODULE$;
        }
        return all[i].newInstance(values);
      }
      throw new IllegalStateException("Delta's list of files has another shape than this version of metaindex knows");
    } catch (RuntimeException error) {
      throw error;
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}
