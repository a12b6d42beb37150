package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.expressions.UnscaledValue;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Complete$;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.HyperLogLogPlusPlus;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.Metadata;

/**
 * An aggregate over one scan, with filters and projections between, that asks what may be known of a whole file: how
 * many rows, how many values of a column, the least and the greatest, their sum. What is known of some files stands
 * beside the rows of the others in one shape (a row: its group, and what it brings in to each answer), and one
 * aggregate puts both together: counts and sums are added up, extremes are compared. Different values that are counted
 * stand in rows of their own, which bring in nothing else, and are counted once by that aggregate.
 *
 *   Aggregate [day], [day, count(1), max(v)]
 *     Filter, scan
 * becomes
 *   Aggregate [day], [day, coalesce(sum(n), 0), max(m)]
 *     Union
 *       Project [day, 1 AS n, v AS m]
 *         Filter, scan of the other files
 *       Project [day, n, m]
 *         LocalRelation
 */
class MetadataAggregate {
  private static final String COUNT = "count", MIN = "min", MAX = "max", SUM = "sum", DIFFERENT = "count_distinct";
  final LogicalPlan leaf;
  private final Aggregate plan;
  private final List groups = new ArrayList(); // Attribute: by which the rows are grouped
  private final List made = new ArrayList(); // Expression: of the leaf's attributes, what each of them is
  private final List keys = new ArrayList(); // Attribute of the leaf: what those are made of, each once
  private final List measures = new ArrayList(); // AggregateExpression, each once
  private final List asked = new ArrayList(); // of each {its name, Attribute of the leaf or null: rows}

  private MetadataAggregate(Aggregate plan, LogicalPlan leaf) {
    this.plan = plan;
    this.leaf = leaf;
  }

  /** Returns the aggregate; null if it has other functions, or something else stands between. */
  static MetadataAggregate of(Aggregate plan) {
    List projects = new ArrayList();
    LogicalPlan node = plan.child();
    while (node instanceof Filter || node instanceof Project) {
      Deadline.look();
      if (node instanceof Project) {
        projects.add(node);
      }
      node = (LogicalPlan) node.children().apply(0);
    }
    if (!node.children().isEmpty()) {
      return null;
    }
    MetadataAggregate out = new MetadataAggregate(plan, node);
    Map meanings = AliasResolver.above(node, projects);
    return out.groups(meanings) && out.measures(meanings) ? out : null;
  }

  private boolean groups(Map meanings) {
    for (int i = 0; i < plan.groupingExpressions().size(); i++) {
      Deadline.look();
      Object group = plan.groupingExpressions().apply(i);
      Expression from = group instanceof Attribute ? (Expression) meanings.get(Attributes.id((Attribute) group)) : null;
      if (from == null || !from.deterministic() || !((AttributeSet) from.references()).subsetOf(leaf.outputSet())) {
        return false;
      }
      groups.add(group);
      made.add(from);
      scala.collection.Iterator each = ((AttributeSet) from.references()).iterator();
      while (each.hasNext()) {
        Deadline.look();
        Attribute one = (Attribute) each.next();
        if (place(keys, one) < 0) {
          keys.add(one);
        }
      }
    }
    return true;
  }

  private boolean measures(Map meanings) {
    for (int i = 0; i < plan.aggregateExpressions().size(); i++) {
      Deadline.look();
      if (!measures((Expression) plan.aggregateExpressions().apply(i), meanings)) {
        return false;
      }
    }
    return !measures.isEmpty() || !groups.isEmpty();
  }

  private boolean measures(Expression one, Map meanings) {
    if (one instanceof AggregateExpression) {
      return measure((AggregateExpression) one, meanings);
    }
    if (SubqueryExpression$.MODULE$.hasSubquery(one)) {
      return false;
    }
    for (int i = 0; i < one.children().size(); i++) {
      Deadline.look();
      if (!measures((Expression) one.children().apply(i), meanings)) {
        return false;
      }
    }
    return true;
  }

  private boolean measure(AggregateExpression one, Map meanings) {
    Object function = one.aggregateFunction();
    if (one.filter().isDefined() || one.mode() != Complete$.MODULE$) {
      return false;
    }
    boolean counts = function instanceof Count && ((Count) function).children().size() == 1;
    Object[] said;
    if (one.isDistinct() || function instanceof HyperLogLogPlusPlus) {
      said = counts || isApproximate(function) ? column(DIFFERENT, child(function), meanings) : null;
      said = number(one) >= 0 || !asks(DIFFERENT) ? said : null; // those of one column
    } else if (counts) {
      Expression of = (Expression) ((Count) function).children().head();
      boolean rows = of instanceof Literal && ((Literal) of).value() != null;
      said = rows ? new Object[] {COUNT, null} : column(COUNT, of, meanings);
    } else if (function instanceof Min) {
      said = column(MIN, ((Min) function).child(), meanings);
    } else if (function instanceof Sum) {
      said = added(((Sum) function).child(), meanings);
    } else {
      said = function instanceof Max ? column(MAX, ((Max) function).child(), meanings) : null;
    }
    if (said != null && number(one) < 0) {
      measures.add(one);
      asked.add(said);
    }
    return said != null;
  }

