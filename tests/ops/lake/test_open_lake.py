"""`mi.open_lake`: a row a table, whatever is wrong with some of them."""

import datetime as dt
import json
import os
import shlex
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.ops.lake.asking import ask
from metaindex.ops.lake.opening import LakeAsked, places_of
from metaindex.ops.lake.side_by_side import SideBySide, Unanswered
from metaindex.ops.lake.watching import Watcher
from metaindex.table import handle_of
from tests.cli.conftest import Call
from tests.cli.conftest import call as call  # the fixture
from tests.tables import FORMATS, delta_lake, indexed, parquet_lake, rows, settled

NASTY = "'; <img src=x onerror=alert(1)> \u202e \x1b[31m"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of each format, with an index that is a commit behind; one without; one whose log is damaged; one with a
    hostile name; a folder that is none."""
    root = tmp_path_factory.mktemp("root") / "lake"
    for name, make in FORMATS.items():
        table = make(root / name)
        indexed(table)
        for number in range(4):
            table.append(rows(10 * number))
    delta_lake(root / "bare").append(rows(1))
    parquet_lake(root / NASTY).append(rows(1))
    delta_lake(root / "broken").append(rows(1))
    (root / "broken" / "lake" / "_delta_log" / f"{0:020}.json").write_text("{")
    (root / "notes" / "old").mkdir(parents=True)
    (root / "notes" / "old" / "a.txt").touch()
    return root


def test_every_table_has_its_row(lake: Path) -> None:
    told = mi.open_lake(lake)
    names = {"parquet/lake", "csv/lake", "delta/lake", "iceberg/warehouse/db/lake", "bare/lake", "broken/lake"}
    assert {table.name for table in told} == {*names, f"{NASTY}/lake"}
    by_name = {table.name: table for table in told}
    for name, table_format in (("parquet/lake", "parquet"), ("delta/lake", "delta"), ("csv/lake", "csv")):
        row = by_name[name]
        assert (row.format, row.files, row.fresh) == (table_format, 5, False)
        assert (row.behind_files, row.problem) == (4, "")
        assert row.size_bytes == mi.open_table(lake / name).snapshot().files.size_bytes
        assert row.index_bytes == told[name].indexes[0].info.stored_bytes > 0
        assert "stats is behind (4 files" in row.advice[0]
    assert by_name["delta/lake"].behind_commits == 4
    assert by_name["iceberg/warehouse/db/lake"].behind_commits == 4
    assert by_name["parquet/lake"].behind_commits is None, "a plain folder has no log"
    assert by_name["delta/lake"].lag_ms is not None
    assert by_name["bare/lake"].indexes == ()
    assert "_delta_log" in by_name["broken/lake"].problem or "json" in by_name["broken/lake"].problem
    assert by_name["broken/lake"].format == ""


def test_what_it_says_is_what_each_table_says(lake: Path) -> None:
    told = mi.open_lake(lake)
    for name in ("parquet/lake", "delta/lake", "iceberg/warehouse/db/lake"):
        table = told.open(name)
        (info,) = table.indexes()
        (index,) = told[name].indexes
        assert index.info == info
        column = told[name].layout
        if column is not None:
            assert column.share == table.clustering(sample=0)[column.column].value_share


def test_for_programs_and_for_people(lake: Path) -> None:
    told = mi.open_lake(lake)
    table = told.to_arrow()
    assert table.num_rows == len(told) == 7
    by_name = {row["name"]: row for row in table.to_pylist()}
    assert by_name["delta/lake"]["behind_commits"] == 4
    assert by_name["delta/lake"]["indexes"] == ["stats"]
    assert by_name["broken/lake"]["files"] is None
    indexes = told.indexes_arrow()
    assert indexes.num_rows == 4
    assert set(indexes.column("name").to_pylist()) == {"stats"}
    plain = json.loads(json.dumps(told.to_json()))
    assert [row["name"] for row in plain["tables"]] == sorted(row["name"] for row in plain["tables"])
    assert repr(told).startswith(f"<Lake: {lake}: 7 tables, ")
    assert "\n" not in repr(told)
    shown = str(told)
    assert "4 commits, 4 files" in shown
    assert "\x1b" not in shown + repr(told)
    assert "\u202e" not in shown + repr(told)
    assert "<img" not in told._repr_html_()
    assert "&lt;img" in told._repr_html_()


@pytest.mark.slow
def test_savings_and_unused_indexes_come_from_the_query_log(tmp_path: Path) -> None:
    table = delta_lake(tmp_path)
    indexed(table)
    table.append(rows(100))
    opened = table.open(config=mi.Config(query_log=True))
    opened.refresh_index("stats", builder="local")
    opened.create_index("ids", mi.Values("id"), builder="local")
    opened.create_index("idle", mi.ValueList("id"), builder="local")
    for at in (1, 101, 102):
        opened.prune(f"id = {at}", indexes=["stats", "ids"])
    row = mi.open_lake(tmp_path)["lake"]
    saved = opened.savings()
    assert (row.savings.queries, row.savings.helped) == (3, 3)
    assert row.savings.bytes_left_out == saved.total.bytes_left_out > 0
    assert row.unused == saved.unused == ("idle",)
    assert not any("idle" in word for word in row.advice), "three queries are too few to tell"
    for at in range(7):
        opened.prune(f"id = {at}", indexes=["stats", "ids"])
    opened.create_index("young", mi.Bloom("id"), builder="local")
    row = mi.open_lake(tmp_path)["lake"]
    said = "idle helped none of the 10 queries that were noted since it was created"
    assert row.advice == (f"{said}: metaindex drop {table.path} idle",)
    assert row.unused == ("idle",)
    assert {index.info.name: index.queries for index in row.indexes} == {"stats": 10, "ids": 10, "idle": 10, "young": 0}
    assert mi.open_lake(tmp_path, since=dt.timedelta())["lake"].savings is None


def test_a_workload_recommends_for_the_tables_that_it_names(tmp_path: Path) -> None:
    for name in ("orders", "users"):
        table = parquet_lake(tmp_path / name)
        shutil.rmtree(table.path)
        for number in range(8):
            Path(table.path).mkdir(exist_ok=True)
            table.append(pa.table({"id": [number, 1000 - number], "v": [1, 2]}))
        os.rename(table.path, tmp_path / name / f"all_{name}")
    told = mi.open_lake(tmp_path, queries=["SELECT v FROM all_orders WHERE id = 7"])
    assert {index.table for index in told.recommended.indexes} == {str(tmp_path / "orders" / "all_orders")}
    assert told["orders/all_orders"].advice[0].startswith("create ")
    bare = tmp_path / "users" / "all_users"
    assert told["users/all_users"].advice == (f"no index: metaindex create {bare} stats",)
    assert told["orders/all_orders"].commands == ()


def test_an_index_that_is_damaged_is_a_problem_of_its_row_alone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        indexed(delta_lake(tmp_path / name))
    for entry in (tmp_path / "a" / "lake" / "_metaindex" / "stats" / "_log").iterdir():
        entry.write_text("no entry")
    told = mi.open_lake(tmp_path)
    assert "stats" in told["a/lake"].problem
    assert told["a/lake"].files == 1
    verify, repair = (f"metaindex {verb} {tmp_path}/a/lake stats" for verb in ("verify", "repair"))
    assert told["a/lake"].advice[0] == f"stats cannot be used: {verify}, then {repair}"
    assert told["a/lake"].commands == (verify, repair)
    assert (told["b/lake"].problem, told["b/lake"].fresh) == ("", True)


def test_a_deleted_index_is_told_as_such_and_needs_nothing(tmp_path: Path) -> None:
    table = settled(tmp_path / "lake" / "t", {"0.csv": "a,b;c\n1,2;3\n"})
    mi.open_table(table, header=True).create_index("comma", mi.ColumnStats(), builder="local")
    semi = mi.open_table(table, header=True, sep=";")
    semi.create_index("semi", mi.ColumnStats(), builder="local")
    semi.drop_index("semi")
    told = mi.open_lake(tmp_path / "lake")
    (row,) = told
    assert (row.advice, row.fresh) == ((), True)
    assert "comma, semi (DELETED)" in str(told)
    told.report(tmp_path / "lake.html")
    assert "comma, semi (DELETED)" in (tmp_path / "lake.html").read_text()


def test_an_index_of_other_reader_options_is_told_of_and_not_behind(tmp_path: Path) -> None:
    table = settled(tmp_path / "lake" / "t", {f"{number}.csv": "a,b;c\n1,2;3\n" for number in range(2)})
    mi.open_table(table, header=True).create_index("comma", mi.ColumnStats(), builder="local")
    mi.open_table(table, header=True, sep=";").create_index("semi", mi.ColumnStats(), builder="local")
    told = mi.open_lake(tmp_path / "lake")
    (row,) = told
    infos = mi.open_table(table, header=True).indexes()
    assert (
        [index.info.other_options for index in row.indexes] == [info.other_options for info in infos] == [(), ("sep",)]
    )
    assert [(index.asked, index.info.fresh) for index in row.indexes] == [(True, True), (False, None)]
    assert row.fresh is True
    assert row.advice == (f"semi was built with other reader options (sep): metaindex indexes {table} semi",)
    assert "comma, semi (other reader options)" in str(told)
    assert "semi was built with other reader options (sep)" in str(told)
    assert json.loads(json.dumps(told.to_json()))["tables"][0]["indexes"][1]["other_options"] == ["sep"]
    assert told.indexes_arrow()["other_options"].to_pylist() == [[], ["sep"]]
    told.report(tmp_path / "lake.html")
    page = (tmp_path / "lake.html").read_text()
    assert "comma, semi (other reader options)" in page
    assert row.advice[0] in page


def test_an_index_that_is_deleted_or_disabled_is_listed_and_not_behind(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    table = indexed(lake)
    table.create_index("off", mi.Values("id"), builder="local")
    lake.append(rows(100))
    table.drop_index("stats")
    table.disable_index("off")
    row = mi.open_lake(tmp_path)["lake"]
    assert [index.info.name for index in row.indexes] == ["off", "stats"]
    assert (row.fresh, row.behind_files, row.unused) == (None, None, ())
    assert not [words for words in row.advice if "behind" in words]


def test_names_that_are_no_text_are_told_and_shown(tmp_path: Path) -> None:
    """A folder's name may be any bytes."""
    lake = tmp_path / "lake"
    delta_lake(lake / "plain").append(rows(1))
    os.rename(lake / "plain", os.fsencode(lake) + b"/\xff\xfe")
    told = mi.open_lake(lake)
    assert len(told) == 1
    assert told.to_arrow().num_rows == 1
    json.dumps(told.to_json()).encode()
    assert "\\udcff" in str(told)
    done = told.report(tmp_path / "lake.html", reports=tmp_path / "pages")
    assert (tmp_path / "lake.html").stat().st_size == done.size_bytes


