package metaindex;

import org.apache.spark.sql.internal.SQLConf;

/** The time limit of a plan's work in a session, by its configuration of now. */
public class Limit {
  private static final String SETTING = OurSettings.PREFIX + "timeoutSeconds";
  private static final double LEAST = 0.001;
  private final SQLConf conf;
  private final double seconds; // where the configuration says none, or none that can be read

  public Limit(SQLConf conf, double seconds) {
    this.conf = conf;
    this.seconds = seconds;
  }

  long nanos() {
    double found = seconds;
    try {
      double said = Double.parseDouble(conf.getConfString(SETTING, String.valueOf(seconds)));
      found = said >= LEAST ? said : seconds;
    } catch (NumberFormatException none) { // Python counts it
    }
    return (long) (Math.min(found, 1e9) * 1e9);
  }
}