  /** A sketch holds the same however often it is given a value; of floats it is not sure to be given the very zero. */
  private static boolean isApproximate(Object function) {
    if (!(function instanceof HyperLogLogPlusPlus)) {
      return false;
    }
    DataType type = child(function).dataType();
    return !type.equals(DataTypes.FloatType) && !type.equals(DataTypes.DoubleType);
  }

  private static Expression child(Object function) {
    return (Expression) ((Expression) function).children().head();
  }

  private static Object[] column(String how, Expression of, Map meanings) {
    Object from = of instanceof Attribute ? meanings.get(Attributes.id((Attribute) of)) : null;
    return from instanceof Attribute ? new Object[] {how, from, of} : null;
  }

  /**
   * A sum of integers, or of decimals so narrow that ten digits more are none too many: Spark adds up those of eight
   * digits unscaled.
   */
  private static Object[] added(Expression of, Map meanings) {
    boolean unscaled = of instanceof UnscaledValue;
    Expression column = unscaled ? ((UnscaledValue) of).child() : of;
    DataType type = column.dataType();
    boolean decimal = type instanceof DecimalType && ((DecimalType) type).precision() <= (unscaled ? 8 : 18);
    if (!decimal && (unscaled || !(type instanceof IntegralType))) {
      return null;
    }
    Object[] said = column(SUM, column, meanings);
    if (said != null) {
      said[2] = of;
    }
    return said;
  }

  /** Returns the type of the sum of such values in Spark. */
  private static DataType summed(DataType type) {
    if (!(type instanceof DecimalType)) {
      return DataTypes.LongType;
    }
    return new DecimalType(((DecimalType) type).precision() + 10, ((DecimalType) type).scale());
  }

  private static Expression cast(Expression one, DataType type) {
    return one.dataType().equals(type) ? one
        : new Cast(one, type, scala.Option.empty(), EvalMode$.MODULE$.LEGACY()); // to a wider type, or to one that fits
  }

  private boolean asks(String how) {
    for (int i = 0; i < asked.size(); i++) {
      Deadline.look();
      if (((Object[]) asked.get(i))[0].equals(how)) {
        return true;
      }
    }
    return false;
  }

  /** The place of a measure that asks the same; -1 where none does. */
  private int number(AggregateExpression one) {
    for (int i = 0; i < measures.size(); i++) {
      Deadline.look();
      AggregateExpression other = (AggregateExpression) measures.get(i);
      if (other.isDistinct() == one.isDistinct()
          && other.aggregateFunction().semanticEquals(one.aggregateFunction())) {
        return i;
      }
    }
    return -1;
  }

  private static int place(List attributes, Attribute one) {
    for (int i = 0; i < attributes.size(); i++) {
      Deadline.look();
      if (((Attribute) attributes.get(i)).exprId().equals(one.exprId())) {
        return i;
      }
    }
    return -1;
  }

