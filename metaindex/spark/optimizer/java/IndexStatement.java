package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern;
import org.apache.spark.sql.execution.command.LeafRunnableCommand;

/** A statement about indexes as a command of Spark's: it is run once, when `sql` is called, and its rows are kept. */
public class IndexStatement extends LogicalPlan implements LeafRunnableCommand {
  private final transient StatementParser parser;
  private final String text;
  private final scala.collection.immutable.Seq columns;
  private scala.collection.immutable.Seq patterns;

  public IndexStatement(String text, StatementParser parser, scala.collection.immutable.Seq columns) {
    this.parser = parser;
    this.text = text;
    this.columns = columns;
    List command = new ArrayList();
    command.add(TreePattern.COMMAND());
    patterns = Scala.sequence(command);
  }

  public scala.collection.immutable.Seq run(SparkSession session) {
    JsonNode reply = parser.ask("run", text);
    if (reply == null) {
      throw new IllegalStateException("a statement about indexes is run by the Python process; it is gone");
    }
    if (reply.has("error")) {
      throw new IllegalArgumentException(reply.get("error").asText());
    }
    if (reply.has("other")) { // a catalog that has indexes of its own
      org.apache.spark.sql.classic.Dataset.ofRows(
          (org.apache.spark.sql.classic.SparkSession) session, parsed(parser.parser, text));
      return Scala.none();
    }
    List rows = new ArrayList();
    JsonNode all = reply.get("rows");
    for (int i = 0; i < all.size(); i++) {
      Deadline.look();
      JsonNode row = (JsonNode) all.get(i);
      Object[] values = new Object[columns.size()];
      for (int j = 0; j < values.length; j++) {
        Deadline.look();
        values[j] = value((JsonNode) row.get(j), ((Attribute) columns.apply(j)).dataType().typeName());
      }
      rows.add(RowFactory.create(values));
    }
    return Scala.sequence(rows);
  }

  private static LogicalPlan parsed(Object parser, String text) {
    return (LogicalPlan) Reflected.invoke(parser, "parsePlan", new Object[] {text});
  }

  private static Object value(JsonNode said, String type) {
    if (said == null || said.isNull()) {
      return null;
    }
    if (type.equals("array")) {
      List items = new ArrayList();
      for (int i = 0; i < said.size(); i++) {
        Deadline.look();
        JsonNode item = (JsonNode) said.get(i);
        items.add(item.isNull() ? null : item.asText());
      }
      return Scala.sequence(items);
    }
    return type.equals("boolean") ? (Object) Boolean.valueOf(said.asBoolean())
        : type.equals("long") ? (Object) Long.valueOf(said.asLong())
        : type.equals("double") ? (Object) Double.valueOf(said.asDouble()) : said.asText();
  }

  public scala.collection.immutable.Seq output() {
    return columns;
  }

  public scala.collection.immutable.Seq children() {
    return Scala.none();
  }

  public TreeNode mapChildren(scala.Function1 change) {
    return this;
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return this;
  }

  /** Spark copies a plan by its constructor, with what it is a product of and these. */
  public scala.collection.immutable.Seq otherCopyArgs() {
    List more = new ArrayList();
    more.add(parser);
    more.add(columns);
    return Scala.sequence(more);
  }

  public scala.collection.immutable.Map metrics() {
    return Scala.map(new HashMap());
  }

  public AttributeSet producedAttributes() {
    return outputSet();
  }

  public Statistics stats() {
    return Statistics.DUMMY();
  }

  public scala.collection.immutable.Seq nodePatterns() {
    return patterns;
  }

  public void org$apache$spark$sql$catalyst$plans$logical$Command$_setter_$nodePatterns_$eq(
      scala.collection.immutable.Seq patterns) {
    this.patterns = patterns;
  }

  public int productArity() {
    return 1;
  }

  public Object productElement(int n) {
    return text;
  }

  public boolean canEqual(Object other) {
    return other instanceof IndexStatement;
  }

  public boolean equals(Object other) {
    return other instanceof IndexStatement && text.equals(((IndexStatement) other).text)
        && columns.equals(((IndexStatement) other).columns);
  }

  public int hashCode() {
    return text.hashCode();
  }
}
