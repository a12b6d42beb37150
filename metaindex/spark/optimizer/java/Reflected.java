package metaindex;

import java.lang.reflect.Field;
import java.lang.reflect.Method;

/**
 * Methods and fields by their names: of classes that may be missing (Delta's, Iceberg's), and of Spark's private ones.
 */
class Reflected {
  static Object call(Object object, String name) {
    return invoke(object, name, new Object[0]);
  }

  static Object invoke(Object object, String name, Object[] arguments) {
    try {
      for (Class type = object.getClass(); type != null; type = type.getSuperclass()) {
        Deadline.look();
        Method[] methods = type.getDeclaredMethods();
        for (int i = 0; i < methods.length; i++) {
          Deadline.look();
          if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == arguments.length
              && !methods[i].isBridge()) {
            methods[i].setAccessible(true);
            return methods[i].invoke(object, arguments);
          }
        }
      }
      return object.getClass().getMethod(name, new Class[0]).invoke(object, arguments); // of an interface
    } catch (Exception error) {
      throw new IllegalStateException(object.getClass().getName() + "." + name + ": " + error, error);
    }
  }

  static boolean has(Object object, String name) {
    for (Class type = object.getClass(); type != null; type = type.getSuperclass()) {
      Deadline.look();
      Method[] methods = type.getDeclaredMethods();
      for (int i = 0; i < methods.length; i++) {
        Deadline.look();
        if (methods[i].getName().equals(name) && methods[i].getParameterTypes().length == 0) {
          return true;
        }
      }
    }
    return false;
  }

  static boolean hasField(Object object, String name) {
    return declared(object, name) != null;
  }

  static Object field(Object object, String name) {
    Field found = declared(object, name);
    if (found == null) {
      throw new IllegalStateException(object.getClass().getName() + " has no " + name);
    }
    try {
      found.setAccessible(true);
      return found.get(object);
    } catch (Exception error) {
      throw new IllegalStateException(object.getClass().getName() + "." + name + ": " + error, error);
    }
  }

  private static Field declared(Object object, String name) {
    for (Class type = object.getClass(); type != null; type = type.getSuperclass()) {
      Deadline.look();
      Field[] fields = type.getDeclaredFields();
      for (int i = 0; i < fields.length; i++) {
        Deadline.look();
        if (fields[i].getName().equals(name)) {
          return fields[i];
        }
      }
    }
    return null;
  }
}
