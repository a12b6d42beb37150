package metaindex.spark;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.unsafe.Platform;
import org.codehaus.janino.SimpleCompiler;

/**
 * A gate before a session's parser: a text that may be a statement about indexes waits until metaindex has put its own
 * parser into the session, and is parsed by that. All other texts go on at once.
 */
public abstract class Gate {
  private static final int LOOKED_AT = 10000; // characters in which a statement's first words are looked for
  private static final String FIRST = " CANCEL CLEAN CREATE DESC DESCRIBE DISABLE DROP ENABLE ERASE EXPLAIN OPTIMIZE"
      + " RECOMMEND REFRESH REPAIR RESTORE SHOW UNDROP VACUUM VERIFY ";
  private static final String SECOND = " INDEX INDEXES WHATIF ";
  private static final Map CLASSES = new HashMap(); // by the names of interfaces
  protected final Object parser; // that was there
  private final Member member;
  private final ThreadLocal passing = new ThreadLocal();

  protected Gate(Object parser, Object member) {
    this.parser = parser;
    this.member = (Member) member;
  }

  static synchronized ParserInterface before(ParserInterface parser, Member member) throws Exception {
    List interfaces = Delegates.interfaces(parser);
    List key = new ArrayList(interfaces);
    Class known = (Class) CLASSES.get(key);
    if (known == null) {
      String name = "metaindex.spark.Gate" + CLASSES.size();
      SimpleCompiler compiler = new SimpleCompiler();
      compiler.setParentClassLoader(new Parents(parser.getClass().getClassLoader()));
      compiler.cook(Delegates.source(name, "Gate", "Object, Object", interfaces));
      known = compiler.getClassLoader().loadClass(name);
      CLASSES.put(key, known);
    }
    Constructor made = known.getConstructors()[0];
    return (ParserInterface) made.newInstance(new Object[] {parser, member});
  }

  /** Classes of this jar, and those that a parser sees. */
  static class Parents extends ClassLoader {
    private final ClassLoader ours = Gate.class.getClassLoader();

    Parents(ClassLoader theirs) {
      super(theirs);
    }

    protected Class findClass(String name) throws ClassNotFoundException {
      return ours.loadClass(name);
    }
  }

  /** The error of a text that nobody could parse, as it is: the parser of the session says more, once it is there. */
  protected Throwable meant(String text, Throwable error) {
    return error;
  }

  /** The plan of a statement about indexes, by the parser that the session has by now; else null. */
  protected Object ours(String text) {
    if (text == null || passing.get() != null || !mayBeOurs(text)) {
      return null;
    }
    member.look(null);
    Object now = member.parser();
    if (now == null || now == this || now instanceof Gate) {
      return null;
    }
    passing.set(Boolean.TRUE);
    try { // not by its `parsePlan`: a text that is none of ours may have parameters, which are not known here
      return now.getClass().getMethod("statement", new Class[] {String.class}).invoke(now, new Object[] {text});
    } catch (InvocationTargetException error) {
      Platform.throwException(error.getTargetException());
      return null;
    } catch (Exception other) { // a parser of somebody else, or of other insides
      return null;
    } finally {
      passing.remove();
    }
  }

  /** Returns whether it begins like a statement about indexes. */
  static boolean mayBeOurs(String text) {
    String head = text.length() > LOOKED_AT ? text.substring(0, LOOKED_AT) : text;
    int first = blanks(head, 0);
    int end = word(head, first);
    int second = blanks(head, end);
    return first < end && second > end && isOf(FIRST, head.substring(first, end))
        && isOf(SECOND, head.substring(second, word(head, second)));
  }

  private static boolean isOf(String words, String word) {
    return !word.isEmpty() && words.contains(' ' + word.toUpperCase(Locale.ROOT) + ' ');
  }

  private static int word(String text, int from) {
    int at = from;
    while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || text.charAt(at) == '_')) {
      at++;
    }
    return at;
  }

  /** Skips blanks and comments, which may be nested. */
  private static int blanks(String text, int from) {
    int at = from, depth = 0;
    while (at < text.length()) {
      if (text.startsWith("/*", at)) {
        depth++;
        at += 2;
      } else if (depth > 0 && text.startsWith("*/", at)) {
        depth--;
        at += 2;
      } else if (depth == 0 && text.startsWith("--", at)) {
        int end = text.indexOf('\n', at);
        at = end < 0 ? text.length() : end;
      } else if (depth > 0 || Character.isWhitespace(text.charAt(at))) {
        at++;
      } else {
        return at;
      }
    }
    return at;
  }
}
