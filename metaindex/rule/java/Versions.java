package metaindex;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;

/** What Sparks call differently, here as 4.0 and 4.1 do; `spark35/Versions.java` has what 3.5 does. */
class Versions {
  static LocalRelation rows(List output, List rows) {
    return new LocalRelation(Scala.sequence(output), Scala.sequence(rows), false, scala.Option.empty());
  }
}
