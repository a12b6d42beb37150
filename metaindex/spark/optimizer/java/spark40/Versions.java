package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Names that differ among Sparks, as 4.0 and newer ones have them. */
class Versions {
  static LocalRelation rows(List output, List rows) {
    return new LocalRelation(Scala.sequence(output), Scala.sequence(rows), false, scala.Option.empty());
  }

  static Aggregate aggregate(List keys, List output, LogicalPlan plan) {
    return new Aggregate(Scala.sequence(keys), Scala.sequence(output), plan, scala.Option.empty());
  }

  /** What leaves rows out whose `key` is not the `index`-th of the keys of a side, where a broadcast brings those. */
  static DynamicPruningSubquery pruning(Attribute key, LogicalPlan side, scala.collection.immutable.Seq keys, int index,
      ExprId id) {
    List places = new ArrayList();
    places.add(Integer.valueOf(index));
    return new DynamicPruningSubquery(key, side, keys, Scala.sequence(places), true, id, scala.Option.empty());
  }
}
