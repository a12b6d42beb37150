package metaindex;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.LocalDate;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
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
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Catalyst's expressions as the JSON that `metaindex.expressions.engines.spark_json` reads: nodes in pre-order, values
 * exact. Attributes of other plans than the scan's, and of texts that are compared by a collation, and lists that are
 * too long to be told, are nodes of a class that nobody knows.
 */
class Expressions {
  private static final int MOST_MEMBERS = 100000; // of an IN: a million take some hundred megabytes, and too long

  static void conjuncts(Expression one, List out) {
    if (one instanceof And) {
      conjuncts((Expression) ((And) one).left(), out);
      conjuncts((Expression) ((And) one).right(), out);
    } else {
      out.add(one);
    }
  }

  /** The nodes of an expression, put behind those that a list has. */
  static void add(Expression one, AttributeSet scan, ArrayNode out) {
    boolean other = one instanceof Attribute && (!scan.contains((Attribute) one) || collated(one.dataType()));
    boolean foreign = other || !isTold(one);
    ObjectNode node = out.addObject();
    node.put("class", foreign ? "metaindex.Foreign" : one.getClass().getName());
    node.put("num-children", one.children().size());
    if (one instanceof AttributeReference && !foreign) {
      node.put("name", ((AttributeReference) one).name());
      node.putRawValue("dataType", Json.type(one.dataType()));
      node.putRawValue("metadata", Json.raw(((AttributeReference) one).metadata().json()));
    } else if (one instanceof GetStructField) {
      node.put("ordinal", ((GetStructField) one).ordinal());
    } else if (one instanceof Cast) {
      node.putRawValue("dataType", Json.type(one.dataType()));
    } else if (one instanceof Literal) {
      node.putRawValue("dataType", Json.type(one.dataType()));
      value(((Literal) one).value(), one.dataType(), node);
    } else if (one instanceof InSet && !foreign) {
      DataType type = ((Expression) ((InSet) one).children().head()).dataType();
      ArrayNode values = node.putArray("values");
      scala.collection.Iterator members = ((InSet) one).hset().iterator();
      while (members.hasNext()) {
        Deadline.look();
        value(members.next(), type, values.addObject());
      }
    } else if (one instanceof Like) {
      node.put("escape", String.valueOf(((Like) one).escapeChar()));
    }
    scala.collection.Iterator children = one.children().iterator();
    while (children.hasNext()) {
      Deadline.look();
      add((Expression) children.next(), scan, out);
    }
  }

  /** Returns whether its values can be written as text: not if they are too many, or bytes that Spark calls text. */
  private static boolean isTold(Expression one) {
    if (one instanceof Literal) {
      return isText(((Literal) one).value());
    }
    if (one instanceof InSet) {
      scala.collection.Iterator members = ((InSet) one).hset().iterator();
      boolean told = ((InSet) one).hset().size() <= MOST_MEMBERS;
      while (told && members.hasNext()) {
        Deadline.look();
        told = isText(members.next());
      }
      return told;
    }
    return true;
  }

  private static boolean isText(Object value) {
    return !(value instanceof UTF8String) || UTF8String.fromString(value.toString()).equals(value);
  }

  /** Returns whether its texts are compared by another rule than their bytes, which JSON does not show. */
  static boolean collated(DataType type) {
    return type.sql().contains("COLLATE");
  }

  private static void value(Object value, DataType type, ObjectNode out) {
    if (value == null) {
      out.putNull("value");
    } else if (type instanceof BinaryType) {
      StringBuilder hex = new StringBuilder();
      byte[] bytes = (byte[]) value;
      for (int i = 0; i < bytes.length; i++) {
        Deadline.look();
        hex.append(Character.forDigit(bytes[i] >> 4 & 15, 16)).append(Character.forDigit(bytes[i] & 15, 16));
      }
      out.put("value", "").put("hex", hex.toString());
    } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      out.put("value", "").put("micros", ((Number) value).longValue());
    } else if (type instanceof DateType) {
      out.put("value", LocalDate.ofEpochDay(((Number) value).longValue()).toString());
    } else {
      out.put("value", value.toString());
    }
  }
}
