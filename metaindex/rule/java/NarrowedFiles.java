package metaindex;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.InSubqueryExec;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;

/**
 * Another list of files, without those that hold none of a join's keys. It is asked when the scan runs, with what
 * Spark has waited for: the keys of a broadcast stand among the scan's filters then (`NarrowedExec`).
 */
public class NarrowedFiles implements FileIndex {
  private static final ThreadLocal BROUGHT = new ThreadLocal(); // the filters of the scan that lists now
  public final FileIndex base;
  public final Narrowed narrowed;

  public NarrowedFiles(FileIndex base, Narrowed narrowed) {
    this.base = base;
    this.narrowed = narrowed;
  }

  public scala.collection.immutable.Seq listFiles(scala.collection.immutable.Seq partitionFilters,
      scala.collection.immutable.Seq dataFilters) {
    List rest = new ArrayList(), bring = new ArrayList();
    divide(dataFilters, rest, new ArrayList());
    if (BROUGHT.get() != null) {
      divide((scala.collection.immutable.Seq) BROUGHT.get(), new ArrayList(), bring);
    }
    scala.collection.immutable.Seq folders = base.listFiles(partitionFilters, Scala.sequence(rest));
    Deadline deadline = narrowed.deadline();
    try {
      Map dropped = narrowed.dropped(values(bring));
      return without(folders, dropped);
    } catch (KeyQuery.Cancelled ended) {
      throw ended;
    } catch (Throwable error) {
      narrowed.failed(error);
      return folders;
    } finally {
      deadline.over();
    }
  }

  /** From now on, in this thread, filters of a scan; gives those before. */
  static Object brought(Object filters) {
    Object before = BROUGHT.get();
    BROUGHT.set(filters);
    return before;
  }

  private static void divide(scala.collection.immutable.Seq filters, List others, List bring) {
    for (int i = 0; i < filters.size(); i++) {
      Object one = filters.apply(i);
      if (one instanceof DynamicPruning) {
        bring.add(one);
      } else {
        others.add(one);
      }
    }
  }

  /** Of each key its values; null where it has none. */
  private List values(List bring) {
    List found = new ArrayList();
    for (int i = 0; i < narrowed.keys.size(); i++) {
      Narrowed.Key key = (Narrowed.Key) narrowed.keys.get(i);
      found.add(key.query != null ? key.query.values(narrowed.mostKeys, narrowed.seconds) : values(key, bring));
    }
    return found;
  }

  private KeyValues values(Narrowed.Key key, List bring) {
    for (int i = 0; i < bring.size(); i++) {
      Expression one = bring.get(i) instanceof DynamicPruningExpression
          ? (Expression) ((DynamicPruningExpression) bring.get(i)).child() : null;
      if (one instanceof InSubqueryExec && ((InSubqueryExec) one).exprId().equals(key.marker)) {
        scala.Option found = ((InSubqueryExec) one).values();
        return found.isEmpty() ? null
            : KeyValues.of((Object[]) found.get(), key.column.dataType(), narrowed.mostKeys);
      }
    }
    return null;
  }

  /** `dropped`: path to sign; null: all of them. A file that is not listed as the proof has it stays. */
  private scala.collection.immutable.Seq without(scala.collection.immutable.Seq folders, Map dropped) {
    List out = new ArrayList();
    int listed = 0, kept = 0;
    for (int i = 0; i < folders.size(); i++) {
      PartitionDirectory folder = (PartitionDirectory) folders.apply(i);
      List files = new ArrayList();
      scala.collection.Iterator inside = folder.files().iterator();
      while (inside.hasNext()) {
        FileStatusWithMetadata one = (FileStatusWithMetadata) inside.next();
        listed++;
        Object proof = dropped == null ? null : dropped.get(Scans.normal(one.getPath().toUri()));
        if (dropped != null && (proof == null || !proof.equals(FilesScan.sign(one)))) {
          files.add(one);
        }
      }
      kept += files.size();
      if (!files.isEmpty()) {
        out.add(new PartitionDirectory(folder.values(), Scala.sequence(files)));
      }
    }
    narrowed.done(listed, kept);
    return kept == listed ? folders : Scala.sequence(out);
  }

  public scala.collection.immutable.Seq rootPaths() {
    return base.rootPaths();
  }

  public String[] inputFiles() {
    return base.inputFiles();
  }

  public void refresh() {
    base.refresh();
  }

  public long sizeInBytes() {
    return base.sizeInBytes();
  }

  public StructType partitionSchema() {
    return base.partitionSchema();
  }

  public scala.Option metadataOpsTimeNs() {
    return base.metadataOpsTimeNs();
  }

  /** Scans that are narrowed by other joins read other files. */
  public boolean equals(Object other) {
    return other instanceof NarrowedFiles && ((NarrowedFiles) other).base.equals(base)
        && ((NarrowedFiles) other).narrowed == narrowed;
  }

  public int hashCode() {
    return base.hashCode() * 31 + 1;
  }

  /** For explanations. */
  public String said() {
    return narrowed.said();
  }

  public String toString() {
    return "NarrowedFiles(" + base + ")";
  }
}
