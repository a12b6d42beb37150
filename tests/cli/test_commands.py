"""The verbs on a small table: the same answers as in Python, for people and for machines."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from tests.tables import Lake, delta_lake, indexed, parquet_lake, rows, settle, settled

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
    assert (call("scan", indexed, "--output", target).code, target.read_text()) == (1, "mine")
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
    assert "done, ACTIVE" in call("refresh", table, "stats", "--builder", "local").out
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
    assert "nothing to do" in call("optimize", root, "stats", "--mode", "full").out
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
    assert answer.code == 1
    assert "bloom_filters(id)" in answer.out
    assert "1 of 2 questions not answered" in answer.out
    both = call("whatif", indexed, *words, "--together", "--json").json
    assert [one["candidate"] for one in both["candidates"]] == ["values(id) + bloom_filters(id)"]
    assert call("whatif", indexed, "--where", "id = 3", "--sample", "2").code == 2
    assert call("whatif", indexed).code == 2
    for form in ((), ("--json",)):
        wrong = call("whatif", indexed, "--where", "id = 3", "--values", "idd", *form)
        assert (wrong.code, "near names: id" in wrong.out, "values(idd)  " in wrong.out) == (1, True, False)


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


# Lakes ----------------------------------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[2]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    indexed(delta_lake(tmp_path / "lake" / "a"))
    delta_lake(tmp_path / "lake" / "b").append(rows(1))
    return tmp_path / "lake"


def test_a_table_for_people_and_json_for_programs(lake: Path, call: Call) -> None:
    told = call("lake", lake)
    assert told.code == 0
    assert "2 tables, 2 files" in told.out
    assert "a/lake  delta" in told.out
    plain = call("lake", lake, "--json", "--no-layout").json
    assert [table["name"] for table in plain["tables"]] == ["a/lake", "b/lake"]
    assert plain["tables"][0]["indexes"][0]["verified_ms"] is None
    assert plain["tables"][0]["layout"] is None


def test_what_is_cut_off_says_where_it_stands_whole(lake: Path, call: Call) -> None:
    whole = "what is cut off (...) stands whole in"
    assert whole not in call("lake", lake, "--no-layout").out
    (log,) = (lake / "b" / "lake" / "_delta_log").glob("*0.json")
    log.write_text("no log")
    assert whole in call("lake", lake, "--no-layout").out
    problem = call("lake", lake, "--no-layout", "--json").json["tables"][1]["problem"]
    assert len(problem) > 60
    assert not problem.endswith("...")


def test_the_page_and_those_of_its_tables(lake: Path, tmp_path: Path, call: Call) -> None:
    page = tmp_path / "lake.html"
    told = call("lake", lake, "--html", page, "--reports", tmp_path / "pages")
    assert (told.code, page.exists()) == (0, True)
    assert "lake.html written" in told.err
    pages = sorted((tmp_path / "pages").iterdir())
    assert [each.name.rsplit("-", 1)[0] for each in pages] == ["a-lake", "b-lake"]
    assert f'href="./pages/{pages[0].name}"' in page.read_text()
    assert call("lake", lake, "--html", page).code == 0, "a page of ours is replaced"
    page.write_text("mine")
    told = call("lake", lake, "--html", page)
    assert (told.code, page.read_text()) == (1, "mine")
    assert "replaces reports alone" in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--reports", "x"], "name it by --html FILE"),
        (["--html", "lake.html", "--reports", "/elsewhere"], "lie below the folder of the lake's page"),
        (["--html", "s3://x/lake.html"], "a report is written to a local file"),
        (["--queries", "none.sql"], "none.sql"),
        (["--catalog-option", "uri=x"], "leave --catalog-option out"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    lake: Path, call: Call, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(lake.parent)
    told = call("lake", lake, *words)
    assert told.code == 1
    assert said in told.err
    assert told.err.count("error:") == 1


def test_a_page_is_not_written_among_the_files_of_a_table(lake: Path, call: Call) -> None:
    told = call("lake", lake, "--html", lake / "a" / "lake" / "x.html")
    assert told.code == 1
    assert "outside of the table" in told.err
    assert call("lake", lake, "--html", lake / "x.html").code == 0, "beside them it may lie"


@pytest.mark.slow
def test_watching_looks_again_until_it_is_stopped(lake: Path) -> None:
    words = [sys.executable, "-m", "metaindex", "lake", str(lake), "--watch", "--every", "0.1", "--json"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watching:
        seen = ""
        while seen.count('"lake":') < 2:
            seen += watching.stdout.readline()
        watching.send_signal(signal.SIGTERM)
        watching.stdout.read()
    assert watching.returncode == 0
    first, _ = json.JSONDecoder().raw_decode(seen)
    assert len(first["tables"]) == 2


# Folders of tables ----------------------------------------------------------------------------------------------------


def test_a_folder_of_tables_is_said_to_be_one(tmp_path: Path, call: Call) -> None:
    root = tmp_path / "a lake"
    for name, made in (("one", delta_lake), ("two", parquet_lake)):
        made(root / name).append(rows(0))
    said = f"it looks like a folder of tables (one/lake, two/lake): `metaindex lake '{root}'` tells of them"
    assert said in call("indexes", root).out
    assert str(mi.sql(f"SHOW INDEXES ON '{root}'")) == f"no index; {said}"
    assert f"no index; {said}" in call("sql", f"SHOW INDEXES ON '{root}'").out
    assert str(mi.sql(f"SHOW INDEXES ON '{root}/one/lake'")) == "no index"
    settled(root / "three", {"0.csv": "a\n1\n"})
    for command in (["prune", root, "id = 1"], ["create", root, "s"]):
        told = call(*command)
        assert told.code == 1
        assert "it looks like a folder of tables (one/lake, three, two/lake): `metaindex lake" in told.err
        assert "Traceback" not in told.err


def test_a_table_of_several_folders_is_not(tmp_path: Path, call: Call) -> None:
    for day in (1, 2):
        settled(tmp_path / f"day={day}", {"0.csv": "a\n1\n"})
    settle(tmp_path)
    assert "build one: metaindex create" in call("indexes", tmp_path).out
    assert "folder of tables" not in call("prune", tmp_path / "nope", "a = 1").err


@pytest.mark.parametrize("made", [parquet_lake, delta_lake])
@pytest.mark.parametrize("of_index", [False, True])
def test_a_file_in_the_way_of_an_index_is_told(tmp_path: Path, call: Call, made: object, of_index: bool) -> None:
    lake: Lake = made(tmp_path)
    lake.append(rows(0))
    folder = Path(lake.path) / "_metaindex" if made is delta_lake else tmp_path / "_metaindex" / "lake"
    in_the_way = folder / "s" if of_index else folder.parent if folder.name == "lake" else folder
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("x")
    told = call("create", lake.path, "s")
    assert told.code == 1
    fact = f"{str(in_the_way)!r} is a file, where a folder is made; move that file away, or choose another place with"
    assert f"{fact} --index-location" in told.err
    assert len(told.err.splitlines()) == 1
    assert call("count", lake.path, "id >= 0", "--json").code == 0
    assert call("indexes", lake.path).code == 0
    if not of_index:
        found = call("doctor", lake.path, "--json").json
        assert ("lacking", True) in [(one["state"], str(in_the_way) in one["fact"]) for one in found]
