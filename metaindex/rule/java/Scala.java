package metaindex;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Java's collections as Scala's, and back. */
class Scala {
  static scala.collection.immutable.Seq sequence(List list) {
    return scala.jdk.javaapi.CollectionConverters.asScala(list).toSeq();
  }

  static scala.collection.immutable.Seq none() {
    return (scala.collection.immutable.Seq) (Object) scala.collection.immutable.Nil$.MODULE$;
  }

  static scala.collection.immutable.Set set(Set values) {
    return scala.jdk.javaapi.CollectionConverters.asScala(values).toSet();
  }

  static scala.collection.immutable.Map map(Map values) {
    return scala.collection.immutable.Map$.MODULE$.from(scala.jdk.javaapi.CollectionConverters.asScala(values));
  }

  static List list(scala.collection.Seq all) {
    List found = new ArrayList();
    scala.collection.Iterator each = all.iterator();
    while (each.hasNext()) {
      found.add(each.next());
    }
    return found;
  }
}
