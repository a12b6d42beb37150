"""What goes wrong is one line on stderr with the cure and exit code 1; machines get it as JSON; a traceback only with
--debug."""

import ast
import datetime as dt
import json
import os
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.cli.main import CommandWords
from metaindex.core import Cure, ScanError, Words
from tests.disks import files_up_to, someone_elses_folder
from tests.tables import settle, settled

from .conftest import Call

WRONG = [
    (["prune", "{table}", "idd = 1"], "did you mean id?", "UnknownColumnError"),
    (["prune", "{table}", "id = = 1"], "", "ExpressionError"),
    (["prune", "{table}", "id = 1", "--index", "nope"], "there are: stats", "IndexNotFoundError"),
    (["prune", "{table}", "id = 1", "--version", "7"], "has no version '7'", "VersionNotFoundError"),
    (["prune", "{table}", "id = 1", "--timestamp", "yesterday"], "ISO 8601", "ExpressionError"),
    (["prune", "{table}/none", "id = 1"], "does not exist", "NotATableError"),
    (["indexes", "{table}", "stat"], "did you mean 'stats'?", "IndexNotFoundError"),
    (["create", "{table}", "stats", "--builder", "local"], "or keep it with --if-not-exists", "IndexExistsError"),
    (["recommend", "{table}", "q.sql"], "q.sql is a file of queries; say --queries q.sql", "ArgumentError"),
    (["create", "{table}", "a/b", "--builder", "local"], "choose another", "ArgumentError"),
    (["create", "{table}", "new", "--builder", "local", "--column", "nam"], "near names: name", "UnknownColumnError"),
    (["refresh", "{table}", "nope", "--builder", "local"], "there are: stats", "IndexNotFoundError"),
    (["refresh", "{table}", "nope", "--builder", "spark"], "there are: stats", "IndexNotFoundError"),
    (["refresh", "{table}", "stats", "--where", "id = 1", "--builder", "spark"], "partition col", "UnknownColumnError"),
    (["repair", "{table}", "nope", "--builder", "spark"], "there are: stats", "IndexNotFoundError"),
    (["create", "{table}", "stats", "--builder", "spark"], "is ACTIVE", "IndexExistsError"),
    (["scan", "{table}", "--columns", "nam"], "did you mean 'name'?", "UnknownColumnError"),
]


@pytest.mark.parametrize(("words", "said", "kind"), WRONG)
def test_an_error_is_one_line_with_the_cure(call: Call, indexed: Path, words: list[str], said: str, kind: str) -> None:
    words = [word.format(table=indexed) for word in words]
    answer = call(*words)
    assert answer.code == 1
    assert answer.out == ""
    assert answer.err.startswith(f"metaindex {words[0]}: error: ")
    assert said in answer.err
    assert answer.err.count("\n") == 1

    machine = call(*words, "--json")
    assert machine.code == 1
    assert (machine.json["error"]["type"], "Traceback" in machine.err) == (kind, False)


def test_debug_shows_the_traceback(call: Call, indexed: Path) -> None:
    answer = call("prune", indexed, "idd = 1", "--debug")
    assert answer.code == 1
    assert "Traceback" in answer.err
    assert "Traceback" not in answer.out


def test_a_name_cannot_break_the_line(call: Call, tmp_path: Path) -> None:
    answer = call("prune", tmp_path / "a\x1b[31m\nb", "id = 1")
    assert answer.code == 1
    assert "\x1b" not in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    "words", [["scan", "--nope"], ["verify"], ["serve"], ["frobnicate"], ["clean", "t", "i", "--retention", "-1"]]
)
def test_a_line_that_is_not_understood_is_an_error_for_machines_too(call: Call, words: list[str]) -> None:
    answer = call(*words, "--json")
    assert answer.code == 2
    error = json.loads(answer.out)["error"]
    assert error["type"] == "UsageError"
    assert answer.err.splitlines() == [answer.err.strip()]
    assert answer.err.strip().endswith(error["message"])
    assert call(*words).out == ""


def test_rows_that_a_file_has_no_form_for_are_an_error_of_ours(call: Call, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    rows = pa.table({"i": [1], "b": [b"\xff"], "l": [[1, 2]], "d": [dt.timedelta(1)]})
    pq.write_table(rows, tmp_path / "t" / "0.parquet")
    for columns in ("b", "l"):
        answer = call("scan", tmp_path / "t", "--columns", columns, "--output", tmp_path / "rows.csv")
        assert answer.code == 1
        assert "choose columns with --columns" in answer.err
    assert call("scan", tmp_path / "t", "--columns", "i", "--output", tmp_path / "rows.csv").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "t"]


