package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * The row groups that are left of some files, by their bytes: nothing else of these files is read. Spark reads files in
 * parts that are cut anywhere, and of a part the row groups whose middle lies in it, so a part may be one row group.
 */
class RowGroups {
  private final Map signs = new HashMap(); // of the files, by their paths
  private final Map spans = new HashMap(); // String: first byte and end of each row group, ascending
  final String label;

  /** Of files that nobody replaces: where one lies is known before a task opens it. */
  RowGroups(JsonNode groups) {
    String[] files = Reply.unpacked(groups);
    int left = 0;
    for (int i = 0; i + 2 < files.length; i += 3) {
      Deadline.look();
      signs.put(files[i], files[i + 1]);
      spans.put(files[i], files[i + 2]);
      left += spans(files[i]).length / 2;
    }
    label = left == 1 ? "1 row group" : left + " row groups";
  }

  /** Returns the bytes of what is left of a file; null: all of it, as it is not listed as it is known. */
  long[] of(String path, String sign) {
    return Facts.match(signs.get(path), sign) ? spans(path) : null;
  }

  private long[] spans(String path) {
    String[] said = ((String) spans.get(path)).split(" ");
    long[] found = new long[said.length];
    for (int i = 0; i < found.length; i++) {
      Deadline.look();
      found[i] = Long.parseLong(said[i]);
    }
    return found;
  }

  /** Puts the parts of a split that are read into `kept`: a row group whole, where its middle lies. */
  void cut(PartitionedFile split, List kept) {
    long[] spans = of(Nodes.normal(split.toPath().toUri()), split.fileSize() + ":" + split.modificationTime());
    if (spans == null) {
      kept.add(split);
      return;
    }
    long end = split.start() + split.length(), from = -1, to = -1;
    for (int i = 0; i < spans.length; i += 2) {
      Deadline.look();
      long middle = spans[i] + (spans[i + 1] - spans[i]) / 2;
      if (middle < split.start() || middle >= end) {
        continue;
      }
      if (spans[i] != to) {
        add(split, from, to, kept);
        from = spans[i];
      }
      to = spans[i + 1];
    }
    add(split, from, to, kept);
  }

  private static void add(PartitionedFile of, long from, long to, List out) {
    if (from < to) {
      out.add(of.copy(of.partitionValues(), of.filePath(), from, to - from, of.locations(), of.modificationTime(),
          of.fileSize(), of.otherConstantMetadataColumnValues()));
    }
  }

  public boolean equals(Object other) {
    return other instanceof RowGroups && ((RowGroups) other).signs.equals(signs)
        && ((RowGroups) other).spans.equals(spans);
  }

  public int hashCode() {
    return signs.hashCode() * 31 + spans.hashCode();
  }
}