def test_a_table_with_files_of_no_format_is_a_row_whichever_comes_first(tmp_path: Path) -> None:
    """The order of a folder is its file system's."""
    lake = parquet_lake(tmp_path)
    for number in range(5):
        lake.append(rows(number))
    was_first = set()
    for number in range(400):
        stray = Path(lake.path, f"doc{number}.txt")
        stray.write_text("x")
        first = os.listdir(lake.path)[0] == stray.name
        if first not in was_first:
            was_first.add(first)
            (told,) = mi.open_lake(tmp_path)
            assert "the files of a table are of one format" in told.problem, stray.name
        stray.unlink()
    assert was_first


@pytest.mark.parametrize("there", [True, False])
def test_no_page_goes_into_a_table(tmp_path: Path, there: bool) -> None:
    """Other readers take all files of a folder of plain files."""
    lakes = []
    for name in ("a", "b"):
        lakes.append(parquet_lake(tmp_path / name))
        lakes[-1].append(rows(1))
    told, into = mi.open_lake(tmp_path), Path(lakes[0].path) if there else Path(lakes[0].path, "pages")
    before = sorted(Path(lakes[0].path).rglob("*"))
    with pytest.raises(mi.ArgumentError, match="outside of the table"):
        told.report(tmp_path / "p.html", reports=into)
    assert sorted(Path(lakes[0].path).rglob("*")) == before


