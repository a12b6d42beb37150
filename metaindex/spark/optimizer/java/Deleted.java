package metaindex;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.util.collection.BitSet;

/**
 * Deleted rows of an index, each run << runShift | file << fileShift | row. Those of a run also as a mask: a bit for
 * each row of the files that have such, up to the last. A repeated answer is the same object, so that equal scans stay
 * equal and exchanges are reused.
 */
class Deleted {
  private static final int HELD = 4;
  private static final Map held = new LinkedHashMap(); // by what the reply says, the oldest first

  final long[] places;
  private final int runShift, fileShift;
  private final Map masks = new HashMap();

  private Deleted(String[] texts, int runShift, int fileShift) {
    this.runShift = runShift;
    this.fileShift = fileShift;
    places = new long[texts.length];
    for (int i = 0; i < places.length; i++) {
      Deadline.look();
      places[i] = Long.parseLong(texts[i]);
    }
    Arrays.sort(places);
  }

  static Deleted of(com.fasterxml.jackson.databind.JsonNode reply) {
    if (!reply.has("deleted")) {
      return new Deleted(new String[0], 0, 0);
    }
    String said = reply.get("run_shift") + " " + reply.get("file_shift") + " " + reply.get("deleted").asText();
    synchronized (held) {
      Deleted found = (Deleted) held.remove(said);
      if (found == null) {
        found = new Deleted(Reply.unpacked(reply.get("deleted")), reply.get("run_shift").asInt(),
            reply.get("file_shift").asInt());
      }
      held.put(said, found);
      Iterator oldest = held.keySet().iterator();
      while (held.size() > HELD) {
        Deadline.look();
        oldest.next();
        oldest.remove();
      }
      return found;
    }
  }

  /** Returns those of a run, or (null) of all. */
  long[] of(Integer run) {
    if (run == null || places.length == 0) {
      return places;
    }
    return Arrays.copyOfRange(places, from((long) run.intValue() << runShift),
        from((long) (run.intValue() + 1) << runShift));
  }

  private int from(long place) {
    int found = Arrays.binarySearch(places, place);
    return found >= 0 ? found : -found - 1;
  }

  /** Null: nothing of the run is deleted. */
  synchronized Mask mask(Integer run) {
    if (!masks.containsKey(run)) {
      long[] some = of(run);
      masks.put(run, some.length == 0 ? null : new Mask(some, runShift, fileShift));
    }
    return (Mask) masks.get(run);
  }

  /**
   * A mask of one run: the bit of a row is that at its file's `first` and its own number; of a file `last` is its last
   * deleted row, -1 if it has none.
   */
  static class Mask {
    final int[] first, last;
    final BitSet bits;

    Mask(long[] places, int runShift, int fileShift) {
      long files = (1L << (runShift - fileShift)) - 1, rows = (1L << fileShift) - 1;
      int count = (int) (places[places.length - 1] >> fileShift & files) + 1;
      first = new int[count];
      last = new int[count];
      Arrays.fill(last, -1);
      for (int i = 0; i < places.length; i++) {
        Deadline.look();
        last[(int) (places[i] >> fileShift & files)] = Math.toIntExact(places[i] & rows); // ascending
      }
      int size = 0;
      for (int i = 0; i < count; i++) {
        Deadline.look();
        first[i] = size;
        size = Math.addExact(size, last[i] + 1);
      }
      bits = new BitSet(size);
      for (int i = 0; i < places.length; i++) {
        Deadline.look();
        bits.set(first[(int) (places[i] >> fileShift & files)] + (int) (places[i] & rows));
      }
    }
  }
}