  ObjectNode request() {
    ObjectNode out = Json.object();
    ArrayNode names = out.putArray("keys"), questions = out.putArray("measures");
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      names.add(((Attribute) keys.get(i)).name());
    }
    for (int i = 0; i < asked.size(); i++) {
      Deadline.look();
      Object[] one = (Object[]) asked.get(i);
      ObjectNode question = questions.addObject().put("how", (String) one[0]);
      if (one[1] != null) {
        question.put("column", ((Attribute) one[1]).name());
      }
    }
    return out;
  }

  Aggregate plan() {
    return plan;
  }

  /**
   * The aggregate over what is known of some files, and over the rows of the others. `rows`: of what is known, the keys
   * and the answers, as texts (`Values`). `facts`: on which they rest; null: on none that can change.
   */
  LogicalPlan over(JsonNode rows, Facts facts) {
    List others = new ArrayList(groups); // of the rows that are read: groups, and what a row brings in
    List stored = new ArrayList(); // attributes of what is known
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      Attribute key = (Attribute) keys.get(i);
      stored.add(attribute(key.name(), key.dataType(), key.nullable()));
    }
    Map known = new HashMap();
    for (int i = 0; i < keys.size(); i++) {
      Deadline.look();
      known.put(Attributes.id((Attribute) keys.get(i)), stored.get(i));
    }
    List told = new ArrayList(); // the same of what is known
    for (int i = 0; i < groups.size(); i++) {
      Deadline.look();
      Expression group = (Expression) ((Expression) made.get(i)).transformUp(new AliasResolver(known));
      told.add(alias(group, ((Attribute) groups.get(i)).name()));
    }
    for (int i = 0; i < asked.size(); i++) {
      Deadline.look();
      Object[] one = (Object[]) asked.get(i);
      boolean counts = one[0].equals(COUNT), sums = one[0].equals(SUM);
      DataType type = counts ? DataTypes.LongType : ((Expression) one[2]).dataType();
      type = sums ? summed(type) : type;
      Attribute partial = attribute("_mi_" + one[0], type, !counts);
      stored.add(partial);
      told.add(alias(partial, partial.name()));
      others.add(alias(one[1] == null ? number(1) : counts ? counted((Expression) one[2])
          : cast((Expression) one[2], type), partial.name()));
    }
    LogicalPlan local = new Project(Scala.sequence(told), local(stored, rows));
    local = facts == null ? local : new Filter(new Holds(facts), local);
    List branches = new ArrayList();
    branches.add(new Project(Scala.sequence(others), plan.child()));
    branches.add(local);
    Union union = new Union(Scala.sequence(branches), false, false);
    List answers = new ArrayList();
    Merged merged = new Merged(union.output());
    for (int i = 0; i < plan.aggregateExpressions().size(); i++) {
      Deadline.look();
      answers.add(((Expression) plan.aggregateExpressions().apply(i)).transformUp(merged));
    }
    Object[] parts = new Object[plan.productArity()];
    for (int i = 0; i < parts.length; i++) {
      Deadline.look();
      Object part = plan.productElement(i);
      parts[i] = part == plan.aggregateExpressions() ? Scala.sequence(answers) : part == plan.child() ? union : part;
    }
    return (LogicalPlan) ((TreeNode) plan).makeCopy(parts);
  }

  private LogicalPlan local(List attributes, JsonNode rows) {
    List out = new ArrayList();
    for (Iterator each = rows.iterator(); each.hasNext(); ) {
      Deadline.look();
      JsonNode row = (JsonNode) each.next();
      List values = new ArrayList();
      for (int i = 0; i < attributes.size(); i++) {
        Deadline.look();
        Attribute one = (Attribute) attributes.get(i);
        Object value = unscaled(i - keys.size()) ? unscaled((JsonNode) row.get(i))
            : Values.of((JsonNode) row.get(i), one.dataType());
        if (value == null && !one.nullable()) {
          throw new IllegalStateException("a column without NULL has one: " + one);
        }
        values.add(value);
      }
      out.add(InternalRow.fromSeq(Scala.sequence(values)));
    }
    return Versions.rows(attributes, out);
  }

  /** Returns whether the answer is a sum of unscaled values. */
  private boolean unscaled(int number) {
    return number >= 0 && ((Object[]) asked.get(number))[0].equals(SUM)
        && ((Object[]) asked.get(number))[2] instanceof UnscaledValue;
  }

  private static Object unscaled(JsonNode said) {
    return said.isNull() ? null : Long.valueOf(new BigDecimal(said.asText()).unscaledValue().longValueExact());
  }

  private static Attribute attribute(String name, DataType type, boolean nullable) {
    return new AttributeReference(name, type, nullable, Metadata.empty(), NamedExpression$.MODULE$.newExprId(),
        Scala.none());
  }

  private static Alias alias(Expression one, String name) {
    return new Alias(one, name, NamedExpression$.MODULE$.newExprId(), Scala.none(), scala.Option.empty(), Scala.none());
  }

  private static Expression counted(Expression of) {
    return new If(new IsNotNull(of), number(1), number(0));
  }

  private static Literal number(long value) {
    return new Literal(Long.valueOf(value), DataTypes.LongType);
  }

  /** The measures, of what rows bring in to them. */
  class Merged extends scala.runtime.AbstractPartialFunction {
    private final scala.collection.immutable.Seq partials;

    Merged(scala.collection.immutable.Seq partials) {
      this.partials = partials;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof AggregateExpression;
    }

    public Object applyOrElse(Object node, scala.Function1 other) {
      if (!isDefinedAt(node)) {
        return other.apply(node);
      }
      int number = number((AggregateExpression) node);
      Expression partial = (Expression) partials.apply(groups.size() + number);
      Object how = ((Object[]) asked.get(number))[0];
      if (how.equals(MIN)) {
        return new Min(partial).toAggregateExpression();
      }
      if (how.equals(MAX)) {
        return new Max(partial).toAggregateExpression();
      }
      if (how.equals(SUM)) {
        return cast(new Sum(partial).toAggregateExpression(), ((AggregateExpression) node).dataType());
      }
      List either = new ArrayList();
      if (how.equals(DIFFERENT)) {
        either.add(partial);
        AggregateExpression asked = (AggregateExpression) node;
        AggregateFunction of = (AggregateFunction) (Object) asked.aggregateFunction();
        return ((AggregateFunction) ((TreeNode) of).withNewChildren(Scala.sequence(either)))
            .toAggregateExpression(asked.isDistinct(), scala.Option.empty());
      }
      either.add(new Sum(partial).toAggregateExpression());
      either.add(number(0)); // no row at all
      return new Coalesce(Scala.sequence(either));
    }
  }
}
