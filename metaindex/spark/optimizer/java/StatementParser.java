package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.CreateIndex;
import org.apache.spark.sql.catalyst.plans.logical.DropIndex;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.trees.Origin;
import org.apache.spark.sql.connector.catalog.index.SupportsIndex;
import org.apache.spark.sql.internal.VariableSubstitution;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.unsafe.Platform;

/**
 * The session's parser, before which statements about indexes are taken out: by their first words, and by Python, which
 * knows the grammar. All else goes to the parser that was there. A class that is made for the session's Spark
 * (`SessionParser`, by `parsing.py`) implements what that parser does, and asks here first.
 */
public abstract class StatementParser {
  private static final int WORD = 16;
  private static final int SLIPS = 2;
  public final ParserInterface parser; // that was there
  private final Function python; // JSON to JSON
  private final String token; // whoever asks without it is not this parser
  private final Set words = new HashSet(); // the first two of each statement
  private final ThreadLocal unread = new ThreadLocal(); // why nobody has read the text that Spark is to parse now
  private volatile boolean closed;

  public StatementParser(Object parser, Object python, Object token, Object words) {
    this.parser = (ParserInterface) parser;
    this.python = (Function) python;
    this.token = (String) token;
    this.words.addAll(Arrays.asList(((String) words).split("\n")));
  }

  /** A statement about indexes, or null: for a parser that stands behind this one. */
  public Object statement(String text) {
    return ours(text);
  }

  /** Returns the plan of a statement about indexes, or null. */
  protected LogicalPlan ours(String text) {
    unread.remove();
    if (closed || text == null) {
      return null;
    }
    String what = words.contains(firstWords(text)) ? "parse" : isScript(text) ? "script" : null;
    if (what == null) {
      return null;
    }
    JsonNode reply;
    String said;
    try {
      said = new VariableSubstitution().substitute(text);
      reply = ask(what, said);
    } catch (RuntimeException gone) { // the process that was to be asked ends
      return null;
    }
    if (reply == null || reply.has("other")) {
      unread.set(reply != null && reply.has("error") ? wrong(said, reply) : null);
      return null;
    }
    if (reply.has("error")) {
      Platform.throwException(wrong(said, reply));
    }
    List output = new ArrayList();
    JsonNode columns = reply.get("columns");
    for (int i = 0; i < columns.size(); i++) {
      Deadline.look();
      JsonNode column = (JsonNode) columns.get(i);
      output.add(new AttributeReference(text(column, 0), DataType.fromDDL(text(column, 1)), true, Metadata.empty(),
          NamedExpression$.MODULE$.newExprId(), Scala.none()));
    }
    return new IndexStatement(said, this, Scala.sequence(output));
  }

  /** The error of a text that nobody could parse: of one that begins nearly as ours do, what may have been meant. */
  protected Throwable meant(String text, Throwable error) {
    Throwable why = (Throwable) unread.get();
    unread.remove();
    if (why != null && error instanceof ParseException) {
      return why;
    }
    if (closed || !(error instanceof ParseException) || !isNear(firstWords(text))) {
      return error;
    }
    try {
      String said = new VariableSubstitution().substitute(text);
      JsonNode reply = ask("slip", said);
      return reply == null || !reply.has("near") ? error : wrong(said, reply);
    } catch (RuntimeException gone) { // as above
      return error;
    }
  }

  /** Returns whether the words differ from the first ones of a statement of ours in few letters, or not at all. */
  private boolean isNear(String first) {
    String[] said = first.split(" ");
    Iterator each = words.iterator();
    while (said.length == 2 && each.hasNext()) {
      Deadline.look();
      String[] known = ((String) each.next()).split(" ");
      if (slips(said[0], known[0]) <= SLIPS && slips(said[1], known[1]) <= SLIPS) {
        return true;
      }
    }
    return false;
  }

