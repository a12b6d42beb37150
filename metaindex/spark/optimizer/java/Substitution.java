package metaindex;

import java.util.LinkedList;
import java.util.Map;

/** Replaces a leaf in a walk that does not enter what it has put in its place: the leaf may stand there again. */
class Substitution extends scala.runtime.AbstractPartialFunction {
  private final Map places;

  Substitution(Map places) {
    this.places = places;
  }

  public boolean isDefinedAt(Object node) {
    return places.containsKey(node);
  }

  public Object applyOrElse(Object node, scala.Function1 other) {
    LinkedList waiting = (LinkedList) places.get(node);
    return waiting != null ? waiting.removeFirst() : other.apply(node);
  }
}
