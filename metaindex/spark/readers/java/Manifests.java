package metaindex;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.Tasks;
import org.apache.iceberg.util.ThreadPools;

/**
 * Files that manifests list. A manifest never changes, so what was read of small ones is kept, as long as there is
 * room.
 */
final class Manifests {
  private static final int KEPT_FILES = 50000; // of all manifests together; some hundred bytes each
  private final Map held = new LinkedHashMap(16, 0.75f, true); // by name: a map of files by key
  private int heldFiles;

  /** Returns what tells a file from all others: vectors of several data files stand in one delete file. */
  static String key(String location, Long offset) {
    return offset == null ? location : location + "\0" + offset;
  }

  /**
   * The files of the keys, as far as the manifests list them. `first`: paths of the manifests that should hold them;
   * the others are only read for what is not there.
   */
  Map find(List all, String[] first, String[] keys, FileIO io, Map specs) {
    Set missing = new HashSet(Arrays.asList(keys)), named = new HashSet(Arrays.asList(first));
    Map found = new HashMap();
    List likely = new ArrayList(), others = new ArrayList();
    for (Iterator i = all.iterator(); i.hasNext();) {
      ManifestFile one = (ManifestFile) i.next();
      (named.contains(one.path()) ? likely : others).add(one);
    }
    search(likely, missing, found, io, specs);
    if (!missing.isEmpty()) {
      search(others, missing, found, io, specs);
    }
    return found;
  }

  private void search(List manifests, Set missing, Map found, FileIO io, Map specs) {
    Map read = read(manifests, missing, io, specs);
    for (Iterator i = manifests.iterator(); i.hasNext();) {
      String name = name((ManifestFile) i.next(), specs);
      Map files = (Map) (read.containsKey(name) ? read.get(name) : held.get(name));
      Set fewer = files.size() < missing.size() ? files.keySet() : new HashSet(missing);
      for (Iterator j = fewer.iterator(); j.hasNext();) {
        Object key = j.next();
        if (files.containsKey(key) && missing.remove(key)) {
          found.put(key, files.get(key));
        }
      }
    }
    for (Iterator i = manifests.iterator(); i.hasNext();) {
      ManifestFile one = (ManifestFile) i.next();
      String name = name(one, specs);
      if (read.containsKey(name) && isSmall(one)) {
        keep(name, (Map) read.get(name));
      }
    }
  }

  /** The values of partitions are of the types that the spec has in the version that is read. */
  static String name(ManifestFile one, Map specs) {
    return one.path() + "\0" + ((PartitionSpec) specs.get(Integer.valueOf(one.partitionSpecId()))).partitionType();
  }

  private void keep(String name, Map files) {
    held.put(name, files);
    heldFiles += files.size();
    for (Iterator i = held.values().iterator(); heldFiles > KEPT_FILES;) {
      heldFiles -= ((Map) i.next()).size();
      i.remove();
    }
  }

  private static boolean isSmall(ManifestFile one) {
    return one.addedFilesCount() != null && one.existingFilesCount() != null
        && one.addedFilesCount().intValue() + one.existingFilesCount().intValue() <= KEPT_FILES / 2;
  }

  /** The files by key of each manifest that is not held, by name: of large ones the wanted only. */
  private Map read(List manifests, final Set wanted, final FileIO io, final Map specs) {
    final Map out = Collections.synchronizedMap(new HashMap());
    List asked = new ArrayList();
    for (Iterator i = manifests.iterator(); i.hasNext();) {
      ManifestFile one = (ManifestFile) i.next();
      if (!held.containsKey(name(one, specs))) {
        asked.add(one);
      }
    }
    Tasks.foreach(asked).stopOnFailure().throwFailureWhenFinished()
        .executeWith(asked.size() < 2 ? null : ThreadPools.getWorkerPool()).run(new Tasks.Task() {
      public void run(Object one) throws Exception {
        out.put(name((ManifestFile) one, specs), files((ManifestFile) one, wanted, io, specs));
      }
    });
    return out;
  }

  static Map files(ManifestFile one, Set wanted, FileIO io, Map specs) throws Exception {
    boolean deletes = one.content() == ManifestContent.DELETES, all = isSmall(one);
    Map out = new HashMap();
    ManifestReader reader = deletes ? ManifestFiles.readDeleteManifest(one, io, specs)
        : ManifestFiles.read(one, io, specs);
    try {
      for (Iterator i = reader.iterator(); i.hasNext();) {
        ContentFile file = (ContentFile) i.next();
        String key = deletes ? key(file.location(), ((DeleteFile) file).contentOffset()) : file.location();
        if (all || wanted.contains(key)) {
          out.put(key, deletes ? file : file.copyWithoutStats());
        }
      }
    } finally {
      reader.close();
    }
    return out;
  }
}
