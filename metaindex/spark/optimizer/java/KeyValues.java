package metaindex;

import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * The distinct values of a key without NULL, which equals nothing: one by one, or beyond a limit the least and the
 * greatest of them.
 */
class KeyValues {
  private final Set each; // null: there are more than the limit
  private final Object least, greatest;
  private final DataType type;

  private KeyValues(Set each, Object least, Object greatest, DataType type) {
    this.each = each;
    this.least = least;
    this.greatest = greatest;
    this.type = type;
  }

  /**
   * Returns whether the index compares equal values of the type like Spark's `=`. Floats are not among them: NaN equals
   * NaN and -0.0 equals 0.0 in joins; nor are texts with a collation, nor those that are padded.
   */
  static boolean has(DataType type) {
    return type instanceof BooleanType || type instanceof ByteType || type instanceof ShortType
        || type instanceof IntegerType || type instanceof LongType || type instanceof DecimalType
        || type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType
        || type instanceof BinaryType || type.getClass() == StringType.class && !Expressions.collated(type)
        || type.getClass().getName().equals("org.apache.spark.sql.types.StringType$") && !Expressions.collated(type);
  }

  /** Spark's own values, some of them NULL or there twice. */
  static KeyValues of(Object[] values, DataType type, int most) {
    Set each = new HashSet();
    scala.math.Ordering order = TypeUtils.getInterpretedOrdering(type);
    Object least = null, greatest = null;
    for (int i = 0; i < values.length; i++) {
      Deadline.look();
      Object one = values[i];
      if (one != null) {
        if (each != null) {
          each.add(one);
          each = each.size() > most ? null : each;
        }
        least = least == null || order.compare(one, least) < 0 ? one : least;
        greatest = greatest == null || order.compare(one, greatest) > 0 ? one : greatest;
      }
    }
    return new KeyValues(each, least, greatest, type);
  }

  static KeyValues between(Object least, Object greatest, DataType type) {
    return new KeyValues(least == null ? new HashSet() : null, least, greatest, type);
  }

  boolean isEmpty() {
    return least == null && (each == null || each.isEmpty());
  }

  /** Returns a condition that is true of each row with one of the keys. */
  Expression condition(Attribute column) {
    if (each != null) {
      return new InSet(column, Scala.set(each));
    }
    return new And(new GreaterThanOrEqual(column, new Literal(least, type)),
        new LessThanOrEqual(column, new Literal(greatest, type)));
  }

  String told() {
    return each != null ? each.size() + (each.size() == 1 ? " key" : " keys") : "the range of the keys";
  }
}
