package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.Base64;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal$;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** Values of a reply, as Spark has them in its rows: `rule.stored_values` writes them. */
class Values {
  static Object of(JsonNode said, DataType type) {
    if (said.isNull()) {
      return null;
    }
    String text = said.asText();
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) {
      return Long.valueOf(text); // microseconds
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.valueOf(text); // days
    }
    if (type instanceof ShortType) {
      return Short.valueOf(text);
    }
    if (type instanceof ByteType) {
      return Byte.valueOf(text);
    }
    if (type instanceof BooleanType) {
      return Boolean.valueOf(text);
    }
    if (type instanceof DoubleType) {
      return Double.valueOf(Double.longBitsToDouble(Long.parseLong(text)));
    }
    if (type instanceof FloatType) {
      return Float.valueOf((float) Double.longBitsToDouble(Long.parseLong(text)));
    }
    if (type instanceof DecimalType) {
      DecimalType of = (DecimalType) type;
      BigDecimal value = new BigDecimal(text);
      if (value.scale() > of.scale() || value.precision() - value.scale() > of.precision() - of.scale()) {
        throw new IllegalArgumentException("a decimal does not fit " + type.sql());
      }
      return Decimal$.MODULE$.apply(value, of.precision(), of.scale());
    }
    if (type instanceof StringType) {
      return UTF8String.fromString(text);
    }
    if (type instanceof BinaryType) {
      return Base64.getDecoder().decode(text);
    }
    throw new IllegalArgumentException("no values of " + type.sql() + " are told");
  }
}
