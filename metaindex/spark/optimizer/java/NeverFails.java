package metaindex;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;

/**
 * Checks that a filter cannot fail on rows that the scan would not have read. A scan skips partitions and files before
 * a filter is asked, an index has their rows: a cast that fails on one of those would fail a query that succeeds. What
 * is not known never to fail is taken to fail. A filter of partitions that Spark adds for a join (dynamic pruning) asks
 * an index's rows one by one.
 */
class NeverFails {
  private static final Set NEVER_FAIL = new HashSet(Arrays.asList((
      "AttributeReference Literal EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan "
      + "GreaterThanOrEqual In InSet IsNull IsNotNull IsNaN And Or Not StartsWith EndsWith Contains Like "
      + "LikeAll LikeAny GetStructField Substring Upper Lower Length StringTrim StringTrimLeft "
      + "StringTrimRight Concat Coalesce If CaseWhen Year Month DayOfMonth Quarter ScalarSubquery "
      + "BloomFilterMightContain XxHash64 Murmur3Hash KnownNotNull KnownFloatingPointNormalized "
      + "NormalizeNaNAndZero DateAdd DateSub DynamicPruningSubquery").split(" ")));
  private static final Set FAIL_IN_ANSI = new HashSet(Arrays.asList(
      "Add Subtract Multiply Divide Remainder Pmod IntegralDivide UnaryMinus Abs".split(" ")));

  static boolean of(Expression one) {
    String name = one.getClass().getSimpleName();
    if (one instanceof Cast) {
      Cast cast = (Cast) one;
      if (cast.ansiEnabled() && !Cast.canUpCast(cast.child().dataType(), cast.dataType())) {
        return false;
      }
    } else if (FAIL_IN_ANSI.contains(name)) {
      if (failsOnError(one)) {
        return false;
      }
    } else if (!NEVER_FAIL.contains(name)) {
      return false;
    }
    scala.collection.Iterator children = one.children().iterator();
    while (children.hasNext()) {
      Deadline.look();
      if (!of((Expression) children.next())) {
        return false;
      }
    }
    return true;
  }

  private static boolean failsOnError(Expression one) {
    try {
      Method method = one.getClass().getMethod("failOnError", new Class[0]);
      return Boolean.TRUE.equals(method.invoke(one, new Object[0]));
    } catch (Exception error) {
      return true;
    }
  }
}
