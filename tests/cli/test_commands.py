"""The verbs on a small table: the same answers as in Python, for people and for machines."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from .conftest import LONG, Call, write_table


def test_prune_names_the_kept_file_only(call: Call, indexed: Path) -> None:
    answer = call("prune", indexed, "id = 112", "--paths")
    assert (answer.code, answer.out) == (0, f"{indexed}/month=1/part-1.parquet\n")
    assert call("prune", indexed, "id = 999", "--paths").out == ""


def test_prune_in_json_is_one_value(call: Call, indexed: Path) -> None:
    found = call("prune", indexed, "id IN (112, 201)", "--json").json
    assert (found["kept_files"], found["total_files"], found["dropped_files"]) == (2, 6, 4)
    assert [one["name"] for one in found["indexes"] if one["used"]] == ["stats"]
    found = call("prune", indexed, "id = 112 AND month = 1", "--no-indexes", "--json").json
    assert found["kept_files"] == 3, "what only the index can prove"


def test_prune_for_people_tells_files_and_who_dropped_them(call: Call, indexed: Path) -> None:
    answer = call("prune", indexed, "id = 112")
    assert "read 1 of 6 files" in answer.out
    assert "month=1/part-1.parquet" in answer.out
    assert "\x1b" not in answer.out
    assert "rows" not in answer.out, "the table's log tells of no rows"


def test_recommend_without_queries_names_what_notes_them(call: Call, indexed: Path) -> None:
    answer = call("recommend", indexed)
    assert "name queries (--queries, --where), or have them noted by METAINDEX_QUERY_LOG=kept" in answer.out
    assert "how the table grows is unknown" in answer.out


def test_explain_tells_what_was_not_understood(call: Call, indexed: Path) -> None:
    answer = call("explain", indexed, "id = 112 AND name RLIKE 'A'")
    assert answer.code == 0
    assert "keeps every file: no index answers it" in answer.out
    assert call("explain", indexed, "id = 112", "--json").json["kept_files"] == 1


def test_scan_gives_the_rows_that_match(call: Call, indexed: Path) -> None:
    found = call("scan", indexed, "id BETWEEN 112 AND 121", "--json", "--columns", "id,month").json
    assert sorted(row["id"] for row in found["rows"]) == [112, 113, 114, 120, 121]
    assert (found["kept_files"], found["total_files"], found["columns"]) == (2, 6, ["id", "month"])


def test_scan_writes_values_that_json_lacks_as_text(call: Call, indexed: Path) -> None:
    rows = call("scan", indexed, "month = 1", "--json", "--limit", "all").json["rows"]
    assert {str(row["v"]) for row in rows} >= {"nan", "inf", "None"}


def test_count_says_how_many_and_what_it_took(call: Call, indexed: Path) -> None:
    answer = call("count", indexed, "id BETWEEN 112 AND 121")
    assert answer.out == "5\n"
    assert call("scan", indexed, "id >= 200", "--count").out == "15\n"
    assert "of 6 files 2 opened, 0 answered from metadata, 4 left out" in answer.err
    assert "of 6 files 0 opened, 6 answered from metadata, 0 left out" in call("count", indexed).err
    found = call("count", indexed, "--by", "month", "--max", "id", "--json").json
    assert found["columns"] == ["month", "count(*)", "max(id)"]
    assert sum(row["count(*)"] for row in found["rows"]) == 30
    assert "max(id)" in call("count", indexed, "--by", "month", "--max", "id").out


@pytest.mark.parametrize(("limit", "rows"), [("all", 30), (1, 1), (7, 7), (100, 30)])
def test_scan_stops_at_the_limit(call: Call, indexed: Path, limit: object, rows: int) -> None:
    assert len(call("scan", indexed, "--limit", limit, "--json").json["rows"]) == rows


def test_scan_shows_twenty_rows_without_a_limit(call: Call, indexed: Path) -> None:
    answer = call("scan", indexed)
    assert len(answer.out.splitlines()) == 2 + 20
    assert "20 rows, there may be more (--limit)" in answer.err


def test_a_long_or_broken_name_is_whole_and_in_one_line_in_a_pipe(call: Call, indexed: Path) -> None:
    answer = call("scan", indexed, "id < 105", "--columns", "name,id")
    assert LONG in answer.out
    assert "line\\nbreak" in answer.out
    assert len(answer.out.splitlines()) == 2 + 5


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_scan_writes_a_file_with_all_rows(call: Call, indexed: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / f"rows.{ending}"
    answer = call("scan", indexed, "id >= 110", "--columns", "id", "--output", target)
    assert answer.code == 0
    assert "25 rows written" in answer.out
    if ending == "jsonl":
        ids = [int(line.split(":")[1].strip(" }")) for line in target.read_text().splitlines()]
    else:
        read = pq.read_table if ending == "parquet" else csv.read_csv
        ids = read(target).column("id").to_pylist()
    assert sorted(ids) == [*range(110, 115), *range(120, 125), *range(200, 205), *range(210, 215), *range(220, 225)]
    assert os.listdir(tmp_path) == [target.name]


def test_an_output_file_is_not_replaced_unless_asked(call: Call, indexed: Path, tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    target.write_text("mine")
    answer = call("scan", indexed, "--output", target)
    assert (answer.code, target.read_text()) == (1, "mine")
    failing = call("scan", indexed, "nope = 1", "--output", target, "--overwrite")
    assert (failing.code, target.read_text(), os.listdir(tmp_path)) == (1, "mine", ["rows.csv"])
    assert call("scan", indexed, "--output", target, "--overwrite").code == 0
    assert target.read_text() != "mine"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("{tmp}/rows.xlsx", ".parquet, .csv or .jsonl"),
        ("{tmp}/nowhere/rows.csv", "does not; create it first"),
        ("{table}/month=1/rows.parquet", "would become part of the table"),
    ],
)
def test_a_place_that_cannot_take_the_rows_is_refused(
    call: Call, indexed: Path, tmp_path: Path, place: str, said: str
) -> None:
    target = Path(place.format(tmp=tmp_path, table=indexed))
    answer = call("scan", indexed, "--output", target)
    assert (answer.code, said in answer.err, target.exists()) == (1, True, False), answer.err


def test_the_life_of_an_index(call: Call, tmp_path: Path) -> None:
    table = write_table(tmp_path / "events")
    made = call("create", table, "stats", "--builder", "local", "--column", "id", "--json").json
    assert (made["changed"], made["state"], made["files"]) == (True, "ACTIVE", 6)
    old = call("indexes", table, "stats", "--json").json
    assert (old["fresh"], old["columns"]) == (True, ["id"])

    pq.write_table(pa.table({"id": [300], "name": ["new"], "v": [0.0]}), table / "month=2" / "part-9.parquet")
    assert "no" in call("indexes", table).out.splitlines()[2].split()
    assert call("prune", table, "id = 300", "--json").json["kept_files"] == 1
    refreshed = call("refresh", table, "stats", "--builder", "local").out
    assert "done, ACTIVE" in refreshed
    assert "nothing to do" in call("refresh", table, "stats", "--builder", "local").out
    assert call("refresh", table, "stats", "--builder", "local", "--mode", "full", "--json").json["files"] == 7

    version = old["versions"][0]
    assert call("prune", table, "id = 300", "--version", version, "--json").json["kept_files"] == 0
    assert call("scan", table, "--version", version, "--count").out == "30\n"

    assert "DELETED" in call("drop", table, "stats").out
    assert call("prune", table, "id = 112", "--json").json["kept_files"] == 7
    assert "ACTIVE" in call("restore", table, "stats").out
    assert call("vacuum", table, "stats").code == 1  # only a deleted index is removed
    call("drop", table, "stats")
    assert call("vacuum", table, "stats").code == 0
    assert "has no index; build one: metaindex create" in call("indexes", table).out
    assert call("indexes", table, "--json").json == []
    assert call("cancel", table, "stats").code == 1


def test_options_of_the_reader_reach_it(call: Call, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.csv").write_text("x;y\n1;a\n2;b\n")
    found = call(
        "scan",
        tmp_path / "t",
        "x = 2",
        "--format",
        "csv",
        "--option",
        "delimiter=;",
        "--option",
        "header=true",
        "--json",
    ).json
    assert found["rows"] == [{"x": 2, "y": "b"}]


@pytest.mark.slow
def test_an_index_may_lie_elsewhere(call: Call, tmp_path: Path) -> None:
    table = write_table(tmp_path / "events")
    place = tmp_path / "indexes"
    assert call("create", table, "stats", "--builder", "local", "--index-location", place).code == 0
    assert call("indexes", table, "--json").json == []
    assert len(call("indexes", table, "--index-location", place, "--json").json) == 1
    assert call("prune", table, "id = 112", "--index-location", place, "--json").json["kept_files"] == 1


@pytest.mark.slow
def test_optimize_clean_enable_and_disable(call: Call, tmp_path: Path) -> None:
    root = write_table(tmp_path / "events")
    assert call("create", root, "stats", "--builder", "local").code == 0
    answer = call("optimize", root, "stats", "--mode", "full")
    assert "nothing to do" in answer.out
    assert call("clean", root, "stats", "--retention", "0s").code == 0
    assert call("disable", root, "stats").code == 0
    assert "ACTIVE, disabled" in call("indexes", root).out
    assert call("prune", root, "id = 112", "--json").json["kept_files"] == 6
    assert call("enable", root, "stats").code == 0
    assert call("prune", root, "id = 112", "--json").json["kept_files"] == 1
    assert "such as 12h" in call("clean", root, "stats", "--retention", "soon").err


@pytest.mark.slow
def test_clean_erases(call: Call, tmp_path: Path) -> None:
    root = write_table(tmp_path / "events")
    assert call("create", root, "stats", "--builder", "local").code == 0
    (root / "month=1" / "part-0.parquet").unlink()
    assert "1 file taken out of 1 run" in call("clean", root, "stats", "--erase").out
    assert call("prune", root, "id = 112", "--json").json["kept_files"] == 1


@pytest.mark.slow
def test_a_refresh_of_some_files_and_a_quick_one(call: Call, tmp_path: Path) -> None:
    table = write_table(tmp_path / "events")
    call("create", table, "stats", "--builder", "local", "--trust-log", "--json")
    for month in (1, 2):
        pq.write_table(pa.table({"id": [999], "name": ["n"], "v": [0.5]}), table / f"month={month}" / "new.parquet")
    local = ("--builder", "local", "--json")

    limited = call("refresh", table, "stats", "--where", "month = 1", *local).json
    quick = call("refresh", table, "stats", "--mode", "quick", *local).json

    assert (limited["changed"], quick["changed"], quick["files"]) == (True, True, 8)
    assert "named and not indexed" in " ".join(quick["notes"])
    assert call("prune", table, "id = 5", "--json").json["kept_files"] == 1
    assert call("refresh", table, "stats", "--under", "month=2", *local).json["changed"]
    assert "partition columns: month" in call("refresh", table, "stats", "--where", "id = 1", *local).err


def test_create_indexes_an_older_version(call: Call, tmp_path: Path) -> None:
    import deltalake

    root = tmp_path / "events"
    for first in (0, 10):
        deltalake.write_deltalake(str(root), pa.table({"id": [first, first + 1]}), mode="append")
    assert call("create", root, "old", "--version", "0", "--builder", "local").code == 0
    assert call("prune", root, "id = 5", "--version", "0", "--json").json["kept_files"] == 0
    (found,) = call("indexes", root, "--json").json
    assert not found["fresh"]
    assert call("create", root, "none", "--version", "9", "--builder", "local").code != 0


def test_whatif_weighs_what_is_named_and_what_follows(call: Call, indexed: Path) -> None:
    found = call("whatif", indexed, "--where", "id = 3", "--no-indexes", "--json").json
    names = [one["candidate"] for one in found["candidates"]]
    assert names == ["column_stats(id)", "values(id)", "bloom_filters(id)"]
    assert found["queries"][0]["now"]["files"]["expected"] >= 1
    words = ("--where", "id = 3", "--where", "nothing = 3", "--values", "id", "--bloom", "id")
    answer = call("whatif", indexed, *words)
    assert answer.code == 0
    assert "bloom_filters(id)" in answer.out
    assert "1 of 2 questions not answered" in answer.out
    both = call("whatif", indexed, *words, "--together", "--json").json
    assert [one["candidate"] for one in both["candidates"]] == ["values(id) + bloom_filters(id)"]
    assert call("whatif", indexed, "--where", "id = 3", "--sample", "2").code == 2
    assert call("whatif", indexed).code == 2


def test_clustering_measures_and_advises(call: Call, indexed: Path) -> None:
    found = call("clustering", indexed, "--json").json
    assert {one["column"] for one in found["columns"]} >= {"id", "month"}
    assert [one["partition"] for one in found["columns"] if one["column"] == "month"] == [True]
    answer = call("clustering", indexed, "--column", "id", "--sample", "0")
    assert answer.code == 0
    assert "one value reads" in answer.out
    assert "read for the advice" not in answer.out
    assert call("clustering", indexed, "--no-indexes", "--json").json["files"] == 6
    assert call("clustering", indexed, "--sample", "2").code == 2
    assert "there is no 'nothing'" in call("clustering", indexed, "--column", "nothing").err
