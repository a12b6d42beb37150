package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/** What metaindex answered: for some of the scans asked, the files that are proved to hold no matching row, by full identity. */
public class Reply {
  private final JsonNode answers;

  public Reply(String text) {
    try {
      answers = new ObjectMapper().readTree(text);
    } catch (Exception error) {
      throw new IllegalArgumentException("the reply is no JSON: " + error, error);
    }
  }

  public boolean has(int id) {
    return answers.has(String.valueOf(id));
  }

  public String label(int id) {
    return answers.get(String.valueOf(id)).get("label").asText();
  }

  /** Path in normal form (Scans.normal) to its identity, "size" or "size:modified_ms". */
  public Map dropped(int id) {
    try {
      byte[] packed = Base64.getDecoder().decode(answers.get(String.valueOf(id)).get("dropped").asText());
      byte[] text = new GZIPInputStream(new ByteArrayInputStream(packed)).readAllBytes();
      String[] parts = new String(text, "UTF-8").split("\0", -1);
      Map dropped = new HashMap(parts.length);
      for (int i = 0; i + 1 < parts.length; i += 2) {
        dropped.put(parts[i], parts[i + 1]);
      }
      return dropped;
    } catch (Exception error) {
      throw new IllegalArgumentException("the reply's files cannot be read: " + error, error);
    }
  }
}
