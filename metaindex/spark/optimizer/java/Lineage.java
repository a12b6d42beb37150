package metaindex;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BitwiseOr;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetArrayItem;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.ShiftLeft;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.LeftAnti$;
import org.apache.spark.sql.catalyst.plans.logical.BROADCAST$;
import org.apache.spark.sql.catalyst.plans.logical.HintInfo;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.ObjectType;

/**
 * Selects the rows of an index whose files are live at the version asked, and that are not deleted there. Every row of
 * an index has its lineage: the number of its run (if there are several), of the file in that run, and of the row.
 */
class Lineage {
  private static final int FEW_RANGES = 8;
  private final AttributeReference run, file, row; // run: null where the rows of one run are read

  Lineage(AttributeReference run, AttributeReference file, AttributeReference row) {
    this.run = run;
    this.file = file;
    this.row = row;
  }

  /** Returns a condition for the rows of these files of one run, or (`inside` false) of all others. */
  Expression only(int number, BitSet files, boolean inside) {
    Expression among = among(files);
    Expression kept = inside ? among : new Not(among);
    return run == null ? kept
        : new Or(new Not(new EqualTo(run, new Literal(Integer.valueOf(number), DataTypes.IntegerType))), kept);
  }

  private Expression among(BitSet files) {
    Expression found = null;
    int ranges = 0;
    for (int start = files.nextSetBit(0); start >= 0 && ranges <= FEW_RANGES; ranges++) {
      Deadline.look();
      int end = files.nextClearBit(start);
      Expression one = end == start + 1 ? new EqualTo(file, number(start))
          : new And(new GreaterThanOrEqual(file, number(start)), new LessThanOrEqual(file, number(end - 1)));
      found = found == null ? one : new Or(found, one);
      start = files.nextSetBit(end);
    }
    if (found != null && ranges <= FEW_RANGES) {
      return found;
    }
    Set all = new HashSet();
    for (int one = files.nextSetBit(0); one >= 0; one = files.nextSetBit(one + 1)) {
      Deadline.look();
      all.add(Integer.valueOf(one));
    }
    return new InSet(file, Scala.set(all));
  }

  static Literal number(int value) {
    return new Literal(Integer.valueOf(value), DataTypes.IntegerType);
  }

  /**
   * Returns a condition for the rows of one run whose bits are not set: of files without a deleted row, behind the last
   * one of their file, or not deleted. Made of Spark's own expressions, which executors know.
   */
  Expression undeleted(int number, Deleted.Mask mask) {
    List either = new ArrayList();
    // NULL for files behind the last one that has deleted rows.
    either.add(new GetArrayItem(array(mask.last), file, false));
    either.add(number(-1));
    List place = new ArrayList();
    place.add(new Add(new GetArrayItem(array(mask.first), file, false),
        new Cast(row, DataTypes.IntegerType, scala.Option.empty(), EvalMode$.MODULE$.LEGACY())));
    Literal bits = new Literal(mask.bits, new ObjectType(mask.bits.getClass()));
    Expression set = new Invoke(bits, "get", DataTypes.BooleanType, Scala.sequence(place), Scala.none(), true, true,
        true);
    Expression kept = new Not(new And(new LessThanOrEqual(row, wide(new Coalesce(Scala.sequence(either)))), set));
    return run == null ? kept : new Or(new Not(new EqualTo(run, number(number))), kept);
  }

  private static Literal array(int[] values) {
    return new Literal(UnsafeArrayData.fromPrimitiveArray(values), new ArrayType(DataTypes.IntegerType, false));
  }

  /** The rows without those at some places, each run << runShift | file << fileShift | row. */
  LogicalPlan without(LogicalPlan plan, long[] places, int runShift, int fileShift) {
    Expression place = new BitwiseOr(shifted(wide(file), fileShift), row);
    if (run != null) {
      place = new BitwiseOr(shifted(wide(run), runShift), place);
    }
    List rows = new ArrayList();
    for (int i = 0; i < places.length; i++) {
      Deadline.look();
      List value = new ArrayList();
      value.add(Long.valueOf(places[i]));
      rows.add(InternalRow.fromSeq(Scala.sequence(value)));
    }
    Attribute deleted = new AttributeReference("_mi_deleted", DataTypes.LongType, false, Metadata.empty(),
        NamedExpression$.MODULE$.newExprId(), Scala.none());
    List output = new ArrayList();
    output.add(deleted);
    LogicalPlan gone = Versions.rows(output, rows);
    HintInfo small = new HintInfo(scala.Option.apply(BROADCAST$.MODULE$));
    return new Join(plan, gone, LeftAnti$.MODULE$, scala.Option.apply(new EqualTo(place, deleted)),
        new JoinHint(scala.Option.empty(), scala.Option.apply(small)));
  }

  private static Expression wide(Expression one) {
    return new Cast(one, DataTypes.LongType, scala.Option.empty(), EvalMode$.MODULE$.LEGACY());
  }

  private static Expression shifted(Expression one, int by) {
    return new ShiftLeft(one, number(by));
  }
}