def test_a_file_where_the_pages_of_tables_would_lie_is_told(tmp_path: Path) -> None:
    parquet_lake(tmp_path).append(rows(1))
    (tmp_path / "lake.html").write_text("mine")
    with pytest.raises(mi.ArgumentError, match=r"reports= is a folder .*lake\.html' is a file; name another folder"):
        mi.open_lake(tmp_path).report(tmp_path / "mk.html", reports=tmp_path / "lake.html")
    assert (tmp_path / "lake.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda root: mi.open_lake(""), "a lake is a folder"),
        (lambda root: mi.open_lake(7), "a lake is a folder"),
        (lambda root: mi.open_lake(root / "none"), "/none' does not exist; check the path"),
        (lambda root: mi.open_lake(root, timeout_seconds=0), "timeout_seconds="),
        (lambda root: mi.open_lake(root, most_folders=True), "most_folders="),
        (lambda root: mi.open_lake(root, catalog={"uri": "x"}), "leave catalog= out"),
        (lambda root: mi.open_lake(root, since=3), "since= is a timedelta"),
        (lambda root: mi.open_lake({"type": "no such"}), "a catalog is loaded by pyiceberg"),
    ],
)
def test_a_wrong_call_says_what_is_right(tmp_path: Path, call: Callable[[Path], object], said: str) -> None:
    with pytest.raises(mi.MetaIndexError, match=said):
        call(tmp_path)


