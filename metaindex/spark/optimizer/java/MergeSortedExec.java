package metaindex;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeAndComment;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator;
import org.apache.spark.sql.catalyst.expressions.codegen.LazilyGeneratedOrdering;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;

/**
 * A union that keeps the order of its two children, partition by partition: the buckets of an index, and the rows of
 * the files that it lacks. Spark's own union has no order, so that a join above it sorts every row of the index again;
 * here the few others are sorted and merged in. What the children have to bring (partitioning and order), Spark itself
 * makes sure of.
 *
 * Executors never see this class: they compile the text below, as they do with that of every stage of Spark's.
 */
public class MergeSortedExec extends SparkPlan {
  private static final String TEXT =
      "public Object generate(Object[] references) {\n"
          + "  return new Merged((java.util.Comparator) references[0]);\n"
          + "}\n"
          + "\n"
          + "final class Merged extends org.apache.spark.sql.execution.BufferedRowIterator {\n"
          + "  private final java.util.Comparator order;\n"
          + "  private scala.collection.Iterator left, right;\n"
          + "  private InternalRow ofLeft, ofRight;\n"
          + "  private int due = 3;\n" // the sides whose row was given: it is theirs until the next one is asked for
          + "\n"
          + "  public Merged(java.util.Comparator order) {\n"
          + "    this.order = order;\n"
          + "  }\n"
          + "\n"
          + "  public void init(int index, scala.collection.Iterator[] inputs) {\n"
          + "    partitionIndex = index;\n"
          + "    left = inputs[0];\n"
          + "    right = inputs[1];\n"
          + "  }\n"
          + "\n"
          + "  public boolean hasNext() {\n"
          + "    if (due != 0) {\n"
          + "      if ((due & 1) != 0) {\n"
          + "        ofLeft = left.hasNext() ? (InternalRow) left.next() : null;\n"
          + "      }\n"
          + "      if ((due & 2) != 0) {\n"
          + "        ofRight = right.hasNext() ? (InternalRow) right.next() : null;\n"
          + "      }\n"
          + "      due = 0;\n"
          + "    }\n"
          + "    return ofLeft != null || ofRight != null;\n"
          + "  }\n"
          + "\n"
          + "  public InternalRow next() {\n"
          + "    if (!hasNext()) {\n"
          + "      throw new java.util.NoSuchElementException();\n"
          + "    }\n"
          + "    due = ofRight == null || (ofLeft != null && order.compare(ofLeft, ofRight) <= 0) ? 1 : 2;\n"
          + "    return due == 1 ? ofLeft : ofRight;\n"
          + "  }\n"
          + "\n"
          + "  protected void processNext() {}\n"
          + "}\n";
  private static final CodeAndComment CODE = new CodeAndComment(TEXT, Scala.map(new HashMap()));
  private final SparkPlan index, rest;
  private final scala.collection.immutable.Seq places; // of the keys in the output, in the order of the index
  // The output, once it was asked for: merges stand above each other, and plans ask often.
  private transient scala.collection.immutable.Seq columns;

  public MergeSortedExec(SparkPlan index, SparkPlan rest, scala.collection.immutable.Seq places) {
    this.index = index;
    this.rest = rest;
    this.places = places;
  }

  /** Fails where this Spark has other insides than those that are built upon; nothing is merged then. */
  static void check() {
    CodeGenerator.compile(CODE);
  }

  public scala.collection.immutable.Seq children() {
    List both = new ArrayList();
    both.add(index);
    both.add(rest);
    return Scala.sequence(both);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new MergeSortedExec((SparkPlan) children.apply(0), (SparkPlan) children.apply(1), places);
  }

  public scala.collection.immutable.Seq output() {
    if (columns == null) {
      List both = new ArrayList();
      both.add(index);
      both.add(rest);
      columns = new UnionExec(Scala.sequence(both)).output();
    }
    return columns;
  }

  public scala.collection.immutable.Seq requiredChildDistribution() {
    List both = new ArrayList();
    both.add(PhysicalVersions.clustered(Scala.sequence(keys(index.output()))));
    both.add(PhysicalVersions.clustered(Scala.sequence(keys(rest.output()))));
    return Scala.sequence(both);
  }

  public scala.collection.immutable.Seq requiredChildOrdering() {
    List both = new ArrayList();
    both.add(order(index.output()));
    both.add(order(rest.output()));
    return Scala.sequence(both);
  }

  public scala.collection.immutable.Seq outputOrdering() {
    return order(output());
  }

  public Partitioning outputPartitioning() {
    Partitioning one = index.outputPartitioning(), other = rest.outputPartitioning();
    boolean hashed = one instanceof HashPartitioning && other instanceof HashPartitioning
        && one.numPartitions() == other.numPartitions();
    boolean single = one.numPartitions() == 1 && other.numPartitions() == 1;
    return hashed || single ? one : new UnknownPartitioning(one.numPartitions());
  }

  public RDD doExecute() {
    SQLMetric time = SQLMetrics.createTimingMetric(sparkContext(), "time", 0L);
    Object[] references = new Object[] {new LazilyGeneratedOrdering(order(output()), output())};
    WholeStageCodegenEvaluatorFactory merging = PhysicalVersions.running(CODE, time, references);
    return index.execute()
        .zipPartitionsWithEvaluator(rest.execute(), merging, scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class));
  }

  /**
   * Sorts and aggregates send themselves to executors, with all that stands below them; of that they ask for the
   * columns alone. Public: Janino gives private methods other names.
   */
  public Object writeReplace() {
    return PhysicalVersions.noRows(output());
  }

  private List keys(scala.collection.immutable.Seq of) {
    List found = new ArrayList();
    for (int i = 0; i < places.size(); i++) {
      Deadline.look();
      found.add(of.apply(((Integer) places.apply(i)).intValue()));
    }
    return found;
  }

  private scala.collection.immutable.Seq order(scala.collection.immutable.Seq of) {
    List keys = keys(of);
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      keys.set(i, new SortOrder((Attribute) keys.get(i), Ascending$.MODULE$, NullsFirst$.MODULE$, Scala.none()));
    }
    return Scala.sequence(keys);
  }

  public int productArity() {
    return 3;
  }

  public Object productElement(int n) {
    return n == 0 ? index : n == 1 ? rest : places;
  }

  public boolean canEqual(Object other) {
    return other instanceof MergeSortedExec;
  }

  public boolean equals(Object other) {
    return other instanceof MergeSortedExec && index.equals(((MergeSortedExec) other).index)
        && rest.equals(((MergeSortedExec) other).rest) && places.equals(((MergeSortedExec) other).places);
  }
}
