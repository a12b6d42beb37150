package metaindex;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * Columns as Python sends them (`jvm.py`): texts as their lengths in bytes (-1: null) and then all their UTF-8, numbers
 * of 8 bytes with the least one for null, counts of 4 bytes.
 */
final class Columns {
  static final long NULL = Long.MIN_VALUE;
  private final DataInputStream in;

  Columns(byte[] sent) {
    in = new DataInputStream(new ByteArrayInputStream(sent));
  }

  int count() throws IOException {
    return in.readInt();
  }

  int[] counts(int count) throws IOException {
    int[] out = new int[count];
    for (int i = 0; i < count; i++) {
      out[i] = in.readInt();
    }
    return out;
  }

  String[] texts(int count) throws IOException {
    int[] lengths = counts(count);
    String[] out = new String[count];
    for (int i = 0; i < count; i++) {
      if (lengths[i] >= 0) {
        byte[] text = new byte[lengths[i]];
        in.readFully(text);
        out[i] = new String(text, StandardCharsets.UTF_8);
      }
    }
    return out;
  }

  long[] numbers(int count) throws IOException {
    long[] out = new long[count];
    for (int i = 0; i < count; i++) {
      out[i] = in.readLong();
    }
    return out;
  }
}
