package metaindex;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.Set;

/**
 * A set of objects by identity, for as long as somebody else holds them: what equals another, or is changed later, is
 * still itself. For threads.
 */
public class WeakIdentitySet {
  private final Set held = new HashSet();
  private final ReferenceQueue gone = new ReferenceQueue();

  public synchronized void add(Object one) {
    for (Reference old = gone.poll(); old != null; old = gone.poll()) {
      Deadline.look();
      held.remove(old);
    }
    held.add(new Mark(one, gone));
  }

  public synchronized boolean has(Object one) {
    return held.contains(new Mark(one, null));
  }

  static class Mark extends WeakReference {
    private final int hash;

    Mark(Object one, ReferenceQueue gone) {
      super(one, gone);
      hash = System.identityHashCode(one);
    }

    public int hashCode() {
      return hash;
    }

    public boolean equals(Object other) {
      if (this == other) {
        return true;
      }
      Object mine = get();
      return mine != null && other instanceof Mark && mine == ((Mark) other).get();
    }
  }
}
