import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** Asks Flink each query of a file, one a line; prints its first column, or the error at the root. */
public class Ask {
    public static void main(String[] arguments) throws Exception {
        TableEnvironment flink = TableEnvironment.create(EnvironmentSettings.newInstance().inBatchMode().build());
        flink.getConfig().set("parallelism.default", "1");
        for (String query : Files.readAllLines(Path.of(arguments[0]))) {
            List<String> values = new ArrayList<>();
            try (CloseableIterator<Row> rows = flink.executeSql(query).collect()) {
                rows.forEachRemaining(row -> values.add(String.valueOf(row.getField(0))));
                System.out.println("rows\t" + query + "\t" + String.join(" ", values));
            } catch (Throwable error) {
                Throwable root = error;
                while (root.getCause() != null) {
                    root = root.getCause();
                }
                System.out.println("error\t" + query + "\t" + root.toString().replaceAll("\\s+", " "));
            }
        }
    }
}
