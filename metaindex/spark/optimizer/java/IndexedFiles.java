package metaindex;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** The plain files whose rows buckets of an index have, and how these are read where the facts do not hold. */
class IndexedFiles {
  private final LogicalRelation relation; // that lists them
  private final Map files; // path to sign
  private final Facts facts;
  private final List columns; // Expression: each of the index's, of the relation's

  IndexedFiles(LogicalRelation relation, Map files, List columns) {
    this.relation = relation;
    this.files = files;
    this.columns = columns;
    facts = Facts.of(files, true);
  }

  /** Returns whether the index stands for them, as was seen when this was first asked: for good. */
  boolean hold() {
    facts.sent(null, false);
    return facts.hold();
  }

  /** Returns a plan of the index's columns over the files. */
  LogicalPlan under(LogicalPlan plan) {
    if (plan instanceof LogicalRelation) {
      List output = Scala.list(plan.output());
      HadoopFsRelation all = (HadoopFsRelation) relation.relation();
      HadoopFsRelation some = new HadoopFsRelation(new KeptFiles(all.location(), files, true), all.partitionSchema(),
          all.dataSchema(), all.bucketSpec(), all.fileFormat(), all.options(), all.sparkSession());
      return Attributes.project(output, columns, Attributes.ids(output), Nodes.over(relation, some));
    }
    List only = new ArrayList();
    only.add(under((LogicalPlan) plan.children().apply(0)));
    return (LogicalPlan) plan.withNewChildren(Scala.sequence(only));
  }
}
