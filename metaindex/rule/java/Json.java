package metaindex;

import java.time.LocalDate;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Like;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** Catalyst's expressions as the JSON that `metaindex.expressions.engines.spark_json` reads: nodes in pre-order, values exact. */
public class Json {
  public static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char one = text.charAt(i);
      if (one == '"' || one == '\\') {
        out.append('\\').append(one);
      } else if (one < 32 || one > 126) {
        out.append(String.format("\\u%04x", new Object[] {Integer.valueOf(one)}));
      } else {
        out.append(one);
      }
    }
    return out.append('"').toString();
  }

  /** A list of nodes. Attributes of other plans than the scan's, and of texts that are compared by a collation, are nodes of a class that nobody knows. */
  public static void expression(Expression root, AttributeSet scan, StringBuilder out) {
    out.append('[');
    node(root, scan, out);
    out.append(']');
  }

  private static void node(Expression one, AttributeSet scan, StringBuilder out) {
    boolean foreign = one instanceof Attribute && (!scan.contains((Attribute) one) || collated(one.dataType()));
    out.append("{\"class\":").append(quoted(foreign ? "metaindex.Foreign" : one.getClass().getName()));
    out.append(",\"num-children\":").append(one.children().size());
    if (one instanceof AttributeReference && !foreign) {
      out.append(",\"name\":").append(quoted(((AttributeReference) one).name()));
      out.append(",\"dataType\":").append(one.dataType().json());
      out.append(",\"metadata\":").append(((AttributeReference) one).metadata().json());
    } else if (one instanceof GetStructField) {
      out.append(",\"ordinal\":").append(((GetStructField) one).ordinal());
    } else if (one instanceof Cast) {
      out.append(",\"dataType\":").append(one.dataType().json());
    } else if (one instanceof Literal) {
      out.append(",\"dataType\":").append(one.dataType().json()).append(',');
      value(((Literal) one).value(), one.dataType(), out);
    } else if (one instanceof InSet) {
      DataType type = ((Expression) ((InSet) one).children().head()).dataType();
      out.append(",\"values\":[");
      scala.collection.Iterator members = ((InSet) one).hset().iterator();
      for (boolean first = true; members.hasNext(); first = false) {
        out.append(first ? "{" : ",{");
        value(members.next(), type, out);
        out.append('}');
      }
      out.append(']');
    } else if (one instanceof Like) {
      out.append(",\"escape\":").append(quoted(String.valueOf(((Like) one).escapeChar())));
    }
    out.append('}');
    scala.collection.Iterator children = one.children().iterator();
    while (children.hasNext()) {
      out.append(',');
      node((Expression) children.next(), scan, out);
    }
  }

  /** Are its texts equal, or in order, by another rule than that of their bytes? Their JSON does not say so. */
  static boolean collated(DataType type) {
    return type.sql().contains("COLLATE");
  }

  private static void value(Object value, DataType type, StringBuilder out) {
    if (value == null) {
      out.append("\"value\":null");
    } else if (type instanceof BinaryType) {
      StringBuilder hex = new StringBuilder();
      byte[] bytes = (byte[]) value;
      for (int i = 0; i < bytes.length; i++) {
        hex.append(String.format("%02x", new Object[] {Byte.valueOf(bytes[i])}));
      }
      out.append("\"value\":\"\",\"hex\":\"").append(hex).append('"');
    } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      out.append("\"value\":\"\",\"micros\":").append(value);
    } else if (type instanceof DateType) {
      out.append("\"value\":").append(quoted(LocalDate.ofEpochDay(((Number) value).longValue()).toString()));
    } else {
      out.append("\"value\":").append(quoted(value.toString()));
    }
  }
}
