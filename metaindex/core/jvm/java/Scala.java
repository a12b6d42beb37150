package metaindex;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Java's collections as Scala's, and back, by what Scala 2.12 and 2.13 both have. */
class Scala {
  static scala.collection.immutable.Seq sequence(List list) {
    scala.collection.immutable.List found = nil();
    Object[] all = list.toArray();
    for (int i = all.length - 1; i >= 0; i--) {
      Deadline.look();
      found = found.$colon$colon(all[i]);
    }
    return found;
  }

  static scala.collection.immutable.Seq none() {
    return nil();
  }

  static scala.collection.immutable.Set set(Set values) {
    scala.collection.immutable.Set found = (scala.collection.immutable.Set) nil().toSet();
    for (Iterator each = values.iterator(); each.hasNext(); ) {
      Deadline.look();
      found = (scala.collection.immutable.Set) (Object) found.$plus(each.next());
    }
    return found;
  }

  static scala.collection.immutable.Map map(Map values) {
    scala.collection.immutable.Map found =
        (scala.collection.immutable.Map) (Object) scala.collection.immutable.Map$.MODULE$.empty();
    for (Iterator each = values.entrySet().iterator(); each.hasNext(); ) {
      Deadline.look();
      Map.Entry one = (Map.Entry) each.next();
      found = (scala.collection.immutable.Map) (Object) found.updated(one.getKey(), one.getValue());
    }
    return found;
  }

  static List list(scala.collection.Seq all) {
    List found = new ArrayList();
    scala.collection.Iterator each = all.iterator();
    while (each.hasNext()) {
      Deadline.look();
      found.add(each.next());
    }
    return found;
  }

  private static scala.collection.immutable.List nil() {
    return (scala.collection.immutable.List) (Object) scala.collection.immutable.Nil$.MODULE$;
  }
}