def test_an_empty_lake_has_no_tables(tmp_path: Path) -> None:
    told = mi.open_lake(tmp_path)
    assert len(told) == 0
    assert told.to_arrow().num_rows == 0
    with pytest.raises(KeyError, match="a table of the lake"):
        told["x"]


def test_folders_that_are_no_tables_cost_little_memory_and_no_row(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"{number % 50}" / f"x{number}").mkdir(parents=True)
    delta_lake(tmp_path / "7" / "t").append(rows(1))
    told = mi.open_lake(tmp_path)
    assert [table.name for table in told] == ["7/t/lake"]
    cut = mi.open_lake(tmp_path, most_folders=100)
    assert any("at most 100 folders" in note for note in cut.notes)


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.json", "day=1/x.parquet", "2024/01/31/x.csv", "x.csv.gz"])
def test_files_of_data_that_are_all_empty_are_a_row_that_says_so(tmp_path: Path, name: str) -> None:
    lake = tmp_path / "lake"
    file = lake / "empty" / name
    file.parent.mkdir(parents=True)
    file.touch()
    (lake / "empty" / "_SUCCESS").touch()
    (row,) = mi.open_lake(lake)
    assert (row.name, row.format, row.files) == ("empty", "", None)
    assert f"empty files such as {name!r} are hidden" in row.problem
    assert row.advice == ()
    assert Watcher(LakeAsked(str(lake))).once(), "it has no index to be kept fresh"


def test_folders_of_empty_files_that_are_no_data_are_no_rows(tmp_path: Path) -> None:
    for number in range(300):
        folder = tmp_path / "lake" / f"x{number}"
        folder.mkdir(parents=True)
        for name in ("_SUCCESS", "a.txt", ".hidden.parquet", "_x.parquet", "part-0000"):
            (folder / name).touch()
    assert len(mi.open_lake(tmp_path / "lake")) == 0


