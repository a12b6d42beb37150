"""`metaindex sql`: several statements, files, names; an error shows the place."""

import io
from pathlib import Path

import pytest

from metaindex.cli import main
from tests.tables import settle

from .conftest import Call, write_table


@pytest.fixture
def own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A table with an index, which a test may change."""
    root = write_table(tmp_path / "events")
    settle(root)
    assert main(["create", str(root), "stats", "--builder", "local"]) == 0
    capsys.readouterr()
    return root


def test_statements_run_one_after_another(call: Call, own: Path) -> None:
    answer = call(
        "sql",
        "CREATE INDEX find ON t (id); -- and\n SHOW INDEXES ON t;",
        "DESCRIBE INDEX find ON t",
        *("--table", f"t={own}", "--builder", "local", "--json"),
    )
    assert answer.code == 0, answer.err
    created, shown, described = answer.json
    assert (created[0]["operation"], created[0]["changed"]) == ("create", True)
    assert [row["name"] for row in shown] == ["find", "stats"]
    assert {"name": "kinds", "value": "values"} in described


def test_a_file_and_stdin(call: Call, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.sql"
    file.write_text(f"SHOW INDEXES ON '{own}';\n")
    assert "column_stats" in call("sql", "-f", file).out
    monkeypatch.setattr("sys.stdin", io.StringIO(f"DROP INDEX stats ON '{own}'"))
    assert "DELETED" in call("sql", "-f", "-").out


def test_an_error_shows_the_place_and_nothing_is_run(call: Call, own: Path) -> None:
    answer = call("sql", "DROP INDEX stats ON t; DROP INDEX stats\nFROM t", "--table", f"t={own}")
    assert answer.code == 1
    assert answer.out == ""
    first, second, third = answer.err.splitlines()
    assert first == "FROM t"
    assert second == "^^^^"
    assert third.startswith("metaindex sql: error: line 2, column 1: expected ON; there is FROM")
    assert call("sql", f"SHOW INDEXES ON '{own}'", "--json").json[0]["state"] == "ACTIVE"


def test_an_error_for_machines(call: Call) -> None:
    assert call("sql", "CREATE INDEX", "--json").json["error"]["type"] == "StatementError"
    assert call("sql", "--json").json["error"]["type"] == "ArgumentError"
    assert call("sql", " ; -- nothing", "--json").json["error"]["type"] == "ArgumentError"
    assert call("sql", "-f", "/no/such.sql").code == 1


def test_a_verification_that_finds_something_has_its_own_code(call: Call, own: Path) -> None:
    statement = f"VERIFY INDEX stats ON '{own}'"
    assert call("sql", statement).code == 0
    part = next((own.parent / "_metaindex").rglob("*.mix"))
    part.write_bytes(part.read_bytes()[:-3])
    assert call("sql", statement).code == 3


def test_create_takes_an_index_that_is_there(call: Call, own: Path) -> None:
    words = ("create", own, "stats", "--builder", "local", "--if-not-exists")
    assert "nothing to do" in call(*words).out
    answer = call(*words, "--values", "id")
    assert answer.code == 1
    assert "same kinds" in answer.err


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("", "write one, such as"),
        (";", "write one, such as"),
        ("-- no more", "write one, such as"),
        ("-", "say -f -"),
        ("CREATE INDX x ON t (a)", "column 8: no statement begins as CREATE INDX; did you mean CREATE INDEX?"),
        ("crate index x ON t (a)", "column 1: no statement begins as CRATE INDEX; did you mean CREATE INDEX?"),
        ("SHOW INDEXS ON t", "column 6: no statement begins as SHOW INDEXS; did you mean SHOW INDEXES?"),
        ("RECOMEND INDEX ON t", "did you mean RECOMMEND INDEXES?"),
        ("DROP TABLE t", "no statement about indexes begins as 'DROP'; there are CREATE INDEX, "),
        ("'SHOW' x", "there are CREATE INDEX, "),
        ("SELECT 1", "SELECT is for tables"),
        ("1", "no statement about indexes begins as '1'"),
    ],
)
def test_what_is_no_statement_is_told_with_the_one_that_is_near(call: Call, statement: str, said: str) -> None:
    told = call("sql", statement)
    assert told.code == 1
    assert said in told.err
    assert "this is another one" not in told.err
