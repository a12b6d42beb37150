package metaindex;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** Names that differ among Sparks, as 3.5 has them; `spark40` and `spark43` have those of newer ones. */
class Versions {
  static LocalRelation rows(List output, List rows) {
    return new LocalRelation(Scala.sequence(output), Scala.sequence(rows), false);
  }

  static Aggregate aggregate(List keys, List output, LogicalPlan plan) {
    return new Aggregate(Scala.sequence(keys), Scala.sequence(output), plan);
  }

  /** What leaves rows out whose `key` is not the `index`-th of the keys of a side, where a broadcast brings those. */
  static DynamicPruningSubquery pruning(Attribute key, LogicalPlan side, scala.collection.immutable.Seq keys, int index,
      ExprId id) {
    return new DynamicPruningSubquery(key, side, keys, index, true, id, scala.Option.empty());
  }
}
