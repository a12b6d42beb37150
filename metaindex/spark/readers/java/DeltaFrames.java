package metaindex;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * A version of a Delta table as a DataFrame over some of its files. Delta says how they are read (schema, protocol,
 * column mapping) and reads them; which they are, and what the log says of each, is given, so that the log is not asked
 * for its files by a job.
 */
public final class DeltaFrames {
  private static final int KEPT = 8;
  private final Map versions = new LinkedHashMap(); // Snapshots, which never change; the last that were asked for

  /** `id`: of the table; null where the version is another table's. */
  public synchronized Dataset frame(SparkSession session, String root, long version, String id,
      byte[] files) throws Exception {
    DeltaLog log = DeltaLog.forTable(session, root);
    Snapshot at = at(session, log, version, id);
    if (at == null) {
      return null;
    }
    Dataset empty = (Dataset) Defaults.call(log, "createDataFrame", new Object[] {at, Scala.none()});
    HadoopFsRelation all = (HadoopFsRelation) ((LogicalRelation) empty.queryExecution().analyzed()).relation();
    NamedFiles named = new NamedFiles(session, Scala.sequence(added(files, log.dataPath())), log, log.dataPath(), at,
        null);
    return session.baseRelationToDataFrame(new HadoopFsRelation(
        named, all.partitionSchema(), all.dataSchema(), all.bucketSpec(), all.fileFormat(), all.options(), session));
  }

  private Snapshot at(SparkSession session, DeltaLog log, long version, String id) throws Exception {
    Object key = Arrays.asList(
        new Object[] {session.sparkContext().applicationId(), log.dataPath(), Long.valueOf(version), id});
    Snapshot found = (Snapshot) versions.remove(key);
    if (found == null) {
      found = asked(log, version);
      if (!found.metadata().id().equals(id)) {
        // Another table was made at this place since.
        Defaults.call(log, "update", new Object[0]);
        found = asked(log, version);
      }
      if (!found.metadata().id().equals(id)) {
        return null;
      }
    }
    versions.put(key, found);
    if (versions.size() > KEPT) {
      versions.remove(versions.keySet().iterator().next());
    }
    return found;
  }

  private static Snapshot asked(DeltaLog log, long version) throws Exception {
    return (Snapshot) Defaults.call(log, "getSnapshotAt", new Object[] {Long.valueOf(version)});
  }

  /** The files' `add` actions. */
  private static List added(byte[] sent, Path root) throws Exception {
    Columns in = new Columns(sent);
    int count = in.count();
    String[] names = in.texts(in.count()), paths = in.texts(count);
    long[] sizes = in.numbers(count), times = in.numbers(count), rowIds = in.numbers(count),
        commits = in.numbers(count);
    String[] kinds = in.texts(count), vectors = in.texts(count);
    long[] offsets = in.numbers(count), lengths = in.numbers(count), deleted = in.numbers(count);
    String[][] values = new String[names.length][];
    for (int i = 0; i < names.length; i++) {
      values[i] = in.texts(count);
    }
    Constructor constructor = AddFile.class.getConstructors()[0];
    Object[] parts = new Object[constructor.getParameterTypes().length];
    for (int i = 5; i < parts.length; i++) {
      parts[i] = AddFile.class.getMethod("$lessinit$greater$default$" + (i + 1), new Class[0])
          .invoke(null, new Object[0]);
    }
    Map partitions = new HashMap();
    List out = new ArrayList(count);
    for (int i = 0; i < count; i++) {
      parts[0] = path(root, paths[i]);
      parts[1] = partition(partitions, names, values, i);
      parts[2] = Long.valueOf(sizes[i]);
      parts[3] = Long.valueOf(times[i] == Columns.NULL ? 0 : times[i]);
      parts[4] = Boolean.FALSE;
      scala.Option none = (scala.Option) scala.None$.MODULE$;
      parts[7] = kinds[i] == null ? null : new DeletionVectorDescriptor(
          kinds[i], vectors[i], number(offsets[i], true), (int) lengths[i], deleted[i], none);
      parts[8] = number(rowIds[i], false);
      parts[9] = number(commits[i], false);
      out.add(constructor.newInstance(parts));
    }
    return out;
  }

  /** Returns the path as a log writes it: encoded, and here always absolute. */
  private static String path(Path root, String path) {
    String below = path.indexOf("://") > 0 ? path : root.toString() + "/" + path;
    String whole = path.startsWith("/") ? "file:" + path : below;
    return new Path(whole).toUri().toString();
  }

  private static Object partition(Map known, String[] names, String[][] values, int row) {
    Map texts = new HashMap();
    for (int i = 0; i < names.length; i++) {
      texts.put(names[i], values[i][row]);
    }
    Object found = known.get(texts);
    if (found == null) {
      found = Scala.map(texts);
      known.put(texts, found);
    }
    return found;
  }

  private static scala.Option number(long value, boolean small) {
    return value == Columns.NULL
        ? (scala.Option) scala.None$.MODULE$
        : new scala.Some(small ? (Object) Integer.valueOf((int) value) : (Object) Long.valueOf(value));
  }
}
