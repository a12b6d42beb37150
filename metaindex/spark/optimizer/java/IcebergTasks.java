package metaindex;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;

/** The tasks left of an Iceberg scan. */
class IcebergTasks {
  private static final long UNIT = 1024L * 1024; // bytes of the parts of a file whose row groups Iceberg does not know
  final List before, kept = new ArrayList();
  private final Object scan;
  private boolean moved;
  private final WeakIdentitySet done;
  private final String note, label;
  private int sign;
  private RowGroups groups; // of the files that are left, that are read; null: all

  /** `label`, `sign`: said in plans of what is left; scans of other files have another sign. */
  IcebergTasks(Object scan, Map without, WeakIdentitySet done, String label, int sign) {
    this.scan = scan;
    this.done = done;
    this.label = label;
    this.sign = sign;
    this.before = (List) Reflected.call(scan, "tasks");
    for (int i = 0; i < before.size(); i++) {
      Deadline.look();
      Object file = Reflected.call(before.get(i), "file");
      Object proof = without.get(name(file));
      if (proof == null || !proof.equals(sign(file))) {
        kept.add(before.get(i));
      }
    }
    note = kept.size() + "/" + before.size() + " tasks";
    IcebergNames.runtimeFilters(scan);
  }

  static String name(Object file) {
    return Nodes.normal(new Path(String.valueOf(Reflected.call(file, "location"))).toUri());
  }

  /** Returns how many rows of a task's file are deleted; -1 if that is not counted. */
  static long deleted(Object task) {
    List deletes = (List) Reflected.call(task, "deletes");
    if (deletes.isEmpty()) {
      return 0;
    }
    Object only = deletes.get(0);
    boolean counted = deletes.size() == 1 && "PUFFIN".equals(String.valueOf(Reflected.call(only, "format")));
    return counted ? ((Number) Reflected.call(only, "recordCount")).longValue() : -1;
  }

  static String sign(Object file) {
    return Reflected.call(file, "fileSizeInBytes") + ":" + Reflected.call(file, "dataSequenceNumber");
  }

  /** Puts those of the files that are left first. */
  void first(Map files) {
    List others = new ArrayList();
    for (Iterator each = kept.iterator(); each.hasNext(); ) {
      Deadline.look();
      Object task = each.next(), file = Reflected.call(task, "file");
      if (!sign(file).equals(files.get(name(file)))) {
        others.add(task);
        each.remove();
      }
    }
    moved = !others.isEmpty() && !kept.isEmpty();
    kept.addAll(others);
  }

  /** Leaves out the other row groups of these files, too. */
  void narrow(RowGroups groups) {
    this.groups = groups;
    sign = sign * 31 + groups.hashCode();
  }

  void apply() {
    if (moved || kept.size() < before.size() || groups != null) {
      String more = groups == null ? "" : ", " + groups.label;
      mark(label + ": " + note + more + " #" + Integer.toHexString(sign));
      Reflected.invoke(scan, "resetTasks", new Object[] {kept});
    }
    done.add(scan);
    if (groups != null) {
      cut();
    }
  }

  /**
   * Leaves parts of files out of the groups of tasks that Iceberg makes, and keeps. It cuts files itself, where their
   * row groups begin, if it knows that: what meets a row group that is left is read.
   */
  private void cut() {
    List all = (List) Reflected.call(scan, "taskGroups"), fewer = new ArrayList();
    if (!((List) Reflected.call(Reflected.call(scan, "groupingKeyType"), "fields")).isEmpty()) {
      return; // somebody counts on them
    }
    try {
      Constructor made = Class.forName("org.apache.iceberg.BaseScanTaskGroup", true, scan.getClass().getClassLoader())
          .getConstructor(new Class[] {Collection.class});
      for (int i = 0; i < all.size(); i++) {
        Deadline.look();
        List tasks = new ArrayList();
        Iterator each = ((Collection) Reflected.call(all.get(i), "tasks")).iterator();
        while (each.hasNext()) {
          Deadline.look();
          tasks.addAll(parts(each.next()));
        }
        if (!tasks.isEmpty()) {
          fewer.add(made.newInstance(new Object[] {tasks}));
        }
      }
      all.clear();
      all.addAll(fewer);
    } catch (Exception error) {
      Reflected.invoke(scan, "resetTasks", new Object[] {kept}); // which makes the groups anew
    }
  }

  /** What is read of a task. */
  private List parts(Object task) throws Exception {
    Object file = Reflected.call(task, "file");
    long[] spans = groups.of(name(file), sign(file));
    List all = new ArrayList(), some = new ArrayList();
    all.add(task);
    Object whole = spans == null ? null : whole(file);
    if (whole == null) {
      return all;
    }
    long from = number(task, "start"), end = from + number(task, "length"), at = from;
    Iterator units = ((Iterable) Reflected.invoke(whole, "split", new Object[] {Long.valueOf(UNIT)})).iterator();
    while (units.hasNext()) {
      Deadline.look();
      Object unit = units.next();
      long start = number(unit, "start"), stop = start + number(unit, "length");
      if (stop <= from || start >= end) {
        continue;
      }
      if (start != at) {
        return all;
      }
      at = stop;
      Object last = some.isEmpty() ? null : some.get(some.size() - 1);
      if (!meets(spans, start, stop)) {
        continue;
      }
      if (last != null && Boolean.TRUE.equals(Reflected.invoke(last, "canMerge", new Object[] {unit}))) {
        some.set(some.size() - 1, Reflected.invoke(last, "merge", new Object[] {unit}));
      } else {
        some.add(unit);
      }
    }
    return at == end ? some : all;
  }

  private Object whole(Object file) {
    for (int i = 0; i < kept.size(); i++) {
      Deadline.look();
      if (Reflected.call(kept.get(i), "file") == file) {
        return kept.get(i);
      }
    }
    return null;
  }

  private static boolean meets(long[] spans, long start, long end) {
    for (int i = 0; i < spans.length; i += 2) {
      Deadline.look();
      if (spans[i] < end && spans[i + 1] > start) {
        return true;
      }
    }
    return false;
  }

  private static long number(Object task, String name) {
    return ((Number) Reflected.call(task, name)).longValue();
  }

  void undo() {
    Reflected.invoke(scan, "resetTasks", new Object[] {before});
  }

  /**
   * A filter that says what was left out, among those that Iceberg adds at run time: seen in plans, and two scans that
   * read other files are not equal.
   */
  private void mark(String note) {
    try {
      Class all = Class.forName("org.apache.iceberg.expressions.Expressions", true, scan.getClass().getClassLoader());
      Object marker = all.getMethod("equal", new Class[] {String.class, Object.class})
          .invoke(null, new Object[] {"metaindex", note});
      IcebergNames.runtimeFilters(scan).add(marker);
    } catch (Exception error) {
      throw new IllegalStateException("an Iceberg scan cannot be marked: " + error, error);
    }
  }
}