def test_a_folder_that_is_gone_when_it_is_asked_is_no_row(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    lake.append(rows(0))
    place = next(places_of(LakeAsked(str(tmp_path)), []))
    shutil.rmtree(lake.path)
    assert ask(place) is None


def test_questions_without_an_answer_hold_nobody_up() -> None:
    """Half of the stores are silent: their questions are answered for them, the others are all asked."""
    silent = threading.Event()

    def ask(number: int) -> int:
        if number % 2:
            silent.wait()
        return number

    stores = [f"silent {number % 4}" if number % 2 else "fine" for number in range(600)]
    started = time.monotonic()
    answers = dict(SideBySide[int](stores, ask, threads=4, timeout_seconds=1.0).answers())
    took = time.monotonic() - started
    silent.set()
    assert sorted(answers) == list(range(600))
    assert all(answers[number] == number for number in range(0, 600, 2))
    assert all(isinstance(answers[number], Unanswered) for number in range(1, 600, 2))
    assert took < 300, "each in its turn"


# Commands -------------------------------------------------------------------------------------------------------------


def test_what_a_lake_says_to_do_can_be_pasted(tmp_path: Path, call: Call) -> None:
    behind, bare = parquet_lake(tmp_path / "a b"), delta_lake(tmp_path / "c")
    indexed(behind)
    behind.append(rows(10))
    bare.append(rows(0))
    bare.append(rows(10))
    plain = call("lake", tmp_path)
    refresh, create = f"metaindex refresh '{behind.path}' stats", f"metaindex create {bare.path} stats"
    assert f"\nwhat to do:\n  {refresh}\n  {create}\n" in plain.out
    assert "no index\n" in plain.out, "the command stands below the table"
    told = {row["name"]: row for row in call("lake", tmp_path, "--json").json["tables"]}
    assert told["a b/lake"]["commands"] == [refresh]
    assert told["a b/lake"]["advice"][0].endswith(f": {refresh}")
    call("lake", tmp_path, "--html", tmp_path / "lake.html")
    assert create in (tmp_path / "lake.html").read_text()
    for line in (refresh, create):
        assert call(*shlex.split(line)[1:]).code == 0
    assert "what to do" not in call("lake", tmp_path).out


def test_many_commands_are_not_all_printed(tmp_path: Path) -> None:
    for number in range(23):
        table = parquet_lake(tmp_path / f"t{number:02}")
        table.append(rows(0))
        table.append(rows(10))
    assert "and 3 more, in to_json() and --json" in str(mi.open_lake(tmp_path, layout=False))


def test_how_the_table_was_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "0.csv").write_text("1;2\n")
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    config = mi.Config(index_location=tmp_path.parent / "some indexes", namespace="team")
    for said in (schema, "a BIGINT, b BIGINT"):
        table = mi.open_table(tmp_path, format="csv", header=False, delimiter=";", schema=said, config=config)
        assert shlex.split(handle_of(table).command("refresh", "it's")) == [
            *("metaindex", "refresh", str(tmp_path), "it's", "--format", "csv"),
            *("--option", "header=false", "--option", "delimiter=;", "--option", "schema=`a` bigint, `b` bigint"),
            *("--index-location", str(tmp_path.parent / "some indexes"), "--namespace", "team"),
        ]


def test_a_warning_is_said_once_though_each_table_has_a_page(tmp_path: Path, call: Call) -> None:
    for name in ("a", "b"):
        settled(tmp_path / "lake" / name, {"0.parquet": pa.table({"id": [1]})})
        table = mi.open_table(tmp_path / "lake" / name)
        table.create_index("stats", mi.ColumnStats(), builder="local")
        for part in Path(table.indexes()[0].location).rglob("file_ids/*/*.mix"):
            part.write_bytes(b"no part")
    told = call("lake", tmp_path / "lake", "--html", tmp_path / "l.html", "--reports", tmp_path / "reports")
    warnings = [line for line in told.err.splitlines() if "warning" in line]
    assert len(warnings) >= 2
    assert sorted(warnings) == sorted(set(warnings))
    assert (tmp_path / "reports").is_dir()


def test_a_long_name_is_cut_in_the_middle_for_people_alone(tmp_path: Path, call: Call) -> None:
    name = "n" * 120 + "m" * 130
    for folder in (name, "short"):
        settled(tmp_path / folder, {"0.parquet": pa.table({"id": [1]})})
    told = call("lake", tmp_path).out
    assert max(map(len, told.splitlines())) < 250
    assert "nnn...mmm" in told
    assert [table["name"] for table in call("lake", tmp_path, "--json").json["tables"]] == [name, "short"]
