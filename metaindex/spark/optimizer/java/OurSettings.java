package metaindex;

/** Settings of a session that are metaindex's. */
class OurSettings implements Json.Names {
  static final String PREFIX = "spark.metaindex.";

  public boolean has(String setting) {
    return setting.startsWith(PREFIX);
  }
}
