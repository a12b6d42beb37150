package metaindex;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A scan without the files that an answer leaves out of it: those that its filters prove out; those behind the first
 * rows of an order; those whose rows are answered elsewhere. The latter two rest on rows of other files, so Spark's own
 * list must have those files as the answer knows them, with as many rows deleted.
 */
class ReducedScan {
  private final ScanSite one;
  private final Reply answers;
  private final int number;
  final PlanScans survey;
  boolean changed; // is it other than it was, be it in place?
  boolean covered; // does an index stand in its place?
  LogicalPlan aggregate; // that stands in place of the one above; null where that stays

  ReducedScan(ScanSite one, Reply answers, int number, PlanScans survey) {
    this.one = one;
    this.answers = answers;
    this.number = number;
    this.survey = survey;
  }

  /** Returns what replaces it; null: the scan itself, which may be changed in place, now or `later`. */
  LogicalPlan plan(List later) {
    Map out = part("dropped") == null ? new HashMap() : Reply.files(part("dropped"));
    String label = part("label") == null ? "" : part("label").asText();
    JsonNode first = part("first"), known = part("aggregate");
    if (first != null && one.first != null && stand(first)) {
      out.putAll(Reply.files(first.get("dropped")));
      one.scan.rely(proof(first));
      label = first.get("label").asText();
    }
    if (known != null && one.counted != null && one.scan.canBeAnswered(one, survey) && stand(known)) {
      out.putAll(proof(known));
      aggregate = one.counted.over(known.get("rows"), one.scan.facts(out));
      changed = true;
      return one.scan.answered(one, out, known.get("label").asText(), survey, later);
    }
    JsonNode certain = part("certain");
    if (certain != null && one.any) {
      changed = true;
      return one.scan.certainFirst(one, Reply.files(certain.get("files")), out, certain.get("label").asText(), survey);
    }
    JsonNode groups = survey.checks() ? part("groups") : null;
    if (groups != null) {
      one.scan.narrow(groups);
    }
    changed = !out.isEmpty() || groups != null;
    return changed ? one.scan.without(one, out, label, survey) : null;
  }

  /** Returns what a covering index gives in its place; null if none does. */
  JsonNode cover() {
    return answers.cover(number);
  }

  private JsonNode part(String name) {
    return answers.part(number, name);
  }

  private static Map proof(JsonNode proved) {
    Map out = new HashMap();
    String[] files = Reply.unpacked(proved.get("proof"));
    for (int i = 0; i + 2 < files.length; i += 3) {
      Deadline.look();
      out.put(files[i], files[i + 1]);
    }
    return out;
  }

  /** Returns whether the files of a proof are listed as they were known, with the deletes that were counted. */
  private boolean stand(JsonNode proved) {
    String[] files = Reply.unpacked(proved.get("proof"));
    Map listed = one.scan.listed(), deleted = one.scan.deleted();
    for (int i = 0; i + 2 < files.length; i += 3) {
      Deadline.look();
      Object rows = deleted.get(files[i]);
      if (!Facts.match(files[i + 1], listed.get(files[i]))
          || !files[i + 2].equals(rows == null ? "0" : rows.toString())) {
        return false;
      }
    }
    return true;
  }
}
