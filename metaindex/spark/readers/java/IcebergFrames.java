package metaindex;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotScan;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.SparkTableCache;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * A snapshot of an Iceberg table as a DataFrame over some of its files: staged tasks, as Iceberg plans them, each with
 * the delete files that the caller names. Of the manifests only those are read that hold the files.
 */
public final class IcebergFrames {
  private static final int KEPT = 8;
  private final Map tables = new LinkedHashMap(); // by session and key; the last that were asked for
  private final Manifests manifests = new Manifests();

  /**
   * Reads the table as its metadata file has it, with the schema that the version is read with as the current one.
   * False: it has no such schema.
   */
  public synchronized boolean open(SparkSession session, String key, String metadataFile,
      String schema) throws Exception {
    Table found = withSchema(new HadoopTables(session.sessionState().newHadoopConf()).load(metadataFile),
        SchemaParser.fromJson(schema));
    if (found == null) {
      return false;
    }
    tables.put(inSession(session, key), found);
    if (tables.size() > KEPT) {
      tables.remove(tables.keySet().iterator().next());
    }
    return true;
  }

  public synchronized boolean isOpen(SparkSession session, String key) {
    Object found = tables.remove(inSession(session, key));
    if (found != null) {
      tables.put(inSession(session, key), found);
    }
    return found != null;
  }

  /** Sessions may differ in how they reach a store. */
  private static Object inSession(SparkSession session, String key) {
    return session.sessionUUID() + key;
  }

  private static Table withSchema(Table table, Schema wanted) {
    if (table.schema().sameSchema(wanted)) {
      return table;
    }
    Object[] all = table.schemas().values().toArray();
    for (int i = 0; i < all.length; i++) {
      Schema one = (Schema) all[i];
      if (one.sameSchema(wanted)) {
        TableMetadata old = ((BaseTable) table).operations().current();
        TableMetadata pinned = TableMetadata.buildFrom(old).setCurrentSchema(one.schemaId()).discardChanges().build();
        return new BaseTable(new StaticTableOperations(pinned, table.io()), table.name());
      }
    }
    return null;
  }

  /**
   * A Dataset of the files; a text where the snapshot does not list one: its location; false where Iceberg would read
   * others. `group`: a name for exactly these files.
   */
  public synchronized Object frame(SparkSession session, String key, long version, String group,
      byte[] sent) throws Exception {
    Table table = (Table) tables.get(inSession(session, key));
    Columns in = new Columns(sent);
    int count = in.count();
    String[] locations = in.texts(count), listed = in.texts(in.count());
    int named = in.count();
    String[] deletes = in.texts(named);
    long[] offsets = in.numbers(named);
    int pairs = in.count();
    int[] ofFile = in.counts(pairs), ofDelete = in.counts(pairs);

    SnapshotScan scan = (SnapshotScan) table.newScan().useSnapshot(version);
    Method specsOf = SnapshotScan.class.getDeclaredMethod("specs", new Class[0]);
    specsOf.setAccessible(true);
    Map specs = (Map) specsOf.invoke(scan, new Object[0]);
    Snapshot snapshot = table.snapshot(version);
    Map data = manifests.find(snapshot.dataManifests(table.io()), listed, locations, table.io(), specs);
    String[] keys = new String[named];
    for (int i = 0; i < named; i++) {
      keys[i] = Manifests.key(deletes[i], offsets[i] == Columns.NULL ? null : Long.valueOf(offsets[i]));
    }
    Map removed = named == 0 ? new HashMap()
        : manifests.find(snapshot.deleteManifests(table.io()), new String[0], keys, table.io(), specs);
    List[] attached = new List[count];
    for (int i = 0; i < pairs; i++) {
      Object delete = removed.get(keys[ofDelete[i]]);
      if (delete == null) {
        return deletes[ofDelete[i]];
      }
      attached[ofFile[i]] = attached[ofFile[i]] == null ? new ArrayList() : attached[ofFile[i]];
      attached[ofFile[i]].add(delete);
    }
    Map texts = new HashMap(); // of schemas and specs, as tasks carry them
    List tasks = new ArrayList(count);
    for (int i = 0; i < count; i++) {
      DataFile file = (DataFile) data.get(locations[i]);
      if (file == null) {
        return locations[i];
      }
      tasks.add(task(file, attached[i], (PartitionSpec) specs.get(Integer.valueOf(file.specId())), texts));
    }
    ScanTaskSetManager.get().stageTasks(table, group, tasks);
    SparkTableCache.get().add(group, table);
    Dataset frame = session.read().format("iceberg").option("scan-task-set-id", group).load(group);
    return readsStaged(frame) ? (Object) frame : Boolean.FALSE;
  }

  /**
   * Returns whether a frame reads staged tasks. Iceberg for Spark 3.5 and 4.0 needs an option for that, later the name
   * alone; if it understands neither it would read the whole table.
   */
  private static boolean readsStaged(Dataset frame) {
    LogicalPlan leaf = (LogicalPlan) frame.queryExecution().analyzed().collectLeaves().head();
    if (!(leaf instanceof DataSourceV2Relation)) {
      return false;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) leaf;
    return ((SupportsRead) relation.table()).newScanBuilder(relation.options()).getClass().getSimpleName()
        .equals("SparkStagedScanBuilder");
  }

  private static Object task(DataFile file, List deletes, PartitionSpec spec, Map texts) {
    String[] said = (String[]) texts.get(spec);
    if (said == null) {
      said = new String[] {SchemaParser.toJson(spec.schema()), PartitionSpecParser.toJson(spec)};
      texts.put(spec, said);
    }
    DeleteFile[] all = deletes == null ? new DeleteFile[0] : (DeleteFile[]) deletes.toArray(new DeleteFile[0]);
    return new BaseFileScanTask(file, all, said[0], said[1], ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
  }
}
