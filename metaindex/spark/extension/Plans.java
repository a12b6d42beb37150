package metaindex.spark;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.plans.logical.Command;

/** Reads of an analysed plan, by the names of its nodes: it calls nothing that differs among Sparks. */
class Plans {
  private static final String[] NAMES = {"OneRowRelation", "LocalRelation", "Range", "LogicalRDD", "ExternalRDD"};
  private static final Set NOTHING = new HashSet(Arrays.asList(NAMES));
  private static final String NAMED = "Resolved"; // what a command names, and does not read
  private static final int MOST = 200; // nodes that are looked at
  private static final String[] BELOW = {"children", "innerChildren", "subqueries"};

  /** Returns whether it certainly reads no table that could have an index: then its query need not wait for one. */
  static boolean readNothing(Object plan) {
    try {
      return isWithout(plan, new int[1]);
    } catch (Throwable error) { // a plan of other insides
      return false;
    }
  }

  /** Returns whether it is `SET key` alone, which shows a setting of the session. */
  static boolean askFor(Object plan, String key) {
    return plan instanceof Command && plan.getClass().getSimpleName().equals("SetCommand")
        && String.valueOf(((scala.Product) plan).productElement(0)).equals("Some((" + key + ",None))");
  }

  private static boolean isWithout(Object node, int[] seen) throws Exception {
    if (++seen[0] > MOST) {
      return false;
    }
    boolean any = false;
    for (int i = 0; i < BELOW.length; i++) {
      Object below = node.getClass().getMethod(BELOW[i], new Class[0]).invoke(node, new Object[0]);
      Object every = below.getClass().getMethod("iterator", new Class[0]).invoke(below, new Object[0]);
      for (scala.collection.Iterator each = (scala.collection.Iterator) every; each.hasNext(); ) {
        any = true;
        if (!isWithout(each.next(), seen)) {
          return false;
        }
      }
    }
    String name = node.getClass().getSimpleName();
    return any || node instanceof Command || NOTHING.contains(name) || name.startsWith(NAMED);
  }
}