  /** Counts the letters by which one word differs from the other, as far as they count. */
  private static int slips(String one, String other) {
    if (one.length() > other.length() + SLIPS) {
      return SLIPS + 1; // however long it is
    }
    int[] before = new int[other.length() + 1];
    for (int j = 0; j < before.length; j++) {
      Deadline.look();
      before[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      Deadline.look();
      int[] now = new int[before.length];
      now[0] = i;
      for (int j = 1; j < now.length; j++) {
        Deadline.look();
        int same = before[j - 1] + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        now[j] = Math.min(same, Math.min(before[j], now[j - 1]) + 1);
      }
      before = now;
    }
    return before[before.length - 1];
  }

  private static String text(JsonNode array, int place) {
    JsonNode item = (JsonNode) array.get(place);
    return item.asText();
  }

  /** The part of a plan that changes something; null where it is a query. */
  public String changes(Object plan) {
    LogicalPlan node = (LogicalPlan) plan;
    if (node instanceof Command || node instanceof ParsedStatement) {
      return node.nodeName();
    }
    List children = Scala.list(node.children());
    for (int i = 0; i < children.size(); i++) {
      Deadline.look();
      String below = changes(children.get(i));
      if (below != null) {
        return below;
      }
    }
    return null;
  }

  /** The table that a statement of Spark's about an index names, to be resolved; null where it is none. */
  public Object theirs(Object text) {
    LogicalPlan plan = (LogicalPlan) Reflected.invoke(parser, "parsePlan", new Object[] {text});
    return plan instanceof CreateIndex ? ((CreateIndex) plan).table()
        : plan instanceof DropIndex ? ((DropIndex) plan).table() : null;
  }

  /** Returns whether it is a table of a catalog that has indexes of its own. */
  public boolean hasIndexes(Object table) {
    return table instanceof ResolvedTable && ((ResolvedTable) table).table() instanceof SupportsIndex;
  }

  /** Returns the answer of Python; null if there is none. */
  JsonNode ask(String what, String text) {
    ObjectNode request = Json.object();
    request.put("what", what);
    request.put("text", text);
    String reply = Callback.ask(python, token, Json.text(request));
    return reply == null || reply.isEmpty() ? null : Json.read(reply);
  }

  /** Returns the first two words in capitals, a blank between them; "" if the text has no such beginning. */
  static String firstWords(String text) {
    int start = skipped(text, 0);
    int end = wordEnd(text, start);
    int second = skipped(text, end);
    int last = wordEnd(text, second);
    if (end == start || second == end || last == second) {
      return "";
    }
    return (text.substring(start, end) + ' ' + text.substring(second, last)).toUpperCase(Locale.ROOT);
  }

  /** Returns whether it begins with BEGIN, perhaps behind a label, and has the word INDEX. Python looks closer. */
  static boolean isScript(String text) {
    int start = skipped(text, 0);
    int end = start;
    while (end < text.length() && (isLetter(text.charAt(end)) || Character.isDigit(text.charAt(end)))) {
      Deadline.look();
      end++;
    }
    int colon = skipped(text, end);
    if (end > start && colon < text.length() && text.charAt(colon) == ':') {
      start = skipped(text, colon + 1);
    }
    return text.regionMatches(true, start, "BEGIN", 0, 5) && !isLetter(text, start + 5)
        && text.toUpperCase(Locale.ROOT).contains("INDEX");
  }

  private static boolean isLetter(String text, int at) {
    return at < text.length() && isLetter(text.charAt(at));
  }

  private static int wordEnd(String text, int at) {
    int end = at;
    while (end < text.length() && end - at < WORD && isLetter(text.charAt(end))) {
      Deadline.look();
      end++;
    }
    return end;
  }

  private static boolean isLetter(char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || one == '_';
  }

  /** Skips blanks and comments. */
  private static int skipped(String text, int from) {
    int at = from;
    while (at < text.length()) {
      Deadline.look();
      if (Character.isWhitespace(text.charAt(at))) {
        at++;
      } else if (text.startsWith("--", at)) {
        at = lineEnd(text, at);
      } else if (text.startsWith("/*", at)) {
        at = commentEnd(text, at);
      } else {
        return at;
      }
    }
    return at;
  }

  /** Returns the end of a comment to the end of the line; behind a backslash it goes on, as in Spark. */
  private static int lineEnd(String text, int from) {
    int at = from;
    while (at < text.length() && text.charAt(at) != '\n' && text.charAt(at) != '\r') {
      Deadline.look();
      at += text.startsWith("\\\n", at) ? 2 : 1;
    }
    return at;
  }

  /** Comments stand inside comments. */
  private static int commentEnd(String text, int from) {
    int at = from + 2, depth = 1;
    while (depth > 0 && at < text.length()) {
      Deadline.look();
      if (text.startsWith("/*", at)) {
        depth++;
        at += 2;
      } else if (text.startsWith("*/", at)) {
        depth--;
        at += 2;
      } else {
        at++;
      }
    }
    return at;
  }

  /** Spark's own error of a text, which shows the place; versions make it differently. */
  private static Throwable wrong(String text, JsonNode reply) {
    String message = reply.get("error").asText();
    try {
      Map said = new HashMap();
      said.put("error", reply.get("near").asText());
      said.put("hint", ": " + message);
      Constructor[] every = ParseException.class.getConstructors();
      for (int i = 0; i < every.length; i++) {
        Deadline.look();
        Object[] values = values(every[i].getParameterTypes(), text, origin(text, reply), Scala.map(said));
        if (values != null) {
          return (Throwable) every[i].newInstance(values);
        }
      }
    } catch (Exception other) { // insides that are not known
      return new IllegalArgumentException(message);
    }
    return new IllegalArgumentException(message);
  }

  private static Object[] values(Class[] types, String text, Object origin, Object said) {
    Object[] values = new Object[types.length];
    int texts = 0;
    for (int i = 0; i < types.length; i++) {
      Deadline.look();
      if (types[i] == String.class && texts++ == 0) {
        values[i] = "PARSE_SYNTAX_ERROR";
      } else if (types[i].isInstance(origin)) {
        values[i] = origin;
      } else if (types[i].isInstance(said)) {
        values[i] = said;
      } else if (types[i] == scala.Option.class && i == 0) {
        values[i] = scala.Option.apply(text);
      } else {
        return null;
      }
    }
    return types.length > 0 && types[0] == scala.Option.class ? values : null;
  }

  private static Object origin(String text, JsonNode reply) throws Exception {
    Constructor made = null;
    Constructor[] every = Origin.class.getConstructors();
    for (int i = 0; i < every.length; i++) {
      Deadline.look();
      made = made == null || every[i].getParameterTypes().length > made.getParameterTypes().length ? every[i] : made;
    }
    Object[] values = new Object[made.getParameterTypes().length];
    Arrays.fill(values, scala.Option.empty());
    String[] names = new String[] {"line", "column", "start", "stop"};
    for (int i = 0; i < names.length; i++) {
      Deadline.look();
      values[i] = scala.Option.apply(Integer.valueOf(reply.get(names[i]).asInt()));
    }
    values[names.length] = scala.Option.apply(text);
    return made.newInstance(values);
  }

  /** Puts a parser into a session's state, which keeps it in a field; true where that has the one that is expected. */
  static boolean replace(Object state, Object expected, Object other) throws Exception {
    for (Class type = state.getClass(); type != null; type = type.getSuperclass()) {
      Deadline.look();
      Field[] fields = type.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        Deadline.look();
        if (fields[i].getName().equals("sqlParser")) {
          fields[i].setAccessible(true);
          if (fields[i].get(state) != expected) {
            return false;
          }
          fields[i].set(state, other);
          return true;
        }
      }
    }
    throw new IllegalStateException(state.getClass().getName() + " has no field sqlParser");
  }

  public void install(Object state) throws Exception {
    if (!replace(state, parser, this)) {
      throw new IllegalStateException("the session has another parser by now");
    }
  }

  /** Takes the parser out. If somebody has put another one around it, it stays, and does nothing any more. */
  public void remove(Object state) throws Exception {
    closed = true;
    replace(state, this, parser);
  }
}
