package metaindex;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Calls methods of Scala whose last parameters have defaults: releases of a format differ in how many there are. */
final class Defaults {
  static Object call(Object object, String name, Object[] first) throws Exception {
    Method[] all = object.getClass().getMethods();
    for (int i = 0; i < all.length; i++) {
      Object[] values = all[i].getName().equals(name) ? values(object, all[i], first) : null;
      if (values != null) {
        try {
          return all[i].invoke(object, values);
        } catch (InvocationTargetException error) {
          Throwable cause = error.getCause();
          throw cause instanceof Exception ? (Exception) cause : error;
        }
      }
    }
    throw new NoSuchMethodException(object.getClass().getName() + "." + name);
  }

  /** Returns the arguments; null if the method takes others first, or has no default for a parameter. */
  private static Object[] values(Object object, Method method, Object[] first) throws Exception {
    Class[] types = method.getParameterTypes();
    if (types.length < first.length) {
      return null;
    }
    Object[] values = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      if (i < first.length) {
        if (!types[i].isPrimitive() && !types[i].isInstance(first[i])) {
          return null;
        }
        values[i] = first[i];
        continue;
      }
      try {
        values[i] = object.getClass().getMethod(method.getName() + "$default$" + (i + 1), new Class[0])
            .invoke(object, new Object[0]);
      } catch (NoSuchMethodException none) {
        return null;
      }
    }
    return values;
  }
}
