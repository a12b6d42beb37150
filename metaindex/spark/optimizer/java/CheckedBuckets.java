package metaindex;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.OneToOneDependency;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.PartitioningCollection;
import org.apache.spark.sql.catalyst.plans.physical.RoundRobinPartitioning;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * The buckets of an index, which stand for an exchange of plain files: what such an exchange does, with the rows of its
 * first run, if the facts do not hold then. Nothing of that is planned before.
 */
public class CheckedBuckets extends SparkPlan {
  private final SparkPlan index;
  private final IndexedFiles files; // whose rows the index has
  private final LogicalPlan plan; // that `index` was made of
  private transient SparkPlan exchange; // in its place

  public CheckedBuckets(SparkPlan index, IndexedFiles files, LogicalPlan plan) {
    this.index = index;
    this.files = files;
    this.plan = plan;
  }

  public RDD doExecute() {
    return new Rows(index.execute(), this);
  }

  /** Rows of the files as the index promises its own: by the same hashes, in the same order. */
  private synchronized RDD exchanged(int partitions) {
    scala.Option before = SparkSession.getActiveSession(); // the thread's: plans and their nodes take it
    SparkSession.setActiveSession(session());
    try {
      if (exchange == null) {
        exchange = PhysicalVersions.exchanged(
            QueryExecution.prepareExecutedPlan(session(), files.under(plan)),
            hashed(index.outputPartitioning(), partitions));
        if (!index.outputOrdering().isEmpty()) {
          exchange = new SortExec(index.outputOrdering(), false, exchange, 0);
        }
      }
      return exchange.execute();
    } finally {
      if (before.isDefined()) {
        SparkSession.setActiveSession((SparkSession) before.get());
      } else {
        SparkSession.clearActiveSession();
      }
    }
  }

  private static Partitioning hashed(Partitioning index, int partitions) {
    if (index instanceof PartitioningCollection) { // keys under several names
      return hashed((Partitioning) ((PartitioningCollection) index).partitionings().head(), partitions);
    }
    return index instanceof HashPartitioning ? index : new RoundRobinPartitioning(partitions);
  }

  /**
   * Decides when a job begins that needs them: Spark asks for dependencies then, on the driver. Executors never see
   * this class: it is written to them as what was chosen.
   */
  static class Rows extends RDD {
    private final transient RDD index;
    private final transient CheckedBuckets of;
    private transient RDD chosen;

    Rows(RDD index, CheckedBuckets of) {
      super(index.sparkContext(), Scala.none(), scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class));
      this.index = index;
      this.of = of;
    }

    synchronized RDD now() {
      if (chosen == null) {
        chosen = of.files.hold() ? index : of.exchanged(Math.max(1, index.getNumPartitions()));
      }
      return chosen;
    }

    public Partition[] getPartitions() {
      if (index.getNumPartitions() == 0) {
        return now().partitions();
      }
      List out = new ArrayList();
      for (int i = 0; i < index.getNumPartitions(); i++) {
        Deadline.look();
        out.add(new Part(i, this));
      }
      return (Partition[]) out.toArray(new Partition[0]);
    }

    public scala.collection.immutable.Seq getDependencies() {
      List only = new ArrayList();
      only.add(new OneToOneDependency(now()));
      return Scala.sequence(only);
    }

    public scala.collection.immutable.Seq getPreferredLocations(Partition one) {
      return now().preferredLocations(now().partitions()[one.index()]).toSeq();
    }

    public scala.collection.Iterator compute(Partition one, TaskContext context) {
      throw new IllegalStateException("executors read by Spark's own classes");
    }

    public Object writeReplace() { // Janino renames what is private
      return now();
    }
  }

  static class Part extends FilePartition {
    private final transient Rows of;

    Part(int index, Rows of) {
      super(index, new PartitionedFile[0]);
      this.of = of;
    }

    public Object writeReplace() {
      return of.now().partitions()[index()];
    }
  }

  public scala.collection.immutable.Seq children() {
    List only = new ArrayList();
    only.add(index);
    return Scala.sequence(only);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new CheckedBuckets((SparkPlan) children.apply(0), files, plan);
  }

  public scala.collection.immutable.Seq output() {
    return index.output();
  }

  public Partitioning outputPartitioning() {
    return index.outputPartitioning();
  }

  public scala.collection.immutable.Seq outputOrdering() {
    return index.outputOrdering();
  }

  /** Sorts and aggregates send along what stands below them, of which they ask for the columns alone. */
  public Object writeReplace() {
    return PhysicalVersions.noRows(output());
  }

  public int productArity() {
    return 3;
  }

  public Object productElement(int n) {
    return n == 0 ? index : n == 1 ? (Object) files : plan;
  }

  public scala.collection.Iterator stringArgs() {
    return Scala.none().iterator();
  }

  public boolean canEqual(Object other) {
    return other instanceof CheckedBuckets;
  }

  public boolean equals(Object other) {
    return other instanceof CheckedBuckets && index.equals(((CheckedBuckets) other).index);
  }

  public int hashCode() {
    return index.hashCode();
  }
}
