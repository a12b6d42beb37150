package metaindex;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;

/** What Sparks call differently, here as 3.5 does. */
class Versions {
  static LocalRelation rows(List output, List rows) {
    return new LocalRelation(Scala.sequence(output), Scala.sequence(rows), false);
  }
}
