package metaindex;

/**
 * Until when the work of these classes is waited for, in a thread: whoever begins it says so, and every turn of every
 * loop looks, so that no walk of theirs can hold up a query, whatever its plan is and whatever is wrong with them.
 * Spark's own walks, which ask them node by node, are ended the same way.
 */
public class Deadline {
  private static final int TURNS = 64; // between two looks at the clock
  private static final ThreadLocal UNTIL = new ThreadLocal();
  private final Deadline before;
  private long end;
  private int turns; // of loops

  private Deadline(long end) {
    this.end = end;
    before = (Deadline) UNTIL.get();
  }

  /** From now on, in this thread, until this is `over`. */
  static Deadline in(long nanos) {
    Deadline made = new Deadline(System.nanoTime() + nanos);
    UNTIL.set(made);
    return made;
  }

  int turns() {
    return turns;
  }

  void over() {
    if (before == null) {
      UNTIL.remove();
    } else {
      UNTIL.set(before);
    }
  }

  /** What took so long since a moment was not the work of these classes. */
  void pausedSince(long moment) {
    end += System.nanoTime() - moment;
  }

  static void look() {
    Deadline now = (Deadline) UNTIL.get();
    if (now != null && ++now.turns % TURNS == 0 && System.nanoTime() - now.end > 0) {
      throw new TooLate();
    }
  }

  /**
   * Nobody waits any more. Not an Exception: nothing is wrong with an index, and whoever does without a failed one must
   * not go on with the next.
   */
  public static class TooLate extends Error {
    public String toString() {
      return "a plan was not worked through in time";
    }
  }
}
