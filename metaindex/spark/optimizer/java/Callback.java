package metaindex;

import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/**
 * Asks Python. Texts of more than a few kilobytes go in pieces, each in a call of its own: Py4J writes 8 KB at a time,
 * and of two such writes the system holds the second one back until the other end has acknowledged the first, which it
 * does after 40 ms (Nagle's algorithm and delayed acknowledgements), where a call takes half a millisecond.
 *
 * Each piece is taken, or the request is over: whoever stands between may answer in Python's place, and a request that
 * lacks a piece could ask for less than was meant. The last one says how many there were before it.
 */
class Callback {
  private static final int PIECE = 7000, MOST = 1 << 20;
  private static final String TAKEN = "+";
  private static final AtomicLong NUMBERS = new AtomicLong();

  /** Returns the answer of Python, or of what answers in its place. */
  static String ask(Function python, String token, String text) {
    if (text.length() <= PIECE || text.length() > MOST) {
      return (String) python.apply(token + '\n' + text);
    }
    long number = NUMBERS.incrementAndGet();
    int start = 0, pieces = 0;
    for (int end = end(text, start); end < text.length(); end = end(text, start)) {
      Deadline.look();
      String said = (String) python.apply(token + "\n+" + number + '\n' + text.substring(start, end));
      if (!TAKEN.equals(said)) {
        return said;
      }
      start = end;
      pieces++;
    }
    return (String) python.apply(token + "\n=" + number + ' ' + pieces + '\n' + text.substring(start));
  }

  /** Returns the end of a piece; a surrogate pair is not split. */
  private static int end(String text, int start) {
    int end = Math.min(start + PIECE, text.length());
    return end < text.length() && Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end;
  }
}
