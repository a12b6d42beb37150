package metaindex;

import java.util.IdentityHashMap;
import java.util.LinkedList;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Replaces aggregates, before anything below them is touched: in a walk from above, which meets one object as often as
 * it stands in the plan, and does not enter what it has put there.
 */
class Answering extends scala.runtime.AbstractPartialFunction {
  private final Map places = new IdentityHashMap(); // of an aggregate, what stands at each of its places
  private boolean any;

  /** Adds one, in the order in which a plan is walked from above. `other`: null if the aggregate stays. */
  void add(Aggregate one, LogicalPlan other) {
    if (!places.containsKey(one)) {
      places.put(one, new LinkedList());
    }
    ((LinkedList) places.get(one)).add(other == null ? one : other);
    any = any || other != null;
  }

  boolean isEmpty() {
    return !any;
  }

  public boolean isDefinedAt(Object node) {
    return places.containsKey(node);
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    LinkedList waiting = (LinkedList) places.get(node);
    return waiting != null && !waiting.isEmpty() ? waiting.removeFirst() : other.apply(node);
  }
}
