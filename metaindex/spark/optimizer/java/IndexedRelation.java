package metaindex;

import java.util.Objects;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;

/**
 * A relation that metaindex has put into a plan, which says so in plans and in Spark's pages: over fewer files of a
 * table, or over an index in place of it.
 */
public class IndexedRelation extends HadoopFsRelation {
  private static final String PUSHDOWN = "org.apache.spark.sql.execution.datasources.DataSourceUtils";

  private final String label;
  // Where files are left out of it once the query runs: by what, and what it is without.
  RuntimeFilter narrowed;
  HadoopFsRelation before;
  RowGroups groups; // null: its files are read whole

  public IndexedRelation(
      FileIndex files, StructType partitions, StructType data, scala.Option buckets, FileFormat format,
      scala.collection.immutable.Map options, SparkSession session, String label) {
    super(files, partitions, data, buckets, format, options, session);
    this.label = label;
  }

  /** Returns the relation over fewer files. */
  public static IndexedRelation over(HadoopFsRelation one, FileIndex files, String label) {
    return new IndexedRelation(files, one.partitionSchema(), one.dataSchema(), one.bucketSpec(), one.fileFormat(),
        one.options(), one.sparkSession(), label);
  }

  /** Returns the relation whose files are narrowed once the query runs. */
  static IndexedRelation narrowed(HadoopFsRelation one, RuntimeFilter by) {
    IndexedRelation made = over(one, one.location(), label(one));
    made.groups = groups(one);
    made.narrowed = by;
    made.before = one;
    return made;
  }

  /** Returns itself, of whose files these row groups are read; null: the files. */
  IndexedRelation of(RowGroups left) {
    groups = left;
    return this;
  }

  /** Returns the row groups that a relation's files are read by; null: whole. */
  static RowGroups groups(HadoopFsRelation one) {
    return one instanceof IndexedRelation ? ((IndexedRelation) one).groups : null;
  }

  /** Returns its node below filters and choices of columns; null where something else stands there. */
  static LogicalRelation below(LogicalPlan plan) {
    while (plan instanceof Filter || plan instanceof Project) {
      Deadline.look();
      plan = (LogicalPlan) plan.children().apply(0);
    }
    return plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof IndexedRelation
        ? (LogicalRelation) plan : null;
  }

  /** Returns what it reads once the query runs. */
  static IndexedRelation running(HadoopFsRelation one, FilteredFiles files, IndexedRelation planned) {
    return over(one, files, planned.label()).of(planned.groups);
  }

  /**
   * Spark pushes conditions on fields of structs, and on columns whose names are no plain words, into relations whose
   * printed name is in a list of formats: that one question is answered by the format's name alone.
   */
  public String toString() {
    String format = super.toString();
    return askedByPushdown() ? format : format + " <metaindex " + label() + ">";
  }

  /** A relation that joins narrow equals itself alone: a plan with it is another one; so is one of other row groups. */
  public boolean equals(Object other) {
    return super.equals(other) && canEqual(other);
  }

  public int hashCode() {
    return super.hashCode();
  }

  public boolean canEqual(Object other) {
    if (!(other instanceof HadoopFsRelation)) {
      return false;
    }
    RuntimeFilter theirs = other instanceof IndexedRelation ? ((IndexedRelation) other).narrowed : null;
    return theirs == narrowed && Objects.equals(groups, groups((HadoopFsRelation) other));
  }

  /** Returns the relation whose list is of one scan that looks. */
  static HadoopFsRelation checked(HadoopFsRelation one) {
    return one.location() instanceof Restored
        ? over(one, ((Restored) one.location()).checked(), label(one)).of(groups(one)) : one;
  }

  /** Returns what metaindex says of a relation, joins apart; empty: nothing. */
  static String label(HadoopFsRelation one) {
    return one instanceof IndexedRelation ? ((IndexedRelation) one).label : "";
  }

  private String label() {
    String joins = narrowed == null ? "" : narrowed.label();
    return label + (label.isEmpty() || joins.isEmpty() ? "" : ", ") + joins;
  }

  private static boolean askedByPushdown() {
    StackTraceElement[] frames = new Throwable().getStackTrace(); // this, toString, and who called it
    return frames.length > 2 && frames[2].getClassName().startsWith(PUSHDOWN);
  }
}