def test_a_folder_that_takes_no_files_is_said_before_anything_is_read(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    with someone_elses_folder() as folder:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        settled(folder / "t", {"0.parquet": pa.table({"i": [1]})})
        (folder / "closed").mkdir(0o500)
        for words in (["scan", folder / "t"], ["report", folder / "t"]):
            name = "rows.csv" if words[0] == "scan" else "page.html"
            answer = call(*words, "--output", folder / "closed" / name)
            assert answer.code == 1
            assert "closed' takes no new file (Permission denied); choose another folder" in answer.err
            assert "Errno" not in answer.err
            told = [line for line in answer.err.splitlines() if not re.search(r", \d+ s$", line)]
            assert len(told) == 1  # besides progress, on a slow machine


def test_a_disk_that_is_full_while_rows_are_written_is_said_in_our_words(call: Call, tmp_path: Path) -> None:
    settled(tmp_path / "t", {"0.parquet": pa.table({"i": range(100_000)})})
    for end in ("csv", "jsonl", "parquet"):
        with files_up_to(50_000):
            answer = call("scan", tmp_path / "t", "--output", tmp_path / f"rows.{end}")
        assert answer.code == 1
        assert "choose another folder" in answer.err
        assert "Errno" not in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_a_file_that_is_no_table_is_not_said_to_be_missing(call: Call, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("x = 1\n")
    answer = call("prune", tmp_path / "script.py", "a = 1")
    assert "is a file whose name ends as none of those" in answer.err
    assert "does not exist" not in answer.err
    assert "does not exist; check the path" in call("prune", tmp_path / "script", "a = 1").err


def test_a_format_that_is_not_the_files_is_refused_and_the_right_one_named(call: Call, tmp_path: Path) -> None:
    table = settled(tmp_path / "t", {"0.csv": "id,name\n1,a\n2,b\n"})
    for _ in range(2):  # without an index, and with one, which is of CSV files
        for verb in ("scan", "prune"):
            for said in ("parquet", "json"):
                answer = call(verb, table, "id = 1", "--format", said)
                assert answer.code == 1
                assert "its name says CSV: say" in answer.err
                assert "remove" not in answer.err
        assert call("create", table, "i", "--values", "id", "--format", "csv").code in (0, 1)
    answer = call("refresh", table, "i", "--format", "parquet")
    assert answer.code == 1
    assert "other reader options (format)" in answer.err
    assert call("refresh", table, "i").code == 0


def test_a_wrong_environment_variable_is_named(call: Call, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAINDEX_QUERY_LOG", "kpt")
    answer = call("prune", indexed, "id = 1")
    assert answer.code == 1
    assert "METAINDEX_QUERY_LOG is kept, hashed, left-out or off; got 'kpt'" in answer.err


@pytest.mark.parametrize(
    ("option", "cure"),
    [
        ("fooo=1", "'fooo' is none; leave it out, or name one that there is, such as header, sep"),
        ("storage_option=1", "'storage_option' is none; did you mean --storage-option?"),
        ("heder=false", "'heder' is none; did you mean 'header'?"),
    ],
)
def test_an_option_of_no_reader_is_refused(call: Call, tmp_path: Path, option: str, cure: str) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")
    name, _, value = option.partition("=")
    for words in (
        ["prune", tmp_path, "id = 1", "--option", option],
        ["sql", f"SHOW INDEXES ON '{tmp_path}' WITH ({name} = {value})"],
    ):
        answer = call(*words)
        assert (answer.code, answer.out) == (1, "")
        assert cure in answer.err
        assert answer.err.count("\n") == 1


# Cures ----------------------------------------------------------------------------------------------------------------


ROOT = Path(__file__).parents[2] / "metaindex"


@pytest.mark.parametrize(
    ("cure", "told"),
    [
        (Cure("argument", "format", "delta"), "--format delta"),
        (Cure("argument", "format"), "--format"),
        (Cure("argument", "where", "day = 1"), "--where 'day = 1'"),
        (Cure("argument", "copies", False), "--no-copies"),
        (Cure("argument", "retention", 0), "--retention 0s"),
        (Cure("columns"), "name the columns with --option schema=..."),
        (Cure("reader", "header", False), "--option header=false"),
        (
            Cure("readers", ("encoding", "UTF-16"), ("multiLine", True)),
            "--option encoding=UTF-16, --option multiLine=true",
        ),
        (Cure("reader", "escape", "\\"), "--option 'escape=\\'"),
        (Cure("also", "quote", "'"), "--option 'quote='\"'\"''"),
        (Cure("full"), "refresh the index with --mode full"),
        (Cure("mend"), "repair the index with `metaindex repair TABLE NAME`"),
        (Cure("argument", "history", True), "--history"),
        (Cure("spark"), "read it with Spark"),
        (Cure("another_place"), "choose another place with --index-location"),
        (Cure("setting", "Config(seal_key=...)", "METAINDEX_SEAL_KEY"), "METAINDEX_SEAL_KEY"),
        (Cure("indexes"), "list them with `metaindex indexes TABLE`"),
        (Cure("kind", "Values", "a"), "--values a"),
        (Cure("restore", "i"), "`metaindex restore 'a t' i --option header=true`"),
    ],
)
def test_a_cure_is_said_in_options(cure: Cure, told: str) -> None:
    with CommandWords(["drop", "a t", "i", "--option", "header=true"]).spoken():
        assert str(cure) == told


def test_an_error_keeps_the_words_in_which_it_was_said() -> None:
    with pytest.raises(ScanError) as raised, CommandWords().spoken():
        raise ScanError("a fact", Cure("spark"))
    assert str(raised.value) == "a fact; read it with Spark"
    assert str(ScanError("a fact", Cure("spark"))) == "a fact; read with .to_spark(spark)"


def test_threads_say_cures_as_whoever_asks() -> None:
    with ThreadPoolExecutor(1) as pool, CommandWords().spoken():
        assert pool.submit(Words.kept(str), Cure("spark")).result() == "read it with Spark"
    assert str(Cure("spark")) == "read with .to_spark(spark)"


_OF_PYTHON = re.compile(
    r"(?<![\w/{=-])(?<!--option )(?:format|schema|header|encoding|multiLine|glob|sep|delimiter|mode|builder|basePath"
    r"|maxColumns|index_location|overwrite|catalog)=(?![=\w{])|(?:format|mode|builder|encoding)='|\bindexes\(\)"
)
_NOT_HERE = (
    "cli/",
    "rule/",
    "spark/",
    "table/",
    "lake/",
    "selection/",
    "demo/",
    "expressions/",
    "spark/readers/spark.py",
    "core/config.py",
)
"""Rooms whose errors are of arguments that the command line checks for itself, or of programs."""


def _raised() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text())) if not name.startswith(_NOT_HERE) else ():
            if isinstance(node, ast.Raise) and node.exc is not None:
                yield from ((name, text) for text in _texts(node.exc))


def _texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.JoinedStr):
            values = [value.value if isinstance(value, ast.Constant) else "'it'" for value in part.values]
            yield "".join(str(value) for value in values)


