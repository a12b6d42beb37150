package metaindex;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;

/** JSON to Python and back, by Spark's own Jackson. In plain ASCII: half of a surrogate pair gets through as it is. */
class Json {
  private static final ObjectMapper MAPPER = new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);

  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  static ArrayNode array() {
    return MAPPER.createArrayNode();
  }

  static String text(JsonNode node) {
    try {
      return MAPPER.writeValueAsString(node);
    } catch (Exception error) {
      throw new IllegalStateException("a request cannot be written: " + error, error);
    }
  }

  static JsonNode read(String text) {
    try {
      return MAPPER.readTree(text);
    } catch (Exception error) {
      throw new IllegalArgumentException("the reply is no JSON: " + error, error);
    }
  }

  /** Wraps what Spark has as JSON already. */
  static RawValue raw(String json) {
    return new RawValue(json);
  }

  static RawValue type(DataType type) {
    return raw(type.json());
  }

  /** Returns what is set in a session under some names. */
  static ObjectNode settings(SQLConf conf, Names names) {
    ObjectNode out = object();
    Map all = conf.settings();
    synchronized (all) {
      for (Iterator each = all.entrySet().iterator(); each.hasNext(); ) {
        Deadline.look();
        Map.Entry one = (Map.Entry) each.next();
        if (names.has((String) one.getKey())) {
          out.put((String) one.getKey(), (String) one.getValue());
        }
      }
    }
    return out;
  }

  /** Chooses some of a session's settings. */
  interface Names {
    boolean has(String name);
  }
}
