package metaindex.spark;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.SparkSessionExtensionsProvider;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Switches metaindex on by Spark's configuration alone: `spark.sql.extensions=metaindex.spark.Extensions`. Every
 * session of the application passes here as its state is built; nothing is done with it before its first query, or its
 * first statement about indexes, and whatever goes wrong leaves it as it is without metaindex.
 *
 * One jar of these classes runs in each Spark and each Scala that metaindex knows: nothing is called here whose
 * signature differs among them. It is Java for Janino: no lambdas, no inference of generics.
 */
public class Extensions extends AbstractFunction1 implements SparkSessionExtensionsProvider {
  // An application may name this class, and Spark find it on the class path besides.
  private static final Map SEEN = Collections.synchronizedMap(new WeakHashMap());

  public Object apply(Object given) {
    try {
      if (SEEN.put(given, Boolean.TRUE) == null) {
        ((SparkSessionExtensions) given).injectParser(new Parsers());
        ((SparkSessionExtensions) given).injectCheckRule(new Checks());
      }
    } catch (Throwable error) {
      Log.warn("this Spark has other insides: " + error);
    }
    return BoxedUnit.UNIT;
  }

  /** Puts a parser in front of a session's, which waits for metaindex if a statement is about indexes. */
  public static class Parsers extends AbstractFunction2 {
    public Object apply(Object session, Object parser) {
      try {
        Member member = Sidecar.of(((SparkSession) session).sparkContext()).member((SparkSession) session);
        return Gate.before((ParserInterface) parser, member);
      } catch (Throwable error) {
        Log.warn("SQL takes no statements about indexes here: " + error);
        return parser;
      }
    }
  }

  /** Adds the check of each plan once it is analysed, which is before it is optimized. */
  public static class Checks extends AbstractFunction1 {
    public Object apply(Object session) {
      try {
        return new Check(Sidecar.of(((SparkSession) session).sparkContext()).member((SparkSession) session));
      } catch (Throwable error) {
        Log.warn("this Spark has other insides: " + error);
        return new Check(null);
      }
    }
  }

  public static class Check extends AbstractFunction1 {
    private final Member member;

    Check(Member member) {
      this.member = member;
    }

    public Object apply(Object plan) {
      if (member != null) {
        member.look(plan);
      }
      return BoxedUnit.UNIT;
    }
  }
}