@pytest.mark.slow
def test_no_error_that_can_be_read_in_the_source_names_an_argument_of_python() -> None:
    raised = list(_raised())
    assert len(raised) > 300
    left = {(name, text) for name, text in raised if _OF_PYTHON.search(text)}
    assert not left, left


def test_errors_name_options(call: Call, tmp_path: Path) -> None:
    settled(tmp_path / "t", {"0.csv": "id,name\n1,a\n"})
    assert "say --format csv" in call("prune", tmp_path / "t", "id = 1", "--format", "parquet").err
    machine = call("prune", tmp_path / "t", "id = 1", "--format", "parquet", "--json")
    assert "say --format csv" in machine.json["error"]["message"]


@pytest.mark.slow
def test_a_repair_is_said_as_whoever_asks_says_it(call: Call, tmp_path: Path) -> None:
    """Also in the cells of tables."""
    root = settled(tmp_path / "t", {f"{number}.csv": f"id\n{number}\n" for number in range(4)})
    mi.open_table(root).create_index("i", mi.ValueList("id", limit=1), mi.Values("id"), builder="local")
    (root / "1.csv").write_text("id\n1\n2\n")
    os.utime(root / "1.csv", (1.6e9, 1.6e9))
    settle(root)
    damaged = next(path for path in (tmp_path / "_metaindex" / "t" / "i").rglob("*.mix") if "values" in path.parts[-3])
    damaged.write_bytes(damaged.read_bytes()[:20])
    (tmp_path / "q.sql").write_text("SELECT * FROM t WHERE id = 3")
    told = call("sql", f"EXPLAIN INDEXES SELECT * FROM '{root}' WHERE id = 3")
    assert f"REPAIR INDEX i ON '{root}'" in told.out, told.out
    commands = [
        ["prune", root, "id = 3"],
        ["indexes", root],
        ["history", root, "i"],
        ["lake", tmp_path],
        ["recommend", root, "--where", "id = 3"],
        ["whatif", root, "--where", "id = 3", "--values", "id"],
    ]
    said = [call(*command).out for command in commands]
    assert "`metaindex repair TABLE NAME`" in said[0], said[0]
    assert not any("repair_index" in text for text in (told.out, *said))


