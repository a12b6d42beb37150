package metaindex;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;

/** The tasks left of an Iceberg scan. */
class IcebergTasks {
  final List before, kept = new ArrayList();
  private final Object scan;
  private boolean moved;
  private final WeakIdentitySet done;
  private final String note, label;
  private final int sign;

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

  void apply() {
    if (moved || kept.size() < before.size()) {
      mark(label + ": " + note + " #" + Integer.toHexString(sign));
      Reflected.invoke(scan, "resetTasks", new Object[] {kept});
    }
    done.add(scan);
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
