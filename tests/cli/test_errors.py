"""What goes wrong is one line on stderr with the cure and exit code 1; machines get it as JSON; a traceback only with
--debug."""

import datetime as dt
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.disks import files_up_to, someone_elses_folder
from tests.tables import settled

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
    "words", [["scan", "--nope"], ["verify"], ["frobnicate"], ["clean", "t", "i", "--retention", "-1"]]
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
