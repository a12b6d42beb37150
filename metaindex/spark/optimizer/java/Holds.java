package metaindex;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.JavaCode$;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * True of each row as long as the facts hold, false of each where they do not: of rows that stand in a plan for files.
 * The scan of these files, which stands before it in the same stage, looks at them.
 *
 * Executors never see this class, nor does it see them: it is written to them as what the last look saw. It has a child
 * that has no value, as Spark otherwise asks it while it plans, and keeps the answer.
 */
public class Holds extends Expression implements Serializable {
  private final transient Facts facts;
  private final Expression child;

  Holds(Facts facts) {
    this(facts, new SortOrder(Literal$.MODULE$.TrueLiteral(), Ascending$.MODULE$, NullsFirst$.MODULE$, Scala.none()));
  }

  private Holds(Facts facts, Expression child) {
    this.facts = facts;
    this.child = child;
  }

  /** A reference of generated code, which is written as a Boolean. */
  static class Verdict implements Serializable {
    private final transient Facts facts;

    Verdict(Facts facts) {
      this.facts = facts;
    }

    public Object writeReplace() {
      return Boolean.valueOf(facts.hold());
    }
  }

  public scala.collection.immutable.Seq children() {
    List only = new ArrayList();
    only.add(child);
    return Scala.sequence(only);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new Holds(facts, (Expression) children.apply(0));
  }

  public boolean nullable() {
    return false;
  }

  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  public Object eval(InternalRow row) {
    return Boolean.valueOf(facts.hold());
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    String held = context.addReferenceObj("holds", new Verdict(facts), "java.lang.Boolean");
    return ExprCode.forNonNullValue(JavaCode$.MODULE$.expression(held + ".booleanValue()", DataTypes.BooleanType));
  }

  public Object writeReplace() { // Janino renames what is private
    return new Literal(Boolean.valueOf(facts.hold()), DataTypes.BooleanType);
  }

  public int productArity() {
    return 2;
  }

  public Object productElement(int i) {
    return i == 0 ? (Object) facts : child;
  }

  public boolean canEqual(Object other) {
    return other instanceof Holds;
  }

  public boolean equals(Object other) {
    return other instanceof Holds && ((Holds) other).facts == facts;
  }

  public int hashCode() {
    return System.identityHashCode(facts);
  }

  public String toString() {
    return "holds";
  }

  public String sql() {
    return "holds";
  }
}
