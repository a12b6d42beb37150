package metaindex;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Source of a class that stands in front of a session's parser. A parser of Spark has an interface with other methods
 * in every version, and Iceberg's has one more, which Iceberg looks for: so the class is written anew for each parser,
 * with every method of the interfaces that it has, each handed on to it. Methods that parse a statement ask `ours`
 * first, of the class that is extended, which has the field `parser`; of an error of that parser they ask `meant` which
 * one to throw.
 */
public class Delegates {
  private static final String INTERFACE = "org.apache.spark.sql.catalyst.parser.ParserInterface";

  /** The interfaces of parsers that a parser has, the narrowest first, by their names. */
  public static List interfaces(Object parser) throws ClassNotFoundException {
    Class wanted = parser.getClass().getClassLoader().loadClass(INTERFACE);
    Map found = new TreeMap();
    for (Class kind = parser.getClass(); kind != null; kind = kind.getSuperclass()) {
      Class[] direct = kind.getInterfaces();
      for (int i = 0; i < direct.length; i++) {
        if (wanted.isAssignableFrom(direct[i]) && Modifier.isPublic(direct[i].getModifiers())) {
          found.put(direct[i].getName(), direct[i]);
        }
      }
    }
    if (found.size() > 1) {
      found.remove(INTERFACE);
    }
    if (found.isEmpty()) {
      found.put(INTERFACE, wanted);
    }
    return new ArrayList(found.values());
  }

  /** `types`: of the parameters of the one constructor, which go to that of `base`, a class of the same package. */
  public static String source(String named, String base, String types, List interfaces) {
    Map methods = new TreeMap(); // a class has its methods in no order: the text would differ from process to process
    StringBuilder implemented = new StringBuilder();
    for (int i = 0; i < interfaces.size(); i++) {
      Class kind = (Class) interfaces.get(i);
      implemented.append(i == 0 ? "" : ", ").append(kind.getCanonicalName());
      Method[] every = kind.getMethods();
      for (int j = 0; j < every.length; j++) {
        String signature = every[j].getName() + Arrays.asList(every[j].getParameterTypes());
        if (!Modifier.isStatic(every[j].getModifiers()) && !methods.containsKey(signature)) {
          methods.put(signature, method(every[j], kind.getCanonicalName()));
        }
      }
    }
    int dot = named.lastIndexOf('.');
    String simple = named.substring(dot + 1);
    String[] given = types.split(", ");
    StringBuilder text = new StringBuilder("package " + named.substring(0, dot) + ";\n\npublic class " + simple);
    text.append(" extends " + base + " implements " + implemented + " {\n  public " + simple + "(");
    StringBuilder handed = new StringBuilder();
    for (int i = 0; i < given.length; i++) {
      text.append(i == 0 ? "" : ", ").append(given[i]).append(" a").append(i);
      handed.append(i == 0 ? "a" : ", a").append(i);
    }
    text.append(") {\n    super(" + handed + ");\n  }\n");
    for (Iterator each = methods.values().iterator(); each.hasNext(); ) {
      text.append('\n').append((String) each.next());
    }
    return text.append("}\n").toString();
  }

  private static String method(Method one, String of) {
    Class[] types = one.getParameterTypes();
    Class[] thrown = one.getExceptionTypes();
    String gives = one.getReturnType().getCanonicalName();
    StringBuilder parameters = new StringBuilder(), given = new StringBuilder(), declared = new StringBuilder();
    for (int i = 0; i < types.length; i++) {
      parameters.append(i == 0 ? "" : ", ").append(types[i].getCanonicalName()).append(" a").append(i);
      given.append(i == 0 ? "a" : ", a").append(i);
    }
    for (int i = 0; i < thrown.length; i++) {
      declared.append(i == 0 ? " throws " : ", ").append(thrown[i].getCanonicalName());
    }
    StringBuilder text = new StringBuilder("  public " + gives + ' ' + one.getName());
    text.append("(" + parameters + ")" + declared + " {\n");
    boolean plan = one.getName().equals("parsePlan") || one.getName().equals("parsePlanWithParameters");
    if (plan && types.length > 0 && types[0] == String.class) {
      text.append("    " + gives + " plan = (" + gives + ") ours(a0);\n");
      text.append("    if (plan != null) {\n      return plan;\n    }\n");
    }
    String handed = "((" + of + ") parser)." + one.getName() + "(" + given + ");\n";
    if (plan && types.length > 0 && types[0] == String.class) {
      text.append("    try {\n      return " + handed + "    } catch (Throwable error) {\n");
      text.append("      org.apache.spark.unsafe.Platform.throwException(meant(a0, error));\n");
      text.append("      return null;\n    }\n");
      return text.append("  }\n").toString();
    }
    text.append("    " + (gives.equals("void") ? "" : "return "));
    return text.append(handed + "  }\n").toString();
  }
}
