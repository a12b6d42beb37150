package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.internal.SQLConf;

/**
 * A scan that leaves files out once the query runs: those that an index proves to hold none of the keys of other sides
 * of joins. If anything goes wrong, or takes too long, it leaves none out.
 */
public class RuntimeFilter {
  private static final int SHOWN = 3, TWICE = 2;
  final ScanSite one; // whose own filters were asked when the query was planned
  final List keys = new ArrayList(); // Key
  private final Running running;
  final int mostKeys;
  final double seconds;
  private final long leastBytes, aFile;
  private volatile String told = "", by = ""; // what happened last, and which indexes did it, for people
  private volatile int files = -1, left = -1; // that were listed, and left out; -1: that is not known

  RuntimeFilter(ScanSite one, Running running, JsonNode said) {
    this.one = one;
    this.running = running;
    mostKeys = said.get("keys").asInt();
    seconds = said.get("seconds").asDouble();
    leastBytes = said.get("scan_bytes").asLong();
    aFile = SQLConf.get().filesOpenCostInBytes();
  }

  /** Returns whether so much has to be read that asking is little; opening a file counts as so many bytes. */
  boolean isWorthAsking(int files, long bytes) {
    boolean worth = files > 1 && bytes + files * aFile >= leastBytes;
    if (!worth) {
      this.files = -1; // of the run before
      left = -1;
      told = "no keys were asked for, as it is " + (files == 1 ? "one file" : "little");
    }
    return worth;
  }

  /** One key of one join. `marker`: of the expression that brings its values; null: a query of its own does. */
  static class Key {
    final Attribute column;
    final ExprId marker;
    final KeyQuery query;

    Key(Attribute column, ExprId marker, KeyQuery query) {
      this.column = column;
      this.marker = marker;
      this.query = query;
    }
  }

  void add(Attribute column, ExprId marker, KeyQuery query) {
    keys.add(new Key(column, marker, query));
  }

  /** The key that an expression brings; null: none. */
  Key key(ExprId marker) {
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      if (marker.equals(((Key) keys.get(i)).marker)) {
        return (Key) keys.get(i);
      }
    }
    return null;
  }

  boolean names(Attribute column) {
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      if (((Key) keys.get(i)).column.exprId().equals(column.exprId())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Path in normal form to sign (`Scan.listed`) of the files that hold none of the keys; null: no row of the scan can
   * have a key, whatever file it is in. `values`: of each key (in the order of `keys`) its Values, or null where it
   * brought none.
   */
  Map dropped(List values) {
    by = ""; // of the run before
    List conditions = new ArrayList();
    StringBuilder said = new StringBuilder();
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      KeyValues found = (KeyValues) values.get(i);
      if (found == null) {
        continue;
      }
      said.append(said.length() == 0 ? "" : ", ").append(found.told()).append(" of ")
          .append(((Key) keys.get(i)).column.name());
      if (found.isEmpty()) {
        told = said.toString();
        return null;
      }
      conditions.add(found.condition(((Key) keys.get(i)).column));
    }
    told = said.length() == 0 ? "no keys came" : said.toString();
    if (conditions.isEmpty()) {
      return new HashMap();
    }
    Reply reply = running.ask(one, conditions, seconds);
    JsonNode dropped = reply == null ? null : reply.part(0, "dropped");
    if (dropped == null) {
      return new HashMap();
    }
    by = reply.part(0, "by").asText();
    return Reply.files(dropped);
  }

  /** Returns the deadline of work on keys, which its loops check. */
  Deadline deadline() {
    return Deadline.in((long) (TWICE * seconds * 1e9)); // waiting for keys has its own limit
  }

  /** Counts an error; the scan reads every file. */
  void failed(Throwable error) {
    told = running.failed(error);
  }

  void done(int listed, int kept) {
    files = listed;
    left = listed - kept;
    running.done(left);
  }

  /** Describes for people what came of it when the scan ran. */
  String said() {
    String who = left > 0 && !by.isEmpty() ? " by " + by : "";
    return files < 0 ? told : told + " left " + left + " of " + files + " files out" + who;
  }

  /** For plans. */
  String label() {
    StringBuilder names = new StringBuilder();
    for (int i = 0; i < keys.size() && i < SHOWN; i++) {
      Deadline.look();
      names.append(i == 0 ? "" : ", ").append(((Key) keys.get(i)).column.name());
    }
    return "fewer by joins on " + names + (keys.size() > SHOWN ? ", ..." : "");
  }
}
