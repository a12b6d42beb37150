package metaindex;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.InSubqueryExec;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Brings the values of a key, among the filters of a scan of files: there Spark plans it, shares its broadcast and
 * waits for it before the scan lists its files. It is true of every row. As Spark shows a list of files no filter with
 * a subquery, each copy that a plan is given registers with that list, and the list asks its copies.
 *
 * Executors never see this class: it is written to them as the literal TRUE.
 */
public class BroadcastKeys extends Expression implements Serializable {
  private final Expression child;
  final transient RuntimeFilter.Key key;
  private final transient Arrivals arrivals; // of the scan whose filter it is

  public BroadcastKeys(Expression child, RuntimeFilter.Key key, Arrivals arrivals) {
    this.child = child;
    this.key = key;
    this.arrivals = arrivals;
    arrivals.tell(this);
  }

  /** The values, some of them NULL or there twice; null as long as they are not there, and where they never come. */
  Object[] values() {
    Object one = child instanceof DynamicPruningExpression ? ((DynamicPruningExpression) child).child() : null;
    boolean ours = one instanceof InSubqueryExec && ((InSubqueryExec) one).exprId().equals(key.marker);
    scala.Option found = ours ? ((InSubqueryExec) one).values() : scala.Option.empty();
    return found.isEmpty() ? null : (Object[]) found.get();
  }

  public scala.collection.immutable.Seq children() {
    List only = new ArrayList();
    only.add(child);
    return Scala.sequence(only);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new BroadcastKeys((Expression) children.apply(0), key, arrivals);
  }

  public boolean nullable() {
    return false;
  }

  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  public Object eval(InternalRow row) {
    return Boolean.TRUE;
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    return Literal$.MODULE$.TrueLiteral().genCode(context);
  }

  public Object writeReplace() { // Janino renames what is private
    return Literal$.MODULE$.TrueLiteral();
  }

  public int productArity() {
    return 3;
  }

  public Object productElement(int i) {
    return i == 0 ? child : i == 1 ? (Object) key : arrivals;
  }

  public boolean canEqual(Object other) {
    return other instanceof BroadcastKeys;
  }

  public boolean equals(Object other) {
    return other instanceof BroadcastKeys
        && ((BroadcastKeys) other).key == key
        && ((BroadcastKeys) other).child.equals(child);
  }

  public int hashCode() {
    return child.hashCode() * 31 + 1;
  }

  public String toString() {
    return "keys(" + child + ")";
  }

  public String sql() {
    return "keys(" + child.sql() + ")";
  }
}