def test_which_options_an_index_waits_for_is_told_below_the_indexes(call: Call, tmp_path: Path) -> None:
    settled(tmp_path / "t", {"0.csv": 'id,name\n1,"say ""hi"", you"\n'})
    call("create", tmp_path / "t", "i", "--values", "name", "--builder", "local", "--option", 'escape="')
    assert "i: used by queries that say --option 'escape=\"'\n" in call("indexes", tmp_path / "t").out
    assert "options   used by queries that say --option 'escape=\"'\n" in call("indexes", tmp_path / "t", "i").out
    assert "used by" not in call("indexes", tmp_path / "t", "--option", 'escape="').out
    assert "i: built with --option 'escape=\"'\n" in call("indexes", tmp_path / "t", "--option", "escape=x").out
    call("disable", tmp_path / "t", "i")
    assert "used by" not in call("indexes", tmp_path / "t").out, "by none"
    call("enable", tmp_path / "t", "i")
    call("drop", tmp_path / "t", "i")
    deleted = call("indexes", tmp_path / "t").out
    assert "used by" not in deleted, "by none"
    assert re.search(r"i +DELETED +- ", deleted), "nobody asks whether it is fresh"
    assert "fresh     -\n" in call("indexes", tmp_path / "t", "i").out
    shown = call("sql", f"SHOW INDEXES ON '{tmp_path / 't'}'", "--json").json
    assert [(row["state"], row["fresh"]) for row in shown] == [("DELETED", None)]
    call("restore", tmp_path / "t", "i")
    reason = call("prune", tmp_path / "t", "name = 'a'").out
    assert "other reader options (escape); open the table with --option 'escape=\"'" in reason


@pytest.mark.slow
def test_notes_name_options(call: Call, tmp_path: Path) -> None:
    settled(tmp_path / "t", {"0.csv": 'id,name\n1,"say ""hi"", you"\n'})
    made = call("create", tmp_path / "t", "i", "--values", "name", "--builder", "local")
    machine = call("create", tmp_path / "t", "j", "--values", "name", "--builder", "local", "--json")
    for told in (made.out, *machine.json["notes"][1:]):
        assert "1 file could not be read, and no query leaves it out: scan and count end with such an error" in told
        assert "Spark reads it as it does; the first: 0.csv: " in told
        assert "a quote inside a quoted value must be escaped (the escape is '\\')" in told
        assert "such as --option 'escape=\"'" in told
    said = "i: 1 file could not be read when indexed, and no query leaves out what the table has of them: where"
    assert said in call("indexes", tmp_path / "t").out
    settled(tmp_path / "t", {"1.csv": "id,name\n2,b\n"})
    call("refresh", tmp_path / "t", "i", "--builder", "local")
    settled(tmp_path / "t", {"2.csv": 'id,name\n3,"say ""ho"", you"\n'})
    watched = call("watch", tmp_path / "t", "--once", "--index", "i").out
    assert (
        "0 of 1 file and 1 key indexed by the local builder; 1 file could not be read, and no query leaves" in watched
    )
    assert "such as --option 'escape=\"'" in watched
    for asked in (("scan", tmp_path / "t", "name = 'b'"), ("count", tmp_path / "t", "name = 'b'")):
        assert "a quote inside a quoted value must be escaped" in call(*asked).err
        assert call(*asked, "--option", 'escape="').code == 0


def test_a_deleted_index_says_the_commands_that_restore_and_remove_it(call: Call, tmp_path: Path) -> None:
    path = settled(tmp_path / "a t", {"0.csv": "id,name\n1,a\n"})
    opening = ["--index-location", str(tmp_path / "in dex"), "--option", "header=true"]
    call("create", path, "i", "--values", "id", "--builder", "local", *opening)
    commands = re.findall(r"`metaindex ([^`]*)`", call("drop", path, "i", *opening).out)
    assert [command.split()[0] for command in commands] == ["restore", "vacuum"]
    assert "ACTIVE" in call(*shlex.split(commands[0])).out
    call("drop", path, "i", *opening)
    assert "the index is gone" in call(*shlex.split(commands[1])).out
