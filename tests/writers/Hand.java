import java.io.BufferedReader;
import java.io.File;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.NanoTime;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/** Writes the columns of `columns.txt` by parquet-mr: `java Hand columns.txt FOLDER`. */
public final class Hand {
  private static final String[] WAYS = {"default", "small-pages", "dictionaries", "version-2", "row-groups"};
  private static final Set<String> REFUSED = new LinkedHashSet<>();

  public static void main(String[] args) throws Exception {
    String type = null;
    String shape = null;
    List<String> values = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(Paths.get(args[0]))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith("column\t")) {
          write(args[1], type, shape, values);
          values.clear();
          type = line.split("\t")[1];
          shape = line.split("\t")[2];
        } else if (!line.equals("batch")) {
          values.add(line);
        }
      }
    }
    write(args[1], type, shape, values);
    REFUSED.forEach(System.out::println);
  }

  private static void write(String folder, String type, String shape, List<String> values) {
    if (type == null) {
      return;
    }
    boolean inside = type.startsWith("struct<");
    String leaf = inside ? type.substring(7, type.length() - 1) : type;
    for (Map.Entry<String, String> form : forms(leaf).entrySet()) {
      for (String way : WAYS) {
        String name = (type + "." + shape).toLowerCase().replaceAll("[^a-z0-9.]+", "-") + "." + form.getKey() + way;
        File file = new File(folder, name + ".parquet");
        try {
          String field = "optional " + form.getValue();
          String schema = inside ? "optional group c { " + field.replace(" c", " f") + "; }" : field + ";";
          write(file, MessageTypeParser.parseMessageType("message m { " + schema + " }"), leaf, form.getValue(), inside, values, way);
        } catch (Exception | LinkageError error) {
          file.delete();
          REFUSED.add("refused: " + type + ", " + form.getKey() + way + ": " + error);
        }
      }
    }
  }

  /** The ways in which Parquet holds a type, by name. */
  private static Map<String, String> forms(String type) {
    Map<String, String> out = new LinkedHashMap<>();
    if (type.startsWith("decimal")) {
      int precision = Integer.parseInt(type.substring(8, type.indexOf(',')));
      String said = " c (" + type.toUpperCase() + ")";
      if (precision <= 9) {
        out.put("int32-", "int32" + said);
      }
      if (precision <= 18) {
        out.put("int64-", "int64" + said);
      }
      int bytes = BigInteger.TEN.pow(precision).bitLength() / 8 + 1;
      out.put("fixed-", "fixed_len_byte_array(" + bytes + ")" + said);
      out.put("binary-", "binary" + said);
      return out;
    }
    String form = null;
    switch (type) {
      case "bool": form = "boolean c"; break;
      case "int8": form = "int32 c (INT_8)"; break;
      case "int16": form = "int32 c (INT_16)"; break;
      case "int32": form = "int32 c"; break;
      case "int64": form = "int64 c"; break;
      case "uint8": form = "int32 c (UINT_8)"; break;
      case "uint16": form = "int32 c (UINT_16)"; break;
      case "uint32": form = "int32 c (UINT_32)"; break;
      case "uint64": form = "int64 c (UINT_64)"; break;
      case "half": form = "fixed_len_byte_array(2) c (FLOAT16)"; break;
      case "float": form = "float c"; break;
      case "double": form = "double c"; break;
      case "date": form = "int32 c (DATE)"; break;
      case "time_ms": form = "int32 c (TIME_MILLIS)"; break;
      case "time_us": form = "int64 c (TIME_MICROS)"; break;
      case "time_ns": form = "int64 c (TIME(NANOS,false))"; break;
      case "ts_ms": form = "int64 c (TIMESTAMP_MILLIS)"; break;
      case "ts_us": form = "int64 c (TIMESTAMP_MICROS)"; break;
      case "utc_us": form = "int64 c (TIMESTAMP(MICROS,true))"; break;
      case "ts_ns":
        out.put("int96-", "int96 c");
        form = "int64 c (TIMESTAMP(NANOS,false))";
        break;
      case "text": case "category": form = "binary c (UTF8)"; break;
      case "bytes": form = "binary c"; break;
      case "fixed4": form = "fixed_len_byte_array(4) c"; break;
      default: return out;
    }
    out.put("", form);
    return out;
  }

  private static void write(
      File file, MessageType schema, String type, String form, boolean inside, List<String> values, String way)
      throws Exception {
    file.delete();
    ExampleParquetWriter.Builder builder =
        ExampleParquetWriter.builder(new Path(file.getPath())).withType(schema).withConf(new Configuration(false));
    boolean small = way.equals("small-pages") || way.equals("version-2");
    builder.withDictionaryEncoding(way.equals("dictionaries") || way.equals("version-2"));
    if (small || way.equals("dictionaries")) {
      builder.withPageSize(64);
    }
    if (way.equals("row-groups")) {
      builder.withPageSize(64).withRowGroupSize(1024);
    }
    builder.withWriterVersion(way.equals("version-2") ? WriterVersion.PARQUET_2_0 : WriterVersion.PARQUET_1_0);
    try (ParquetWriter<Group> out = builder.build()) {
      for (String value : values) {
        Group row = new SimpleGroup(schema);
        if (!value.equals("!")) {
          Group holder = inside ? row.addGroup("c") : row;
          if (!value.equals("~")) {
            add(holder, inside ? "f" : "c", type, form, value);
          }
        } else if (!inside) {
          throw new IllegalStateException(value);
        }
        out.write(row);
      }
    }
  }

  private static void add(Group to, String field, String type, String form, String value) {
    if (value.startsWith("x")) {
      to.add(field, Binary.fromConstantByteArray(bytes(value)));
    } else if (type.equals("bool")) {
      to.add(field, value.equals("1"));
    } else if (type.equals("half")) {
      int bits = Integer.parseInt(value);
      to.add(field, Binary.fromConstantByteArray(new byte[] {(byte) bits, (byte) (bits >> 8)}));
    } else if (type.equals("float")) {
      to.add(field, Float.intBitsToFloat((int) Long.parseLong(value)));
    } else if (type.equals("double")) {
      to.add(field, Double.longBitsToDouble(Long.parseUnsignedLong(value)));
    } else if (form.startsWith("int32")) {
      to.add(field, (int) Long.parseLong(value));
    } else if (form.startsWith("int64")) {
      to.add(field, new BigInteger(value).longValue());
    } else if (form.startsWith("int96")) {
      long nanos = Long.parseLong(value);
      long day = Math.floorDiv(nanos, 86_400_000_000_000L);
      to.add(field, new NanoTime((int) (day + 2_440_588), nanos - day * 86_400_000_000_000L));
    } else {
      byte[] number = new BigInteger(value).toByteArray();
      if (form.startsWith("fixed")) {
        int width = Integer.parseInt(form.substring(form.indexOf('(') + 1, form.indexOf(')')));
        byte[] whole = new byte[width];
        java.util.Arrays.fill(whole, (byte) (number[0] < 0 ? -1 : 0));
        System.arraycopy(number, 0, whole, width - number.length, number.length);
        number = whole;
      }
      to.add(field, Binary.fromConstantByteArray(number));
    }
  }

  private static byte[] bytes(String value) {
    byte[] out = new byte[(value.length() - 1) / 2];
    for (int at = 0; at < out.length; at++) {
      out[at] = (byte) Integer.parseInt(value.substring(1 + 2 * at, 3 + 2 * at), 16);
    }
    return out;
  }
}
