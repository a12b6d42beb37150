package metaindex;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Values that broadcasts bring for one scan of a plan that runs. Another plan made of the same optimized one has its
 * own: its join may read other rows, if files were rewritten in place.
 */
class Arrivals {
  private final List brought = new ArrayList(); // WeakReference of Brought: those that the plan and its copies hold

  synchronized void tell(BroadcastKeys one) {
    for (int i = brought.size() - 1; i >= 0; i--) {
      Deadline.look();
      if (((WeakReference) brought.get(i)).get() == null) {
        brought.remove(i);
      }
    }
    brought.add(new WeakReference(one));
  }

  /** The values of a key, whatever copy has them; null: none came. */
  synchronized KeyValues of(RuntimeFilter.Key key, int most) {
    List every = new ArrayList();
    boolean any = false;
    for (int i = 0; i < brought.size(); i++) {
      Deadline.look();
      BroadcastKeys one = (BroadcastKeys) ((WeakReference) brought.get(i)).get();
      Object[] values = one == null || one.key != key ? null : one.values();
      for (int j = 0; values != null && j < values.length; j++) {
        Deadline.look();
        every.add(values[j]);
      }
      any = any || values != null;
    }
    return any ? KeyValues.of(every.toArray(), key.column.dataType(), most) : null;
  }
}
