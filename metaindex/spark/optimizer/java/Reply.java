package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/**
 * The reply of metaindex: for some of the scans asked, the files that are proved to hold no matching row, by full
 * identity.
 */
public class Reply {
  private final JsonNode answers;

  public Reply(String text) {
    answers = Json.read(text);
  }

  /** Returns what a covering index gives in place of a scan; null if none does. */
  public JsonNode cover(int id) {
    return answers.has(String.valueOf(id)) ? answers.get(String.valueOf(id)).get("cover") : null;
  }

  /** Returns a part of an answer; null if it has none. */
  JsonNode part(int id, String name) {
    return answers.has(String.valueOf(id)) ? answers.get(String.valueOf(id)).get(name) : null;
  }

  /** Path in normal form to its sign (`Scan.listed`). */
  static Map files(JsonNode node) {
    String[] parts = unpacked(node);
    Map dropped = new HashMap(parts.length);
    for (int i = 0; i + 1 < parts.length; i += 2) {
      Deadline.look();
      dropped.put(parts[i], parts[i + 1]);
    }
    return dropped;
  }

  /** A list of texts: separated by NUL, gzip, base64. */
  static String[] unpacked(JsonNode node) {
    try {
      byte[] text = new GZIPInputStream(new ByteArrayInputStream(Base64.getDecoder().decode(node.asText())))
          .readAllBytes();
      return text.length == 0 ? new String[0] : new String(text, "UTF-8").split("\0", -1);
    } catch (Exception error) {
      throw new IllegalArgumentException("the reply's files cannot be read: " + error, error);
    }
  }
}
